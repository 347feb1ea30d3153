"""The load source as Spark's driver and workers call it."""

import pickle

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from penstock.errors import UnknownName, UsageError
from penstock.spark.source import (
    LoadDataSource,
    LoadOptions,
    LoadStreamReader,
    decode_schedule,
    encode_schedule,
    read_events,
)
from penstock.workloads import Schedule, Step

EPOCH_S = 1_700_000_000.25


SCHEDULE = Schedule(Step(low_per_s=100.0, high_per_s=300.0, step_s=60.0))
ENCODED = encode_schedule(SCHEDULE)


def at(monkeypatch: pytest.MonkeyPatch, at_s: float) -> None:
    """Let the source see the schedule's time `at_s` on the wall clock."""
    monkeypatch.setattr("penstock.spark.source.time.time", lambda: EPOCH_S + at_s)


def test_options_survive_the_way_through_spark() -> None:
    options = LoadOptions(ENCODED, EPOCH_S, "text", 5, 3, 1000, 12.5)
    assert LoadOptions.parse(options.texts()) == options
    assert LoadOptions.parse(LoadOptions(ENCODED, EPOCH_S).texts()) == LoadOptions(ENCODED, EPOCH_S)
    assert decode_schedule(ENCODED) == SCHEDULE


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UsageError, match="needs the option 'epoch_s'"):
        LoadOptions.parse({"schedule": ENCODED})
    with pytest.raises(UnknownName, match="no payload 'txt'"):
        LoadOptions(ENCODED, EPOCH_S, "txt")
    with pytest.raises(UsageError, match="0 partitions"):
        LoadOptions(ENCODED, EPOCH_S, partitions=0)
    with pytest.raises(UsageError, match="max_rows_per_batch is 0"):
        LoadOptions(ENCODED, EPOCH_S, max_rows_per_batch=0)


def test_events_are_offered_when_they_are_due(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = LoadStreamReader(LoadOptions(ENCODED, EPOCH_S, duration_s=70.0))
    start = reader.initialOffset()
    assert start == {"events": 0}
    for at_s, due in ((-5.0, 0), (1.0, 100), (60.0, 6000), (61.0, 6300), (70.0, 9000), (500.0, 9000)):
        at(monkeypatch, at_s)
        assert reader.latestOffset(start, ReadAllAvailable()) == {"events": due}
        assert reader.reportLatestOffset() == {"events": due}


def test_a_limit_holds_back_rows_and_shows_the_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = LoadStreamReader(LoadOptions(ENCODED, EPOCH_S, max_rows_per_batch=250))
    at(monkeypatch, 10.0)
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(250)
    assert reader.latestOffset({"events": 700}, limit) == {"events": 950}
    assert reader.latestOffset({"events": 950}, limit) == {"events": 1000}
    assert reader.latestOffset({"events": 700}, ReadAllAvailable()) == {"events": 1000}
    assert reader.reportLatestOffset() == {"events": 1000}


def test_a_clock_that_is_set_back_takes_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = LoadStreamReader(LoadOptions(ENCODED, EPOCH_S))
    at(monkeypatch, 3.0)
    assert reader.latestOffset({"events": 500}, ReadAllAvailable()) == {"events": 500}


def test_available_now_ends_with_what_was_due_then(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = LoadStreamReader(LoadOptions(ENCODED, EPOCH_S))
    at(monkeypatch, 3.0)
    reader.prepareForTriggerAvailableNow()
    at(monkeypatch, 9.0)
    assert reader.latestOffset({"events": 0}, ReadAllAvailable()) == {"events": 300}


@given(start=st.integers(0, 10**9), count=st.integers(0, 1000), parts=st.integers(1, 12))
@settings(deadline=None, max_examples=100)
def test_partitions_hold_every_event_once_in_equal_parts(start: int, count: int, parts: int) -> None:
    reader = LoadStreamReader(LoadOptions(ENCODED, EPOCH_S, partitions=parts))
    ranges = reader.partitions({"events": start}, {"events": start + count})
    events = [event for part in ranges for event in range(part.start, part.end)]
    assert events == list(range(start, start + count))
    assert len(ranges) == min(parts, count)
    sizes = [part.end - part.start for part in ranges]
    assert max(sizes, default=0) - min(sizes, default=0) <= 1


def test_a_reader_reads_the_same_after_it_has_travelled() -> None:
    reader = LoadStreamReader(LoadOptions(ENCODED, EPOCH_S, "text", seed=3))
    (part,) = reader.partitions({"events": 40}, {"events": 90})
    there = pickle.loads(pickle.dumps((reader, part)))
    assert list(there[0].read(there[1])) == list(reader.read(part))


def test_event_times_are_the_scheduled_ones_in_every_chunk() -> None:
    options = LoadOptions(ENCODED, EPOCH_S, "numbers")
    table = pa.Table.from_batches(read_events(options, 100, 20_100))
    assert table["event_id"].to_pylist() == list(range(100, 20_100))
    times_us = table["event_time"].cast(pa.int64()).to_numpy()
    assert times_us == pytest.approx((EPOCH_S + SCHEDULE.times(100, 20_100)) * 1e6, abs=1)
    again = pa.Table.from_batches(read_events(options, 15_000, 15_500))
    assert table.slice(14_900, 500).equals(again)


def test_the_source_tells_its_columns() -> None:
    columns = LoadDataSource(LoadOptions(ENCODED, EPOCH_S).texts()).schema()
    assert columns == "event_id BIGINT, event_time TIMESTAMP, key BIGINT, value DOUBLE"
