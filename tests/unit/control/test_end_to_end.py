"""The whole loop over the simulator: what DS2 promises, and what happens when a promise is not kept."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.control import Acted, ControlLoop, Decided, Entry, Judged, LoopSettings, Plant, Ports, replay
from penstock.model import Cluster, Configuration, Keep, Objectives, Operator, Reconfigure, Role, Stream, Topology
from penstock.policies import policy
from penstock.simulation import Pauses, World, WorldSettings
from penstock.stores import MemoryJournal
from penstock.workloads import Application, Constant, Curve, OperatorCost, Step


def chain(costs: Mapping[str, OperatorCost], most: int = 20, stateful: bool = False) -> Application:
    names = list(costs)
    operators = tuple(
        Operator(
            name,
            Role.SOURCE if index == 0 else Role.SINK if index == len(names) - 1 else Role.TRANSFORM,
            max_parallelism=most,
            stateful=stateful and 0 < index < len(names) - 1,
        )
        for index, name in enumerate(names)
    )
    topology = Topology("chain", operators, tuple(Stream(*ends) for ends in pairwise(names)))
    return Application(topology, dict(costs), "a chain", "made up", 0.0, 1000.0, Cluster.homogeneous(40, 4))


def run(
    app: Application, curve: Curve, start: Mapping[str, int], name: str, until_s: float = 600.0, **more: Any
) -> tuple[World, list[Entry]]:
    topologies = {"chain": app.topology}
    initial = Configuration({"chain": dict(start)}, 1).fitted(topologies, app.cluster)
    world = World([(app, curve)], app.cluster, initial, WorldSettings(**more))
    plant = Plant(topologies, app.cluster, Objectives())
    loop: ControlLoop[Any] = ControlLoop(
        plant, policy(name), Ports(world, world, world, MemoryJournal()), LoopSettings()
    )
    loop.begin({})
    loop.run(until_s)
    return world, list(loop.ports.journal.entries())


def of_kind(entries: Sequence[Entry], kind: type[Entry]) -> list[Any]:
    return [entry for entry in entries if isinstance(entry, kind)]


RATES = st.integers(40, 400).map(float)


@settings(max_examples=max(60, settings().max_examples // 10))
@given(
    load=st.integers(50, 900).map(float),
    rates=st.tuples(RATES, RATES, RATES, RATES),
    ratios=st.tuples(*[st.sampled_from([0.25, 0.5, 1.0, 1.5])] * 3),
    start=st.tuples(*[st.integers(1, 60)] * 4),
    stateful=st.booleans(),
)
def test_ds2_reaches_the_smallest_sufficient_parallelism_in_three_steps_from_anywhere(
    load: float,
    rates: tuple[float, ...],
    ratios: tuple[float, ...],
    start: tuple[int, ...],
    stateful: bool,
) -> None:
    names = ("in", "a", "b", "out")
    inputs = [load * math.prod(ratios[:position]) for position in range(4)]
    needs = [inputs[position] / (rates[position] * 0.8) for position in range(4)]
    # Within rounding of a whole number either neighbour is right.
    assume(all(abs(need - round(need)) > 1e-6 for need in needs))
    app = chain(
        {
            name: OperatorCost(rates[index], {} if index == 3 else {names[index + 1]: ratios[index]})
            for index, name in enumerate(names)
        },
        most=60,
        stateful=stateful,
    )
    first = dict(zip(names, start, strict=True))
    _, entries = run(app, Constant(load), first, "ds2:tolerance=0", 400.0, step_s=2.0)
    acts = of_kind(entries, Acted)
    reached = acts[-1].target.parallelism["chain"] if acts else first
    assert reached == dict(zip(names, map(math.ceil, needs), strict=True))
    assert len(acts) <= 3
    assert all(isinstance(entry.decision, Keep) for entry in of_kind(entries, Decided)[-10:])
    assert all(judged.verdict == "met" for judged in of_kind(entries, Judged))


def crowding(coherence: float) -> Application:
    """An application whose middle operator handles less in total the more instances it has, beyond a few."""
    return chain(
        {
            "in": OperatorCost(1000.0),
            "work": OperatorCost(100.0, coherence=coherence),
            "out": OperatorCost(1000.0),
        }
    )


def test_a_promise_that_makes_things_worse_is_rolled_back_and_blocked() -> None:
    """Two instances handle 143/s, the seven that DS2 asks for handle 74/s (universal scalability law)."""
    world, entries = run(crowding(0.2), Constant(400.0), {"in": 1, "work": 2, "out": 1}, "ds2")
    acts, judged = of_kind(entries, Acted), of_kind(entries, Judged)
    start = acts[1].target
    assert acts[0].target.parallelism["chain"]["work"] == 7
    assert start.parallelism["chain"]["work"] == 2
    assert (judged[0].verdict, judged[0].back_to) == ("worse", start)
    assert judged[0].because == "chain completes 74 of 400 events/s, before the change it completed 143"
    assert judged[0].at_s == acts[1].at_s == acts[0].at_s + 40.0  # 30 s to settle after 4 s of work
    later = [entry for entry in of_kind(entries, Decided) if entry.at_s > acts[1].at_s + 30]
    asked_again = [entry for entry in later if isinstance(entry.decision, Reconfigure)]
    assert len(asked_again) >= 3
    for entry in asked_again:
        assert entry.target is None
        assert (
            entry.held_by
            == f"block: work 2 -> 7 made things worse before and is blocked until {acts[1].at_s + 600:.0f} s"
        )
    assert len(acts) == 2
    assert world.requested() == start


def test_after_the_block_the_change_may_be_tried_again() -> None:
    _, entries = run(crowding(0.2), Constant(400.0), {"in": 1, "work": 2, "out": 1}, "ds2", 1000.0)
    acts = of_kind(entries, Acted)
    assert [act.target.parallelism["chain"]["work"] for act in acts] == [7, 2, 7, 2]
    assert acts[2].at_s >= acts[1].at_s + 600


def test_a_change_that_is_short_of_its_promise_but_better_is_kept() -> None:
    """One instance handles 100/s, five handle 357/s of 400/s: less than promised, more than before."""
    _, entries = run(crowding(0.02), Constant(400.0), {"in": 1, "work": 1, "out": 1}, "ds2", 120.0)
    judged = of_kind(entries, Judged)
    assert judged[0].verdict == "short"
    assert judged[0].back_to is None
    assert all(act.target.parallelism["chain"]["work"] >= 5 for act in of_kind(entries, Acted))


class Stingy:
    """Believes that one instance of everything is enough."""

    def start(self) -> None:
        return None

    def decide(self, view: Any, memory: None) -> tuple[Reconfigure | Keep, None]:
        target = view.requested.with_parallelism("chain", "work", 1)
        if view.now_s < 60 or target == view.requested:
            return Keep("wait"), None
        return Reconfigure(target, "one is enough"), None


def test_a_scale_down_that_breaks_things_is_rolled_back() -> None:
    app = crowding(0.0)
    topologies = {"chain": app.topology}
    initial = Configuration({"chain": {"in": 1, "work": 5, "out": 1}}, 2)
    world = World([(app, Constant(400.0))], app.cluster, initial, WorldSettings(pauses=Pauses(hot_s=3.0)))
    loop = ControlLoop(
        Plant(topologies, app.cluster, Objectives()), Stingy(), Ports(world, world, world, MemoryJournal())
    )
    loop.begin({})
    loop.run(300.0)
    entries = list(loop.ports.journal.entries())
    judged = of_kind(entries, Judged)
    assert [(one.verdict, one.back_to) for one in judged] == [("worse", initial)]
    assert world.requested() == initial
    held = [entry.held_by for entry in of_kind(entries, Decided) if entry.held_by]
    assert any("block: work 5 -> 1 made things worse before" in reason for reason in held)
    # The backlog of the failed attempt is worked off again.
    backlog = world.applications["chain"].backlog
    assert backlog < 100
    assert all(one.same for one in replay(entries, Stingy()))


def test_a_rising_load_is_followed_without_a_rollback() -> None:
    costs = {"in": OperatorCost(1000.0), "work": OperatorCost(50.0), "out": OperatorCost(1000.0)}
    world, entries = run(chain(costs), Step(100.0, 600.0, 200.0), {"in": 1, "work": 3, "out": 1}, "ds2", noise=0.02)
    assert all(judged.verdict == "met" for judged in of_kind(entries, Judged))
    assert world.requested().parallelism["chain"]["work"] >= 15
