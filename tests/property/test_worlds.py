"""Any application on any cluster under any policy runs without an error, and no event appears or disappears."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from penstock.control import Acted, ControlLoop, Entry, LoopSettings, Plant, Ports, Refused
from penstock.model import Cluster, Configuration, Link, Objectives, Operator, Role, Stream, Topology, Worker
from penstock.policies import POLICIES, policy
from penstock.simulation import STORM_PAUSES, Pauses, World, WorldSettings
from penstock.simulation.application import SimulatedApplication, Window
from penstock.workloads import Application, Constant, Curve, OperatorCost, Sine, Square, Step

ROUNDS = 20
POLICY_NAMES = sorted(POLICIES)


@dataclass(frozen=True)
class Case:
    """All that makes a run."""

    applications: tuple[tuple[Application, Curve], ...]
    cluster: Cluster
    initial: Configuration
    world: WorldSettings
    loop: LoopSettings
    objectives: Objectives
    policy: str


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    count = draw(st.integers(1, 5))
    workers = tuple(Worker(f"w{i}", draw(st.integers(1, 4)), draw(one_of(1.0, 1.0, 0.5, 3.0))) for i in range(count))
    if not draw(st.booleans()):
        return Cluster(workers)
    pairs = [(a.name, b.name) for a in workers for b in workers if a is not b]
    return Cluster(workers, tuple(Link(a, b, draw(one_of(0.0, 0.01, 2.0))) for a, b in pairs[:6]))


@st.composite
def topologies(draw: st.DrawFn, name: str, most: int) -> Topology:
    count = draw(st.integers(1, most))
    sources = draw(st.integers(1, min(count, 3)))
    operators, streams = [], []
    for index in range(count):
        least = draw(st.integers(1, 3))
        operators.append(
            Operator(
                f"o{index}",
                Role.SOURCE if index < sources else Role.TRANSFORM,
                least,
                least + draw(st.integers(0, 6)),
                draw(st.booleans()),
            )
        )
        if index >= sources:
            upstream = draw(st.sets(st.integers(0, index - 1), min_size=1, max_size=3))
            streams += [Stream(f"o{u}", f"o{index}") for u in sorted(upstream)]
    names = [operator.name for operator in operators]
    half = count // 2
    fusions = ((), (names,), (names[:half], names[half:]), (names[:-2],), (names[::2],))
    segments = tuple(tuple(segment) for segment in draw(st.sampled_from(fusions)) if segment)
    return Topology(name, tuple(operators), tuple(streams), segments)


@st.composite
def applications(draw: st.DrawFn, name: str, cluster: Cluster, most: int) -> Application:
    topology = draw(topologies(name, most))
    costs = {
        operator: OperatorCost(
            draw(one_of(3.0, 20.0, 150.0, 1000.0, 1e5)),
            {d: draw(one_of(1.0, 1.0, 0.0, 0.05, 0.5, 3.0)) for d in topology.downstream(operator)},
            contention=draw(one_of(0.0, 0.1)),
            coherence=draw(one_of(0.0, 0.0, 0.05)),
            key_skew=draw(one_of(0.0, 0.0, 0.8)),
            fixed_s=draw(one_of(0.0, 0.02)),
            state_bytes=draw(one_of(0.0, 1e8)),
            slot_share=draw(one_of(1.0, 1.0, 0.3)),
        )
        for operator in topology.names
    }
    return Application(topology, costs, "random", "made up", 0.0, 1000.0, cluster)


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    low, more = draw(one_of(0.0, 1.0, 40.0, 300.0)), draw(one_of(0.0, 10.0, 600.0))
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return Constant(low + more)
    if kind == 1:
        return Step(low, low + more, 70.0)
    return Sine(low, low + more, 150.0) if kind == 2 else Square(low, low + more, 90.0)


@st.composite
def worlds(draw: st.DrawFn, cluster: Cluster) -> WorldSettings:
    failing = st.tuples(st.integers(0, 200).map(float), st.sampled_from([w.name for w in cluster.workers]))
    return WorldSettings(
        seed=draw(st.integers(0, 99)),
        step_s=draw(one_of(2.5, 5.0, 3.0)),
        stochastic=draw(st.booleans()),
        dispatch=draw(one_of("shortest-queue", "hashed")),
        queue_limit=draw(one_of(None, None, 0.0, 100.0, 5000.0)),
        batch_overhead_s=draw(one_of(0.0, 0.3, 4.0)),
        start_up_s=draw(one_of(0.0, 4.0, 45.0)),
        monitor_delay_s=draw(one_of(0.0, 0.0, 3.0)),
        noise=draw(one_of(0.0, 0.0, 0.1)),
        pauses=draw(one_of(Pauses(), STORM_PAUSES, Pauses(hot_s=1.5, restart_s=30.0, jitter_s=5.0))),
        failures=tuple(draw(st.lists(failing, max_size=3))),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    cluster = draw(clusters())
    names = draw(one_of(("a",), ("a",), ("a", "b")))
    apps = [draw(applications(name, cluster, 7 if len(names) == 1 else 3)) for name in names]
    parallelism = {
        app.name: {o.name: draw(st.integers(o.min_parallelism, o.max_parallelism)) for o in app.topology.operators}
        for app in apps
    }
    workers = draw(st.integers(1, len(cluster.workers)))
    return Case(
        tuple((app, draw(curves())) for app in apps),
        cluster,
        Configuration(parallelism, workers),
        draw(worlds(cluster)),
        LoopSettings(
            decide_every_s=draw(one_of(10.0, 10.0, 20.0)),
            cooldown_s=draw(one_of(0.0, 30.0)),
            scale_down_after_s=draw(one_of(0.0, 60.0)),
            settle_s=draw(one_of(0.0, 30.0)),
        ),
        Objectives(max_workers=draw(one_of(None, 2))),
        draw(st.sampled_from(POLICY_NAMES)),
    )


class Ledger:
    """Everything that ever arrived at, was handled and was lost by each operator of an application."""

    def __init__(self, app: SimulatedApplication) -> None:
        self.arrived: defaultdict[str, float] = defaultdict(float)
        self.processed: defaultdict[str, float] = defaultdict(float)
        self.lost: defaultdict[str, float] = defaultdict(float)
        self._take = app.take_window
        setattr(app, "take_window", self.take_window)  # noqa: B010

    def take_window(self) -> Window:
        window = self._take()
        for name, tally in window.tallies.items():
            self.arrived[name] += tally.arrived
            self.processed[name] += tally.processed
            self.lost[name] += tally.lost
        return window


class Record:
    """A journal in memory that takes no time."""

    def __init__(self) -> None:
        self.written: list[Entry] = []

    def append(self, entry: Entry) -> None:
        self.written.append(entry)

    def entries(self) -> list[Entry]:
        return self.written


def nearly(value: float) -> Any:
    return pytest.approx(value, rel=1e-6, abs=1e-4)


@settings(max_examples=max(1000, settings().max_examples))
@given(cases())
def test_every_world_runs_and_keeps_its_events(case: Case) -> None:
    event(case.policy)
    world = World(case.applications, case.cluster, case.initial, case.world)
    ledgers = {name: Ledger(app) for name, app in world.applications.items()}
    record = Record()
    plant = Plant(world.topologies, case.cluster, case.objectives)
    loop: ControlLoop[Any] = ControlLoop(plant, policy(case.policy), Ports(world, world, world, record), case.loop)
    loop.begin({"policy": case.policy})
    for _ in range(ROUNDS):
        world.sleep_until(world.now_s() + 10.0)
        loop.round()
        for app in world.applications.values():
            assert app.completed + app.backlog + app.lost == nearly(app.arrived)
            assert min(app.completed, app.backlog, app.lost) >= -1e-6
    assert not [entry for entry in record.written if isinstance(entry, Refused)]
    for name, app in world.applications.items():
        ledgers[name].take_window()
        for operator, simulated in app.operators.items():
            handled = ledgers[name].processed[operator] + ledgers[name].lost[operator]
            assert handled + simulated.count == nearly(ledgers[name].arrived[operator])
    check_targets(case, record.written)


def check_targets(case: Case, entries: list[Entry]) -> None:
    """Whatever was asked of the world was within its bounds, except to go back to where it came from."""
    most = min(len(case.cluster.workers), case.objectives.max_workers or 99)
    for entry in entries:
        if isinstance(entry, Acted) and entry.target != case.initial:
            assert 1 <= entry.target.workers <= most
            for app, _ in case.applications:
                for operator in app.topology.operators:
                    instances = entry.target.parallelism[app.name][operator.name]
                    assert operator.min_parallelism <= instances <= operator.max_parallelism
