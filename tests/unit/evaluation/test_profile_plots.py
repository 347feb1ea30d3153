import pytest

from penstock.evaluation.profile_plots import UsageFit, percent, usage_error


def fit(of: str, measured: float, estimated: float) -> UsageFit:
    return UsageFit.over(of, [(10.0, measured, estimated), (20.0, measured, estimated)])


def test_what_is_hardly_used_has_no_error() -> None:
    assert fit("splitter", 0.5, 0.4).error == pytest.approx(0.2)
    idle = fit("counter", 0.005, 0.010)
    assert idle.error is None
    assert percent(idle.error) == "-"


def test_operators_count_by_what_they_do() -> None:
    fits = [fit("splitter", 0.9, 0.9), fit("counter", 0.1, 0.2), fit("source", 0.001, 0.5), fit("a segment", 1.0, 9.0)]
    assert usage_error(fits, {"source", "splitter", "counter"}) == pytest.approx(0.1)
    assert usage_error(fits, {"source"}) is None
