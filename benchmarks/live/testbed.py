"""What the live benchmarks share: a pipeline of numbers on a private cluster, its actuator, and a place for results."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.control import Entry
from penstock.errors import ActionFailed
from penstock.model import Cluster, Configuration
from penstock.service.runs import JOURNAL
from penstock.spark import Pipeline, RunningPipeline, RunOptions
from penstock.spark.actuator import SparkActuator
from penstock.spark.clock import WallClock
from penstock.spark.cluster import EmbeddedCluster, SparkCluster
from penstock.spark.completion import SourceLoad
from penstock.spark.graph import SourceNode
from penstock.spark.intents import IntentLog
from penstock.spark.monitor import SparkMonitor
from penstock.spark.session import start_session, stop_session
from penstock.spark.source import load_source
from penstock.spark.supervision import Supervisor
from penstock.spark.workers import WorkerNames
from penstock.stores import SqliteJournal
from penstock.workloads import Schedule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEED = 1


def counting_pipeline(keys: int | None = None) -> Pipeline:
    """Numbers, checked, then counted and summed by key; `keys` spreads them over that many instead of 1000."""
    from pyspark.sql import functions as F  # noqa: N812

    pipeline = Pipeline("counting")
    numbers = pipeline.source("numbers", load="numbers", parallelism=(1, 2))

    @pipeline.operator(after=numbers, parallelism=(1, 4))
    def check(df: "DataFrame") -> "DataFrame":
        key = "key" if keys is None else F.pmod("event_id", F.lit(keys)).alias("key")
        return df.where(F.col("value") >= 0).select("event_id", key)

    @pipeline.operator(after=check, key="key", stateful=True, parallelism=(1, 4))
    def count(df: "DataFrame") -> "DataFrame":
        return df.groupBy("key").agg(F.count("*").alias("count"), F.sum("event_id").alias("total"))

    pipeline.sink("counts", after=count, format="batches" if keys is None else "noop")
    return pipeline


@dataclass(slots=True)
class Setup:
    """One live run: what, where, under which load. A load put in place of it holds for queries started from then on."""

    pipeline: Pipeline
    execution: str
    folder: Path
    load: SourceLoad
    start: Configuration
    max_executors: int = 3
    trigger_s: float = 0.5

    def note(self, revived: str) -> None:
        """Say that a query was started again, and keep a record of it."""
        say(f"  {revived}")
        with (self.folder / "revived.txt").open("a") as stream:
            stream.write(revived + "\n")

    def open_load(self, spark: "SparkSession", node: SourceNode, partitions: int) -> "DataFrame":
        load = self.load
        opened = load_source(
            load.schedule,
            str(node.load),
            SEED,
            load.epoch_s,
            partitions=partitions,
            duration_s=load.duration_s,
        )
        return opened(spark)


@dataclass(frozen=True, slots=True)
class Live:
    """A pipeline at work and what changes and observes it."""

    spark: "SparkSession"
    cluster: SparkCluster
    running: RunningPipeline
    actuator: SparkActuator
    supervisor: Supervisor
    monitor: Callable[[], SparkMonitor]
    clock: WallClock


@contextmanager
def session(
    folder: Path,
    executors: int,
    max_executors: int,
    memory: str = "512m",
    conf: Mapping[str, str] | None = None,
) -> "Iterator[Any]":
    """A session with `executors` executors on a private cluster; yields both."""
    with EmbeddedCluster(folder / "cluster", executors=max_executors, memory=memory) as cluster:
        spark = start_session(cluster, "benchmark", folder / "session", conf, executors)
        try:
            yield spark, cluster
        finally:
            stop_session(spark)


@contextmanager
def live(setup: Setup, spark: "SparkSession", cluster: SparkCluster) -> Iterator[Live]:
    """The pipeline, started (or taken up again where a crash has left it), and stopped at the end."""
    options = RunOptions(trigger_s=setup.trigger_s, open_load=setup.open_load)
    name, load = setup.pipeline.name, setup.load
    running = RunningPipeline(
        spark, setup.pipeline, setup.execution, setup.folder / "run", setup.start.parallelism[name], options
    )
    clock = WallClock(load.epoch_s)
    workers = WorkerNames(Cluster.homogeneous(setup.max_executors, 1))
    intents = IntentLog(setup.folder / "intents.jsonl")
    actuator = SparkActuator([running], cluster, setup.start, clock, intents, workers)
    loads = {name: dict.fromkeys(running.topology.sources, load)}

    def monitor() -> SparkMonitor:
        return SparkMonitor([running], loads, clock, workers, actuator.paused_s)

    try:
        for action in actuator.recover():
            say(f"  {action.what} ({action.duration_s:.1f} s)")
        running.start()
        supervisor = Supervisor([running], setup.note)

        def working() -> bool:
            supervisor.look()
            return all_working(running)

        wait_until(working, 300.0, "The first batch of every segment")
        yield Live(spark, cluster, running, actuator, supervisor, monitor, clock)
    finally:
        running.stop()


def run_penstock(arguments: Sequence[str], out: Path) -> list[Entry]:
    """`penstock run` with these arguments, in a process of its own; all entries of its journal."""
    command = [str(Path(sys.executable).with_name("penstock")), "run", *arguments, "--out", str(out)]
    subprocess.run(command, check=True)
    (journal,) = out.glob(f"**/{JOURNAL}")
    with SqliteJournal(journal, create=False) as kept:
        return list(kept.entries())


def wait_until(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    """Return as soon as `condition` holds; raises after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise ActionFailed(f"{what} did not happen within {timeout_s:g} s.")
        time.sleep(0.1)


def all_working(running: RunningPipeline) -> bool:
    """Whether every segment has reported something."""
    return all(segment.query is not None and segment.query.recentProgress for segment in running.segments.values())


def schedule(curve: Any) -> Schedule:
    return Schedule(curve)


def say(text: str) -> None:
    print(text, flush=True)


def keep(name: str, result: Mapping[str, Any], out: Path) -> None:
    """Write a result with the machine's load average beside it, and print it."""
    out.mkdir(parents=True, exist_ok=True)
    complete = {"load_average": [round(load, 1) for load in os.getloadavg()], "cores": os.cpu_count(), **result}
    (out / f"{name}.json").write_text(json.dumps(complete, indent=1))
    say(f"{name}: load average {complete['load_average']} on {complete['cores']} cores -> {out / name}.json")
