import json
import math

import numpy as np
import pytest

from penstock.errors import UnknownName, UsageError
from penstock.forecasting import (
    METHODS,
    QUICK,
    Calendar,
    ForecastSettings,
    LoadSeries,
    SeasonalNaive,
    best,
    find_period,
    forecast_error,
    forecaster_from_json,
    held_out_error,
    lagged,
    predict,
    train,
)
from penstock.workloads import Curve, Diurnal, Sine, Square

SETTINGS = ForecastSettings(calendar=Calendar(day_s=1440.0))


def sampled(curve: Curve, steps: int, noise: float = 0.02, seed: int = 0) -> LoadSeries:
    off = noise * np.random.default_rng(seed).standard_normal(steps)
    values = (curve.rate_per_s(60.0 * i + 30.0) * (1 + float(off[i])) for i in range(steps))
    return LoadSeries(0.0, 60.0, tuple(values))


DAYS = sampled(Diurnal(100.0, 800.0, 1440.0), 10 * 24)
WAVES = sampled(Sine(100.0, 800.0, 900.0), 120)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_survives_json(method: str) -> None:
    learned = train(method, DAYS, SETTINGS)
    again = forecaster_from_json(json.loads(json.dumps(learned.to_json())))
    assert again == learned
    assert predict(again, DAYS) == predict(learned, DAYS)
    assert (learned.kind, learned.steps) == (method, 5)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_predicts_loads_and_none_from_too_little(method: str) -> None:
    learned = train(method, DAYS, SETTINGS)
    predicted = predict(learned, DAYS)
    assert predicted is not None
    assert len(predicted) == 5
    assert all(0 <= load < 1000 for load in predicted)
    assert predict(learned, DAYS.part(0, learned.lags - 1)) is None


@pytest.mark.parametrize("method", METHODS)
def test_every_method_beats_the_last_load_on_a_wave(method: str) -> None:
    naive = forecast_error(SeasonalNaive(1, 5), WAVES, 84)
    error = held_out_error(method, WAVES, SETTINGS)
    assert naive is not None
    assert error is not None
    assert error < 0.5 * naive


@pytest.mark.parametrize("method", METHODS)
def test_learning_again_gives_the_same(method: str) -> None:
    assert train(method, DAYS, SETTINGS) == train(method, DAYS, SETTINGS)


def test_the_network_has_the_published_shape() -> None:
    body = train("network", DAYS, SETTINGS).to_json()
    assert (len(body["hidden"]), len(body["hidden"][0]) - 1, len(body["output"])) == (24, 13, 5)


def test_the_best_is_the_one_with_the_least_held_out_error() -> None:
    chosen = best(DAYS, SETTINGS)
    assert set(chosen.errors) == set(METHODS)
    assert chosen.error == min(chosen.errors.values()) == chosen.errors[chosen.forecaster.kind]
    assert chosen.error < 0.06


def test_only_quick_methods_may_be_asked_for() -> None:
    assert set(best(WAVES, SETTINGS, QUICK).errors) == set(QUICK)


def test_methods_that_need_more_are_left_out() -> None:
    assert set(best(WAVES.part(0, 30), SETTINGS).errors) == {"seasonal"}
    with pytest.raises(UsageError, match="too short to forecast"):
        best(WAVES.part(0, 4), SETTINGS)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'linear'"):
        train("liner", DAYS)
    with pytest.raises(UnknownName):
        held_out_error("oracle", DAYS)


@pytest.mark.parametrize("body", [{"kind": "crystal ball"}, {}, {"kind": "linear"}, {"kind": "seasonal", "period": []}])
def test_a_broken_file_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        forecaster_from_json(body if "period" not in body else {**body, "steps": 5})


@pytest.mark.parametrize(
    ("curve", "period"), [(Sine(100.0, 800.0, 900.0), 15), (Square(100.0, 800.0, 600.0), 10)], ids=["sine", "square"]
)
def test_periods_are_found(curve: Curve, period: int) -> None:
    assert find_period(sampled(curve, 90), ForecastSettings(calendar=Calendar(day_s=1e9))) == period


def test_a_day_of_the_calendar_is_a_period() -> None:
    assert find_period(DAYS, SETTINGS) == 24


@pytest.mark.parametrize("values", [(5.0,) * 40, tuple(float(i) for i in range(40)), ()])
def test_where_there_is_no_period_the_last_load_is_repeated(values: tuple[float, ...]) -> None:
    assert find_period(LoadSeries(0.0, 60.0, values), ForecastSettings(calendar=Calendar(day_s=1e9))) == 1


def test_seasonal_repeats_the_last_period() -> None:
    series = LoadSeries(0.0, 60.0, (9.0, 1.0, 2.0, 3.0))
    assert predict(SeasonalNaive(3, 5), series) == (1.0, 2.0, 3.0, 1.0, 2.0)


def test_a_trend_is_continued_by_the_linear_method() -> None:
    rising = LoadSeries(0.0, 60.0, tuple(100.0 + 5 * i for i in range(40)))
    predicted = predict(train("linear", rising, ForecastSettings(lags=4, steps=3)), rising)
    assert predicted == pytest.approx((300.0, 305.0, 310.0), rel=0.01)


def test_a_load_that_never_changes_teaches_the_network_nothing() -> None:
    with pytest.raises(UsageError, match="never changes"):
        train("network", LoadSeries(0.0, 60.0, (5.0,) * 100), SETTINGS)


def test_stretches_and_what_follows_them() -> None:
    past, at_s, future = lagged(LoadSeries(100.0, 10.0, (1.0, 2.0, 3.0, 4.0, 5.0)), 2, 2)
    assert past.tolist() == [[1.0, 2.0], [2.0, 3.0]]
    assert at_s.tolist() == [120.0, 130.0]
    assert future.tolist() == [[3.0, 4.0], [4.0, 5.0]]


def test_errors_count_only_what_was_held_out() -> None:
    series = LoadSeries(0.0, 60.0, (1.0, 1.0, 100.0, 1.0, 1.0, 1.0, 1.0))
    assert forecast_error(SeasonalNaive(1, 1), series, 4) == 0.0
    assert forecast_error(SeasonalNaive(1, 1), series, 2) == pytest.approx(198 / 104)
    assert forecast_error(SeasonalNaive(1, 1), series, 7) is None


def test_the_calendar_knows_compressed_days() -> None:
    parts = Calendar(day_s=1440.0, start_s=1440.0).parts(np.array([0.0, 61.5, 1440.0 * 5 + 720.0]))
    assert parts.tolist() == [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [6.0, 12.0, 0.0]]
    assert not math.isnan(parts.sum())
