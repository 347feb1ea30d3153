"""What a forecaster is, and how good one is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError
from penstock.forecasting.series import LoadSeries

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Calendar:
    """Weekday, hour and minute on a run's clock. A day lasts `day_s` (less than 86,400 where time is compressed).

    `start_s` is how long after midnight of a Monday the clock shows 0.
    """

    day_s: float = 86_400.0
    start_s: float = 0.0

    def parts(self, at_s: Floats) -> Floats:
        """Weekday (0 is Monday), hour and minute of each time, one row each."""
        days = (np.asarray(at_s, dtype=np.float64) + self.start_s) / self.day_s
        hours = (days % 1.0) * 24.0
        return np.stack([np.floor(days) % 7, np.floor(hours), np.floor((hours % 1.0) * 60.0)], axis=-1)


@dataclass(frozen=True, slots=True)
class ForecastSettings:
    """How far back forecasters look, how far ahead they see (in steps), and what time it is.

    The defaults are ELYSIUM's: the last ten minutes and the calendar (13 inputs), the next five minutes.
    """

    lags: int = 10
    steps: int = 5
    calendar: Calendar = field(default_factory=Calendar)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.lags < 1 or self.steps < 1:
            raise UsageError("A forecast needs at least 1 step to look back and 1 to look ahead.")


class Forecaster(Protocol):
    """Predicts the next `steps` loads from the last `lags`; a frozen value that uses numpy alone."""

    @property
    def kind(self) -> str:
        """The method's name, under which it is saved."""
        ...

    @property
    def lags(self) -> int:
        """Steps that it needs to see."""
        ...

    @property
    def steps(self) -> int:
        """Steps that it predicts."""
        ...

    def forecast(self, past: Floats, at_s: Floats) -> Floats:
        """One row of predictions for every row of `past`, which ends at the time in `at_s`."""
        ...

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        ...


def predict(forecaster: Forecaster, series: LoadSeries) -> tuple[float, ...] | None:
    """The load of each of the next steps, never negative; None while the series is too short for this forecaster."""
    if len(series.values) < forecaster.lags:
        return None
    past = np.array([series.values[-forecaster.lags :]])
    return tuple(float(value) for value in np.maximum(0.0, forecaster.forecast(past, np.array([series.end_s]))[0]))


def lagged(series: LoadSeries, lags: int, steps: int) -> tuple[Floats, Floats, Floats]:
    """Every stretch of `lags` loads, the time at which it ends, and the `steps` loads that follow it."""
    values = np.array(series.values, dtype=np.float64)
    rows = len(values) - lags - steps + 1
    if rows < 1:
        return np.empty((0, lags)), np.empty(0), np.empty((0, steps))
    view = np.lib.stride_tricks.sliding_window_view
    at_s: Floats = series.start_s + series.step_s * (lags + np.arange(rows, dtype=np.float64))
    return view(values[: len(values) - steps], lags), at_s, view(values[lags:], steps)


def forecast_error(forecaster: Forecaster, series: LoadSeries, begin: int) -> float | None:
    """All deviations over all loads, of every prediction whose steps all lie at or after step `begin`.

    None when there is no such prediction.
    """
    past, at_s, future = lagged(series, forecaster.lags, forecaster.steps)
    first = max(0, begin - forecaster.lags)
    if first >= len(past):
        return None
    predicted = np.maximum(0.0, forecaster.forecast(past[first:], at_s[first:]))
    total = float(future[first:].sum())
    return float(np.abs(predicted - future[first:]).sum()) / total if total > 0 else 0.0


def saved(body: Mapping[str, Any], *names: str) -> list[Any]:
    """Entries of a saved forecaster, or `UsageError`."""
    missing = [name for name in names if name not in body]
    if missing:
        raise UsageError(f"The saved forecaster has no '{missing[0]}'; remove it and learn it again.")
    return [body[name] for name in names]
