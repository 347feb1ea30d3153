import math
from collections.abc import Callable

import pytest

from penstock.errors import InvalidModel
from penstock.workloads import (
    Bursts,
    Clipped,
    Constant,
    Curve,
    Diurnal,
    Noisy,
    Ramp,
    Scaled,
    Sine,
    Square,
    Stair,
    Step,
    Stretched,
    Sum,
)


def sampled(curve: Curve, until_s: float, every_s: float = 1.0) -> list[float]:
    return [curve.rate_per_s(i * every_s) for i in range(int(until_s / every_s))]


def test_step_goes_up_once_at_its_time() -> None:
    curve = Step(10, 50, step_s=30)
    assert [curve.rate_per_s(at_s) for at_s in (0, 29.999, 30, 1000)] == [10, 10, 50, 50]


def test_stair_climbs_and_descends_in_equal_steps_and_starts_again() -> None:
    curve = Stair(100, 400, period_s=70, levels=4)
    levels = [curve.rate_per_s(10 * tread + 5) for tread in range(7)]
    assert levels == pytest.approx([100, 200, 300, 400, 300, 200, 100])
    assert curve.rate_per_s(70 + 35) == curve.rate_per_s(35)


def test_square_is_high_for_its_duty_at_the_end_of_each_period() -> None:
    curve = Square(1, 9, period_s=10, duty=0.3)
    assert [curve.rate_per_s(at_s) for at_s in (0, 6.9, 7.1, 9.9, 10, 17.1)] == [1, 1, 9, 9, 1, 9]


def test_sine_starts_low_and_peaks_after_half_a_period() -> None:
    curve = Sine(100, 800, period_s=600)
    assert [curve.rate_per_s(at_s) for at_s in (0, 150, 300, 600)] == pytest.approx([100, 450, 800, 100])
    assert Sine(100, 800, 600, phase=0.5).rate_per_s(0) == pytest.approx(800)


def test_ramp_rises_holds_and_falls() -> None:
    curve = Ramp(0, 100, rise_s=10, hold_s=5, fall_s=20)
    assert [curve.rate_per_s(at_s) for at_s in (0, 5, 10, 14, 25, 35, 99)] == pytest.approx([0, 50, 100, 100, 50, 0, 0])


def test_ramp_without_rise_starts_high() -> None:
    assert Ramp(0, 100, rise_s=0, hold_s=0, fall_s=10).rate_per_s(0) == 100


def test_diurnal_spans_low_to_high_on_weekdays_and_less_at_weekends() -> None:
    curve = Diurnal(50, 250, day_s=240, weekend=0.5)
    monday, saturday = sampled(curve, 240), [curve.rate_per_s(5 * 240 + i) for i in range(240)]
    assert (min(monday), max(monday)) == pytest.approx((50, 250))
    assert max(saturday) == pytest.approx(150)
    assert monday.index(max(monday)) == 200  # eight in the evening
    assert Diurnal(50, 250, 240, 0.5, first_day=5).rate_per_s(200) == pytest.approx(150)
    assert curve.rate_per_s(7 * 240 + 33) == pytest.approx(curve.rate_per_s(33))


def test_bursts_happen_once_in_every_interval_and_depend_on_the_seed() -> None:
    curve = Bursts(10, 100, every_s=60, length_s=12, seed=4)
    for turn in range(10):
        high = [rate for rate in (curve.rate_per_s(turn * 60 + i * 0.1) for i in range(600)) if rate > 10]
        assert len(high) == pytest.approx(120, abs=2)
        assert 55 <= min(high) == max(high) <= 100
    assert sampled(curve, 600) != sampled(Bursts(10, 100, 60, 12, seed=5), 600)


def test_noise_has_the_deviation_asked_for_and_no_bias() -> None:
    rates = sampled(Noisy(Constant(1000), deviation=0.1, seed=3), 4000)
    mean = sum(rates) / len(rates)
    deviation = math.sqrt(sum((rate - mean) ** 2 for rate in rates) / len(rates))
    assert mean == pytest.approx(1000, rel=0.01)
    assert deviation == pytest.approx(100, rel=0.05)


def test_noise_is_held_for_its_interval_and_does_not_depend_on_the_order_of_questions() -> None:
    curve = Noisy(Constant(1000), deviation=0.1, seed=3, every_s=5)
    forwards = [curve.rate_per_s(float(at_s)) for at_s in range(50)]
    backwards = [curve.rate_per_s(float(at_s)) for at_s in reversed(range(50))]
    assert forwards == backwards[::-1]
    assert len(set(forwards)) == 10


def test_noise_never_makes_a_rate_negative() -> None:
    assert min(sampled(Noisy(Constant(10), deviation=3.0), 500)) == 0


def test_curves_combine() -> None:
    both = Sum((Constant(10), Scaled(Step(0, 5, 10), 4)))
    assert (both.rate_per_s(0), both.rate_per_s(10)) == (10, 30)
    assert Clipped(both, 12, 25).rate_per_s(0) == 12
    assert Clipped(both, 12, 25).rate_per_s(10) == 25
    assert Stretched(both, 2).rate_per_s(19) == 10
    assert Stretched(both, 2).rate_per_s(20) == 30


@pytest.mark.parametrize(
    ("make", "blames"),
    [
        (lambda: Constant(-1), "rate=-1"),
        (lambda: Step(5, 4, 0), "low=5 above high=4"),
        (lambda: Step(-5, 4, 0), "low=-5"),
        (lambda: Sine(1, 2, 0), "period=0"),
        (lambda: Sine(1, 2, 10, phase=1.5), "phase=1.5"),
        (lambda: Square(1, 2, 10, duty=1.1), "duty=1.1"),
        (lambda: Stair(1, 2, 10, levels=1), "levels=1"),
        (lambda: Ramp(1, 2, -1, 0, 0), "rise=-1"),
        (lambda: Diurnal(1, 2, 10, weekend=2), "weekend=2"),
        (lambda: Bursts(1, 2, every_s=5, length_s=6), "length=6 above every=5"),
        (lambda: Noisy(Constant(1), -0.1), "noise=-0.1"),
        (lambda: Scaled(Constant(1), -2), "factor=-2"),
        (lambda: Clipped(Constant(1), 3, 2), "low=3 above high=2"),
        (lambda: Stretched(Constant(1), 0), "by 0"),
    ],
)
def test_impossible_curves_are_refused(make: Callable[[], Curve], blames: str) -> None:
    with pytest.raises(InvalidModel, match=blames):
        make()
