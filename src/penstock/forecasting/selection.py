"""The forecasters that there are, and the one that is best on held-out data."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.errors import UnknownName, UsageError
from penstock.forecasting.base import Forecaster, ForecastSettings, forecast_error
from penstock.forecasting.boosting import BoostedTrees, train_boosting
from penstock.forecasting.linear import Autoregression, train_linear
from penstock.forecasting.network import LoadNetwork, train_network
from penstock.forecasting.seasonal import SeasonalNaive, train_seasonal
from penstock.forecasting.series import LoadSeries

Train: TypeAlias = Callable[[LoadSeries, ForecastSettings], Forecaster]

METHODS: Mapping[str, Train] = {
    "seasonal": train_seasonal,
    "linear": train_linear,
    "network": train_network,
    "boosting": train_boosting,
}
"""Every method by name, the simplest first."""

QUICK: tuple[str, ...] = ("seasonal", "linear")
"""Methods that learn within milliseconds, for use while an application runs."""

TRAINING = 0.7
"""The part of a series from which methods learn before they are compared on the rest, as in ELYSIUM."""

_READERS: Mapping[str, Callable[[Mapping[str, Any]], Forecaster]] = {
    "seasonal": SeasonalNaive.from_json,
    "linear": Autoregression.from_json,
    "network": LoadNetwork.from_json,
    "boosting": BoostedTrees.from_json,
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The best forecaster, learned from the whole series, the held-out error of every method that was tried, and the
    length of the series' steps.

    `recent` are the last loads of the series, as many as the forecaster needs, where a run goes on from there.
    """

    forecaster: Forecaster
    errors: Mapping[str, float]
    step_s: float
    recent: tuple[float, ...] = ()

    @property
    def error(self) -> float:
        """The held-out error of the chosen method."""
        return self.errors[self.forecaster.kind]


def train(method: str, series: LoadSeries, settings: ForecastSettings | None = None) -> Forecaster:
    """A forecaster of that method; raises `UnknownName` for an unknown one, `UsageError` for a series too short."""
    if method not in METHODS:
        raise UnknownName.of("forecasting method", method, METHODS)
    return METHODS[method](series, settings or ForecastSettings())


def held_out_error(method: str, series: LoadSeries, settings: ForecastSettings | None = None) -> float | None:
    """The relative error on the last 30 % of the series after learning from the first 70 %; None if it is too short."""
    cut = int(TRAINING * len(series.values))
    try:
        learned = train(method, series.part(0, cut), settings)
    except UnknownName:
        raise
    except UsageError:
        return None
    return forecast_error(learned, series, cut)


def best(
    series: LoadSeries, settings: ForecastSettings | None = None, methods: Iterable[str] = tuple(METHODS)
) -> Chosen:
    """The method with the least error on held-out data, then learned from all of it.

    Raises `UsageError` when the series is too short for every method.
    """
    tried = {method: held_out_error(method, series, settings) for method in methods}
    errors = {method: error for method, error in tried.items() if error is not None}
    if not errors:
        raise UsageError(f"A load of {len(series.values)} steps is too short to forecast from; observe for longer.")
    method = min(errors, key=errors.__getitem__)
    return Chosen(train(method, series, settings), errors, series.step_s)


def forecaster_from_json(body: Mapping[str, Any]) -> Forecaster:
    """The forecaster that was saved, or `UsageError`."""
    kind = str(body.get("kind"))
    if kind not in _READERS:
        raise UsageError(f"A saved forecaster is of unknown kind '{kind}'; remove it and learn it again.")
    try:
        return _READERS[kind](body)
    except (TypeError, ValueError):
        raise UsageError(f"The saved {kind} forecaster is broken; remove it and learn it again.") from None
