import pytest

from penstock.forecasting import ErrorTrack


def test_predictions_are_compared_when_they_come_true() -> None:
    track = ErrorTrack().with_predictions(5, (100.0, 120.0))
    assert track.error is None
    track = track.with_loads(0, (1.0, 1.0, 1.0, 1.0, 1.0, 80.0))
    assert track.pending == ((6, 120.0),)
    assert track.error == pytest.approx(20 / 80)
    assert track.with_loads(6, (120.0,)).error == pytest.approx(20 / 200)


def test_only_the_last_predictions_count() -> None:
    track = ErrorTrack().with_predictions(0, (200.0,) * 30).with_loads(0, (100.0,) * 30)
    assert track.error == 1.0
    assert len(track.outcomes) == 20
    good = track.with_predictions(30, (100.0,) * 20).with_loads(30, (100.0,) * 20)
    assert good.error == 0.0


def test_what_is_too_old_to_be_known_is_dropped() -> None:
    track = ErrorTrack().with_predictions(1, (5.0,)).with_loads(10, (5.0,))
    assert track == ErrorTrack()


def test_a_load_of_nothing() -> None:
    assert ErrorTrack(outcomes=((0.0, 0.0),)).error == 0.0
    assert ErrorTrack(outcomes=((3.0, 0.0),)).error == 1.0
