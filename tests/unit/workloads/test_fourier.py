import math

import pytest

from penstock.errors import InvalidModel
from penstock.workloads import Fourier, Peak, Schedule, news_like, surges, twitter_like


def test_a_fourier_series_is_the_sum_of_its_harmonics() -> None:
    curve = Fourier(100, ((10, 0), (0, 20)), period_s=60)
    at_s = 7.0
    angle = 2 * math.pi * at_s / 60
    assert curve.rate_per_s(at_s) == pytest.approx(100 + 10 * math.cos(angle) + 20 * math.sin(2 * angle))


def test_a_fourier_series_never_goes_below_zero() -> None:
    assert Fourier(1, ((-5, 0),), period_s=60).rate_per_s(0) == 0


def test_surges_last_as_long_as_asked_and_do_not_ring() -> None:
    curve = surges((0.3, 0.7), 0.2)
    values = [curve.rate_per_s(step / 1000) for step in range(1000)]
    assert len(curve.coefficients) == 8
    assert sum(values) / 1000 == pytest.approx(0.4, abs=0.01)
    assert curve.rate_per_s(0.4) == pytest.approx(1.0, abs=0.05)
    assert curve.rate_per_s(0.8) == pytest.approx(1.0, abs=0.05)
    assert curve.rate_per_s(0.1) == pytest.approx(0.0, abs=0.05)
    assert max(values) < 1.05


def test_a_peak_is_highest_at_its_time_and_comes_back_every_period() -> None:
    peak = Peak(50, peak_s=30, rise_s=2, decay_s=10, period_s=100)
    assert peak.rate_per_s(30) == peak.rate_per_s(130) == 50
    assert peak.rate_per_s(40) == pytest.approx(50 / math.e)
    assert peak.rate_per_s(28) == pytest.approx(50 / math.e)
    assert peak.rate_per_s(80) < 1


@pytest.mark.parametrize(
    ("curve", "high_per_s", "published"),
    [(twitter_like(0, 800, 600), 800, 187_660), (news_like(0, 3000, 600), 3000, 382_713)],
)
def test_the_loads_of_the_fission_publication_bring_its_events(
    curve: Fourier, high_per_s: float, published: int
) -> None:
    rates = [curve.rate_per_s(i * 0.5) for i in range(1200)]
    assert max(rates) == pytest.approx(high_per_s, rel=0.03)
    assert min(rates) < 0.06 * high_per_s
    assert Schedule(curve).events_until(600) == pytest.approx(published, rel=0.02)


def test_shapes_span_the_range_that_is_asked_for() -> None:
    rates = [twitter_like(100, 200, 60).rate_per_s(i * 0.1) for i in range(600)]
    assert 100 <= min(rates) < 106
    assert 194 < max(rates) <= 200


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(InvalidModel, match="period=0"):
        Fourier(1, (), 0)
    with pytest.raises(InvalidModel, match="mean -1"):
        Fourier(-1, (), 1)
    with pytest.raises(InvalidModel, match="height"):
        Peak(-1, 0, 1, 1, 1)
    with pytest.raises(InvalidModel, match="rise"):
        Peak(1, 0, 0, 1, 1)
    with pytest.raises(InvalidModel, match="low=3 above high=2"):
        news_like(3, 2, 10)
