"""Percentiles of a whole run, from the percentiles of its windows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.model import Latency

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WeightedLatency:
    """The latency of one window and the number of events it speaks for."""

    latency: Latency
    events: float


def mean_s(windows: Sequence[WeightedLatency]) -> float | None:
    """Mean latency over all events; None when no window has any."""
    events = sum(window.events for window in windows)
    if events <= 0:
        return None
    return sum(window.latency.mean_s * window.events for window in windows) / events


def percentile_s(windows: Sequence[WeightedLatency], quantile: float) -> float | None:
    """The latency that the share `quantile` of all events stayed within; None when no window has any events.

    Each window's events are spread evenly from 0 to its p50, from there to its p95 and to its p99, and the last
    hundredth lies at its p99; the run's distribution is the mixture of the windows', weighted by their events.
    When all windows agree this gives their p50, p95 and p99 back, and never more than the greatest p99.
    """
    pieces = [piece for window in windows if window.events > 0 for piece in _pieces(window)]
    if not pieces:
        return None
    lower, upper, mass = (np.array(column, dtype=float) for column in zip(*pieces, strict=True))
    return _inverse(lower, upper, mass / mass.sum(), quantile)


def _pieces(window: WeightedLatency) -> Iterable[tuple[float, float, float]]:
    """Stretches (from, to, events) over which a window's events are spread evenly."""
    p50 = window.latency.p50_s
    p95 = max(p50, window.latency.p95_s)
    p99 = max(p95, window.latency.p99_s)
    for lower, upper, share in ((0.0, p50, 0.50), (p50, p95, 0.45), (p95, p99, 0.04), (p99, p99, 0.01)):
        yield lower, upper, share * window.events


def _inverse(lower: Floats, upper: Floats, mass: Floats, quantile: float) -> float:
    """The smallest value with at least `quantile` of the mass at or below it.

    Between two neighbouring ends of pieces the mass below a value grows linearly, so the right pair of ends is
    found by bisection and the rest by interpolation, which keeps the result exact.
    """
    width = np.where(upper > lower, upper - lower, 1.0)

    def below(value: float) -> float:
        return float((mass * np.where(upper < value, 1.0, np.clip(value - lower, 0.0, width) / width)).sum())

    def at_or_below(value: float) -> float:
        return below(value) + float(mass[(lower == value) & (upper == value)].sum())

    ends = np.unique(np.concatenate([lower, upper]))
    wanted = quantile - 1e-12
    first, last = 0, len(ends) - 1
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if at_or_below(float(ends[middle])) >= wanted else (middle + 1, last)
    end = float(ends[first])
    if first == 0 or below(end) <= wanted:
        return end
    start = float(ends[first - 1])
    from_share, to_share = at_or_below(start), below(end)
    return start + (end - start) * min(1.0, (quantile - from_share) / (to_share - from_share))
