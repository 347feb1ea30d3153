import pytest

from penstock.errors import InvalidModel
from penstock.forecasting import LoadHistory, LoadSeries
from penstock.model import ApplicationObservation, Observation


def observed(at_s: float, load: float | None, window_s: float = 10.0) -> Observation:
    return Observation(at_s, window_s, {"app": ApplicationObservation({}, input_per_s=load)}, {})


def test_observations_become_means_of_steps() -> None:
    loads = [10.0, 20.0, 30.0, 10.0, 20.0, 30.0, 60.0]
    series = LoadSeries.of([observed(10.0 * (i + 1), load) for i, load in enumerate(loads)], "app", 30.0)
    # The third step is still in progress.
    assert series == LoadSeries(0.0, 30.0, (20.0, 20.0))
    assert series.end_s == 60.0


def test_longer_windows_count_more() -> None:
    history = LoadHistory(60.0)
    for observation in (observed(10.0, 100.0, 10.0), observed(60.0, 40.0, 50.0), observed(70.0, 0.0)):
        history = history.with_observation(observation, "app")
    assert history.values == (50.0,)


def test_gaps_keep_the_last_load() -> None:
    series = LoadSeries.of([observed(10.0, 5.0), observed(250.0, 7.0), observed(310.0, 9.0)], "app", 60.0)
    assert series.values == (5.0, 5.0, 5.0, 5.0, 7.0)


def test_unknown_loads_and_applications_are_passed_over() -> None:
    history = LoadHistory(60.0).with_observation(observed(10.0, None), "app")
    assert history.with_observation(observed(20.0, 3.0), "other") == LoadHistory(60.0)


def test_a_history_keeps_only_so_much() -> None:
    history = LoadHistory(10.0, most=3)
    for i in range(6):
        history = history.with_observation(observed(10.0 * (i + 1), float(i)), "app")
    assert history.values == (2.0, 3.0, 4.0)
    assert history.series.start_s == 20.0
    assert history.end == 5


def test_loads_from_before_the_run_are_gone_on_with() -> None:
    before = LoadHistory(60.0, -3, (1.0, 2.0, 3.0))
    after = before.with_observation(observed(10.0, 9.0), "app").with_observation(observed(70.0, 9.0), "app")
    assert after.series == LoadSeries(-180.0, 60.0, (1.0, 2.0, 3.0, 9.0))


def test_parts_keep_their_place_in_time() -> None:
    assert LoadSeries(100.0, 10.0, (1.0, 2.0, 3.0, 4.0)).part(1, 3) == LoadSeries(110.0, 10.0, (2.0, 3.0))


def test_a_step_has_a_length() -> None:
    with pytest.raises(InvalidModel):
        LoadSeries(0.0, 0.0)
