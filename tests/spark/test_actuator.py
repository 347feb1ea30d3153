"""Live changes of a running application: every level, what fails on the way, and what a crash leaves behind."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.control.actions import Action, Level
from penstock.errors import ActionFailed
from penstock.model import Cluster, Configuration
from penstock.spark import Pipeline, RunningPipeline, RunOptions, internals
from penstock.spark.actuator import SparkActuator
from penstock.spark.checkpoints import is_clean, last_committed, state_partitions, unfinished_rewrite
from penstock.spark.clock import WallClock
from penstock.spark.cluster import EmbeddedCluster
from penstock.spark.graph import SourceNode
from penstock.spark.intents import IntentLog, Step
from penstock.spark.source import load_source
from penstock.spark.status import StatusReader
from penstock.spark.workers import WorkerNames
from penstock.workloads.curves import Constant
from penstock.workloads.schedule import Schedule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Eventually = Callable[[Callable[[], bool]], bool]

START = {"numbers": 1, "check": 2, "count": 2}


def pipeline() -> Pipeline:
    from pyspark.sql import functions as F  # noqa: N812

    counting = Pipeline("counting")
    numbers = counting.source("numbers", load="numbers", parallelism=(1, 2))

    @counting.operator(after=numbers, parallelism=(1, 4))
    def check(df: "DataFrame") -> "DataFrame":
        return df.where(F.col("value") >= 0)

    @counting.operator(after=check, key="key", stateful=True, parallelism=(1, 4))
    def count(df: "DataFrame") -> "DataFrame":
        return df.groupBy("key").count()

    counting.sink("counts", after=count, format="batches")
    return counting


class Bench:
    """A pipeline that counts events by key, and an actuator for it."""

    def __init__(self, spark: "SparkSession", cluster: EmbeddedCluster, folder: Path) -> None:
        self.spark, self.cluster, self.folder = spark, cluster, folder
        self.clock = WallClock(time.time())
        self.workers = WorkerNames(Cluster.homogeneous(3, 1))
        self.running = self.pipeline()
        self.actuator = self.new_actuator()

    def pipeline(self) -> RunningPipeline:
        options = RunOptions(trigger_s=0.3, open_load=self._open, stop_timeout_s=60)
        return RunningPipeline(self.spark, pipeline(), "fused", self.folder, START, options)

    def new_actuator(self, workers: int = 2) -> SparkActuator:
        initial = Configuration({"counting": START}, workers)
        intents = IntentLog(self.folder / "intents.jsonl")
        return SparkActuator([self.running], self.cluster, initial, self.clock, intents, self.workers)

    def _open(self, spark: "SparkSession", node: SourceNode, partitions: int) -> "DataFrame":
        assert isinstance(node.load, str)
        return load_source(Schedule(Constant(200.0)), node.load, 1, self.clock.epoch_s, partitions=partitions)(spark)

    def apply(self, workers: int = 2, release: tuple[str, ...] = (), **parallelism: int) -> tuple[Action, ...]:
        return self.actuator.apply(Configuration({"counting": {**START, **parallelism}}, workers), release)

    @property
    def checkpoint(self) -> Path:
        return self.running.segments["count"].checkpoint

    def committed(self) -> int:
        return last_committed(self.checkpoint) or 0

    def executors(self) -> set[str]:
        return {executor.name for executor in StatusReader(self.spark).executors()}

    def assert_nothing_lost(self) -> None:
        """Stop, and compare what the sink has with what the source has handed out."""
        from pyspark.sql import functions as F  # noqa: N812

        self.running.stop()
        assert is_clean(self.checkpoint)
        counts = self.spark.read.parquet(str(self.folder / "sinks" / "counts" / "batch-*"))
        last = counts.groupBy("key").agg(F.max("count").alias("n")).agg(F.sum("n")).first()
        assert last is not None
        assert last[0] == self.running.segments["count"].position()["numbers"] > 0


@contextmanager
def started(bench: Bench, eventually: Eventually) -> Iterator[Bench]:
    try:
        bench.running.start()
        assert eventually(lambda: bench.committed() >= 1)
        yield bench
    finally:
        bench.running.stop()


@pytest.fixture
def bench(
    cluster_session: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path, eventually: Eventually
) -> Iterator[Bench]:
    with started(Bench(cluster_session, cluster, tmp_path / "run"), eventually) as running:
        yield running


def whats(actions: tuple[Action, ...]) -> Mapping[str, Level]:
    return {action.what: action.level for action in actions}


def first_of_keys() -> Pipeline:
    """Two operators with state, one behind the other, by different keys."""
    firsts = Pipeline("firsts")
    numbers = firsts.source("numbers", load="numbers")

    @firsts.operator(after=numbers, key="event_id", stateful=True, mode="append", parallelism=(1, 4))
    def events(df: "DataFrame") -> "DataFrame":
        return df.dropDuplicates(["event_id"])

    @firsts.operator(after=events, key="key", stateful=True, mode="append", parallelism=(1, 4))
    def keys(df: "DataFrame") -> "DataFrame":
        return df.dropDuplicates(["key"])

    firsts.sink("first", after=keys, format="batches")
    return firsts


def test_work_with_state_is_done_where_the_state_is(
    cluster_session: "SparkSession", tmp_path: Path, eventually: Eventually
) -> None:
    """Also in the middle of a query: executors to which state wanders must load it, and often start to keep any."""
    epoch_s = time.time()

    def open_load(spark: "SparkSession", node: SourceNode, partitions: int) -> "DataFrame":
        assert isinstance(node.load, str)
        return load_source(Schedule(Constant(200.0)), node.load, 1, epoch_s, partitions=partitions)(spark)

    options = RunOptions(trigger_s=0.3, open_load=open_load, stop_timeout_s=60)
    running = RunningPipeline(
        cluster_session, first_of_keys(), "fused", tmp_path, dict.fromkeys(("numbers", "events", "keys"), 1), options
    )
    status = StatusReader(cluster_session)
    try:
        running.start()
        assert eventually(lambda: (last_committed(running.segments["keys"].checkpoint) or 0) >= 12)
    finally:
        running.stop()
    stages = sorted(status.stages(epoch_s), key=lambda stage: stage.stage)
    in_the_middle = [stage for stage in stages if stage.read_rows and stage.written_rows]
    assert len(in_the_middle) >= 10
    assert len({tuple(status.tasks_by_executor(stage)) for stage in in_the_middle[1:]}) == 1


def test_every_level_on_a_live_application_loses_nothing(bench: Bench, eventually: Eventually) -> None:
    assert bench.apply() == ()

    hot = bench.apply(check=3)
    assert whats(hot) == {"check 2 -> 3": Level.HOT}
    assert hot[0].pause_s == 0
    assert hot[0].duration_s < 1

    grown = bench.apply(workers=3, check=4)
    assert whats(grown) == {"check 3 -> 4": Level.HOT, "executors 2 -> 3": Level.HOT}
    assert bench.running.parallelism["check"] == 3, "there is no slot yet for the fourth"
    assert eventually(lambda: bench.running.parallelism["check"] == 4)
    assert len(bench.executors()) == 3
    primed = bench.spark.sparkContext.statusTracker().getJobIdsForGroup
    before = len(primed("penstock-priming"))
    assert before

    deep = bench.apply(workers=3, check=3, count=3)
    assert whats(deep) == {"check 4 -> 3, count 2 -> 3": Level.STATE}
    assert state_partitions(bench.checkpoint) == 3
    assert 0 <= deep[0].pause_s <= deep[0].duration_s
    assert len(primed("penstock-priming")) > before, "one executor had never kept state"

    restart = bench.apply(workers=3, check=3, count=3, numbers=2)
    assert whats(restart) == {"numbers 1 -> 2": Level.RESTART}

    names = bench.workers.of(sorted(bench.executors()))
    victim = next(executor for executor, name in names.items() if name == "w2")
    shrunk = bench.apply(workers=2, release=("w2",), check=3, count=3, numbers=2)
    assert whats(shrunk) == {"executors 3 -> 2": Level.HOT}
    assert eventually(lambda: len(bench.executors()) == 2)
    assert victim not in bench.executors()

    assert bench.actuator.requested() == Configuration({"counting": {"numbers": 2, "check": 3, "count": 3}}, 2)
    assert bench.apply(workers=2, check=3, count=3, numbers=2) == ()
    total_s = bench.actuator.paused_s("counting", 0, bench.clock.now_s())
    assert total_s == pytest.approx(deep[0].pause_s + restart[0].pause_s + shrunk[0].pause_s, abs=0.1)
    bench.assert_nothing_lost()


def test_what_has_become_warm_is_used_though_more_was_asked_for_meanwhile(
    bench: Bench, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    warmed = [threading.Event(), threading.Event()]
    turns = iter(warmed)
    monkeypatch.setattr("penstock.spark.actuator.prime_executors", lambda *_: next(turns).wait(60))
    bench.apply(workers=1, check=1)
    assert eventually(lambda: len(bench.executors()) == 1)

    bench.apply(workers=2, check=2)
    assert eventually(lambda: len(bench.executors()) == 2)
    bench.apply(workers=3, check=3)
    assert bench.running.parallelism["check"] == 1, "the second executor is not warm yet"
    warmed[0].set()
    assert eventually(lambda: bench.running.parallelism["check"] == 2)
    assert eventually(lambda: len(bench.executors()) == 3)
    assert bench.running.parallelism["check"] == 2, "the third executor is not warm yet"
    warmed[1].set()
    assert eventually(lambda: bench.running.parallelism["check"] == 3)

    bench.apply(workers=2)
    assert eventually(lambda: len(bench.executors()) == 2)
    bench.assert_nothing_lost()


def test_more_than_there_is_room_for_is_refused_before_anything_is_done(bench: Bench) -> None:
    with pytest.raises(ActionFailed, match="room for 3"):
        bench.apply(workers=9, check=4)

    assert bench.running.parallelism == START
    assert bench.actuator.requested().workers == 2


def test_a_segment_whose_change_fails_is_brought_back(
    bench: Bench, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ActionFailed("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(internals, "repartition_state", refuse)
        with pytest.raises(ActionFailed, match=r"count 2 -> 3.*disk is full"):
            bench.apply(count=3)

    assert bench.running.segments["count"].running
    assert bench.running.parallelism == START
    assert bench.actuator.requested().parallelism["counting"] == START
    (intent,) = IntentLog(bench.folder / "intents.jsonl").all()
    assert intent.step is Step.CLOSED
    assert intent.outcome is not None
    assert "undone" in intent.outcome

    # The same change is tried again when it is asked for again.
    assert whats(bench.apply(count=3)) == {"count 2 -> 3": Level.STATE}
    assert eventually(lambda: bench.running.segments["count"].running)
    bench.assert_nothing_lost()


def test_what_a_crash_has_cut_off_is_completed(
    bench: Bench, cluster_session: "SparkSession", cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite = internals.repartition_state

    def crash(spark: "SparkSession", checkpoint: Path, partitions: int) -> None:
        rewrite(spark, checkpoint, partitions)
        for name in (str(last_committed(checkpoint)), f".{last_committed(checkpoint)}.crc"):
            (checkpoint / "commits" / name).unlink(missing_ok=True)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(internals, "repartition_state", crash)
        with pytest.raises(KeyboardInterrupt):
            bench.apply(count=3)
    assert unfinished_rewrite(bench.checkpoint) == 3
    assert not bench.running.segments["count"].running

    bench.running = bench.pipeline()
    bench.actuator = bench.new_actuator()
    (action,) = bench.actuator.recover()
    bench.running.start()

    assert action.level is Level.STATE
    assert bench.actuator.requested().parallelism["counting"] == {**START, "count": 3}
    assert state_partitions(bench.checkpoint) == 3
    assert IntentLog(bench.folder / "intents.jsonl").unfinished() == ()
    assert bench.actuator.recover() == ()
    bench.assert_nothing_lost()


def test_a_segment_that_is_down_cannot_be_changed_hot(bench: Bench) -> None:
    bench.running.stop()

    with pytest.raises(ActionFailed, match="not running"):
        bench.apply(check=4)
