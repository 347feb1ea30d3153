"""The load source in real queries."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.spark.source import LoadOptions, encode_schedule, load_source, read_events
from penstock.workloads import Schedule, Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Eventually = Callable[[Callable[[], bool]], bool]

# Long past: everything is due, so that no test depends on the clock.
EPOCH_S = 1_700_000_000.5
DURATION_S = 8.0
SEED = 11
COLUMNS = ["event_id", "event_time", "author", "text"]


SCHEDULE = Schedule(Step(low_per_s=200.0, high_per_s=900.0, step_s=4.0))
EVENTS = SCHEDULE.events_until(DURATION_S)


def expected(start: int, end: int) -> list[dict[str, Any]]:
    options = LoadOptions(encode_schedule(SCHEDULE), EPOCH_S, "text", SEED)
    rows: list[dict[str, Any]] = pa.Table.from_batches(read_events(options, start, end)).to_pylist()
    return rows


def run(spark: "SparkSession", folder: Path, duration_s: float, partitions: int, most: int | None) -> None:
    """Process all that is due by `duration_s` and end."""
    load = load_source(
        SCHEDULE, "text", SEED, EPOCH_S, partitions=partitions, max_rows_per_batch=most, duration_s=duration_s
    )
    writer = load(spark).writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "out"))
    query.awaitTermination()
    assert query.exception() is None


def results(spark: "SparkSession", folder: Path) -> list[dict[str, Any]]:
    table: pa.Table = spark.read.parquet(str(folder / "out")).orderBy("event_id").toArrow()
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def test_every_event_comes_once_with_its_time_and_content(spark: "SparkSession", tmp_path: Path) -> None:
    run(spark, tmp_path, DURATION_S, partitions=3, most=None)
    rows = results(spark, tmp_path)
    assert EVENTS == 4400
    assert rows == expected(0, EVENTS)
    assert list(rows[0]) == COLUMNS


def test_a_restart_goes_on_where_the_query_stopped(spark: "SparkSession", tmp_path: Path) -> None:
    half = SCHEDULE.events_until(DURATION_S / 2)
    run(spark, tmp_path, DURATION_S / 2, partitions=1, most=500)
    assert results(spark, tmp_path) == expected(0, half)
    run(spark, tmp_path, DURATION_S, partitions=2, most=1000)
    assert results(spark, tmp_path) == expected(0, EVENTS)


def test_a_batch_that_was_not_committed_is_repeated_alike(spark: "SparkSession", tmp_path: Path) -> None:
    run(spark, tmp_path, DURATION_S, partitions=2, most=1500)
    before = results(spark, tmp_path)
    # As after a crash between the last batch's output and its commit, with the output lost.
    last = max(int(file.name) for file in (tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    for folder in (tmp_path / "checkpoint" / "commits", tmp_path / "out" / "_spark_metadata"):
        for name in (f"{last}", f".{last}.crc"):
            (folder / name).unlink()
    assert len(results(spark, tmp_path)) < len(before)
    run(spark, tmp_path, DURATION_S, partitions=1, most=1500)
    assert results(spark, tmp_path) == before


def test_the_backlog_is_seen_while_the_query_is_behind(
    spark: "SparkSession", tmp_path: Path, eventually: Eventually
) -> None:
    load = load_source(SCHEDULE, "numbers", SEED, EPOCH_S, max_rows_per_batch=1000, duration_s=DURATION_S)
    writer = load(spark).writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.start()
    try:
        assert eventually(lambda: [batch for batch in processed(query) if batch[0] == EVENTS] != [])
        assert sorted(set(processed(query))) == [(1000 * n, EVENTS) for n in range(1, 5)] + [(EVENTS, EVENTS)]
    finally:
        query.stop()


def processed(query: Any) -> list[tuple[int, int]]:
    """Of every batch the events processed after it and the events due."""
    sources = [progress["sources"][0] for progress in query.recentProgress]
    return [
        (json.loads(source["endOffset"])["events"], json.loads(source["latestOffset"])["events"]) for source in sources
    ]
