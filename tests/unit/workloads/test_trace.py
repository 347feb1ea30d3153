from datetime import datetime
from pathlib import Path

import pytest

from penstock.errors import InvalidModel, UsageError
from penstock.workloads import Schedule, Trace, read_trace


def written(folder: Path, *lines: str) -> Path:
    path = folder / "trace.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_trace_is_compressed_in_time_and_scaled_to_its_peak(tmp_path: Path) -> None:
    path = written(
        tmp_path, "timestamp,value", "2014-07-01 00:00:00,100", "2014-07-01 00:30:00,400", "2014-07-01 01:00:00,200"
    )
    trace = read_trace(path, compress=60, peak_per_s=800)
    assert trace.interval_s == 30
    assert trace.length_s == 90
    assert [trace.rate_per_s(at_s) for at_s in (0, 29.9, 30, 60, 89.9)] == [200, 200, 800, 400, 400]
    assert trace.rate_per_s(90) == 200, "it starts again after its end"
    assert Schedule(trace).events_until(90) == 30 * (200 + 800 + 400)


def test_iso_time_a_byte_order_mark_blank_lines_and_other_columns_are_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "\ufeffvalue, timestamp ,note",
        "5,2026-01-01T00:00:00Z,quiet",
        "",
        "10,2026-01-01T00:00:10+00:00,busy",
    )
    assert read_trace(path, compress=1, peak_per_s=10).rates_per_s == (5, 10)


def test_a_gap_is_bridged_between_its_neighbours(tmp_path: Path) -> None:
    lines = [f"2026-01-01 00:0{minute}:00,{value}" for minute, value in ((0, 10), (1, 10), (2, 10), (6, 40), (7, 40))]
    trace = read_trace(written(tmp_path, "timestamp,value", *lines), compress=1, peak_per_s=40)
    assert trace.interval_s == 60
    assert [trace.rate_per_s(at_s) for at_s in (179, 180, 270, 359.999, 360)] == pytest.approx(
        [10, 10, 25, 40, 40], abs=0.01
    )


def test_a_trace_can_begin_later(tmp_path: Path) -> None:
    lines = [f"2026-01-0{day},{day}" for day in range(1, 6)]
    path = written(tmp_path, "timestamp,value", *lines)
    trace = read_trace(path, compress=86400, peak_per_s=50, begin=datetime(2026, 1, 3))
    assert trace == Trace((0, 1, 2), (30, 40, 50), 1)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ((), "must begin with a line that names the columns"),
        (("2026-01-01,5", "2026-01-02,6"), "must begin with a line that names the columns"),
        (("timestamp,value",), "has 0 intervals; it needs at least 2"),
        (("timestamp,value", "2026-01-01,5"), "has 1 intervals"),
        (("timestamp,value", "2026-01-01,5", "yesterday,6"), "Line 3 .* timestamp 'yesterday'"),
        (("timestamp,value", "2026-01-01,5", "2026-01-02,many"), "Line 3 .* 'many', which is not a number"),
        (("timestamp,value", "2026-01-01,5", "2026-01-02,-1"), "Line 3 .* value -1"),
        (("timestamp,value", "2026-01-01,5", "2026-01-02,nan"), "Line 3 .* value nan"),
        (("timestamp,value", "2026-01-01,5", "", "2026-01-02"), "Line 4 .* has 1 columns"),
        (("timestamp,value", "2026-01-02,5", "2026-01-01,5"), "Line 3 .* goes back in time"),
        (("timestamp,value", "2026-01-02,5", "2026-01-02,5"), "Line 3 .* does not come after"),
        (("timestamp,value", "2026-01-01T00:00,5", "2026-01-02T00:00Z,5"), "Line 3 .* time zone"),
        (("timestamp,value", "2026-01-01,0", "2026-01-02,0"), "no events in it"),
        (("timestamp,value", '2026-01-01,"' + "x" * 140_000), "not CSV"),
    ],
)
def test_mistakes_in_the_file_are_told_in_one_sentence(tmp_path: Path, lines: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        read_trace(written(tmp_path, *lines), compress=1, peak_per_s=10)
    assert str(caught.value).endswith(".")


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no trace file '.*nowhere\.csv'"):
        read_trace(tmp_path / "nowhere.csv", 1, 1)
    with pytest.raises(UsageError, match="cannot be read"):
        read_trace(tmp_path, 1, 1)
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"timestamp,value\n\xff\xfe\x00,1\n")
    with pytest.raises(UsageError, match="not a text file"):
        read_trace(binary, 1, 1)


def test_begin_must_suit_the_time_zone_and_lie_within(tmp_path: Path) -> None:
    path = written(tmp_path, "timestamp,value", "2026-01-01,5", "2026-01-02,6")
    with pytest.raises(UsageError, match="time zone"):
        read_trace(path, 1, 1, datetime.fromisoformat("2026-01-01T00:00Z"))
    with pytest.raises(UsageError, match="has 0 intervals from 2027-01-01"):
        read_trace(path, 1, 1, datetime(2027, 1, 1))


@pytest.mark.parametrize(
    ("starts", "rates", "interval"),
    [((), (), 1), ((0, 1), (5,), 1), ((0, 0), (1, 1), 1), ((1, 2), (1, 1), 1), ((0, 1), (1, 1), 0), ((0,), (-1,), 1)],
)
def test_impossible_traces_are_refused(starts: tuple[float, ...], rates: tuple[float, ...], interval: float) -> None:
    with pytest.raises(InvalidModel):
        Trace(starts, rates, interval)
