"""What is observed of a running application is what it did, through restarts and channels."""

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.control.inspection import inspect
from penstock.errors import ActionFailed, BadObservation
from penstock.model import ApplicationObservation, Cluster, Configuration, Observation, OperatorObservation
from penstock.spark import Pipeline, RunningPipeline, RunOptions
from penstock.spark.actuator import SparkActuator
from penstock.spark.clock import WallClock
from penstock.spark.cluster import LocalCluster
from penstock.spark.completion import SourceLoad
from penstock.spark.graph import SourceNode
from penstock.spark.intents import IntentLog
from penstock.spark.monitor import SparkMonitor
from penstock.spark.source import load_source
from penstock.spark.supervision import Supervisor
from penstock.spark.workers import WorkerNames
from penstock.workloads.curves import Constant
from penstock.workloads.schedule import Schedule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Eventually = Callable[[Callable[[], bool]], bool]

START = {"numbers": 1, "twice": 2, "count": 2}
RATE_PER_S = 150.0


def pipeline(poison: Path) -> Pipeline:
    """Doubles every event and counts by key; dies as soon as there is a file called `poison`."""
    from pyspark.sql import functions as F  # noqa: N812

    counting = Pipeline("counting")
    numbers = counting.source("numbers", load="numbers")

    @counting.operator(after=numbers, parallelism=(1, 4))
    def twice(df: "DataFrame") -> "DataFrame":
        return df.withColumn("copy", F.explode(F.array(F.lit(1), F.lit(2))))

    @counting.operator(after=twice, key="key", stateful=True, parallelism=(1, 4))
    def count(df: "DataFrame") -> "DataFrame":
        return df.groupBy("key").count()

    @counting.sink(after=count)
    def counts(df: "DataFrame", batch: int) -> None:
        if poison.exists():
            raise RuntimeError("out of tea")
        df.write.format("noop").mode("overwrite").save()

    return counting


def first_events(most: int) -> Pipeline:
    """Keeps the first events of all, each once; Spark aggregates nothing before that."""
    counting = Pipeline("counting")
    numbers = counting.source("numbers", load="numbers")

    @counting.operator(after=numbers, parallelism=(1, 4))
    def twice(df: "DataFrame") -> "DataFrame":
        return df.where(f"event_id < {most}")

    @counting.operator(after=twice, key="event_id", stateful=True, mode="append", parallelism=(1, 4))
    def count(df: "DataFrame") -> "DataFrame":
        return df.dropDuplicates(["event_id"])

    @counting.sink(after=count)
    def counts(df: "DataFrame", batch: int) -> None:
        df.write.format("noop").mode("overwrite").save()

    return counting


class Bench:
    """A pipeline with a monitor and an actuator; the load ends after `duration_s`, so that totals can be known."""

    def __init__(
        self,
        spark: "SparkSession",
        folder: Path,
        execution: str,
        duration_s: float | None = None,
        made: Pipeline | None = None,
    ) -> None:
        self.folder = folder
        self.poison = folder / "poison"
        self.clock = WallClock(time.time())
        self.load = SourceLoad(Schedule(Constant(RATE_PER_S)), self.clock.epoch_s, duration_s)
        options = RunOptions(trigger_s=0.3, open_load=self._open, stop_timeout_s=60)
        self.running = RunningPipeline(spark, made or pipeline(self.poison), execution, folder, START, options)
        workers = WorkerNames(Cluster.homogeneous(1, 2))
        intents = IntentLog(folder / "intents.jsonl")
        initial = Configuration({"counting": START}, 1)
        self.actuator = SparkActuator([self.running], LocalCluster(2), initial, self.clock, intents, workers)
        loads = {"counting": {"numbers": self.load}}
        self.monitor = SparkMonitor([self.running], loads, self.clock, workers, self.actuator.paused_s)
        self.seen: list[Observation] = []

    def _open(self, spark: "SparkSession", node: SourceNode, partitions: int) -> "DataFrame":
        assert isinstance(node.load, str)
        load = self.load
        reader = load_source(
            load.schedule, node.load, 1, load.epoch_s, partitions=partitions, duration_s=load.duration_s
        )
        return reader(spark)

    def observe(self) -> ApplicationObservation:
        observation = self.monitor.observe()
        previous_s = self.seen[-1].at_s if self.seen else None
        inspect(observation, {"counting": self.running.topology}, previous_s)
        self.seen.append(observation)
        return observation.applications["counting"]

    def observe_the_end(self, eventually: Eventually) -> ApplicationObservation:
        """What is seen when all events of a load that has ended are completed, and that is settled."""
        assert eventually(self.complete)
        settled_s = time.time() + 0.5
        assert eventually(lambda: time.time() > settled_s)
        return self.observe()

    def total(self, what: str) -> float:
        return float(sum(getattr(observation.applications["counting"], what) for observation in self.seen))

    def position(self) -> int:
        return self.running.segments["count"].position().get("numbers", 0)

    def complete(self) -> bool:
        """Whether the observed segment has committed all events of a load that has ended."""
        assert self.load.duration_s is not None
        return self.position() == self.load.due(math.inf)


