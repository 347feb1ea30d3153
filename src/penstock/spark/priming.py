"""What is slow the first time on an executor is done once before it counts."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROUP = "penstock-priming"


def prime_executors(spark: "SparkSession", slots: int, timeout_s: float) -> None:
    """Have every free slot start Python, load Arrow and exchange some rows; returns when that is done, or too late.

    An executor that has just come would otherwise do this in the first batch, which waits for its slowest task. While
    it is at it the tasks of batches go to the others. Nothing depends on whether this succeeds.
    """
    job = threading.Thread(target=_run, args=(spark, slots), name="priming", daemon=True)
    job.start()
    job.join(timeout_s)
    if job.is_alive():
        with suppress(Exception):
            spark.sparkContext.cancelJobGroup(_GROUP)
        job.join(timeout_s)


def _run(spark: "SparkSession", slots: int) -> None:
    def passed(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    with suppress(Exception):
        spark.sparkContext.setJobGroup(_GROUP, "warm-up of new executors", interruptOnCancel=False)
        numbers = spark.range(0, slots, 1, slots)
        there = numbers.mapInArrow(passed, numbers.schema).repartition(slots)
        there.mapInArrow(passed, numbers.schema).write.format("noop").mode("overwrite").save()
