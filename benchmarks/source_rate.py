"""Events per second and core that the load source makes, by payload: alone, and through Spark into nothing.

Usage: python benchmarks/source_rate.py [--spark]
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.spark.cluster import LocalCluster
from penstock.spark.payloads import PAYLOADS
from penstock.spark.session import start_session, stop_session
from penstock.spark.source import LoadOptions, encode_schedule, load_source, read_events
from penstock.workloads import Constant, Schedule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 1_000_000
SPARK_ROWS = 2_000_000
RATE_PER_S = 100_000.0
REQUIRED_PER_S = 200_000.0


def constant_load() -> Schedule:
    return Schedule(Constant(RATE_PER_S))


def reader_rate_per_s(payload: str) -> float:
    """Rows per CPU second of the partition reader, in batches of 10,000 as small micro-batches ask for them."""
    options = LoadOptions(encode_schedule(constant_load()), 1_700_000_000.0, payload)
    sum(len(batch) for batch in read_events(options, 0, 10_000))
    begin = time.process_time()
    for start in range(0, ROWS, 10_000):
        sum(len(batch) for batch in read_events(options, start, start + 10_000))
    return ROWS / (time.process_time() - begin)


def spark_rate_per_s(spark: "SparkSession", payload: str, folder: Path) -> float:
    """Rows per second of the batches of a query with one partition: Python worker, Arrow, JVM, no sink."""
    load = load_source(
        constant_load(),
        payload,
        1,
        1_700_000_000.0,
        max_rows_per_batch=SPARK_ROWS // 10,
        duration_s=SPARK_ROWS / RATE_PER_S,
    )
    query = (
        load(spark)
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / payload))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    # The first batches start the worker and warm up the JVM.
    batches: list[Any] = [batch for batch in query.recentProgress if batch["numInputRows"]][3:]
    rows = sum(int(batch["numInputRows"]) for batch in batches)
    return rows / sum(float(batch["durationMs"]["addBatch"]) / 1000 for batch in batches)


def main() -> None:
    rates = {name: reader_rate_per_s(name) for name in PAYLOADS}
    for name, rate in rates.items():
        print(f"reader  {name:10} {rate:12,.0f} rows per CPU second")
    if "--spark" in sys.argv:
        with tempfile.TemporaryDirectory() as folder, LocalCluster(1) as cluster:
            spark = start_session(cluster, "source rate", Path(folder))
            try:
                for name in PAYLOADS:
                    print(f"spark   {name:10} {spark_rate_per_s(spark, name, Path(folder)):12,.0f} rows per second")
            finally:
                stop_session(spark)
    if min(rates.values()) < REQUIRED_PER_S:
        sys.exit(f"The reader is slower than {REQUIRED_PER_S:,.0f} rows per second.")


if __name__ == "__main__":
    main()
