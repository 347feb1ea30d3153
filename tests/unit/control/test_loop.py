"""The loop with scripted ports: what it writes down, what it does, and what it survives."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from penstock.control import (
    Acted,
    Action,
    ControlLoop,
    Decided,
    Ended,
    Entry,
    Judged,
    Level,
    LoopSettings,
    Observed,
    Plant,
    Ports,
    Started,
)
from penstock.model import (
    Cluster,
    Configuration,
    Decision,
    Expected,
    Keep,
    Objectives,
    Observation,
    Reconfigure,
    Topology,
    View,
)

Setting = Callable[..., Configuration]
Sight = Callable[..., Observation]


@dataclass(frozen=True)
class Script:
    """Asks for certain numbers of `split` at certain times; the memory is all views it was shown."""

    wanted: dict[float, int]
    promised: float | None = None

    def start(self) -> tuple[View, ...]:
        return ()

    def decide(self, view: View, memory: tuple[View, ...]) -> tuple[Decision, tuple[View, ...]]:
        split = self.wanted.get(view.now_s)
        if split is None:
            return Keep("nothing in the script"), (*memory, view)
        target = view.requested.with_parallelism("words", "split", split)
        expected = None if self.promised is None else Expected({"words": self.promised})
        return Reconfigure(target, "as scripted", expected, ("w2",)), (*memory, view)


@pytest.fixture
def make_loop(topology: Callable[..., Topology], cluster: Cluster, ports: Any) -> Callable[..., ControlLoop[Any]]:
    def make(policy: Any, **settings: Any) -> ControlLoop[Any]:
        plant = Plant({"words": topology()}, cluster, Objectives(max_workers=5))
        return ControlLoop(plant, policy, Ports(ports, ports, ports, ports), LoopSettings(**settings))

    return make


def of_kind(ports: Any, kind: type[Entry]) -> list[Any]:
    return [entry for entry in ports.written if isinstance(entry, kind)]


def test_a_quiet_run_is_written_down_from_start_to_end(
    make_loop: Callable[..., ControlLoop[Any]],
    topology: Callable[..., Topology],
    configuration: Setting,
    cluster: Cluster,
    ports: Any,
) -> None:
    loop = make_loop(Script({}))
    loop.begin({"policy": "script"})
    loop.run(25.0)
    assert ports.written[0] == Started(
        0.0,
        {"policy": "script"},
        (topology(),),
        cluster,
        Objectives(max_workers=5),
        configuration(),
        LoopSettings(),
    )
    assert [(type(e), e.at_s) for e in ports.written[1:]] == [
        (Observed, 10.0),
        (Decided, 10.0),
        (Observed, 20.0),
        (Decided, 20.0),
        (Ended, 20.0),
    ]
    assert ports.written[-1].because == "the time was up"
    assert ports.applied == []
    assert loop.latest == ports.written[-3].observation


def test_a_decision_is_written_down_before_it_is_carried_out(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, ports: Any
) -> None:
    make_loop(Script({10.0: 4}, 100.0)).run(10.0)
    target = configuration(split=4)
    assert ports.written[1:3] == [
        Decided(10.0, Reconfigure(target, "as scripted", Expected({"words": 100.0}), ("w2",)), target),
        Acted(10.0, target, (Action("changed", Level.HOT, None, 0.0, 0.0),)),
    ]
    assert ports.applied == [(10.0, target, ("w2",))]


def test_every_entry_is_shown_to_whoever_follows(
    topology: Callable[..., Topology], cluster: Cluster, ports: Any
) -> None:
    followed: list[Entry] = []
    plant = Plant({"words": topology()}, cluster, Objectives())
    loop = ControlLoop(plant, Script({10.0: 4}), Ports(ports, ports, ports, ports), None, followed.append)
    loop.begin({})
    loop.run(30.0)
    assert followed == ports.written


def test_the_policy_sees_desired_requested_and_observed_apart(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, observation: Sight, ports: Any
) -> None:
    ports.fails = {20.0}
    ports.sights = lambda at_s, running: observation(at_s, configuration())
    views: list[View] = []

    class Watching(Script):
        def decide(self, view: View, memory: tuple[View, ...]) -> tuple[Decision, tuple[View, ...]]:
            views.append(view)
            return super().decide(view, memory)

    make_loop(Watching({10.0: 3, 20.0: 5}), cooldown_s=0.0, settle_s=99.0).run(30.0)
    last = views[-1]
    assert last.desired == configuration(split=5)
    assert last.requested == configuration(split=3)
    assert last.observed == configuration(split=2)


def test_the_window_forgets_what_is_older_than_it_is_long(
    make_loop: Callable[..., ControlLoop[Any]], ports: Any
) -> None:
    views: list[View] = []

    class Watching(Script):
        def decide(self, view: View, memory: tuple[View, ...]) -> tuple[Decision, tuple[View, ...]]:
            views.append(view)
            return Keep("looking"), memory

    make_loop(Watching({}), window_s=30.0).run(60.0)
    assert [o.at_s for o in views[0].observations] == [10.0]
    assert [o.at_s for o in views[-1].observations] == [40.0, 50.0, 60.0]
    assert views[-1].latest is views[-1].observations[-1]


def test_decisions_may_be_rarer_than_observations(make_loop: Callable[..., ControlLoop[Any]], ports: Any) -> None:
    make_loop(Script({}), observe_every_s=5.0, decide_every_s=20.0).run(60.0)
    assert len(of_kind(ports, Observed)) == 12
    assert [entry.at_s for entry in of_kind(ports, Decided)] == [5.0, 25.0, 45.0]


def test_a_run_can_be_stopped_and_can_linger(make_loop: Callable[..., ControlLoop[Any]], ports: Any) -> None:
    loop = make_loop(Script({}))
    loop.run(1000.0, stopped=lambda: ports.now >= 30)
    assert len(of_kind(ports, Observed)) == 2
    assert ports.written[-1] == Ended(30.0, "stopped by the user")
    loop.run(40.0, linger=lambda: ports.now < 70)
    assert [entry.at_s for entry in of_kind(ports, Observed)][2:] == [40.0, 50.0, 60.0, 70.0]


def test_a_dry_run_decides_and_never_acts(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, ports: Any
) -> None:
    make_loop(Script({10.0: 4, 20.0: 1}), dry_run=True).run(40.0)
    assert ports.applied == []
    decided = of_kind(ports, Decided)
    assert [entry.held_by for entry in decided] == ["dry run: this is a dry run"] * 2 + [None] * 2
    assert decided[0].decision.target == configuration(split=4)
    assert decided[0].target is None
    assert of_kind(ports, Acted) == []


def test_what_bounds_leave_of_a_change_is_what_happens(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, ports: Any
) -> None:
    make_loop(Script({10.0: 99, 50.0: 99}), settle_s=999.0).run(60.0)
    decided = of_kind(ports, Decided)
    assert decided[0].target == configuration(split=8)
    assert (decided[4].target, decided[4].held_by) == (None, "bounds: nothing is left to change")
    assert [target for _, target, _ in ports.applied] == [configuration(split=8)]


def test_the_cool_down_and_excluded_periods_hold(make_loop: Callable[..., ControlLoop[Any]], ports: Any) -> None:
    script = Script({10.0: 3, 20.0: 4, 30.0: 4, 40.0: 4, 70.0: 5, 80.0: 5})
    make_loop(script, excluded=((65.0, 75.0),)).run(80.0)
    held = {entry.at_s: (entry.held_by or "").partition(":")[0] for entry in of_kind(ports, Decided) if entry.held_by}
    assert held == {20.0: "cool-down", 30.0: "cool-down", 70.0: "excluded period"}
    assert [at_s for at_s, _, _ in ports.applied] == [10.0, 40.0, 80.0]


def test_what_was_needed_is_given_up_only_later(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, ports: Any
) -> None:
    script = Script({10.0: 6, 50.0: 2, 60.0: 4, 80.0: 3, 110.0: 3, 120.0: 3})
    make_loop(script, cooldown_s=0.0).run(130.0)
    held = [entry.at_s for entry in of_kind(ports, Decided) if entry.held_by]
    # 6 was needed at 10 and stays until 70; 4 was needed at 60, so 3 has to wait until 120.
    assert held == [50.0, 60.0, 110.0]
    assert [(at_s, target) for at_s, target, _ in ports.applied] == [
        (10.0, configuration(split=6)),
        (80.0, configuration(split=4)),
        (120.0, configuration(split=3)),
    ]


def test_a_failed_action_is_written_down_and_survived(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, ports: Any
) -> None:
    ports.fails = {10.0}
    make_loop(Script({10.0: 4, 20.0: 4, 50.0: 4})).run(90.0)
    assert of_kind(ports, Acted) == [
        Acted(10.0, configuration(split=4), (), "the cluster said no"),
        Acted(50.0, configuration(split=4), (Action("changed", Level.HOT, None, 0.0, 0.0),)),
    ]
    assert [entry.held_by for entry in of_kind(ports, Decided)][1] == "cool-down: the last action was at 10 s"
    # Only what was done can be judged.
    assert [entry.at_s for entry in of_kind(ports, Judged)] == [80.0]


class Reality:
    """What is seen depends on `split`: `throughput` per instance count, at a load of 100."""

    def __init__(self, observation: Sight, throughput: dict[int, float]) -> None:
        self._observation = observation
        self._throughput = throughput
        self._backlog = 0.0

    def __call__(self, at_s: float, running: Configuration) -> Observation:
        rate = self._throughput[running.parallelism["words"]["split"]]
        self._backlog = max(0.0, self._backlog + 10 * (100.0 - rate))
        return self._observation(at_s, running, 100.0, rate, self._backlog)


def test_a_change_that_made_things_worse_is_rolled_back_and_not_repeated(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, observation: Sight, ports: Any
) -> None:
    ports.sights = Reality(observation, {2: 80.0, 3: 85.0, 4: 50.0})
    script = Script({30.0: 4, 100.0: 4, 110.0: 3, 200.0: 4, 700.0: 4})
    make_loop(script).run(700.0)
    judged = of_kind(ports, Judged)
    assert judged[0] == Judged(
        70.0, "worse", "words completes 50 of 100 events/s, before the change it completed 80", configuration()
    )
    assert [(at_s, t.parallelism["words"]["split"]) for at_s, t, _ in ports.applied] == [
        (30.0, 4),
        (70.0, 2),
        (110.0, 3),
        (700.0, 4),
    ]
    held = {entry.at_s: entry.held_by for entry in of_kind(ports, Decided) if entry.held_by}
    assert held == {
        100.0: "block: split 2 -> 4 made things worse before and is blocked until 670 s",
        200.0: "block: split 3 -> 4 made things worse before and is blocked until 670 s",
    }


def test_what_was_worse_may_be_tried_again_under_another_load(
    make_loop: Callable[..., ControlLoop[Any]], observation: Sight, ports: Any
) -> None:
    real = Reality(observation, {2: 80.0, 4: 50.0})

    def sights(at_s: float, running: Configuration) -> Observation:
        sight = real(at_s, running)
        risen = replace(sight.applications["words"], input_per_s=150.0)
        return replace(sight, applications={"words": risen}) if at_s > 150.0 else sight

    ports.sights = sights
    make_loop(Script({30.0: 4, 120.0: 4, 160.0: 4})).run(170.0)
    assert [at_s for at_s, _, _ in ports.applied] == [30.0, 70.0, 160.0]


def test_a_change_is_judged_from_its_end_on(
    make_loop: Callable[..., ControlLoop[Any]], observation: Sight, ports: Any
) -> None:
    ports.sights = Reality(observation, {2: 80.0, 4: 100.0})
    ports.takes_s = 25.0
    make_loop(Script({30.0: 4})).run(200.0)
    assert [entry.at_s for entry in of_kind(ports, Judged)] == [90.0]


@pytest.mark.parametrize(("come_s", "judged_s"), [(30.0, 60.0), (70.0, 90.0), (1000.0, 140.0)])
def test_a_change_is_not_judged_before_its_workers_have_come(
    make_loop: Callable[..., ControlLoop[Any]], observation: Sight, ports: Any, come_s: float, judged_s: float
) -> None:
    """But if they do not come at all, it is in the end."""

    def sights(at_s: float, running: Configuration) -> Observation:
        there = running if at_s >= come_s else running.with_workers(1)
        return observation(at_s, there, 100.0, 100.0, 0.0)

    ports.sights = sights
    make_loop(Script({30.0: 4})).run(200.0)
    assert [entry.at_s for entry in of_kind(ports, Judged)] == [judged_s]


def test_a_change_that_is_short_of_its_promise_but_better_stays(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, observation: Sight, ports: Any
) -> None:
    ports.sights = Reality(observation, {2: 40.0, 4: 70.0})
    make_loop(Script({30.0: 4}, promised=100.0)).run(200.0)
    assert of_kind(ports, Judged) == [
        Judged(60.0, "short", "words completes 70 of 100 events/s, although 100 were promised")
    ]
    assert ports.running == configuration(split=4)


def test_a_scale_down_that_breaks_things_is_rolled_back(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, observation: Sight, ports: Any
) -> None:
    ports.sights = Reality(observation, {2: 100.0, 1: 50.0})
    make_loop(Script({30.0: 1, 100.0: 1})).run(200.0)
    assert [(e.at_s, e.verdict, e.back_to) for e in of_kind(ports, Judged)] == [(70.0, "worse", configuration())]
    assert ports.running == configuration()
    assert [e.at_s for e in of_kind(ports, Decided) if (e.held_by or "").startswith("block")] == [100.0]


def test_a_rollback_that_fails_is_written_down_and_survived(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, observation: Sight, ports: Any
) -> None:
    ports.sights = Reality(observation, {2: 80.0, 4: 50.0})
    ports.fails = {70.0}
    make_loop(Script({30.0: 4, 120.0: 2})).run(130.0)
    assert of_kind(ports, Acted)[1] == Acted(70.0, configuration(), (), "the cluster said no")
    assert of_kind(ports, Acted)[2].target == configuration()


def test_nothing_is_rolled_back_in_an_excluded_period(
    make_loop: Callable[..., ControlLoop[Any]], observation: Sight, ports: Any
) -> None:
    ports.sights = Reality(observation, {2: 80.0, 4: 50.0})
    make_loop(Script({30.0: 4}), excluded=((50.0, 100.0),)).run(200.0)
    assert [entry.at_s for entry in of_kind(ports, Judged)] == [100.0]
    assert [at_s for at_s, _, _ in ports.applied] == [30.0, 100.0]


def test_a_change_after_which_nothing_is_completed_any_more_is_rolled_back_in_the_end(
    make_loop: Callable[..., ControlLoop[Any]], configuration: Setting, observation: Sight, ports: Any
) -> None:
    ports.sights = Reality(observation, {2: 80.0, 4: 0.0})
    make_loop(Script({30.0: 4})).run(200.0)
    assert [(entry.at_s, entry.verdict) for entry in of_kind(ports, Judged)] == [(120.0, "worse")]
    assert ports.running == configuration()


@pytest.mark.parametrize("starting", [{"throughput_per_s": 0.0}, {"throughput_per_s": 40.0, "paused_s": 6.0}])
def test_a_slow_start_is_no_failure(
    make_loop: Callable[..., ControlLoop[Any]],
    configuration: Setting,
    observation: Sight,
    ports: Any,
    starting: dict[str, Any],
) -> None:
    real = Reality(observation, {2: 80.0, 4: 100.0})

    def sights(at_s: float, running: Configuration) -> Observation:
        sight = real(at_s, running)
        slow = replace(sight.applications["words"], **starting)
        return replace(sight, applications={"words": slow}) if 30.0 < at_s < 90.0 else sight

    ports.sights = sights
    make_loop(Script({30.0: 4}, promised=100.0)).run(200.0)
    assert [(entry.at_s, entry.verdict) for entry in of_kind(ports, Judged)] == [(90.0, "met")]
    assert ports.running == configuration(split=4)
