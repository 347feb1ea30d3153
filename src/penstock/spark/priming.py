"""What is slow the first time on an executor is done once before it counts."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.spark import internals
from penstock.spark.status import StatusReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from penstock.spark.progress import ExecutorRecord

    Blank: TypeAlias = Callable[[StructType], DataFrame]
    """Makes a frame of that schema without rows, whose tasks run on the executors that are primed."""
    Work: TypeAlias = Callable[[Blank], Sequence[DataFrame]]
    """What the executors will have to do, over blank frames."""

_GROUP = "penstock-priming"
_TRIES = 3
_KNOWN_AFTER_S, _POLL_S = 1.0, 0.02


def prime_executors(
    spark: "SparkSession", executors: "Sequence[ExecutorRecord]", work: "Work", timeout_s: float
) -> None:
    """Have executors that have just come do their work once over no rows; returns when that is done, or too late.

    They load classes, compile code, start Python and import what the work needs, which otherwise the first batch would
    wait for. While they are at it their slots are taken, so the tasks of batches go to the others. Nothing depends on
    whether this succeeds.
    """
    job = threading.Thread(target=_run, args=(spark, executors, work), name="priming", daemon=True)
    job.start()
    job.join(timeout_s)
    if job.is_alive():
        with suppress(Exception):
            spark.sparkContext.cancelJobGroup(_GROUP)
        job.join(timeout_s)


def _run(spark: "SparkSession", executors: "Sequence[ExecutorRecord]", work: "Work") -> None:
    from pyspark.sql.types import StringType, StructField, StructType

    slots = [executor for executor in executors for _ in range(executor.cores)]
    with suppress(Exception):
        spark.sparkContext.setJobGroup(_GROUP, "warm-up of new executors", interruptOnCancel=False)
        texts = internals.frame_on(spark, StructType([StructField("text", StringType())]), slots)
        # Functions of strings load large tables, but only for a string that is there.
        words = texts.selectExpr("explode(split(lower(coalesce(text, 'A B')), '\\\\s')) AS word").where("word != ''")

        def blank(schema: "StructType") -> "DataFrame":
            # The optimizer must not see that nothing passes, or it would leave out all that follows.
            return words.mapInArrow(_swallowed, schema)

        # Words and work in one stage: between two, tasks of batches would take the slots.
        for frame in work(blank) or [words]:
            through = frame.mapInArrow(_passed, frame.schema).repartition(len(slots))
            done = through.mapInArrow(_passed, frame.schema).write.format("noop").mode("overwrite")
            for _ in range(_TRIES):
                done.save()
                if not _ran_on(spark).isdisjoint(executor.name for executor in executors):
                    break


def _ran_on(spark: "SparkSession") -> frozenset[str]:
    """Where the last job really ran: when a batch was quicker to take a slot, its task goes elsewhere after a while."""
    status = StatusReader(spark)
    deadline = time.monotonic() + _KNOWN_AFTER_S
    while (names := status.ran_on(_GROUP)) is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return names or frozenset()


def _passed(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _swallowed(batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        yield from ()
