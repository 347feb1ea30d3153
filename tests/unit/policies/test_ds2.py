import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model import Configuration, Decision, Keep, Observation, Operator, Reconfigure, View, diff, smallest
from penstock.policies import Ds2
from penstock.policies.ds2 import Ds2Memory
from penstock.testing import Turn, crossing, drive, pipeline, steady_view
from penstock.workloads.application import Application, OperatorCost

PUBLISHED = Ds2(utilisation=1.0, tolerance=0.0, activation_rounds=1, warm_up_s=0.0)
AT_ONCE = Ds2(activation_rounds=1)


def configured(*instances: int, workers: int = 1) -> Configuration:
    return Configuration({"pipeline": {f"s{i}": k for i, k in enumerate(instances)}}, workers)


def decide(policy: Ds2, view: View) -> Decision:
    return policy.decide(view, policy.start())[0]


def target(decision: Decision, name: str = "pipeline") -> dict[str, int]:
    assert isinstance(decision, Reconfigure), decision
    return dict(decision.target.parallelism[name])


def changes(turns: list[Turn]) -> list[Reconfigure]:
    return [turn.decision for turn in turns if isinstance(turn.decision, Reconfigure)]


def test_one_step_gives_every_operator_what_it_needs() -> None:
    app = pipeline((400.0, 128.0, 300.0), selectivity=1.0)
    decision = decide(AT_ONCE, steady_view((app,), {"pipeline": 410.0}, configured(1, 2, 1)))
    # 410 / (0.8 x rate): 1.28, 4.004 and 1.71
    assert target(decision) == {"s0": 2, "s1": 5, "s2": 2}
    assert isinstance(decision, Reconfigure)
    assert "s1 needs 4.0 of 2 instances at 410 events/s (utilisation 0.8)" in decision.because
    assert decision.target.workers == 3
    assert decision.expected is not None
    assert decision.expected.throughput_per_s == {"pipeline": pytest.approx(410.0)}
    busy = 410 / 400 + 410 / 128 + 410 / 300
    assert decision.expected.usage == {"pipeline": pytest.approx(busy / 9)}


def test_selectivities_multiply_along_the_way() -> None:
    app = pipeline((1000.0, 100.0, 100.0), selectivity=2.0)
    decision = decide(PUBLISHED, steady_view((app,), {"pipeline": 95.0}, configured(1, 1, 1)))
    assert target(decision) == {"s0": 1, "s1": 2, "s2": 4}


@settings(deadline=None, max_examples=40)
@given(
    rates=st.lists(st.floats(20, 500), min_size=2, max_size=4),
    load=st.floats(1, 900),
    start=st.lists(st.integers(1, 60), min_size=4, max_size=4),
    fused=st.booleans(),
    published=st.booleans(),
)
def test_the_smallest_sufficient_parallelism_from_any_start(
    rates: list[float], load: float, start: list[int], fused: bool, published: bool
) -> None:
    """On a linear application, in at most three reconfigurations; in fact in one."""
    policy = PUBLISHED if published else replace(PUBLISHED, utilisation=0.8)
    app = pipeline(rates, max_parallelism=400, fused=fused)
    begin = configured(*start[: len(rates)], workers=16)
    turns = list(drive(policy, (app,), lambda _: {"pipeline": load}, begin, 12))
    assert len(changes(turns)) <= 3
    assert all(isinstance(turn.decision, Keep) for turn in turns[6:])
    together = sum(load / rate for rate in rates) / policy.utilisation
    needs = [together if fused else load / rate / policy.utilisation for rate in rates]
    reached = turns[-1].view.requested.parallelism["pipeline"]
    for index, need in enumerate(needs):
        assert abs(need - round(need)) < 1e-6 or reached[f"s{index}"] == max(1, math.ceil(need))


@pytest.mark.parametrize("start", [1, 3, 16])
def test_an_application_that_does_not_scale_linearly_is_measured_again(start: int) -> None:
    app = pipeline((1000.0, 60.0, 1000.0), max_parallelism=32)
    slower = Application(
        app.topology,
        {**app.costs, "s1": OperatorCost(60.0, contention=0.04)},
        app.summary,
        app.origin,
        1.0,
        600.0,
        app.cluster,
    )
    turns = list(drive(Ds2(), (slower,), lambda _: {"pipeline": 300.0}, configured(1, start, 1), 40))
    assert 1 <= len(changes(turns)) <= 3
    last = turns[-1].view.observations[-1].applications["pipeline"]
    assert last.throughput_per_s == pytest.approx(300.0)
    reached = turns[-1].view.requested.parallelism["pipeline"]["s1"]
    # 300 / (0.8 x 60) = 6.25 instances if they scaled linearly; at 9, the rate of one is down to 45.5 events/s.
    assert 8 <= reached <= 10


