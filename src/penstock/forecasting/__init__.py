"""Forecasts of input loads: several methods behind one interface, and the best of them on held-out data."""

from penstock.forecasting.base import (
    Calendar,
    Forecaster,
    ForecastSettings,
    forecast_error,
    lagged,
    predict,
)
from penstock.forecasting.boosting import BoostedTrees
from penstock.forecasting.linear import Autoregression
from penstock.forecasting.network import LoadNetwork
from penstock.forecasting.seasonal import SeasonalNaive, find_period
from penstock.forecasting.selection import (
    METHODS,
    QUICK,
    TRAINING,
    Chosen,
    best,
    forecaster_from_json,
    held_out_error,
    train,
)
from penstock.forecasting.series import LoadHistory, LoadSeries
from penstock.forecasting.tracking import ErrorTrack

__all__ = [
    "METHODS",
    "QUICK",
    "TRAINING",
    "Autoregression",
    "BoostedTrees",
    "Calendar",
    "Chosen",
    "ErrorTrack",
    "ForecastSettings",
    "Forecaster",
    "LoadHistory",
    "LoadNetwork",
    "LoadSeries",
    "SeasonalNaive",
    "best",
    "find_period",
    "forecast_error",
    "forecaster_from_json",
    "held_out_error",
    "lagged",
    "predict",
    "train",
]
