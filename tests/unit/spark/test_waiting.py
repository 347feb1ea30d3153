"""A declared service time is read in milliseconds, and nonsense is refused."""

import pytest

from penstock.errors import UsageError
from penstock.spark.applications import waiting
from penstock.spark.applications.registry import spark_pipeline
from penstock.spark.applications.waiting import served, service_s


def test_a_service_time_is_given_in_milliseconds() -> None:
    assert service_s({"service_ms": "2.5"}) == 0.0025
    assert service_s({}) == 0


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "soon"])
@pytest.mark.parametrize("application", ["top-words", "sentiment"])
def test_what_is_no_service_time_is_refused(application: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"service_ms={text}"):
        spark_pipeline(f"{application}:service_ms={text}")


class Clock:
    """Time that passes only where it is waited for or let go by."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.mark.parametrize(("working_s", "ends_s"), [(0.0, 0.5), (0.2, 0.5), (0.7, 0.7)])
def test_what_an_operator_computes_is_part_of_its_service_time(
    monkeypatch: pytest.MonkeyPatch, working_s: float, ends_s: float
) -> None:
    clock = Clock()
    monkeypatch.setattr(waiting, "time", clock)
    with served(iter("abcde"), 0.1) as rows:
        assert rows == list("abcde")
        clock.sleep(working_s)
    assert clock.now_s == pytest.approx(ends_s)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("scale=0", "0 makes no sense here; it must be above 0."),
        ("scale=nan", "nan makes no sense here; it must be above 0."),
        ("scale=slow", "'scale=slow' is not a number; "),
        ("scale=1,service_ms=4", "'service_ms' for the splitter alone or 'scale' for all operators, not both."),
    ],
)
def test_what_is_no_scale_is_refused(parameters: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        spark_pipeline(f"top-words:{parameters}")
