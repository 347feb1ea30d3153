"""Seasonal naive: the load will be what it was one period ago."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.forecasting.base import Floats, ForecastSettings, saved
from penstock.forecasting.series import LoadSeries

_RELATED = 0.5
"""Least correlation of a load with itself one period ago for that period to be believed."""


@dataclass(frozen=True, slots=True)
class SeasonalNaive:
    """Repeats the last `period` steps. A period of 1 repeats the last load."""

    period: int
    steps: int

    @property
    def kind(self) -> str:
        """The method's name."""
        return "seasonal"

    @property
    def lags(self) -> int:
        """Steps that it needs to see."""
        return self.period

    def forecast(self, past: Floats, at_s: Floats) -> Floats:
        """What was one period before."""
        return past[:, [step % self.period - self.period for step in range(self.steps)]]

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        return {"kind": self.kind, "period": self.period, "steps": self.steps}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "SeasonalNaive":
        """The forecaster that was saved."""
        period, steps = saved(body, "period", "steps")
        return cls(int(period), int(steps))


def train_seasonal(series: LoadSeries, settings: ForecastSettings) -> SeasonalNaive:
    """With the period of the series itself, or of the calendar where there are two such periods; else 1."""
    return SeasonalNaive(find_period(series, settings), settings.steps)


def find_period(series: LoadSeries, settings: ForecastSettings) -> int:
    """The number of steps after which the load is most like itself, at most half the series; 1 if there is none."""
    values = np.array(series.values, dtype=np.float64)
    candidates = set(_peaks(values))
    for days in (1, 7):
        steps = round(days * settings.calendar.day_s / series.step_s)
        if 1 < steps <= len(values) // 2:
            candidates.add(steps)
    related = {steps: _correlation(values, steps) for steps in sorted(candidates)}
    believed = {steps: value for steps, value in related.items() if value >= _RELATED}
    # Of periods that are about equally good the shortest needs the least history.
    best = max(believed.values(), default=0.0)
    return min((steps for steps, value in believed.items() if value >= best - 0.02), default=1)


def _peaks(values: Floats) -> list[int]:
    """Distances at which the correlation of the series with itself has a peak, beyond its first dip."""
    most = len(values) // 2
    if most < 4 or np.ptp(values) == 0:
        return []
    centred = values - values.mean()
    size = 1 << (2 * len(values) - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    related = np.fft.irfft(spectrum * np.conj(spectrum), size)[: most + 1]
    related = related / np.arange(len(values), len(values) - most - 1, -1)
    below = np.flatnonzero(related < 0)
    if not below.size:
        return []
    first = int(below[0])
    inner = np.arange(max(first, 1), most)
    return [int(i) for i in inner if related[i] >= related[i - 1] and related[i] >= related[i + 1] and related[i] > 0]


def _correlation(values: Floats, steps: int) -> float:
    early, late = values[:-steps], values[steps:]
    if np.ptp(early) == 0 or np.ptp(late) == 0:
        return 0.0
    return float(np.corrcoef(early, late)[0, 1])
