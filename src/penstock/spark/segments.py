"""A pipeline at work: one streaming query per segment, each with its own checkpoint, stop and start."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.errors import ActionFailed, UsageError
from penstock.model import Topology
from penstock.spark import internals
from penstock.spark.channels import Channel
from penstock.spark.checkpoints import is_clean, state_partitions
from penstock.spark.compiler import SegmentPlan, compile_pipeline, topology_of
from penstock.spark.frames import build_frame
from penstock.spark.graph import SinkNode, SourceNode
from penstock.spark.pipeline import Pipeline
from penstock.spark.sinks import attach_sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

    LoadOpener: TypeAlias = Callable[[SparkSession, SourceNode, int], DataFrame]
    """Opens the generated load of a source in that many partitions, as a streaming DataFrame."""

_STATE_PARTITIONS = "spark.sql.streaming.internal.stateStore.partitions"
_SETTINGS: Mapping[str, str] = {
    # Adaptive execution squeezes small but slow stages into one task.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a pipeline is run. `trigger_s` is the least time between the starts of two batches of a segment."""

    trigger_s: float = 0.5
    open_load: "LoadOpener | None" = None
    stop_timeout_s: float = 120.0


class RunningSegment:
    """One segment: its query while it runs, and what it takes to stop and start it.

    `parallelism` is what was last asked for, resolved to what the segment can have. Methods of one segment must be
    called from one thread at a time; different segments may be stopped and started at the same time.
    """

    def __init__(self, home: "RunningPipeline", plan: SegmentPlan) -> None:
        self.plan = plan
        self.checkpoint = home.folder / "segments" / plan.name
        self.query: StreamingQuery | None = None
        self._home = home
        self._parallelism: dict[str, int] = {}
        self._prepared: tuple[dict[str, int], DataFrame] | None = None

    @property
    def name(self) -> str:
        """The segment's name: that of its last operator."""
        return self.plan.name

    @property
    def parallelism(self) -> Mapping[str, int]:
        """What was last asked for; empty before the first start."""
        return MappingProxyType(self._parallelism)

    @property
    def running(self) -> bool:
        """Whether its query is active."""
        return self.query is not None and bool(self.query.isActive)

    def prepare(self, parallelism: Mapping[str, int]) -> None:
        """Build the next start's plan ahead of time, so that the pause does not have to wait for it."""
        resolved = self.plan.resolve(parallelism)
        self._prepared = (resolved, self._home.frame(self.plan, resolved))

    def schema(self) -> "StructType":
        """What its prepared plan emits."""
        if self._prepared is None:
            self.prepare(self._parallelism)
        assert self._prepared is not None
        return self._prepared[1].schema

    def start(self, parallelism: Mapping[str, int]) -> None:
        """Start, or go on from the checkpoint, with that parallelism.

        Where the checkpoint holds state of another number of partitions, the state is rewritten first.
        """
        if self.running:
            raise ActionFailed(f"Segment '{self.name}' is running already; stop it first.")
        resolved = self.plan.resolve(parallelism)
        state = self.plan.state_number(resolved)
        if state is not None and state_partitions(self.checkpoint) not in (None, state):
            self.repartition_state(state)
        self.query = self._started(resolved, {"processingTime": f"{self._home.options.trigger_s} seconds"})
        self._parallelism = resolved

    def set_parallelism_hot(self, instances: int) -> None:
        """Give the stateless operators `instances` instances from the next batch on; nothing pauses."""
        resolved = self.plan.resolve({**self._parallelism, **dict.fromkeys(self.plan.hot, instances)})
        if self.query is None or not self.running:
            raise ActionFailed(f"Segment '{self.name}' is not running, so its parallelism cannot be changed hot.")
        internals.set_shuffle_partitions(self.query, self.plan.hot_number(resolved))
        self._parallelism = resolved

    def stop(self) -> None:
        """Stop between two batches; the batch in progress is finished, however that has to be done.

        When this returns, every batch that was begun is committed.
        """
        if self.query is not None:
            internals.finish_and_stop(self.query, self._home.options.stop_timeout_s)
            self.query = None
        self.finish_last_batch()

    def finish_last_batch(self) -> None:
        """Repeat the last batch of a stopped segment if it was begun and not committed."""
        if is_clean(self.checkpoint):
            return
        query = self._started(self._parallelism or self.plan.resolve(self._least()), {"once": True})
        ended = query.awaitTermination(int(self._home.options.stop_timeout_s))
        if not ended or not is_clean(self.checkpoint):
            query.stop()
            raise ActionFailed(
                f"The last batch of segment '{self.name}' could not be finished within the time allowed."
            )

    def repartition_state(self, partitions: int) -> None:
        """Spread the state of the stopped segment over `partitions` partitions."""
        if self.running:
            raise ActionFailed(f"Segment '{self.name}' is running; stop it before its state is rewritten.")
        self.finish_last_batch()
        internals.repartition_state(self._home.spark, self.checkpoint, partitions)
        self._parallelism |= dict.fromkeys(self.plan.stateful, partitions)

    def run_to_end(self, parallelism: Mapping[str, int]) -> None:
        """Process all that is there now and stop."""
        self.query = self._started(self.plan.resolve(parallelism), {"availableNow": True})
        self.query.awaitTermination()

    def _least(self) -> dict[str, int]:
        return {name: bounds.least for name, bounds in self.plan.bounds.items()}

    def _started(self, resolved: dict[str, int], trigger: Mapping[str, Any]) -> "StreamingQuery":
        prepared, self._prepared = self._prepared, None
        frame = prepared[1] if prepared and prepared[0] == resolved else self._home.frame(self.plan, resolved)
        with self._home.settings(self.plan, resolved):
            return self._home.writer(self.plan, frame, self.checkpoint).trigger(**trigger).start()


