from dataclasses import replace
from itertools import pairwise

import pytest

from penstock.model import (
    ApplicationObservation,
    Configuration,
    Decision,
    Keep,
    Observation,
    OperatorObservation,
    Reconfigure,
    View,
    smallest,
)
from penstock.policies import Threshold
from penstock.policies.threshold import ThresholdMemory
from penstock.testing import crossing, drive, pipeline, steady_view, view_of

APP = pipeline((100.0, 100.0, 100.0), max_parallelism=16)
FUSED = pipeline((300.0, 300.0, 300.0), max_parallelism=16, fused=True)


def configured(*instances: int, workers: int = 16) -> Configuration:
    return Configuration({"pipeline": {f"s{i}": k for i, k in enumerate(instances)}}, workers)


def view(usages: tuple[float | None, ...], instances: tuple[int, ...], skew: float | None = None) -> View:
    operators = {
        f"s{i}": OperatorObservation(k, busy_s=None if usage is None else usage * k * 10, skew=skew)
        for i, (usage, k) in enumerate(zip(usages, instances, strict=True))
    }
    observation = Observation(60.0, 10.0, {"pipeline": ApplicationObservation(operators)}, {})
    configuration = configured(*instances)
    return view_of((APP,), configuration.fitted({"pipeline": APP.topology}, APP.cluster), (observation,), 60.0)


def decide(policy: Threshold, seen: View) -> Decision:
    return policy.decide(seen, policy.start())[0]


def target(decision: Decision) -> dict[str, int]:
    assert isinstance(decision, Reconfigure), decision
    return dict(decision.target.parallelism["pipeline"])


def test_an_overloaded_operator_gets_one_more_per_overloaded_instance() -> None:
    decision = decide(Threshold(), view((0.5, 0.8, 0.4), (1, 3, 2)))
    assert target(decision) == {"s0": 1, "s1": 6, "s2": 2}
    assert isinstance(decision, Reconfigure)
    assert decision.because == "usage of s1 is 0.80, above 0.7: 3 -> 6"
    assert decision.target.workers == 3


def test_only_the_busiest_above_adds_one() -> None:
    assert target(decide(Threshold(), view((0.5, 0.5, 0.5), (4, 4, 4), skew=1.5))) == {"s0": 5, "s1": 5, "s2": 5}


def test_idle_operators_are_halved_rounded_up() -> None:
    decision = decide(Threshold(), view((0.1, 0.15, 0.5), (4, 5, 2)))
    assert target(decision) == {"s0": 2, "s1": 3, "s2": 2}
    assert isinstance(decision, Reconfigure)
    assert "usage of s1 is 0.15, below 0.2: 5 -> 3" in decision.because


def test_both_rules_in_one_round() -> None:
    assert target(decide(Threshold(), view((0.1, 0.9, 0.5), (4, 2, 2)))) == {"s0": 2, "s1": 4, "s2": 2}


def test_a_skewed_operator_is_not_idle() -> None:
    assert isinstance(decide(Threshold(), view((0.15, 0.15, 0.15), (4, 4, 4), skew=2.0)), Keep)


def test_the_stability_gap_holds_back_a_scale_in() -> None:
    assert isinstance(decide(Threshold(upper=0.7, lower=0.4, gap=0.0), view((0.3,) * 3, (4, 4, 4))), Reconfigure)
    assert isinstance(decide(Threshold(upper=0.7, lower=0.4, gap=0.2), view((0.3,) * 3, (4, 4, 4))), Keep)


def test_bounds_hold() -> None:
    assert isinstance(decide(Threshold(), view((0.9, 0.9, 0.9), (16, 16, 16))), Keep)
    assert isinstance(decide(Threshold(), view((0.0, 0.0, 0.0), (1, 1, 1))), Keep)
    assert target(decide(Threshold(), view((0.9, 0.5, 0.5), (12, 1, 1))))["s0"] == 16


