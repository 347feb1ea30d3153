"""Load, the two analysers and the replica manager of operator fission."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from penstock.control import Acted
from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Observation, Reconfigure, View
from penstock.policies import Fission, FissionMemory, policy
from penstock.service.requests import RunRequest
from penstock.service.simulated import simulate
from penstock.stores import MemoryJournal
from penstock.testing import pipeline, steady_observation, view_of

APP = pipeline((1000.0, 100.0, 1000.0))
"""s1 is the one that counts: 100 per second and replica."""

Loads = Callable[[float], float]


def run(
    fission: Fission, loads: Sequence[float], replicas: int = 1, act: bool = True, window_s: float = 5.0
) -> list[tuple[float, int, Decision, FissionMemory]]:
    """One window after the other; (time, replicas of s1 after the decision, decision, memory) for each."""
    memory = fission.start()
    current = configuration(replicas)
    seen: tuple[Observation, ...] = ()
    result = []
    for index, load in enumerate(loads):
        now_s = window_s * (index + 1)
        seen = (*seen[-3:], steady_observation((APP,), {"pipeline": load}, current, now_s, window_s))
        view: View = view_of((APP,), current, seen, now_s)
        decision, memory = fission.decide(view, memory)
        if act and isinstance(decision, Reconfigure):
            current = decision.target
        result.append((now_s, current.parallelism["pipeline"]["s1"], decision, memory))
    return result


def configuration(replicas: int) -> Configuration:
    return Configuration({"pipeline": {"s0": 1, "s1": replicas, "s2": 1}}, 1).fitted(
        {"pipeline": APP.topology}, APP.cluster
    )


def replicas_over_time(fission: Fission, loads: Sequence[float], start: int = 1) -> list[int]:
    return [replicas for _, replicas, _, _ in run(fission, loads, start)]


SHORT = Fission(mid_term=False)


def test_an_overloaded_operator_gets_a_replica_after_w_equal_analyses() -> None:
    assert replicas_over_time(SHORT, [600.0] * 3)[:2] == [1, 2]
    assert replicas_over_time(replace(SHORT, w=3, r=2), [600.0] * 3) == [1, 1, 3]


def test_while_it_stays_overloaded_it_gets_another_with_every_analysis() -> None:
    """Algorithm 3 asks at every analysis whether the state has lasted for W windows; it does not count anew."""
    assert replicas_over_time(SHORT, [600.0] * 8) == [1, 2, 3, 4, 5, 6, 6, 6]
    assert replicas_over_time(replace(SHORT, w=3, r=2), [600.0] * 6) == [1, 1, 3, 5, 7, 7]


def test_an_underloaded_operator_loses_one() -> None:
    assert replicas_over_time(SHORT, [60.0] * 6, start=4) == [4, 3, 2, 1, 1, 1]


def test_a_balanced_operator_keeps_what_it_has() -> None:
    for load in (51.0, 75.0, 100.0):
        assert replicas_over_time(SHORT, [load] * 6) == [1] * 6


def test_a_state_that_does_not_last_counts_for_nothing() -> None:
    assert replicas_over_time(SHORT, [600.0, 80.0] * 4) == [1] * 8


def test_thresholds_decide() -> None:
    assert replicas_over_time(replace(SHORT, upper=0.8), [90.0] * 2) == [1, 2]
    assert replicas_over_time(replace(SHORT, lower=0.2), [60.0] * 2, start=2) == [2, 2]


def test_the_short_term_has_its_own_period() -> None:
    assert replicas_over_time(replace(SHORT, ts_s=10.0), [600.0] * 8) == [1, 1, 1, 2, 2, 3, 3, 4]


def test_the_reason_names_operator_and_load() -> None:
    decision = run(SHORT, [180.0] * 2)[-1][2]
    assert isinstance(decision, Reconfigure)
    assert decision.because == "s1 was overloaded 2 times, at 1.80: 1 -> 2"


def test_the_mid_term_acts_at_once_and_by_more() -> None:
    fission = Fission(tm_s=20.0, w=99, r_mid=3)
    history = run(fission, [600.0] * 9)
    assert [replicas for _, replicas, _, _ in history] == [1, 1, 1, 4, 4, 4, 4, 7, 7]
    decision = history[3][2]
    assert isinstance(decision, Reconfigure)
    assert decision.because == "s1 will be overloaded for 100% of the time: 1 -> 4"


def test_what_is_likely_wins_only_by_a_margin() -> None:
    loads = [600.0, 80.0, 600.0, 600.0, 80.0, 600.0, 600.0, 80.0]
    # Overloaded for 5 of 8 windows, balanced now: 0.6 against 0.4 or so.
    assert replicas_over_time(Fission(tm_s=40.0, w=99, s=0.1), loads)[-1] > 1
    assert replicas_over_time(Fission(tm_s=40.0, w=99, s=0.5), loads)[-1] == 1


def test_an_operator_that_is_overloaded_now_gets_more_even_if_that_is_not_likely_to_last() -> None:
    loads = [80.0] * 7 + [600.0]
    assert replicas_over_time(Fission(tm_s=40.0, w=99, s=1.0), loads)[-1] > 1


def test_the_history_begins_anew_after_every_mid_term_analysis() -> None:
    history = run(Fission(tm_s=20.0, w=99), [80.0] * 6)
    lengths = [len(memory.operators["pipeline"]["s1"].history) for _, _, _, memory in history]
    assert lengths == [1, 2, 3, 0, 1, 2]


def test_unbounded_the_mid_term_may_overshoot() -> None:
    up = [120.0] * 4
    assert replicas_over_time(Fission(tm_s=20.0, w=99, bounded=False), up)[-1] == 6
    assert replicas_over_time(Fission(tm_s=20.0, w=99), up)[-1] == 2
    down = [250.0] * 4
    assert replicas_over_time(Fission(tm_s=20.0, w=99, bounded=False), down, start=7)[-1] == 2
    assert replicas_over_time(Fission(tm_s=20.0, w=99), down, start=7)[-1] == 3


def test_capacity_is_learned_under_full_load_for_good() -> None:
    idle = run(SHORT, [50.0], act=False)[-1][3].operators["pipeline"]["s1"]
    assert (idle.capacity_per_s, idle.saturated) == (pytest.approx(100.0), False)
    full = run(SHORT, [500.0, 50.0], act=False)[-1][3].operators["pipeline"]["s1"]
    assert (full.capacity_per_s, full.saturated) == (pytest.approx(100.0), True)


def test_once_saturated_other_windows_do_not_change_what_was_learned() -> None:
    memory = SHORT.start()
    current = configuration(1)
    for index, (load, rate) in enumerate(((500.0, 100.0), (50.0, 70.0), (500.0, 120.0))):
        now_s = 5.0 * (index + 1)
        seen = steady_observation((APP,), {"pipeline": load}, current, now_s, 5.0)
        operators = dict(seen.applications["pipeline"].operators)
        operators["s1"] = replace(operators["s1"], true_rate_per_s=rate, effective_rate_per_s=rate)
        changed = replace(seen.applications["pipeline"], operators=operators)
        observation = replace(seen, applications={"pipeline": changed})
        _, memory = SHORT.decide(view_of((APP,), current, (observation,), now_s), memory)
        expected = 120.0 if index == 2 else 100.0
        assert memory.operators["pipeline"]["s1"].capacity_per_s == expected


def test_every_window_is_taken_in_once() -> None:
    current = configuration(1)
    seen = tuple(steady_observation((APP,), {"pipeline": 80.0}, current, 5.0 * i, 5.0) for i in (1, 2, 3))
    memory = SHORT.start()
    for _ in range(3):
        _, memory = SHORT.decide(view_of((APP,), current, seen, 15.0), memory)
    assert memory.operators["pipeline"]["s1"].history == "bbb"


def test_replicas_stay_within_bounds() -> None:
    small = pipeline((1000.0, 100.0, 1000.0), max_parallelism=2)
    current = Configuration({"pipeline": {"s0": 1, "s1": 2, "s2": 1}}, 1)
    memory = SHORT.start()
    for i in range(1, 5):
        seen = steady_observation((small,), {"pipeline": 600.0}, current, 5.0 * i, 5.0)
        decision, memory = SHORT.decide(view_of((small,), current, (seen,), 5.0 * i), memory)
        assert isinstance(decision, Keep)


@pytest.mark.parametrize(
    "text",
    ["fission:upper=0.4", "fission:ts_s=0", "fission:tm_s=1", "fission:s=2", "fission:w=0", "fission:r_mid=0"],
)
def test_parameters_are_checked(text: str) -> None:
    with pytest.raises(UsageError):
        policy(text)


def test_a_fused_application_that_falls_behind_is_overloaded() -> None:
    """In a batch nothing arrives anywhere but what the batch has taken in; what waits at the source counts as well."""
    journal = MemoryJournal()
    request = RunRequest("top-words", "fission", "constant", 200.0, execution="fused", initial="smallest")
    simulate(request, journal)
    last = [entry.target.parallelism["top-words"] for entry in journal.entries() if isinstance(entry, Acted)][-1]
    assert last["splitter"] > 1
