"""What Spark does not offer in public, on queries as they are."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import ActionFailed
from penstock.spark import internals
from penstock.spark.checkpoints import is_clean, last_committed, last_offset, state_partitions, unfinished_rewrite
from penstock.spark.markers import Side, mark, marks_in
from penstock.spark.priming import prime_executors
from penstock.spark.status import StatusReader, batches_of_run, reports_after
from penstock.spark.touch import touched_state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.spark.priming import Blank

Eventually = Callable[[Callable[[], bool]], bool]
ROWS_PER_S = 1000


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def rows(spark: "SparkSession") -> "DataFrame":
    return spark.readStream.format("rate").option("rowsPerSecond", ROWS_PER_S).load()


def doubled(spark: "SparkSession") -> "DataFrame":
    """Two stages, no state."""
    frame = mark(mark(rows(spark), 0, Side.OUT).repartition("value"), 1, Side.IN)
    return mark(frame.selectExpr("explode(array(value, value)) AS value"), 1, Side.OUT)


def counted(spark: "SparkSession") -> "DataFrame":
    """A stateless operator and a stateful one."""
    frame = rows(spark).repartition("value").selectExpr("value % 50 AS key")
    return frame.groupBy("key").count()


def start(frame: "DataFrame", checkpoint: Path, trigger: str = "0 seconds") -> "StreamingQuery":
    mode = "update" if "count" in frame.columns else "append"
    writer = frame.writeStream.format("noop").outputMode(mode).option("checkpointLocation", str(checkpoint))
    return writer.trigger(processingTime=trigger).start()


@contextmanager
def running(frame: "DataFrame", checkpoint: Path, trigger: str = "0 seconds") -> "Iterator[StreamingQuery]":
    query = start(frame, checkpoint, trigger)
    try:
        yield query
    finally:
        query.stop()


def has_committed(query: "StreamingQuery", batches: int = 1) -> Callable[[], bool]:
    return lambda: len(batches_of_run(query)) >= batches


def tasks_of_last_batch(spark: "SparkSession", query: "StreamingQuery") -> list[int]:
    """Tasks of every stage of the last batch that is known with all its stages."""
    stages = [stage for stage in StatusReader(spark).stages(0) if stage.run_id == str(query.runId)]
    done = max((stage.batch for stage in stages if stage.batch is not None), default=0) - 1
    return [stage.tasks for stage in stages if stage.batch == done]


def test_this_spark_can_do_all_that_a_local_one_can(spark: "SparkSession") -> None:
    found = internals.abilities(spark)

    assert found.hot_partitions
    assert found.finish_batch
    assert found.rewrite_state
    assert found.stage_metrics
    assert not found.scale_executors
    assert set(found.reasons) == {"scale_executors"}
    assert "local" in found.reasons["scale_executors"]


def test_an_ability_is_missed_with_a_reason(spark: "SparkSession") -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        found = internals.abilities(spark)
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "false")

    assert not found.hot_partitions
    assert "Adaptive" in found.reasons["hot_partitions"]


def test_partitions_change_while_a_query_runs(spark: "SparkSession", checkpoint: Path, eventually: Eventually) -> None:
    with running(doubled(spark), checkpoint) as query:
        assert eventually(has_committed(query))
        run = query.runId

        internals.set_shuffle_partitions(query, 5)

        assert internals.shuffle_partitions(query) == 5
        assert eventually(lambda: tasks_of_last_batch(spark, query)[1:] == [5])
        assert query.runId == run


def test_state_keeps_its_partitions_when_stateless_ones_change(
    spark: "SparkSession", checkpoint: Path, eventually: Eventually
) -> None:
    with running(counted(spark), checkpoint) as query:
        assert eventually(has_committed(query))

        internals.set_shuffle_partitions(query, 4)

        assert eventually(lambda: tasks_of_last_batch(spark, query)[1:] == [4, 2])
    assert state_partitions(checkpoint) == 2


def test_a_busy_query_is_always_stopped_between_two_batches(
    spark: "SparkSession", checkpoint: Path, eventually: Eventually
) -> None:
    moments = random.Random(7)
    for trigger in ("0 seconds", "1 second", "0 seconds", "0 seconds", "1 second"):
        query = start(doubled(spark), checkpoint, trigger)
        assert eventually(has_committed(query))
        # Wherever the query is at that moment: waiting, looking for data, planning or working.
        pause = time.monotonic() + moments.random()
        assert eventually(lambda at=pause: time.monotonic() > at)  # type: ignore[misc]

        assert internals.finish_and_stop(query, 60)

        assert not query.isActive
        assert internals.failure(query) is None
        assert last_offset(checkpoint) == last_committed(checkpoint)


def test_a_query_that_waits_for_a_far_trigger_is_stopped_at_once(
    spark: "SparkSession", checkpoint: Path, eventually: Eventually
) -> None:
    query = start(doubled(spark), checkpoint, "1 hour")
    assert eventually(has_committed(query))

    assert internals.finish_and_stop(query, 60)
    assert not query.isActive
    assert internals.finish_and_stop(query, 60)


def test_a_batch_that_takes_too_long_is_killed(spark: "SparkSession", checkpoint: Path, eventually: Eventually) -> None:
    def dawdle(frame: "DataFrame", batch: int) -> None:
        time.sleep(0 if batch == 0 else 5)

    def killed(folder: Path) -> bool:
        writer = rows(spark).writeStream.foreachBatch(dawdle).option("checkpointLocation", str(folder))
        query = writer.trigger(processingTime="0 seconds").start()
        assert eventually(lambda: last_offset(folder) == 1)
        committed = internals.finish_and_stop(query, 0.5)
        assert not query.isActive
        assert (last_offset(folder), last_committed(folder)) == (1, 1 if committed else 0)
        return not committed

    # On a busy machine the interrupt may come where Spark does not heed it, and the batch is committed after all.
    assert any(killed(checkpoint / str(number)) for number in range(3))


def test_no_batch_begins_while_queries_are_held(
    spark: "SparkSession", checkpoint: Path, eventually: Eventually
) -> None:
    with running(doubled(spark), checkpoint) as query:
        assert eventually(has_committed(query))

        with internals.between_batches([query], 60) as calm:
            assert calm
            before = last_offset(checkpoint)
            assert before == last_committed(checkpoint)
            until = time.monotonic() + 1
            assert eventually(lambda: time.monotonic() > until)
            assert last_offset(checkpoint) == before

        assert before is not None
        assert eventually(lambda: (last_committed(checkpoint) or 0) > before)


def test_state_is_spread_anew_and_nothing_is_lost(
    spark: "SparkSession", checkpoint: Path, eventually: Eventually
) -> None:
    for partitions in (3, 1):
        query = start(counted(spark), checkpoint)
        assert eventually(has_committed(query, 2))
        assert internals.finish_and_stop(query, 60)
        before = batches_of_run(query)[-1].states[0].rows

        internals.repartition_state(spark, checkpoint, partitions)

        assert state_partitions(checkpoint) == partitions
        with running(counted(spark), checkpoint) as again:
            assert eventually(has_committed(again))
            state = batches_of_run(again)[0].states[0]
        assert state.partitions == partitions
        assert state.rows >= before > 0


def test_a_rewrite_that_was_cut_off_is_finished_for_the_same_number_only(
    spark: "SparkSession", checkpoint: Path, eventually: Eventually
) -> None:
    query = start(counted(spark), checkpoint)
    assert eventually(has_committed(query))
    assert internals.finish_and_stop(query, 60)
    internals.repartition_state(spark, checkpoint, 3)
    for name in (str(last_committed(checkpoint)), f".{last_committed(checkpoint)}.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    assert unfinished_rewrite(checkpoint) == 3

    with pytest.raises(ActionFailed, match="not rewritten"):
        internals.repartition_state(spark, checkpoint, 4)
    internals.repartition_state(spark, checkpoint, 3)

    assert unfinished_rewrite(checkpoint) is None
    assert is_clean(checkpoint)
    # The number that it has is not worth a rewrite.
    done = last_committed(checkpoint)
    internals.repartition_state(spark, checkpoint, 3)
    assert last_committed(checkpoint) == done


def test_the_death_of_a_query_has_a_reason(spark: "SparkSession", checkpoint: Path, eventually: Eventually) -> None:
    query = start(rows(spark).selectExpr("raise_error('out of tea') AS x"), checkpoint)

    assert eventually(lambda: not query.isActive)

    assert "out of tea" in (internals.failure(query) or "")


def test_marks_count_the_rows_of_the_last_finished_batch(
    spark: "SparkSession", checkpoint: Path, eventually: Eventually
) -> None:
    reader = StatusReader(spark)
    with running(doubled(spark), checkpoint, "1 second") as query:
        assert eventually(has_committed(query, 3))
        marked = reader.marked_rows(query)
        assert marked is not None
        (batch,) = [b for b in batches_of_run(query) if b.batch == marked.batch]
    counts = {marks_in(node.text)[0]: count for node, count in marked.filters}

    assert {(found.operator, found.side): count for found, count in counts.items()} == {
        (0, Side.OUT): batch.input_rows,
        (1, Side.IN): batch.input_rows,
        (1, Side.OUT): 2 * batch.input_rows,
    }


def test_reports_are_given_once_and_idle_looks_are_no_batches(
    spark: "SparkSession", checkpoint: Path, eventually: Eventually
) -> None:
    empty = checkpoint.parent / "empty"
    empty.mkdir()
    frame = spark.readStream.schema("value LONG").json(str(empty))
    with running(frame, checkpoint) as idle:
        assert eventually(lambda: bool(reports_after(idle, 0)))
        reports = reports_after(idle, 0)
        assert all(report.idle for report in reports)
        assert batches_of_run(idle) == ()
        assert all(report not in reports for report in reports_after(idle, reports[-1].started_at_s))


def test_the_status_store_knows_stages_and_their_plans(
    spark: "SparkSession", checkpoint: Path, eventually: Eventually
) -> None:
    reader = StatusReader(spark)
    with running(doubled(spark), checkpoint) as query:
        assert eventually(lambda: len(tasks_of_last_batch(spark, query)) == 2)
        stages = [s for s in reader.stages(0) if s.run_id == str(query.runId) and s.batch == 1]
        codegens = reader.codegens(stages[0].stage)

    first, second = stages
    assert first.written_rows == second.read_rows > 0
    assert second.run_s > 0
    assert codegens[first.stage] == {1}
    assert codegens[second.stage] == {2}
    heaviest = reader.heaviest_task(second)
    assert heaviest is not None
    assert second.read_rows / second.tasks <= heaviest.read_rows <= second.read_rows
    assert reader.tasks_by_executor(second) == {"driver": second.tasks}
    assert [executor.name for executor in reader.executors()] == ["driver"]


def test_a_frame_on_executors_has_a_row_for_every_slot(spark: "SparkSession") -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    slots = StatusReader(spark).executors() * 3
    frame = internals.frame_on(spark, StructType([StructField("number", LongType(), nullable=False)]), slots)
    assert [row.number for row in frame.collect()] == [None, None, None]
    assert frame.rdd.getNumPartitions() == 3


def test_priming_runs_the_work_over_no_rows(spark: "SparkSession") -> None:
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([StructField("text", StringType())])
    worked: list[DataFrame] = []

    def work(blank: "Blank") -> "list[DataFrame]":
        worked.append(blank(schema).selectExpr("raise_error(text) AS seen"))
        return worked

    prime_executors(spark, StatusReader(spark).executors(), work, 60.0)
    (frame,) = worked
    assert frame.collect() == []
    assert frame.rdd.getNumPartitions() > 0, "work that the optimizer leaves out would prime nothing"
    status = StatusReader(spark)
    assert status.ran_on("penstock-priming") == {executor.name for executor in status.executors()}
    assert status.ran_on("nobody's") is None


def test_priming_that_ran_elsewhere_is_tried_again(spark: "SparkSession") -> None:
    def jobs() -> int:
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup("penstock-priming"))

    before = jobs()
    (executor,) = StatusReader(spark).executors()
    prime_executors(spark, [replace(executor, name="gone")], lambda _: [], 60.0)
    assert jobs() == before + 3
    prime_executors(spark, [executor], lambda _: [], 60.0)
    assert jobs() == before + 4


def test_python_workers_have_loaded_what_they_share(spark: "SparkSession") -> None:
    def loaded(batches: Iterator[Any]) -> Iterator[Any]:
        import sys

        import pyarrow as pa

        present = [name for name in ("pandas", "penstock.spark.source") if name in sys.modules]
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"name": present})

    seen = spark.range(1, numPartitions=1).mapInArrow(loaded, "name string").collect()
    assert [row.name for row in seen] == ["pandas", "penstock.spark.source"]


def test_state_is_touched_in_every_task(spark: "SparkSession") -> None:
    frame = touched_state(spark, 3)
    assert sorted(row.id for row in frame.collect()) == list(range(24))
    assert frame.rdd.getNumPartitions() == int(spark.conf.get("spark.sql.shuffle.partitions") or 0)


def test_priming_that_takes_too_long_or_fails_is_given_up(spark: "SparkSession") -> None:
    def refused(blank: "Blank") -> "list[DataFrame]":
        raise ValueError("no work")

    executors = StatusReader(spark).executors()
    prime_executors(spark, executors, lambda _: [], 0.0)
    prime_executors(spark, executors, refused, 30.0)
    assert spark.range(3).count() == 3