@pytest.fixture
def fused(spark: "SparkSession", tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(spark, tmp_path / "run", "fused")
    yield bench
    bench.poison.unlink(missing_ok=True)
    bench.running.stop()


@pytest.fixture
def pipelined(spark: "SparkSession", tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(spark, tmp_path / "run", "pipelined", duration_s=20.0)
    yield bench
    bench.running.stop()


def known(operator: OperatorObservation) -> bool:
    return operator.true_rate_per_s is not None


def test_counts_rates_and_latency_of_a_fused_application_through_a_restart(
    fused: Bench, eventually: Eventually
) -> None:
    fused.running.start()
    first = fused.observe()
    assert {name: seen.instances for name, seen in first.operators.items()} == START
    assert first.latency is None

    assert eventually(lambda: known(fused.observe().operators["count"]))
    check_rates(fused)

    # Batches of the query that is replaced are counted as well.
    fused.actuator.apply(Configuration({"counting": {"numbers": 1, "twice": 3, "count": 3}}, 1))
    paused = fused.observe()
    assert paused.paused_s > 0
    assert eventually(lambda: fused.observe().operators["count"].instances == 3)

    latencies = [seen.applications["counting"].latency for seen in fused.seen]
    assert any(latency is not None for latency in latencies)
    assert all(latency is None or 0 <= latency.p50_s <= latency.p95_s <= latency.p99_s for latency in latencies)

    fused.running.stop()
    assert fused.observe().backlog == fused.total("arrived") - fused.total("completed")
    assert fused.total("completed") == fused.position()


def check_rates(bench: Bench) -> None:
    """Rows, busy times and rates of one observation agree with each other and with what the operators do."""
    seen = bench.seen[-1].applications["counting"]
    window_s = bench.seen[-1].window_s
    numbers, twice, count = (seen.operators[name] for name in START)

    assert numbers.processed_per_s is not None
    assert twice.processed_per_s is not None
    assert twice.processed_per_s == pytest.approx(numbers.processed_per_s)
    assert twice.output_per_s["count"] == pytest.approx(2 * twice.processed_per_s)
    assert count.processed_per_s == pytest.approx(twice.output_per_s["count"])
    assert sum(op.time_share or 0 for op in seen.operators.values()) == pytest.approx(1)
    for operator in (numbers, twice, count):
        assert operator.true_rate_per_s is not None
        assert operator.time_share is not None
        assert operator.effective_rate_per_s == pytest.approx(operator.true_rate_per_s * operator.time_share)
        assert operator.busy_s is not None
        assert operator.processed_per_s is not None
        assert operator.busy_s * operator.true_rate_per_s == pytest.approx(operator.processed_per_s * window_s)
        assert operator.parallel_share is not None
        assert 0 < operator.parallel_share <= 1
    assert count.skew is not None
    assert 1 <= count.skew <= 2
    assert count.state_rows is not None
    assert 0 < count.state_rows <= 1000
    assert (count.state_bytes or 0) > 0
    (worker,) = bench.seen[-1].workers.values()
    assert worker.usage is not None
    assert worker.usage > 0
    assert worker.operators == {"counting/numbers": 1, "counting/twice": 2, "counting/count": 2}


def test_with_one_instance_each_operators_have_stages_of_their_own(fused: Bench, eventually: Eventually) -> None:
    """Spark would leave out an exchange from one task to one task, and the time of the stage would be halved."""
    fused.running.start()
    fused.actuator.apply(Configuration({"counting": {"numbers": 1, "twice": 1, "count": 1}}, 1))
    assert eventually(lambda: fused.observe().operators["count"].instances == 1)

    def all_known() -> bool:
        return all(map(known, fused.observe().operators.values()))

    assert eventually(all_known)
    operators = fused.seen[-1].applications["counting"].operators
    assert operators["twice"].busy_s != operators["count"].busy_s
    assert operators["twice"].processed_per_s == pytest.approx(operators["numbers"].processed_per_s)
    assert operators["count"].processed_per_s == pytest.approx(2 * (operators["twice"].processed_per_s or 0.0))


def test_rows_that_spark_does_not_aggregate_are_counted_in_every_batch(
    spark: "SparkSession", tmp_path: Path, eventually: Eventually
) -> None:
    """A third of the events is kept, but none of the batch whose marks are looked at."""
    duration_s = 6.0
    total = round(duration_s * RATE_PER_S)
    bench = Bench(spark, tmp_path / "run", "fused", duration_s, first_events(total // 3))
    try:
        bench.running.start()
        operators = bench.observe_the_end(eventually).operators
    finally:
        bench.running.stop()
    assert bench.total("completed") == total
    assert operators["count"].processed_per_s == pytest.approx((operators["numbers"].processed_per_s or 0.0) / 3)
    assert operators["twice"].output_per_s["count"] == operators["count"].processed_per_s


def test_a_window_with_two_plans_fits_together(spark: "SparkSession", tmp_path: Path, eventually: Eventually) -> None:
    """Another parallelism is another plan; the marks are those of the newest, which the batches before do not fit."""
    bench = Bench(spark, tmp_path / "run", "fused", duration_s=20.0)
    try:
        bench.running.start()
        bench.actuator.apply(Configuration({"counting": {"numbers": 1, "twice": 1, "count": 1}}, 1))
        assert eventually(lambda: known(bench.observe().operators["count"]))
        bench.actuator.apply(Configuration({"counting": START}, 1))
        operators = bench.observe_the_end(eventually).operators
    finally:
        bench.running.stop()
    assert known(operators["numbers"])
    assert operators["twice"].processed_per_s == pytest.approx(operators["numbers"].processed_per_s)
    assert operators["count"].processed_per_s == pytest.approx(2 * (operators["twice"].processed_per_s or 0.0))


def test_events_are_followed_through_channels(pipelined: Bench, eventually: Eventually) -> None:
    pipelined.running.start()
    # Windows are short here, and the segments' batches do not all end in the same one.
    shares: dict[str, float | None] = {}

    def all_known() -> bool:
        operators = pipelined.observe().operators
        shares.update({name: seen.time_share for name, seen in operators.items() if known(seen)})
        return set(shares) == set(START)

    assert eventually(all_known)
    assert shares["count"] == 1
    # The source has no parallelism of its own, so it shares a segment with what it feeds.
    assert 0 < (shares["numbers"] or 0) < 1
    assert 0 < (shares["twice"] or 0) < 1

    assert eventually(pipelined.complete)
    assert eventually(lambda: pipelined.observe().backlog == 0)
    total = pipelined.load.due(math.inf)
    assert pipelined.total("arrived") == pipelined.total("completed") == total
    arrived = [
        o.applications["counting"].operators["count"].input_per_s * o.window_s  # type: ignore[operator]
        for o in pipelined.seen
    ]
    # Each event becomes two rows in the channel; the last look may still be between its writing and its reading.
    assert sum(arrived) == pytest.approx(2 * total, rel=0.02)

    # With nothing left to do it is known to be idle.
    assert eventually(lambda: pipelined.observe().operators["count"].processed_per_s == 0)
    idle = pipelined.observe()
    assert (idle.operators["twice"].busy_s, idle.throughput_per_s) == (0, 0)
    assert (idle.operators["numbers"].queue, idle.operators["count"].queue) == (0, 0)


def test_the_death_of_a_query_is_a_bad_observation(fused: Bench, eventually: Eventually) -> None:
    fused.running.start()
    fused.observe()
    fused.poison.parent.mkdir(parents=True, exist_ok=True)
    fused.poison.touch()
    assert eventually(lambda: not fused.running.segments["count"].running)

    with pytest.raises(BadObservation, match=r"segment 'count' has failed: .*out of tea"):
        fused.observe()


def test_a_query_that_died_is_started_again_unless_it_dies_for_good(fused: Bench, eventually: Eventually) -> None:
    said: list[str] = []
    segment, supervisor = fused.running.segments["count"], Supervisor([fused.running], said.append)
    fused.running.start()
    assert eventually(lambda: fused.position() > 0)
    supervisor.look()
    assert said == []

    fused.poison.touch()
    assert eventually(lambda: not segment.running)
    fused.poison.unlink()
    supervisor.look()
    assert "segment 'count' has died" in said[0]
    reached = fused.position()
    assert eventually(lambda: fused.position() > reached)

    fused.poison.touch()
    for _ in range(3):
        assert eventually(lambda: not segment.running)
        supervisor.look()
    assert eventually(lambda: not segment.running)
    with pytest.raises(ActionFailed, match=r"'count' has died 4 times over the same batch: .*out of tea"):
        supervisor.look()


def test_watching_costs_little(fused: Bench, eventually: Eventually, spark: "SparkSession") -> None:
    fused.running.start()
    assert eventually(lambda: known(fused.observe().operators["count"]))
    session = spark
    threads = session._jvm.java.lang.management.ManagementFactory.getThreadMXBean()  # type: ignore[union-attr]

    def spent_s() -> float:
        return time.thread_time() + float(threads.getCurrentThreadCpuTime()) / 1e9

    begin_s = time.monotonic()
    assert eventually(lambda: time.monotonic() > begin_s + 5)
    before_s = spent_s()
    fused.observe()

    # Two hundredths of a core, measured over half the usual period on machines that may be slow.
    assert (spent_s() - before_s) / (time.monotonic() - begin_s) < 0.02 * 2