def test_several_sources_and_sinks() -> None:
    app = crossing()
    start = smallest({"crossing": app.topology}, app.cluster)
    decision = decide(AT_ONCE, steady_view((app,), {"crossing": 800.0}, start))
    # left 600, right 200, clean 600, meet 300 + 200 = 500, store 1000, alert 5 events per second
    assert target(decision, "crossing") == {"left": 1, "right": 1, "clean": 3, "meet": 5, "store": 4, "alert": 1}


def test_fused_members_all_get_what_the_segment_needs() -> None:
    app = pipeline((300.0, 150.0, 100.0), fused=True)
    decision = decide(AT_ONCE, steady_view((app,), {"pipeline": 150.0}, configured(1, 1, 1)))
    # 0.5 + 1 + 1.5 busy seconds per second, at 0.8: 3.75
    assert target(decision) == {"s0": 4, "s1": 4, "s2": 4}
    assert isinstance(decision, Reconfigure)
    assert decision.target.workers == 1
    assert decision.expected is not None
    assert decision.expected.usage["pipeline"] == pytest.approx(3.0 / 12)


def test_fused_members_make_up_for_a_source_that_cannot_be_split() -> None:
    app = pipeline((300.0, 150.0, 150.0), fused=True)
    single = Operator("s0", app.topology.operators[0].role)
    topology = replace(app.topology, operators=(single, *app.topology.operators[1:]))
    app = replace(app, topology=topology)
    decision = decide(AT_ONCE, steady_view((app,), {"pipeline": 150.0}, configured(1, 1, 1)))
    # Half of the time goes to the source; in the other 0.3 of it two busy seconds per second must be done.
    assert target(decision) == {"s0": 1, "s1": 7, "s2": 7}
    assert isinstance(decision, Reconfigure)
    after = steady_view((app,), {"pipeline": 150.0}, decision.target)
    assert isinstance(decide(AT_ONCE, after), Keep)
    load = sum(150 / rate / k for rate, k in ((300, 1), (150, 7), (150, 7)))
    assert load <= 0.8


def test_bounds_limit_the_target_and_the_promise() -> None:
    app = pipeline((1000.0, 100.0), max_parallelism=4)
    decision = decide(AT_ONCE, steady_view((app,), {"pipeline": 800.0}, configured(1, 2)))
    assert target(decision) == {"s0": 1, "s1": 4}
    assert isinstance(decision, Reconfigure)
    assert decision.expected is not None
    assert decision.expected.throughput_per_s["pipeline"] == pytest.approx(400.0)
    at_the_limit = decide(AT_ONCE, steady_view((app,), {"pipeline": 800.0}, configured(1, 4, workers=2)))
    assert at_the_limit == Keep("nothing more can be given; s1 needs 10.0 and may have 4 instances")


def test_slots_limit_the_promise() -> None:
    app = pipeline((1000.0, 100.0), max_parallelism=200)
    view = steady_view((app,), {"pipeline": 800.0}, configured(1, 2))
    decision = decide(AT_ONCE, replace(view, objectives=replace(view.objectives, max_workers=1)))
    assert isinstance(decision, Reconfigure)
    assert decision.target.workers == 1
    assert decision.expected is not None
    assert decision.expected.throughput_per_s["pipeline"] == pytest.approx(800 * 4 / 8.8)


def test_a_recommendation_must_stand() -> None:
    app = pipeline((1000.0, 100.0))
    policy = Ds2(activation_rounds=3)
    turns = list(drive(policy, (app,), lambda _: {"pipeline": 300.0}, configured(1, 1), 3))
    assert [type(turn.decision) for turn in turns] == [Keep, Keep, Reconfigure]
    assert turns[1].decision.because.startswith("seen 2 of 3 times: s1 needs 3.8 of 1 instances")
    rates = iter((300.0, 500.0, 300.0, 500.0, 300.0))
    loads: dict[float, float] = {}
    unsteady = drive(
        replace(policy, window_s=10.0),
        (app,),
        lambda at_s: {"pipeline": loads.setdefault(at_s, next(rates))},
        configured(1, 1),
        5,
    )
    assert all(isinstance(turn.decision, Keep) for turn in unsteady)


