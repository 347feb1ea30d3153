"""Pipelines on a real Spark: what they compute, how they are cut, changed, stopped and resumed."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import ActionFailed, InvalidModel, UsageError
from penstock.spark import Pipeline, RunningPipeline, RunningSegment, RunOptions
from penstock.spark.channels import BatchFolders
from penstock.spark.checkpoints import is_clean, state_partitions
from penstock.spark.graph import SourceNode
from penstock.spark.markers import Mark, Side, marks_in
from penstock.spark.payloads import payload
from penstock.workloads import Constant, Schedule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Eventually = Callable[[Callable[[], bool]], bool]

EVENTS = 600
FILES = 3
SCHEMA = "event_id bigint, event_time timestamp, key bigint"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 600 events, one per second, in three files: event n has the key n modulo 5."""
    folder = tmp_path_factory.mktemp("events")
    for part in np.array_split(np.arange(EVENTS), FILES):
        times = pa.array([BEGIN + timedelta(seconds=int(number)) for number in part], pa.timestamp("us", tz="UTC"))
        table = pa.table({"event_id": part, "event_time": times, "key": part % 5})
        pq.write_table(table, folder / f"{part[0]:04d}.parquet")
    return folder


def reader(folder: Path) -> "Callable[[SparkSession], DataFrame]":
    """Opens the events as a stream of one file per batch."""

    def read(spark: "SparkSession") -> "DataFrame":
        return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))

    return read


def same(df: Any) -> Any:
    return df


def run_to_end(
    spark: "SparkSession", pipeline: Pipeline, execution: str, folder: Path, **parallelism: int
) -> RunningPipeline:
    running = RunningPipeline(spark, pipeline, execution, folder, parallelism)
    running.run_to_end()
    assert not any(segment.running for segment in running.segments.values())
    return running


def rows(folder: Path, sink: str = "out") -> list[dict[str, Any]]:
    """All that a sink of format "batches" has kept."""
    return [
        row for batch in sorted((folder / "sinks" / sink).glob("batch-*")) for row in pq.read_table(batch).to_pylist()
    ]


def plan_of(running: RunningPipeline, segment: str) -> str:
    query: Any = running.segments[segment].query
    return str(query._jsq.streamingQuery().lastExecution().executedPlan().toString())


def exchanges(plan: str) -> tuple[list[int], list[int]]:
    """The partitions of the exchanges in front of stateless and of stateful operators, downstream first."""
    stateless = re.findall(r"Exchange hashpartitioning\(.*?, (\d+)\), REPARTITION_BY", plan)
    stateful = re.findall(r"Exchange hashpartitioning\(.*?, (\d+)\), REQUIRED_BY_STATEFUL", plan)
    return [int(number) for number in stateless], [int(number) for number in stateful]


@pytest.fixture(scope="class")
def running(
    spark: "SparkSession", events: Path, tmp_path_factory: pytest.TempPathFactory, eventually: Eventually
) -> Iterator[RunningPipeline]:
    pipeline = Pipeline("marks")
    pipeline.source("in", load=reader(events))
    pipeline.operator("wide", after="in", parallelism=(1, 8))(lambda df: df.where("key != 4"))
    pipeline.operator("chained", after="wide")(lambda df: df.where("event_id >= 10"))
    pipeline.operator("narrow", after="chained", parallelism=(1, 2))(same)
    pipeline.operator("fixed", after="narrow", parallelism=3)(same)
    pipeline.operator("count", after="fixed", key="key", stateful=True, parallelism=(1, 4))(
        lambda df: df.groupBy("key").count()
    )
    pipeline.sink("out", after="count", format="batches")
    folder = tmp_path_factory.mktemp("marks")
    running = RunningPipeline(spark, pipeline, "fused", folder, {"wide": 5, "narrow": 5, "count": 2})
    with running:
        assert eventually(lambda: len(rows(folder)) == 4 * FILES)
        yield running


