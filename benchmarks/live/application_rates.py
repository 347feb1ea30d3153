"""What the built-in applications cost on this machine: processor time per event, and the rate that two cores carry.

Usage: python -m benchmarks.live.application_rates [APP:RATE ...] [--seconds 30]

Every application runs on two slots in this process's own Spark at a constant rate. Processor time is that of the driver
and all its Python workers, so that it means the same on a machine that is busy with other things; what is left behind
at the end shows whether the machine kept up at all.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.spark.applications.registry import SPARK_APPLICATIONS, spark_pipeline
from penstock.spark.cluster import LocalCluster
from penstock.spark.graph import SourceNode
from penstock.spark.segments import RunningPipeline, RunOptions
from penstock.spark.session import start_session, stop_session
from penstock.spark.source import load_source
from penstock.workloads import Constant, Schedule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CORES = 2
TRIGGER_S = 1.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_time_s() -> float:
    """What this process and all that descend from it have used so far."""
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(map(int, fields[11:15])) / TICKS_PER_S
    return sum(seconds for process, seconds in used.items() if _descends(process, parents))


def _descends(process: int, parents: dict[int, int]) -> bool:
    while process in parents and process != os.getpid():
        process = parents[process]
    return process == os.getpid()


def measure(spark: "SparkSession", name: str, rate_per_s: float, seconds: float) -> str:
    """One application at one rate, after as long a warm-up."""
    epoch_s = time.time()

    def opened(session: "SparkSession", source: SourceNode, partitions: int) -> "DataFrame":
        return load_source(Schedule(Constant(rate_per_s)), str(source.load), 1, epoch_s)(session)

    pipeline = spark_pipeline(name)
    parallelism = {operator.name: min(CORES, operator.max_parallelism) for operator in pipeline.topology().operators}
    with tempfile.TemporaryDirectory() as folder:
        options = RunOptions(trigger_s=TRIGGER_S, open_load=opened)
        with RunningPipeline(spark, pipeline, "fused", Path(folder), parallelism, options) as running:
            time.sleep(seconds)
            begin_s, cpu_s, before = time.time(), processor_time_s(), _done(running)
            time.sleep(seconds)
            elapsed_s, used_s, done = time.time() - begin_s, processor_time_s() - cpu_s, _done(running) - before
            behind = (time.time() - epoch_s) * rate_per_s - before - done
    per_event_ms = 1e3 * used_s / done if done else float("nan")
    return (
        f"{name:20} {rate_per_s:8.0f} {done / elapsed_s:8.0f} {used_s / elapsed_s:8.2f} {per_event_ms:9.3f} "
        f"{1e3 * CORES / per_event_ms:9.0f} {behind / rate_per_s:8.1f}"
    )


def _done(running: RunningPipeline) -> int:
    return min(running.position().values(), default=0)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "applications", nargs="*", default=[f"{a.name}:{a.high_per_s}" for a in SPARK_APPLICATIONS.values()]
    )
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args(arguments)
    print("application            rate/s   done/s    cores  ms/event 2 cores/s behind s")
    with tempfile.TemporaryDirectory() as folder, LocalCluster(CORES) as cluster:
        spark = start_session(cluster, "application-rates", Path(folder))
        try:
            for application in given.applications:
                name, _, rate = application.partition(":")
                print(measure(spark, name, float(rate), given.seconds), flush=True)
        finally:
            stop_session(spark)


if __name__ == "__main__":
    main()
