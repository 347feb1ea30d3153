"""What the pipeline layer costs: the fused word count against the same job written by hand in plain PySpark.

Usage: python -m benchmarks.live.overhead [--pairs 6] [--kinds plain,fused] [--observe 60] [--latency 40]

The jobs take turns in one session over the same bounded load. Beside wall time, which other users of the machine
disturb, the processor time of the driver's JVM and all its Python workers is compared. `plain` has the same exchange
before the splitting of sentences as the pipeline; `chained` does without, as one would write a job that need not scale.
Then the cost of monitoring: processor time of the driver, in Python and in the JVM, for an observation every 5 s. At
last the latency of one hop: that of the same light load pipelined, less that of it fused, by the channels on its way.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.live.testbed import SEED, Live, Setup, counting_pipeline, keep, live, say, schedule
from benchmarks.live.tree import cpu_s, threads_cpu_s

from penstock.errors import ActionFailed
from penstock.model import Configuration
from penstock.spark import RunningPipeline, RunOptions
from penstock.spark.applications.word_count import count_words, split_words, word_count
from penstock.spark.cluster import LocalCluster
from penstock.spark.completion import SourceLoad
from penstock.spark.graph import SourceNode
from penstock.spark.session import start_session, stop_session
from penstock.spark.source import load_source
from penstock.workloads.curves import Constant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLOTS = 2
EPOCH_S = 1_700_000_000.0
RATE_PER_S = 10_000.0
PERIOD_S = 5.0
SETTLE_S = 30.0
_GATEWAY = "Thread-"
"""How py4j's threads are called, which answer Python; streaming, tasks and the scheduler have names of their own."""