def test_the_unknown_is_left_alone() -> None:
    assert target(decide(Threshold(), view((None, 0.9, None), (4, 2, 2)))) == {"s0": 4, "s1": 4, "s2": 2}
    assert decide(Threshold(), view((None,) * 3, (4, 4, 4))) == Keep("no operator's usage is known yet")


def test_members_of_a_segment_are_judged_by_their_whole_segment() -> None:
    """Each member of the fused pipeline is busy for a third of the time, but together they are always busy."""
    start = configured(2, 2, 2, workers=1)
    seen = steady_view((FUSED,), {"pipeline": 190.0}, start)
    operator = seen.observations[-1].applications["pipeline"].operators["s1"]
    own = operator.usage(10.0)
    assert own is not None
    assert own < 0.35
    assert target(decide(Threshold(), seen)) == {"s0": 4, "s1": 4, "s2": 4}
    apart = replace(seen, topologies={"pipeline": APP.topology}, requested=configured(2, 2, 2, workers=2))
    assert isinstance(decide(Threshold(), apart), Keep)


def test_usage_is_averaged_over_the_window() -> None:
    calm, busy = view((0.5,) * 3, (2, 2, 2)), view((0.8,) * 3, (2, 2, 2))
    earlier = replace(calm.observations[0], at_s=50.0)
    mixed = replace(busy, observations=(earlier, *busy.observations))
    assert isinstance(decide(Threshold(window_s=20), mixed), Keep)
    assert isinstance(decide(Threshold(window_s=10), mixed), Reconfigure)


def test_cool_down_lasts_for_its_rounds() -> None:
    start = configured(1, 1, 1, workers=1)
    turns = list(drive(Threshold(), (APP,), lambda _: {"pipeline": 1000.0}, start, 30))
    acted = [i for i, turn in enumerate(turns) if isinstance(turn.decision, Reconfigure)]
    assert [b - a for a, b in pairwise(acted)] == [13] * (len(acted) - 1)
    assert len(acted) == 3
    assert turns[acted[0] + 1].decision == Keep("'pipeline' cools down for 12 more rounds")


def test_a_decision_that_was_held_does_not_start_the_cool_down() -> None:
    seen = view((0.9, 0.5, 0.5), (2, 2, 2))
    policy = Threshold()
    first, memory = policy.decide(seen, policy.start())
    second, memory = policy.decide(replace(seen, now_s=70.0), memory)
    assert isinstance(first, Reconfigure)
    assert first == second
    assert memory == ThresholdMemory(seen.requested, {})


def test_one_application_at_a_time() -> None:
    apps = (APP, crossing())
    start = smallest({a.name: a.topology for a in apps}, APP.cluster)
    loads = {"pipeline": 400.0, "crossing": 800.0}
    turns = list(drive(Threshold(), apps, lambda _: loads, start, 3))
    first, second = turns[0].decision, turns[1].decision
    assert isinstance(first, Reconfigure)
    assert isinstance(second, Reconfigure)
    assert first.because.startswith("'pipeline': ")
    assert first.target.parallelism["crossing"] == start.parallelism["crossing"]
    assert second.because.startswith("'crossing': ")
    assert second.target.parallelism["pipeline"] == first.target.parallelism["pipeline"]


def test_surplus_workers_are_given_back() -> None:
    seen = steady_view((APP,), {"pipeline": 50.0}, configured(1, 1, 1, workers=9))
    decision = decide(Threshold(), seen)
    assert isinstance(decision, Reconfigure)
    assert decision.because == "1 workers are the fewest for 3 slots"


@pytest.mark.parametrize("load", [30.0, 250.0, 900.0])
def test_a_steady_load_ends_between_the_thresholds(load: float) -> None:
    turns = list(drive(Threshold(), (APP,), lambda _: {"pipeline": load}, configured(8, 8, 8), 80))
    last = turns[-1].view.observations[-1].applications["pipeline"]
    assert last.throughput_per_s == pytest.approx(load)
    for operator in last.operators.values():
        usage = operator.usage(10.0)
        assert usage is not None
        assert usage <= 0.7
        assert usage >= 0.2 or operator.instances == 1