class TestExchangesAndMarks:
    def test_every_elastic_operator_has_its_own_exchange(self, running: RunningPipeline) -> None:
        assert running.parallelism == {"in": 1, "wide": 5, "narrow": 2, "fixed": 3, "count": 2}
        plan = plan_of(running, "count")
        assert exchanges(plan) == ([3, 5, 5], [2])
        assert "Coalesce 2" in plan

    def test_marks_survive_in_generated_code_in_the_order_of_flow(self, running: RunningPipeline) -> None:
        plan = plan_of(running, "count")
        sides = [Mark(0, Side.OUT), *(Mark(n, side) for n in (1, 2, 3, 4) for side in (Side.IN, Side.OUT))]
        assert marks_in(plan) == tuple(reversed(sides))
        marked = [line for line in plan.splitlines() if marks_in(line)]
        assert all(re.search(r"\*\(\d+\) Filter", line) for line in marked)

    def test_marks_count_the_rows_of_their_operator(self, running: RunningPipeline) -> None:
        query: Any = running.segments["count"].query
        counts = {mark: number for node in _nodes(query) for mark, number in _counted(node)}
        last = range(EVENTS - EVENTS // FILES, EVENTS)
        kept = sum(number % 5 != 4 for number in last)
        assert counts[Mark(0, Side.OUT)] == counts[Mark(1, Side.IN)] == len(last)
        assert counts[Mark(1, Side.OUT)] == counts[Mark(2, Side.IN)] == counts[Mark(4, Side.IN)] == kept
        assert counts[Mark(4, Side.OUT)] == 4

    def test_the_query_is_named_after_pipeline_and_segment(self, running: RunningPipeline) -> None:
        query = running.segments["count"].query
        assert query is not None
        assert query.name == "marks/count"

    def test_settings_of_the_session_are_left_alone(self, spark: "SparkSession", running: RunningPipeline) -> None:
        assert spark.conf.get("spark.sql.shuffle.partitions") != str(running.parallelism["wide"])
        assert spark.conf.get("spark.sql.streaming.internal.stateStore.partitions", None) is None


def _nodes(query: Any) -> Iterator[Any]:
    """The nodes of the last batch's plan, inside generated code as well."""
    waiting = [query._jsq.streamingQuery().lastExecution().executedPlan()]
    while waiting:
        node = waiting.pop()
        yield node
        children = node.children()
        waiting += [children.apply(index) for index in range(children.size())]


def _counted(node: Any) -> list[tuple[Mark, int]]:
    if node.nodeName() != "Filter":
        return []
    marks = marks_in(node.simpleString(1000))
    return [(mark, int(node.metrics().apply("numOutputRows").value())) for mark in marks]


def _windows(df: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    return df.withWatermark("event_time", "10 seconds").groupBy(F.window("event_time", "1 minute"), "key").count()


def _window_totals(df: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    return df.groupBy("window").agg(F.sum("count").alias("n"))


def _counted_in_python(df: "DataFrame") -> "DataFrame":
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Count(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.seen = handle.getValueState("seen", "n bigint")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
            (before,) = self.seen.get() or (0,)
            total = before + sum(1 for _ in rows)
            self.seen.update((total,))
            yield Row(key=key[0], n=total)

        def close(self) -> None:
            pass

    return df.groupBy("key").transformWithState(Count(), "key bigint, n bigint", "Update", "None")


class TestWhatIsComputed:
    """Results do not depend on how a pipeline is cut."""

    @pytest.mark.parametrize("execution", ["fused", "pipelined"])
    def test_chain_with_state(self, spark: "SparkSession", events: Path, tmp_path: Path, execution: str) -> None:
        pipeline = Pipeline("chain")
        pipeline.source("in", load=reader(events))
        pipeline.operator("first", after="in", parallelism=(1, 4))(lambda df: df.where("event_id % 2 = 0"))
        pipeline.operator("count", after="first", key="key", stateful=True, parallelism=(1, 4))(
            lambda df: df.groupBy("key").count()
        )
        pipeline.sink("out", after="count", format="batches")
        run_to_end(spark, pipeline, execution, tmp_path, first=2, count=2)
        last = {row["key"]: row["count"] for row in rows(tmp_path)}
        assert last == Counter(number % 5 for number in range(0, EVENTS, 2))

    def test_a_rehearsal_rewrites_state_and_changes_no_result(
        self, spark: "SparkSession", events: Path, tmp_path: Path
    ) -> None:
        pipeline = Pipeline("rehearsed")
        pipeline.source("in", load=reader(events))
        pipeline.operator("count", after="in", key="key", stateful=True, parallelism=(1, 4))(
            lambda df: df.groupBy("key").count()
        )
        pipeline.sink("out", after="count", format="batches")
        running = RunningPipeline(spark, pipeline, "fused", tmp_path, {"count": 2})
        running.rehearse()
        assert state_partitions(running.segments["count"].checkpoint) == 3
        assert {row["key"]: row["count"] for row in rows(tmp_path)} == Counter(n % 5 for n in range(EVENTS))

    @pytest.mark.parametrize("execution", ["fused", "pipelined"])
    def test_fan_out_and_fan_in(self, spark: "SparkSession", events: Path, tmp_path: Path, execution: str) -> None:
        pipeline = Pipeline("diamond")
        pipeline.source("in", load=reader(events))
        pipeline.operator("a", after="in", parallelism=(1, 2))(same)
        pipeline.operator("b", after="a", parallelism=(1, 2))(lambda df: df.where("key < 2"))
        pipeline.operator("c", after="a", parallelism=(1, 2))(lambda df: df.where("key >= 2"))
        pipeline.operator("d", after=["b", "c"], parallelism=(1, 2))(same)
        pipeline.sink("out", after="d", format="batches")
        pipeline.sink("small", after="b", format="batches")
        folder = tmp_path / "a name, with signs"
        run_to_end(spark, pipeline, execution, folder, a=2)
        assert sorted(row["event_id"] for row in rows(folder)) == list(range(EVENTS))
        assert len(rows(folder, "small")) == EVENTS * 2 // 5

    def test_a_watermark_goes_with_its_column_through_channels(
        self, spark: "SparkSession", events: Path, tmp_path: Path
    ) -> None:
        pipeline = Pipeline("windows")
        pipeline.source("in", load=reader(events))
        pipeline.operator("count", after="in", key=["window", "key"], stateful=True, mode="append")(_windows)
        pipeline.operator("total", after="count", key="window", stateful=True, mode="append", cut=True)(_window_totals)
        pipeline.sink("out", after="total", format="batches")
        run_to_end(spark, pipeline, "fused", tmp_path)
        totals = {row["window"]["start"].minute: row["n"] for row in rows(tmp_path)}
        # Ten minutes of events: the last window waits for the watermark before the cut, the one before it behind.
        assert totals == dict.fromkeys(range(8), 60)

    def test_stateful_operators_in_append_mode_share_a_query(
        self, spark: "SparkSession", events: Path, tmp_path: Path
    ) -> None:
        pipeline = Pipeline("windows")
        pipeline.source("in", load=reader(events))
        pipeline.operator("count", after="in", key=["window", "key"], stateful=True, mode="append")(_windows)
        pipeline.operator("total", after="count", key="window", stateful=True, mode="append")(_window_totals)
        pipeline.sink("out", after="total", format="batches")
        running = run_to_end(spark, pipeline, "fused", tmp_path)
        assert list(running.segments) == ["total"]
        assert {row["n"] for row in rows(tmp_path)} == {60}
        assert len(rows(tmp_path)) == 9

    def test_state_kept_by_a_python_processor(self, spark: "SparkSession", events: Path, tmp_path: Path) -> None:
        pipeline = Pipeline("processor")
        pipeline.source("in", load=reader(events))
        pipeline.operator("count", after="in", key="key", stateful=True, parallelism=(1, 2))(_counted_in_python)
        pipeline.sink("out", after="count", format="batches")
        running = run_to_end(spark, pipeline, "fused", tmp_path)
        assert {row["key"]: row["n"] for row in rows(tmp_path)} == dict.fromkeys(range(5), EVENTS // 5)
        running.segments["count"].repartition_state(2)
        assert state_partitions(running.segments["count"].checkpoint) == 2

    def test_a_join_of_two_streams(self, spark: "SparkSession", events: Path, tmp_path: Path) -> None:
        def both(left: "DataFrame", right: "DataFrame") -> "DataFrame":
            return left.select("event_id", "key").join(right.select("event_id", "event_time"), "event_id")

        pipeline = Pipeline("join")
        one, two = pipeline.source("one", load=reader(events)), pipeline.source("two", load=reader(events))
        pipeline.operator("half", after=two, parallelism=(1, 2))(lambda df: df.where("key = 1"))
        pipeline.operator("both", after=[one, "half"], key="event_id", stateful=True, mode="append")(both)
        pipeline.sink("out", after="both", format="batches")
        run_to_end(spark, pipeline, "fused", tmp_path)
        assert sorted(row["event_id"] for row in rows(tmp_path)) == list(range(1, EVENTS, 5))

    def test_a_function_as_sink_gets_every_batch(self, spark: "SparkSession", events: Path, tmp_path: Path) -> None:
        taken: dict[int, int] = {}
        pipeline = Pipeline("function")
        pipeline.source("in", load=reader(events))

        @pipeline.sink(after="in")
        def take(df: "DataFrame", batch: int) -> None:
            taken[batch] = df.count()

        run_to_end(spark, pipeline, "fused", tmp_path)
        assert taken == dict.fromkeys(range(FILES), EVENTS // FILES)


class Load:
    """A generated load of numbers, all due already, and what a count by key must come to in the end.

    It comes in batches of 500, so that tests depend on how many batches have run and not on how fast they are.
    """

    def __init__(self, batches: int) -> None:
        self.schedule = Schedule(Constant(1000.0))
        self.duration_s = batches * 0.5
        self.epoch_s = time.time() - self.duration_s
        self.events = self.schedule.events_until(self.duration_s)

    def open(self, spark: "SparkSession", source: SourceNode, partitions: int) -> "DataFrame":
        from penstock.spark.source import load_source

        assert isinstance(source.load, str)
        return load_source(
            self.schedule,
            source.load,
            7,
            self.epoch_s,
            partitions=partitions,
            max_rows_per_batch=500,
            duration_s=self.duration_s,
        )(spark)

    def counts(self) -> Counter[int]:
        numbers = np.arange(self.events, dtype=np.uint64)
        keys = payload("numbers").make(numbers, np.zeros(self.events, np.int64), 7)[0]
        return Counter(keys.to_pylist())


def counting(name: str, cut: bool = False) -> Pipeline:
    pipeline = Pipeline(name)
    pipeline.source("in", load="numbers")
    pipeline.operator("work", after="in", parallelism=(1, 6))(same)
    pipeline.operator("count", after="work", key="key", stateful=True, parallelism=(1, 4), cut=cut)(
        lambda df: df.groupBy("key").count()
    )
    pipeline.sink("out", after="count", format="batches")
    return pipeline


def final_counts(folder: Path) -> Counter[int]:
    last: Counter[int] = Counter()
    for row in rows(folder):
        last[row["key"]] = max(last[row["key"]], row["count"])
    return last


def _goes_on(segment: RunningSegment, reached: int, end: int) -> bool:
    return segment.position()["in"] > reached or reached == end


class TestChangingWhatRuns:
    @pytest.mark.parametrize("cut", [False, True])
    def test_nothing_is_lost_or_doubled_by_any_change(
        self, spark: "SparkSession", tmp_path: Path, eventually: Eventually, cut: bool
    ) -> None:
        load = Load(batches=18)
        running = RunningPipeline(
            spark,
            counting("changes", cut),
            "fused",
            tmp_path,
            {"work": 2, "count": 2},
            RunOptions(0.1, load.open, tidy_s=0.2, kept_batches=1),
        )
        last = running.segments["count"]
        with running:
            assert eventually(lambda: running.position().get("in", 0) > 0)
            running.segment_of("work").set_parallelism_hot(4)
            assert eventually(lambda: 4 in exchanges(plan_of(running, running.segment_of("work").name))[0])
            for partitions in (3, 1):
                last.prepare({**last.parallelism, "count": partitions})
                last.stop()
                assert is_clean(last.checkpoint)
                last.repartition_state(partitions)
                last.start({**last.parallelism, "count": partitions})
                assert eventually(partial(_goes_on, last, last.position()["in"], load.events))
                assert state_partitions(last.checkpoint) == partitions
            assert running.parallelism == {"in": 1, "work": 4, "count": 1}
            assert eventually(lambda: running.position()["in"] == load.events)
        assert final_counts(tmp_path) == load.counts()

    def test_a_crash_is_resumed_with_another_parallelism(
        self, spark: "SparkSession", tmp_path: Path, eventually: Eventually
    ) -> None:
        load = Load(batches=8)
        options = RunOptions(0.0, load.open)
        first = RunningPipeline(spark, counting("crash", cut=True), "fused", tmp_path, {"count": 2}, options)
        first.start()
        assert eventually(lambda: first.position().get("in", 0) > 0)
        for segment in first.segments.values():
            assert segment.query is not None
            segment.query.stop()  # kills the batch in progress
        again = RunningPipeline(spark, counting("crash", cut=True), "fused", tmp_path, {"count": 3}, options)
        with again:
            assert state_partitions(again.segments["count"].checkpoint) == 3
            assert eventually(lambda: again.position()["in"] == load.events)
        assert final_counts(tmp_path) == load.counts()

    def test_a_batch_that_fails_is_reported_and_finished_once_it_can_be(
        self, spark: "SparkSession", events: Path, tmp_path: Path, eventually: Eventually
    ) -> None:
        broken = [True]
        taken: list[int] = []
        pipeline = Pipeline("failing")
        pipeline.source("in", load=reader(events))

        @pipeline.sink(after="in")
        def take(df: "DataFrame", batch: int) -> None:
            if broken[0]:
                raise RuntimeError("the store is down")
            taken.append(df.count())

        running = RunningPipeline(spark, pipeline, "fused", tmp_path, {}, RunOptions(0.0))
        running.start()
        (segment,) = running.segments.values()
        assert eventually(lambda: not segment.running)
        assert segment.failure is not None
        with pytest.raises(ActionFailed, match="'in' could not be finished"):
            segment.stop()
        broken[0] = False
        segment.stop()
        assert is_clean(segment.checkpoint)
        segment.run_to_end(segment.parallelism)
        assert sum(taken) == EVENTS

    def test_only_what_is_stopped_can_be_started_and_only_what_runs_changed_hot(
        self, spark: "SparkSession", events: Path, tmp_path: Path
    ) -> None:
        pipeline = Pipeline("order")
        pipeline.source("in", load=reader(events))
        pipeline.operator("work", after="in", parallelism=(1, 4))(same)
        pipeline.sink("out", after="work", format="noop")
        running = RunningPipeline(spark, pipeline, "fused", tmp_path, {})
        segment = running.segments["work"]
        with pytest.raises(ActionFailed, match="not running"):
            segment.set_parallelism_hot(2)
        with running:
            with pytest.raises(ActionFailed, match="running already"):
                segment.start({"in": 1, "work": 2})
            with pytest.raises(ActionFailed, match="stop it before"):
                segment.repartition_state(2)


class TestChannels:
    def test_a_batch_is_written_once_however_often_it_is_tried(self, spark: "SparkSession", tmp_path: Path) -> None:
        folders = BatchFolders(tmp_path)
        folders.write(spark.range(10), 3, {"in": 10})
        folders.write(spark.range(99), 3, {"in": 99})
        assert folders.batches() == (3,)
        assert spark.read.parquet(str(tmp_path / "batch-*")).count() == 10
        assert folders.position(3) == {"in": 10}
        assert folders.position(4) is None

    def test_what_every_reader_has_committed_is_deleted(
        self, spark: "SparkSession", events: Path, tmp_path: Path
    ) -> None:
        pipeline = Pipeline("tidy")
        pipeline.source("in", load=reader(events))
        pipeline.operator("work", after="in", parallelism=(1, 2))(same)
        pipeline.sink("one", after="work", format="noop")
        pipeline.sink("two", after="work", format="noop")
        running = RunningPipeline(spark, pipeline, "fused", tmp_path, {}, RunOptions(kept_batches=0))
        channel = running.channels["work"]
        for name in ("work", "one"):
            running.segments[name].run_to_end({"in": 1, "work": 1})
        assert running.segments["one"].consumed("work") == FILES - 1
        assert running.segments["two"].consumed("work") is None
        assert running.tidy() == 0
        running.segments["two"].run_to_end({})
        assert running.tidy() == FILES - 1
        assert channel.batches() == (FILES - 1,)


class TestRefused:
    def test_a_folder_of_another_layout(self, spark: "SparkSession", events: Path, tmp_path: Path) -> None:
        pipeline = Pipeline("layout")
        pipeline.source("in", load=reader(events))
        pipeline.operator("a", after="in", parallelism=(1, 2))(same)
        pipeline.operator("b", after="a", parallelism=(1, 2))(same)
        pipeline.sink("out", after="b", format="noop")
        RunningPipeline(spark, pipeline, "fused", tmp_path, {})
        with pytest.raises(UsageError, match="belongs to a different pipeline or execution mode"):
            RunningPipeline(spark, pipeline, "pipelined", tmp_path, {})

    def test_a_folder_that_is_a_pattern(self, spark: "SparkSession", events: Path, tmp_path: Path) -> None:
        pipeline = Pipeline("pattern")
        pipeline.source("in", load=reader(events))
        pipeline.sink("out", after="in", format="noop")
        with pytest.raises(UsageError, match=r"run \[1\] has one of the signs"):
            RunningPipeline(spark, pipeline, "fused", tmp_path / "run [1]", {})

    def test_a_generated_load_that_nobody_gives(self, spark: "SparkSession", tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="Source 'in' of 'p' needs a generated load"):
            RunningPipeline(spark, counting("p"), "fused", tmp_path, {})

    def test_a_function_that_returns_no_frame(self, spark: "SparkSession", events: Path, tmp_path: Path) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load=reader(events))
        pipeline.operator("odd", after="in")(lambda df: None)
        pipeline.sink("out", after="odd", format="noop")
        with pytest.raises(InvalidModel, match="operator 'odd' returned NoneType"):
            RunningPipeline(spark, pipeline, "fused", tmp_path, {})

    def test_rows_that_cannot_be_spread(self, spark: "SparkSession", events: Path, tmp_path: Path) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load=reader(events))
        pipeline.operator("maps", after="in")(lambda df: df.selectExpr("map(key, key) as m"))
        pipeline.operator("work", after="maps", parallelism=(1, 2))(same)
        pipeline.sink("out", after="work", format="noop")
        with pytest.raises(InvalidModel, match="'work' gets no column by which rows can be spread"):
            RunningPipeline(spark, pipeline, "fused", tmp_path, {})
