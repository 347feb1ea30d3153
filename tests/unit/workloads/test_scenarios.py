import pytest

from penstock.errors import UnknownName
from penstock.workloads import Constant, Step, application, scenario


def test_the_highest_load_decides() -> None:
    app = application("fission-1")
    curve = Step(100.0, 800.0, 50.0)
    assert set(scenario("ss1", app, curve, 100.0).values()) == {1}
    assert scenario("ss2", app, curve, 100.0) == {
        "source": 1,
        "stop-words": 1,
        "language": 3,
        "bag-of-words": 8,
        "store": 1,
    }
    assert scenario("ss3", app, curve, 100.0)["bag-of-words"] == 4
    assert scenario("ss2", app, curve, 50.0)["bag-of-words"] == 1


def test_replicas_stay_within_bounds() -> None:
    app = application("fission-1")
    assert scenario("ss2", app, Constant(1e6), 10.0)["bag-of-words"] == 32


def test_other_scenarios_are_not_known() -> None:
    with pytest.raises(UnknownName, match="ss4"):
        scenario("ss4", application("fission-1"), Constant(1.0), 10.0)