@dataclass(frozen=True, slots=True)
class Job:
    """A load that is there in full from the beginning, and where the jobs keep their checkpoints."""

    spark: "SparkSession"
    events: int
    folder: Path

    def load(self, partitions: int) -> "DataFrame":
        rows = max(1, self.events // 4)
        return load_source(
            schedule(Constant(RATE_PER_S)),
            "text",
            SEED,
            EPOCH_S,
            partitions=partitions,
            max_rows_per_batch=rows,
            duration_s=self.events / RATE_PER_S,
        )(self.spark)

    def plain(self, name: str, exchange: bool) -> None:
        """By hand."""
        sentences = self.load(1).repartition(SLOTS) if exchange else self.load(1)
        query = (
            count_words(split_words(sentences))
            .writeStream.format("noop")
            .outputMode("update")
            .option("checkpointLocation", str(self.folder / name))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    def pipeline(self, name: str, execution: str) -> None:
        """The application that comes with Penstock."""

        def open_load(_: "SparkSession", __: SourceNode, partitions: int) -> "DataFrame":
            return self.load(partitions)

        options = RunOptions(open_load=open_load)
        parallelism = {"source": 1, "flat-map": SLOTS, "count": SLOTS}
        pipeline = word_count({"sink": "noop"})
        RunningPipeline(self.spark, pipeline, execution, self.folder / name, parallelism, options).run_to_end()


def throughput(job: Job, pairs: int, chosen: Sequence[str]) -> dict[str, Any]:
    every: Mapping[str, Callable[[str], None]] = {
        "plain": lambda name: job.plain(name, exchange=True),
        "fused": lambda name: job.pipeline(name, "fused"),
        "chained": lambda name: job.plain(name, exchange=False),
        "pipelined": lambda name: job.pipeline(name, "pipelined"),
    }
    kinds = {kind: every[kind] for kind in chosen}
    wall: dict[str, list[float]] = {kind: [] for kind in kinds}
    cpu: dict[str, list[float]] = {kind: [] for kind in kinds}
    for turn in range(pairs + 1):
        # The first turn warms up the JVM; the order changes so that none is always first.
        order = list(kinds.items()) if turn % 2 else list(kinds.items())[::-1]
        for kind, run in order:
            took_s, took_cpu_s = _timed(run, f"{kind}-{turn}")
            say(f"  turn {turn} {kind:10} {job.events / took_s:9.0f} events/s  {took_cpu_s:6.2f} s of processor")
            if turn:
                wall[kind].append(took_s)
                cpu[kind].append(took_cpu_s)
    return {
        "events": job.events,
        "pairs": pairs,
        "events_per_s": {kind: round(job.events / statistics.median(wall[kind])) for kind in kinds},
        **{
            f"{kind}_over_{base}": {"throughput": _ratios(wall, base, kind), "per_cpu": _ratios(cpu, base, kind)}
            for kind, base in (("fused", "plain"), ("fused", "chained"), ("pipelined", "plain"))
            if {kind, base} <= set(kinds)
        },
    }


def _timed(run: Callable[[str], None], name: str) -> tuple[float, float]:
    """Wall and processor time of a run; one that fails (Spark gives a Python source only 10 s to start) is repeated."""
    for attempt in range(5):
        begin_s, begin_cpu_s = time.monotonic(), cpu_s()
        try:
            run(f"{name}-{attempt}")
        except Exception as error:
            say(f"  {name} is repeated: {type(error).__name__}")
            continue
        return time.monotonic() - begin_s, cpu_s() - begin_cpu_s
    raise ActionFailed(f"{name} failed five times.")


def _ratios(times: Mapping[str, list[float]], base: str, kind: str) -> dict[str, float]:
    """Throughput of `kind` over that of `base`, turn by turn."""
    ratios = sorted(reference / own for reference, own in zip(times[base], times[kind], strict=True))
    return {
        "median": round(statistics.median(ratios), 3),
        "least": round(ratios[0], 3),
        "most": round(ratios[-1], 3),
    }


def monitoring(spark: "SparkSession", cluster: Any, folder: Path, seconds: float) -> dict[str, Any]:
    """Processor time that observing costs the driver: in Python, and in the threads of its JVM that answer Python."""
    start = {"numbers": 1, "check": 2, "count": 2}
    load = SourceLoad(schedule(Constant(300.0)), time.time())
    setup = Setup(counting_pipeline(), "fused", folder, load, Configuration({"counting": start}, 1), 1)
    with live(setup, spark, cluster) as at_work:
        _watch(at_work, 15.0)
        python, jvm, wall_s = _watch(at_work, seconds)
    return {
        "period_s": PERIOD_S,
        "python_percent_of_core": round(100 * python, 2),
        "jvm_percent_of_core": round(100 * jvm, 2),
        "observe_wall_ms": round(1000 * wall_s, 1),
    }


def _watch(at_work: Live, seconds: float) -> tuple[float, float, float]:
    """Processor seconds per second in Python and in the JVM for an observation every 5 s, and wall time of one."""
    monitor = at_work.monitor()
    begin_s, python_s, jvm_s, walls = time.monotonic(), 0.0, 0.0, []
    while time.monotonic() - begin_s < seconds:
        time.sleep(PERIOD_S)
        answered_s, thread_s, wall_s = threads_cpu_s(_GATEWAY), time.thread_time(), time.monotonic()
        monitor.observe()
        python_s += time.thread_time() - thread_s
        walls.append(time.monotonic() - wall_s)
        jvm_s += threads_cpu_s(_GATEWAY) - answered_s
    took_s = time.monotonic() - begin_s
    return python_s / took_s, jvm_s / took_s, statistics.mean(walls)


def latency(spark: "SparkSession", cluster: Any, folder: Path, seconds: float) -> dict[str, Any]:
    """End-to-end latency of a light load, fused and pipelined, in turns of `seconds`."""
    start = {"numbers": 1, "check": 2, "count": 2}
    found: dict[str, list[tuple[float, float]]] = {"fused": [], "pipelined": []}
    hops = 0
    for turn in range(4):
        execution = ("fused", "pipelined")[turn % 2]
        load = SourceLoad(schedule(Constant(300.0)), time.time())
        place = folder / f"latency-{turn}"
        setup = Setup(counting_pipeline(), execution, place, load, Configuration({"counting": start}, 1), 1)
        with live(setup, spark, cluster) as at_work:
            monitor = at_work.monitor()
            time.sleep(SETTLE_S)
            monitor.observe()
            time.sleep(seconds)
            hops = max(hops, len(at_work.running.segments) - 1)
            seen = monitor.observe().applications["counting"].latency
            assert seen is not None
            found[execution].append((seen.p50_s, seen.p95_s))
    middle = {kind: statistics.mean(p50_s for p50_s, _ in seen) for kind, seen in found.items()}
    return {
        **{f"{kind}_p50_s": round(p50_s, 2) for kind, p50_s in middle.items()},
        **{f"{kind}_p95_s": round(statistics.mean(p95 for _, p95 in seen), 2) for kind, seen in found.items()},
        "hops": hops,
        "per_hop_s": round((middle["pipelined"] - middle["fused"]) / hops, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--kinds", default="plain,fused,chained,pipelined")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--observe", type=float, default=60.0)
    parser.add_argument("--latency", type=float, default=40.0)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="overhead-") as name, LocalCluster(SLOTS) as cluster:
        folder = Path(name)
        spark = start_session(cluster, "overhead", folder / "session", {"spark.sql.shuffle.partitions": str(SLOTS)})
        try:
            job, kinds = Job(spark, given.events, folder / "jobs"), given.kinds.split(",")
            result = throughput(job, given.pairs, kinds) if given.pairs else {}
            keep("overhead", result, given.out)
            if given.observe:
                result["monitoring"] = monitoring(spark, cluster, folder / "live", given.observe)
            if given.latency:
                result["latency"] = latency(spark, cluster, folder, given.latency)
        finally:
            stop_session(spark)
    keep("overhead", result, given.out)
    for title, found in result.items():
        say(f"{title:24} {found}")


if __name__ == "__main__":
    main()
