"""How well each method forecasts loads: the next five minutes from the last ten (ELYSIUM's Input Load Profiler).

Every method learns from the first 70 % of a load and is judged by the rest, as published; the error is the sum of all
deviations over the sum of all loads. The publication reports none, so there is nothing to compare ours with but the
simplest forecast, that nothing changes. The recorded tweets it replays, an hour a minute, are not public; the trace
here is generated: days with random bursts.
"""

from collections.abc import Mapping
from statistics import fmean

from penstock.evaluation.papers.elysium_runs import T1, Setting, curve
from penstock.evaluation.papers.experiment import Experiment, Row
from penstock.forecasting import (
    METHODS,
    TRAINING,
    Calendar,
    ForecastSettings,
    LoadSeries,
    SeasonalNaive,
    forecast_error,
    held_out_error,
)
from penstock.workloads import Curve, parse_load

_DAYS = 28
_STEP_S = 60.0
_DAY_S = 86_400.0
_COMPRESSED_DAY_S = 1_440.0
_SEED = 1


def errors(quick: bool) -> list[Row]:
    """The held-out error of every method on every load over four weeks; quick: on the compressed trace alone."""
    return [
        row
        for name, (load, day_s) in _loads().items()
        if day_s == _COMPRESSED_DAY_S or not quick
        for row in _errors(name, load, day_s)
    ]


def _loads() -> Mapping[str, tuple[Curve, float]]:
    """Each load with the length of its day."""
    diurnal = parse_load(f"diurnal:day={_DAY_S:g},noise=0.05,seed={_SEED}", 100.0, 800.0, 7 * _DAY_S)
    tweets = parse_load(f"twitter:period={_DAY_S:g},noise=0.05,seed={_SEED}", 100.0, 800.0, _DAY_S)
    return {
        "diurnal": (diurnal, _DAY_S),
        "tweets by day": (tweets, _DAY_S),
        "trace at 60:1": (curve(Setting(T1, "twitter"), _SEED), _COMPRESSED_DAY_S),
    }


def _errors(name: str, load: Curve, day_s: float) -> list[Row]:
    series = sampled(load, round(_DAYS * day_s / _STEP_S))
    settings = ForecastSettings(calendar=Calendar(day_s))
    cut = int(TRAINING * len(series.values))
    found = {"nothing changes": forecast_error(SeasonalNaive(1, settings.steps), series, cut)}
    found |= {method: held_out_error(method, series, settings) for method in METHODS}
    best = min(error for error in found.values() if error is not None)
    return [
        Row(
            f"{name}, {method}: error %",
            None,
            None if error is None else 100.0 * error,
            "the least" if error == best else "",
        )
        for method, error in found.items()
    ]


def sampled(load: Curve, steps: int) -> LoadSeries:
    """The mean load of every minute from time 0 on."""
    means = (fmean(load.rate_per_s(_STEP_S * step + second) for second in range(5, 60, 10)) for step in range(steps))
    return LoadSeries(0.0, _STEP_S, tuple(means))


EXPERIMENTS = (Experiment("forecasting-errors", "held-out error of every method of forecasting a load", errors),)
