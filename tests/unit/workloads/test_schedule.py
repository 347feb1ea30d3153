import pickle
import threading
from dataclasses import dataclass

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.workloads import Constant, Noisy, Schedule, Sine, Square, Step


@dataclass(frozen=True)
class Counting:
    """A constant load that remembers how often it was asked."""

    asked: "Tally"

    def rate_per_s(self, at_s: float) -> float:
        self.asked.times += 1
        return 10.0


class Tally:
    def __init__(self) -> None:
        self.times = 0


def test_a_constant_load_has_exactly_its_events() -> None:
    schedule = Schedule(Constant(1000))
    assert [schedule.events_until(at_s) for at_s in (-1, 0, 1, 10, 3600)] == [0, 0, 1000, 10_000, 3_600_000]


def test_the_total_is_the_area_under_the_curve() -> None:
    assert Schedule(Sine(100, 800, 600)).events_until(600) == pytest.approx(450 * 600, abs=1)
    assert Schedule(Square(10, 90, 60)).events_until(3600) == pytest.approx(50 * 3600, abs=1)
    assert Schedule(Step(0, 50, 100)).events_until(100) == 0


def test_scale_multiplies_the_load() -> None:
    assert Schedule(Constant(1000), scale=0.25).events_until(10) == 2500
    assert Schedule(Constant(1000), scale=0.0).events_until(10) == 0
    with pytest.raises(UsageError, match="scale -1"):
        Schedule(Constant(1), scale=-1)


@pytest.mark.parametrize("rate", [0.3, 7.0, 123.4, 350_000.0])
def test_times_agree_with_counts_at_every_event(rate: float) -> None:
    schedule = Schedule(Noisy(Constant(rate), 0.3, seed=2))
    count = min(schedule.events_until(30), 3000)
    times = schedule.times(0, count)
    for index, at_s in enumerate(times):
        assert schedule.events_until(float(at_s)) == np.searchsorted(times, at_s, side="right")
        assert schedule.events_until(float(np.nextafter(at_s, 0))) <= index


def test_events_are_spread_evenly() -> None:
    gaps = np.diff(Schedule(Constant(1000)).times(0, 5000))
    assert gaps.min() == pytest.approx(0.001)
    assert gaps.max() == pytest.approx(0.001)


def test_any_part_can_be_asked_for_in_any_order() -> None:
    curve = Noisy(Sine(5, 50, 100), 0.2)
    whole = Schedule(curve).times(0, 50_000)
    for start, end in ((40_000, 40_100), (10, 20), (0, 1), (49_999, 50_000)):
        assert np.array_equal(Schedule(curve).times(start, end), whole[start:end])
    assert len(Schedule(curve).times(5, 5)) == 0
    assert len(Schedule(curve).times(6, 5)) == 0


def test_a_pickled_schedule_is_small_and_tells_the_same() -> None:
    schedule = Schedule(Sine(100, 800, 600), 0.5)
    before = schedule.events_until(7200)
    sent = pickle.dumps(schedule)
    assert len(sent) < 500
    received: Schedule = pickle.loads(sent)
    assert received == schedule
    assert received.events_until(7200) == before
    assert np.array_equal(received.times(1000, 2000), schedule.times(1000, 2000))


def test_equal_schedules_share_what_was_computed() -> None:
    tally = Tally()
    Schedule(Counting(tally)).events_until(1000)
    asked = tally.times
    assert asked >= 10_000
    Schedule(Counting(tally)).events_until(1000)
    assert tally.times == asked


def test_threads_may_ask_at_the_same_time() -> None:
    schedule, answers = Schedule(Noisy(Constant(77), 0.5, seed=99)), []
    threads = [threading.Thread(target=lambda: answers.append(schedule.events_until(3000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 1
    assert len(answers) == 4


def test_a_load_may_be_quiet_for_hours() -> None:
    assert Schedule(Step(0, 10, 40_000)).times(0, 1)[0] == pytest.approx(40_000, abs=0.2)


def test_events_that_never_come_are_told() -> None:
    with pytest.raises(UsageError, match="does not bring 1 events"):
        Schedule(Constant(0)).times(0, 1)
    with pytest.raises(UsageError, match="no event -1"):
        Schedule(Constant(1)).times(-1, 1)
