"""A declared service time is read in milliseconds, and nonsense is refused."""

import pytest

from penstock.errors import UsageError
from penstock.spark.applications.registry import spark_pipeline
from penstock.spark.applications.waiting import service_s


def test_a_service_time_is_given_in_milliseconds() -> None:
    assert service_s({"service_ms": "2.5"}) == 0.0025
    assert service_s({}) == 0


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "soon"])
@pytest.mark.parametrize("application", ["top-words", "sentiment"])
def test_what_is_no_service_time_is_refused(application: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"service_ms={text}"):
        spark_pipeline(f"{application}:service_ms={text}")