def test_nothing_from_before_a_change_counts() -> None:
    """Old measurements, taken at another parallelism, would lead to another recommendation."""
    app = pipeline((1000.0, 100.0), max_parallelism=32)
    policy = Ds2(activation_rounds=1, warm_up_s=20.0, window_s=60.0)
    before = configured(1, 2)
    old = steady_view((app,), {"pipeline": 500.0}, before, now_s=60.0)
    first, memory = policy.decide(old, policy.start())
    assert target(first) == {"s0": 1, "s1": 7}
    after = configured(1, 7, workers=2)
    keeps = []
    for now_s in (70.0, 80.0, 90.0):
        mixed = replace(old, now_s=now_s, requested=after, desired=after)
        fresh = steady_view((app,), {"pipeline": 100.0}, after, now_s, windows=int(now_s - 60) // 10)
        decision, memory = policy.decide(replace(mixed, observations=(*old.observations, *fresh.observations)), memory)
        keeps.append(decision)
        if now_s < 90:
            assert decision == Keep("nothing was measured since the last change")
    assert memory.counts_from_s == 80.0
    assert target(keeps[-1]) == {"s0": 1, "s1": 2}


def test_noise_within_the_tolerance_changes_nothing() -> None:
    app = pipeline((1000.0, 100.0))

    def noisy(at_s: float) -> Mapping[str, float]:
        return {"pipeline": 240.0 * (1 + 0.04 * math.sin(at_s))}

    # 240 / (0.8 x 100) = 3.0 instances: noise alone would go back and forth between 3 and 4.
    for start in (3, 4):
        policy = Ds2(activation_rounds=1, window_s=10.0)
        turns = list(drive(policy, (app,), noisy, configured(1, start), 60))
        assert len(changes(turns)) <= 1
    eager = Ds2(activation_rounds=1, window_s=10.0, tolerance=0.0)
    assert len(changes(list(drive(eager, (app,), noisy, configured(1, 3), 60)))) > 3


def test_tolerance_never_lets_an_operator_drown() -> None:
    app = pipeline((1000.0, 100.0))
    published = Ds2(utilisation=1.0, tolerance=0.2, activation_rounds=1)
    assert target(decide(published, steady_view((app,), {"pipeline": 310.0}, configured(1, 3)))) == {"s0": 1, "s1": 4}


def test_catching_up_adds_the_backlog() -> None:
    app = pipeline((1000.0, 100.0))
    view = steady_view((app,), {"pipeline": 100.0}, configured(1, 2))
    last = view.observations[-1]
    behind = replace(last.applications["pipeline"], backlog=12_000.0)
    late = replace(view, observations=(*view.observations[:-1], replace(last, applications={"pipeline": behind})))
    assert isinstance(decide(AT_ONCE, late), Keep)
    decision = decide(replace(AT_ONCE, catch_up_s=120.0), late)
    assert target(decision) == {"s0": 1, "s1": 3}
    assert isinstance(decision, Reconfigure)
    assert decision.expected is not None
    assert decision.expected.throughput_per_s["pipeline"] == pytest.approx(100.0)


def without(view: View, **unknown: object) -> View:
    """The view with fields of operator s1 taken away from all observations."""

    def blind(observation: Observation) -> Observation:
        application = observation.applications["pipeline"]
        operators = {**application.operators, "s1": replace(application.operators["s1"], **unknown)}  # type: ignore[arg-type]
        return replace(observation, applications={"pipeline": replace(application, operators=operators)})

    return replace(view, observations=tuple(map(blind, view.observations)))


def test_the_true_rate_serves_where_the_effective_one_is_unknown() -> None:
    app = pipeline((1000.0, 100.0, 1000.0))
    view = without(steady_view((app,), {"pipeline": 300.0}, configured(1, 1, 1)), effective_rate_per_s=None)
    assert target(decide(AT_ONCE, view)) == {"s0": 1, "s1": 4, "s2": 1}


def test_an_operator_of_unknown_rate_is_left_as_it_is() -> None:
    app = pipeline((100.0, 100.0, 100.0))
    view = steady_view((app,), {"pipeline": 300.0}, configured(1, 3, 1))
    rateless = without(view, effective_rate_per_s=None, true_rate_per_s=None)
    assert target(decide(AT_ONCE, rateless)) == {"s0": 4, "s1": 3, "s2": 4}


def test_operators_behind_an_unknown_stream_are_left_as_they_are() -> None:
    app = pipeline((100.0, 100.0, 100.0))
    view = without(steady_view((app,), {"pipeline": 300.0}, configured(1, 1, 3)), output_per_s={})
    assert target(decide(AT_ONCE, view)) == {"s0": 4, "s1": 4, "s2": 3}


def test_an_operator_that_is_idle_for_a_while_is_judged_by_what_it_did_before() -> None:
    app = pipeline((100.0, 100.0, 100.0))
    view = steady_view((app,), {"pipeline": 90.0}, configured(2, 2, 8, workers=3))
    quiet = without(
        replace(view, observations=view.observations[-2:]),
        effective_rate_per_s=None,
        true_rate_per_s=None,
        busy_s=0.0,
        processed_per_s=0.0,
        output_per_s={"s2": 0.0},
    )
    busy = replace(view, observations=view.observations[:-2], now_s=40.0)
    _, memory = Ds2(activation_rounds=2).decide(busy, Ds2Memory())
    decision, _ = Ds2(activation_rounds=2).decide(replace(view, observations=quiet.observations), memory)
    assert isinstance(decision, Keep)
    mixed = replace(view, observations=(*view.observations[:-2], *quiet.observations))
    decision, _ = Ds2(activation_rounds=2).decide(mixed, memory)
    assert target(decision) == {"s0": 2, "s1": 2, "s2": 2}


def test_no_load_needs_the_least() -> None:
    app = pipeline((100.0, 100.0))
    decision = decide(AT_ONCE, steady_view((app,), {"pipeline": 0.0}, configured(6, 6, workers=3)))
    assert target(decision) == {"s0": 1, "s1": 1}


def test_two_applications_each_get_their_own() -> None:
    apps = (pipeline((100.0, 100.0)), crossing())
    start = smallest({a.name: a.topology for a in apps}, apps[0].cluster)
    decision = decide(AT_ONCE, steady_view(apps, {"pipeline": 300.0, "crossing": 800.0}, start))
    assert target(decision) == {"s0": 4, "s1": 4}
    assert target(decision, "crossing")["meet"] == 5
    assert isinstance(decision, Reconfigure)
    assert "pipeline/s0 needs 3.8 of 1 instances" in decision.because
    assert "crossing/meet needs 4.2 of 2 instances" in decision.because
    assert decision.expected is not None
    assert set(decision.expected.throughput_per_s) == {"pipeline", "crossing"}


def test_workers_follow_the_instances() -> None:
    app = pipeline((100.0, 100.0))
    decision = decide(AT_ONCE, steady_view((app,), {"pipeline": 75.0}, configured(1, 1, workers=6)))
    assert isinstance(decision, Reconfigure)
    assert [type(change).__name__ for change in diff(configured(1, 1, workers=6), decision.target)] == ["WorkersChange"]
    assert decision.because == "1 workers are the fewest for 2 slots"


def test_keep_says_how_much_is_to_spare() -> None:
    app = pipeline((1000.0, 100.0))
    decision = decide(AT_ONCE, steady_view((app,), {"pipeline": 200.0}, configured(1, 3)))
    assert decision == Keep("every operator has what it needs; s1 needs 2.5 of 3 instances")


def test_a_rollback_by_others_starts_the_warm_up_again() -> None:
    app = pipeline((1000.0, 100.0))
    view = steady_view((app,), {"pipeline": 200.0}, configured(1, 3))
    _, memory = AT_ONCE.decide(view, AT_ONCE.start())
    back = replace(view, now_s=70.0, requested=configured(1, 2))
    decision, memory = AT_ONCE.decide(back, memory)
    assert isinstance(decision, Keep)
    assert memory == Ds2Memory(70.0, configured(1, 2), 80.0, None, 0, memory.rates)
