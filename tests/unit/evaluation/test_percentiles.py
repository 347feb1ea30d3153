"""A run's percentiles are those of the mixture of its windows."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.evaluation.percentiles import WeightedLatency, mean_s, percentile_s
from penstock.model import Latency

times = st.floats(0.0, 1000.0)
counts = st.floats(0.01, 1e6)


@st.composite
def windows(draw: st.DrawFn) -> WeightedLatency:
    p50, p95, p99 = sorted(draw(st.tuples(times, times, times)))
    return WeightedLatency(Latency(draw(times), p50, p95, p99), draw(counts))


def window(p50: float, p95: float, p99: float, events: float = 1.0) -> WeightedLatency:
    return WeightedLatency(Latency(p50, p50, p95, p99), events)


def test_nothing_is_known_without_events() -> None:
    assert percentile_s([], 0.95) is None
    assert mean_s([]) is None
    assert percentile_s([window(1.0, 2.0, 3.0, events=0.0)], 0.95) is None
    assert mean_s([window(1.0, 2.0, 3.0, events=0.0)]) is None


@given(windows(), st.lists(counts, min_size=1, max_size=5))
@settings(deadline=None, max_examples=100)
def test_windows_that_agree_give_their_own_percentiles_back(one: WeightedLatency, weights: list[float]) -> None:
    same = [WeightedLatency(one.latency, events) for events in weights]
    assert percentile_s(same, 0.50) == pytest.approx(one.latency.p50_s, rel=1e-9, abs=1e-9)
    assert percentile_s(same, 0.95) == pytest.approx(one.latency.p95_s, rel=1e-9, abs=1e-9)
    assert percentile_s(same, 0.99) == pytest.approx(one.latency.p99_s, rel=1e-9, abs=1e-9)
    assert mean_s(same) == pytest.approx(one.latency.mean_s)


@given(st.lists(windows(), min_size=1, max_size=8), st.floats(0.01, 0.99))
@settings(deadline=None, max_examples=150)
def test_the_mixture_has_the_wanted_share_at_or_below_its_percentile(
    several: list[WeightedLatency], quantile: float
) -> None:
    found = percentile_s(several, quantile)
    assert found is not None
    assert 0.0 <= found <= max(one.latency.p99_s for one in several)
    assert share_at_or_below(several, found * (1 + 1e-9) + 1e-9) >= quantile - 1e-6
    if found > 1e-6:
        assert share_at_or_below(several, found * (1 - 1e-9) - 1e-9) <= quantile + 1e-6


def share_at_or_below(several: list[WeightedLatency], value: float) -> float:
    """The mixture's distribution, written down plainly."""

    def share(one: WeightedLatency) -> float:
        corners = [(0.0, 0.0), (one.latency.p50_s, 0.5), (one.latency.p95_s, 0.95), (one.latency.p99_s, 0.99)]
        if value >= one.latency.p99_s:
            return 1.0
        for (x0, y0), (x1, y1) in pairwise(corners):
            if x0 <= value < x1:
                return y0 + (y1 - y0) * (value - x0) / (x1 - x0)
        return 0.0

    return sum(share(one) * one.events for one in several) / sum(one.events for one in several)


def test_a_tenth_of_slow_events_shows_in_the_95th_percentile() -> None:
    fast, slow = window(1.0, 2.0, 3.0, events=900), window(100.0, 200.0, 300.0, events=100)
    assert percentile_s([fast, slow], 0.95) == pytest.approx(100.0)
    assert mean_s([fast, slow]) == pytest.approx(0.9 * 1.0 + 0.1 * 100.0)


def test_windows_without_events_do_not_count() -> None:
    assert percentile_s([window(1.0, 2.0, 3.0), window(100.0, 200.0, 300.0, events=0.0)], 0.95) == pytest.approx(2.0)


def test_percentiles_out_of_order_are_taken_as_equal() -> None:
    assert percentile_s([window(5.0, 4.0, 3.0)], 0.99) == pytest.approx(5.0)