class RunningPipeline:
    """A pipeline with its segments, channels and checkpoints in `folder`.

    `parallelism` (per operator; the least allowed where not given) holds for the first start. On a folder in which the
    same pipeline has run before, `start` goes on where it stopped.
    """

    def __init__(
        self,
        spark: "SparkSession",
        pipeline: Pipeline,
        execution: str,
        folder: Path,
        parallelism: Mapping[str, int],
        options: RunOptions | None = None,
    ) -> None:
        self.spark = spark
        self.pipeline = pipeline
        self.folder = folder
        self.options = options or RunOptions()
        self.graph = pipeline.graph()
        plans = compile_pipeline(pipeline, execution)
        self.topology: Topology = topology_of(self.graph, plans)
        self.channels: dict[str, Channel] = {}
        self._starting = threading.Lock()
        self._initial = {name: parallelism.get(name, self.graph.bounds(name).least) for name in self.graph.listed}
        self._claim_folder(execution, plans)
        self.segments: Mapping[str, RunningSegment] = {plan.name: self._segment(plan) for plan in plans}

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self.pipeline.name

    @property
    def parallelism(self) -> dict[str, int]:
        """The parallelism last asked for, of every operator of the topology."""
        return {name: count for segment in self.segments.values() for name, count in segment.parallelism.items()}

    def segment_of(self, operator: str) -> RunningSegment:
        """The segment in which an operator of the topology runs."""
        self.topology.operator(operator)
        return next(segment for segment in self.segments.values() if operator in segment.plan.operators)

    def start(self) -> None:
        """Start every segment that does not run, those that write channels before those that read them."""
        for segment in self.segments.values():
            if not segment.running:
                segment.start({**self._initial, **segment.parallelism})

    def stop(self) -> None:
        """Stop every segment between two batches, in order of flow. All of them are stopped even if one fails."""
        failures: list[Exception] = []
        for segment in self.segments.values():
            try:
                segment.stop()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def run_to_end(self) -> None:
        """Process all that the sources hold now, segment after segment, and stop. For bounded sources."""
        for segment in self.segments.values():
            segment.run_to_end({**self._initial, **segment.parallelism})

    def __enter__(self) -> "RunningPipeline":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def frame(self, plan: SegmentPlan, parallelism: Mapping[str, int]) -> "DataFrame":
        """What the segment's query computes at that parallelism."""
        inputs = {name: self.channels[name].read(self.spark) for name in plan.reads}
        inputs |= {name: self._open(name, parallelism[name]) for name in plan.sources}
        return build_frame(self.graph, plan, parallelism, inputs)

    def writer(self, plan: SegmentPlan, frame: "DataFrame", checkpoint: Path) -> "DataStreamWriter":
        """The segment's query, ready to be given a trigger and started."""
        writer = frame.writeStream.queryName(f"{self.name}/{plan.name}").outputMode(plan.mode)
        writer = writer.option("checkpointLocation", str(checkpoint))
        if plan.writes is not None:
            return writer.foreachBatch(self.channels[plan.writes].write)
        sink = self.graph.nodes[plan.nodes[-1]]
        assert isinstance(sink, SinkNode)
        return attach_sink(writer, sink, self.folder)

    @contextmanager
    def settings(self, plan: SegmentPlan, parallelism: Mapping[str, int]) -> Iterator[None]:
        """Give the session what a query that starts meanwhile shall keep as its own; then put it back."""
        wanted = {**_SETTINGS, "spark.sql.shuffle.partitions": str(plan.hot_number(parallelism))}
        state = plan.state_number(parallelism)
        if state is not None:
            # Counts for the first start alone: later ones take the number from the checkpoint.
            wanted[_STATE_PARTITIONS] = str(state)
        with self._starting:
            before = {name: self.spark.conf.get(name, None) for name in wanted}
            for name, value in wanted.items():
                self.spark.conf.set(name, value)
            try:
                yield
            finally:
                for name, was in before.items():
                    self.spark.conf.unset(name) if was is None else self.spark.conf.set(name, was)

    def _segment(self, plan: SegmentPlan) -> RunningSegment:
        segment = RunningSegment(self, plan)
        segment.prepare(self._initial)
        if plan.writes is not None:
            schema = segment.schema()
            self.channels[plan.writes] = Channel(plan.writes, self.folder / "channels" / plan.writes, schema)
        return segment

    def _open(self, name: str, partitions: int) -> "DataFrame":
        source = self.graph.nodes[name]
        assert isinstance(source, SourceNode)
        if callable(source.load):
            return source.load(self.spark)  # type: ignore[no-any-return]
        if self.options.open_load is None:
            raise UsageError(
                f"Source '{name}' of '{self.name}' needs a generated load ('{source.load}'), but none was given."
            )
        return self.options.open_load(self.spark, source, partitions)

    def _claim_folder(self, execution: str, plans: tuple[SegmentPlan, ...]) -> None:
        """Refuse a folder whose checkpoints belong to other segments: Spark would read them all the same."""
        layout = {"pipeline": self.name, "execution": execution, "segments": {p.name: list(p.nodes) for p in plans}}
        kept = self.folder / "layout.json"
        if kept.exists():
            if json.loads(kept.read_text()) != layout:
                raise UsageError(
                    f"The folder {self.folder} belongs to a different pipeline or execution mode; use another."
                )
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(layout, indent=2))
