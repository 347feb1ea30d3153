"""Figures are written the way people write them."""

import pytest

from penstock.evaluation import figures


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (0.81, "0.81"),
        (0.004, "0.004"),
        (12.34, "12.3"),
        (2310.0, "2,310"),
        (1.25e6, "1.25 M"),
        (7, "7"),
    ],
)
def test_plain(value: float | None, text: str) -> None:
    assert figures.plain(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0 s"),
        (0.0002, "200 µs"),
        (0.085, "85 ms"),
        (2.4, "2.4 s"),
        (76.0, "76 s"),
        (720.0, "12 min"),
        (11520.0, "3.2 h"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    assert figures.seconds(value) == text


def test_clock_and_counts() -> None:
    assert [figures.clock(at_s) for at_s in (45.0, 750.0, 3725.0)] == ["0:45", "12:30", "1:02:05"]
    assert figures.counted(1, "run") == "1 run"
    assert figures.counted(1200, "run") == "1,200 runs"
    assert figures.percent(None) == figures.ratio(None) == "-"
