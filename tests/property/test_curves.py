import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.workloads import (
    Bursts,
    Clipped,
    Constant,
    Curve,
    Diurnal,
    Fourier,
    Noisy,
    Peak,
    Ramp,
    Scaled,
    Schedule,
    Sine,
    Square,
    Stair,
    Step,
    Sum,
    Trace,
)

rates = st.floats(0, 5_000)
lengths = st.floats(0.5, 5_000)
shares = st.floats(0, 1)
seeds = st.integers(0, 2**32)
ranges = st.tuples(rates, rates).map(sorted)
times = st.floats(0, 20_000)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    values = draw(st.lists(rates, min_size=1, max_size=8))
    gaps = draw(st.lists(st.floats(1, 100), min_size=len(values) - 1, max_size=len(values) - 1))
    starts = (0.0, *np.cumsum(gaps).tolist())
    return Trace(starts, tuple(values), draw(st.floats(1, 100)))


@st.composite
def bounded(draw: st.DrawFn) -> tuple[Curve, float, float]:
    """A curve that must stay between two rates."""
    low, high = draw(ranges)
    choices: tuple[Curve, ...] = (
        Step(low, high, draw(lengths)),
        Stair(low, high, draw(lengths), draw(st.integers(2, 9))),
        Square(low, high, draw(lengths), draw(shares)),
        Sine(low, high, draw(lengths), draw(shares)),
        Ramp(low, high, draw(lengths), draw(lengths), draw(lengths)),
        Diurnal(low, high, draw(lengths), draw(shares), draw(st.integers(0, 6))),
        Bursts(low, high, 60, draw(st.floats(1, 60)), draw(seeds)),
    )
    return draw(st.sampled_from(choices)), low, high


simple: st.SearchStrategy[Curve] = st.one_of(
    rates.map(Constant),
    bounded().map(lambda three: three[0]),
    traces(),
    st.builds(
        Fourier, rates, st.lists(st.tuples(*[st.floats(-500, 500)] * 2), max_size=8).map(tuple), period_s=lengths
    ),
    st.builds(Peak, rates, times, lengths, lengths, lengths),
)
curves: st.SearchStrategy[Curve] = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: Sum(tuple(parts))),
        st.builds(Scaled, inner, st.floats(0, 3)),
        st.builds(Noisy, inner, st.floats(0, 2), seeds, st.floats(0.2, 60)),
        st.builds(lambda curve, ends: Clipped(curve, *ends), inner, ranges),
    ),
    max_leaves=4,
)


@settings(deadline=None, max_examples=150)
@given(bounded(), times)
def test_a_curve_stays_in_its_range(three: tuple[Curve, float, float], at_s: float) -> None:
    curve, low, high = three
    assert low * (1 - 1e-9) - 1e-9 <= curve.rate_per_s(at_s) <= high * (1 + 1e-9) + 1e-9


@settings(deadline=None, max_examples=150)
@given(curves, st.lists(times, min_size=1, max_size=10))
def test_a_curve_is_a_pure_function_of_time_that_survives_pickling(curve: Curve, moments: list[float]) -> None:
    first = [curve.rate_per_s(at_s) for at_s in moments]
    assert all(rate >= 0 for rate in first)
    received: Curve = pickle.loads(pickle.dumps(curve))
    assert received == curve
    assert hash(received) == hash(curve)
    assert [received.rate_per_s(at_s) for at_s in reversed(moments)] == first[::-1]


@settings(deadline=None, max_examples=60)
@given(curves, st.floats(0, 2), st.lists(st.floats(0, 250), min_size=2, max_size=10))
def test_a_schedule_counts_exactly_its_times(curve: Curve, scale: float, moments: list[float]) -> None:
    schedule = Schedule(curve, scale)
    total = schedule.events_until(250)
    due = schedule.times(0, total)
    assert len(due) == total
    assert bool(np.all(np.diff(due) >= 0))
    assert total == 0 or 0 <= due[0] <= due[-1] <= 250
    for at_s in [*moments, *due[:: max(1, total // 20)].tolist()]:
        assert schedule.events_until(at_s) == np.searchsorted(due, at_s, side="right")
    counts = [schedule.events_until(at_s) for at_s in sorted(moments)]
    assert counts == sorted(counts)


@settings(deadline=None, max_examples=40)
@given(curves, st.integers(0, 2_000), st.integers(0, 200))
def test_parts_of_a_schedule_fit_together(curve: Curve, start: int, count: int) -> None:
    schedule = Schedule(curve)
    total = schedule.events_until(200)
    start, end = min(start, total), min(start + count, total)
    assert np.array_equal(schedule.times(start, end), schedule.times(0, total)[start:end])
