"""A pipeline at work: one streaming query per segment, each with its own checkpoint, stop and start."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.errors import ActionFailed, UsageError
from penstock.model import Topology
from penstock.spark import internals
from penstock.spark.channels import Channel, batch_number
from penstock.spark.checkpoints import (
    is_clean,
    last_committed,
    source_offsets,
    state_partitions,
    unfinished_rewrite,
)
from penstock.spark.compiler import SegmentPlan, compile_pipeline, topology_of
from penstock.spark.frames import build_frame, stateless_frames
from penstock.spark.graph import SinkNode, SourceNode
from penstock.spark.pipeline import Pipeline
from penstock.spark.positions import Position, earliest, events_taken, newest_folder
from penstock.spark.queries import claim_folder, prepare_session, query_settings, session_with
from penstock.spark.sinks import attach_sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

    LoadOpener: TypeAlias = Callable[[SparkSession, SourceNode, int], DataFrame]
    """Opens the generated load of a source in that many partitions, as a streaming DataFrame."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a pipeline is run.

    `trigger_s` is the least time between the starts of two batches of a segment with a source, `channel_trigger_s` that
    of a segment that only reads channels: how often it looks for more. `open_load` opens the sources that want a
    generated load; `stop_timeout_s` is how long a batch may take to finish when its segment is stopped. Every
    `tidy_s` what all readers of a channel have committed is deleted, except for the last `kept_batches`.
    """

    trigger_s: float = 0.5
    open_load: "LoadOpener | None" = None
    stop_timeout_s: float = 120.0
    tidy_s: float = 10.0
    kept_batches: int = 10
    channel_trigger_s: float = 0.2


class RunningSegment:
    """One segment: its query while it runs, and what it takes to stop and start it.

    Methods of one segment must be called from one thread at a time; different segments may be stopped and started at
    the same time.
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
        """What was last asked for, resolved to what the segment can have; empty before the first start."""
        return MappingProxyType(self._parallelism)

    @property
    def running(self) -> bool:
        """Whether its query is active."""
        return self.query is not None and bool(self.query.isActive)

    @property
    def failure(self) -> str | None:
        """Why its query ended by itself, in one line; None while all is well."""
        return None if self.query is None else internals.failure(self.query)

    def prepare(self, parallelism: Mapping[str, int]) -> "StructType":
        """Build the plan of the next start ahead of time, so that no pause has to wait for it; return what it emits."""
        resolved = self.plan.resolve(parallelism)
        frame = self._home.frame(self.plan, resolved)
        self._prepared = (resolved, frame)
        return frame.schema

    def start(self, parallelism: Mapping[str, int]) -> None:
        """Start, or go on from the checkpoint, with that parallelism.

        Where the checkpoint holds state in another number of partitions, the state is rewritten first.
        """
        if self.running:
            raise ActionFailed(f"Segment '{self.name}' is running already; stop it first.")
        resolved = self.plan.resolve(parallelism)
        state = self.plan.state_number(resolved)
        if state is not None and state_partitions(self.checkpoint) not in (None, state):
            self.repartition_state(state)
        options = self._home.options
        every_s = options.trigger_s if self.plan.sources else min(options.trigger_s, options.channel_trigger_s)
        self._start(resolved, processingTime=f"{every_s} seconds")

    def run_to_end(self, parallelism: Mapping[str, int]) -> None:
        """Process all that is there now, and stop."""
        query = self._start(self.plan.resolve(parallelism), availableNow=True)
        query.awaitTermination()

    def set_parallelism_hot(self, instances: int) -> None:
        """Give the stateless operators `instances` instances each from the next batch on; nothing pauses."""
        if self.query is None or not self.running:
            raise ActionFailed(f"Segment '{self.name}' is not running, so its parallelism cannot be changed hot.")
        resolved = self.plan.resolve({**self._parallelism, **dict.fromkeys(self.plan.hot, instances)})
        internals.set_shuffle_partitions(self.query, self.plan.hot_number(resolved))
        self._parallelism = resolved

    def stop(self) -> None:
        """Stop between two batches. When this returns, every batch that was begun is committed."""
        query, self.query = self.query, None
        if query is not None:
            internals.finish_and_stop(query, self._home.options.stop_timeout_s)
        self.finish_last_batch()

    def finish_last_batch(self) -> None:
        """Finish what a stopped segment has begun and not committed: its last batch, or a rewrite of its state."""
        if is_clean(self.checkpoint):
            return
        rewritten = unfinished_rewrite(self.checkpoint)
        if rewritten is not None:
            internals.repartition_state(self._home.spark, self.checkpoint, rewritten)
            return
        resolved = self._parallelism or self.plan.resolve({name: b.least for name, b in self.plan.bounds.items()})
        query = self._start(dict(resolved), once=True)
        with suppress(Exception):  # a query that failed says so again below
            query.awaitTermination(int(self._home.options.stop_timeout_s))
        why = self.failure or "it took too long"
        query.stop()
        self.query = None
        if not is_clean(self.checkpoint):
            raise ActionFailed(f"The last batch of segment '{self.name}' could not be finished: {why}")

    def repartition_state(self, partitions: int) -> None:
        """Spread the state of the stopped segment over `partitions` partitions."""
        if self.running:
            raise ActionFailed(f"Segment '{self.name}' is running; stop it before its state is rewritten.")
        self.finish_last_batch()
        internals.repartition_state(self._home.spark, self.checkpoint, partitions)
        self._parallelism |= dict.fromkeys(self.plan.stateful, partitions)

    def position(self, batch: int | None = None) -> dict[str, int]:
        """How far a batch, or else the last committed one, has come in events of the sources.

        What cannot be told (of a batch long past, or a source of another kind) is not in it.
        """
        number = last_committed(self.checkpoint) if batch is None else batch
        if number is None:
            return {}
        offsets = source_offsets(self.checkpoint, number)
        return earliest(
            self._input_position(index, name, offset)
            for index, (name, offset) in enumerate(zip(self.plan.inputs, offsets, strict=False))
        )

    def consumed(self, channel: str) -> int | None:
        """The newest batch of a channel that this segment reads and has committed; None before the first."""
        number = last_committed(self.checkpoint)
        offsets = () if number is None else source_offsets(self.checkpoint, number)
        index = self.plan.inputs.index(channel)
        return batch_number(newest_folder(self.checkpoint, index, offsets[index])) if index < len(offsets) else None

    def write_channel(self, frame: "DataFrame", batch: int) -> None:
        """Keep a batch of this segment in the channel it writes."""
        assert self.plan.writes is not None
        self._home.channels[self.plan.writes].write(frame, batch, self.position(batch))

    def _input_position(self, index: int, name: str, offset: str | None) -> Position:
        if name in self.plan.sources:
            events = events_taken(offset)
            return {} if events is None else {name: events}
        number = batch_number(newest_folder(self.checkpoint, index, offset))
        if number is None:
            return dict.fromkeys(self._home.sources_above(name), 0)
        return self._home.channels[name].position(number) or {}

    def _start(self, resolved: dict[str, int], **trigger: Any) -> "StreamingQuery":
        if self._prepared is not None and self._prepared[0] == resolved:
            frame, self._prepared = self._prepared[1], None
        else:
            frame = self._home.frame(self.plan, resolved)
        writer = self._home.writer(self, frame)
        with session_with(self._home.spark, query_settings(self.plan, resolved), self.name):
            self.query = writer.trigger(**trigger).start()
        self._parallelism = resolved
        return self.query


class RunningPipeline:
    """A pipeline with its segments, channels and checkpoints in `folder`.

    `parallelism` (by operator; the least allowed where not given) holds for the first start. On a folder in which the
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
        self.name = pipeline.name
        self.folder = folder.absolute()
        self.options = options or RunOptions()
        self.graph = pipeline.graph()
        plans = compile_pipeline(pipeline, execution)
        self.topology: Topology = topology_of(self.graph, plans)
        self.channels: dict[str, Channel] = {}
        self._initial = {name: parallelism.get(name, self.graph.bounds(name).least) for name in self.graph.listed}
        self._schemas: dict[str, StructType] = {}
        self._stopping = threading.Event()
        self._tidying: threading.Thread | None = None
        claim_folder(self.folder, self.name, execution, plans)
        prepare_session(spark)
        self.segments: Mapping[str, RunningSegment] = {plan.name: self._segment(plan) for plan in plans}

    @property
    def parallelism(self) -> dict[str, int]:
        """The parallelism last asked for, of every operator of the topology that has been started."""
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
        if self.channels and (self._tidying is None or not self._tidying.is_alive()):
            self._stopping.clear()
            self._tidying = threading.Thread(target=self._keep_tidy, name=f"tidy-{self.name}", daemon=True)
            self._tidying.start()

    def stop(self) -> None:
        """Stop every segment between two batches, in order of flow. All are stopped, even if one of them fails."""
        self._stopping.set()
        if self._tidying is not None:
            self._tidying.join()
        failures: list[Exception] = []
        for segment in self.segments.values():
            try:
                segment.stop()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def run_to_end(self) -> None:
        """Process all that the sources hold now, segment after segment, and stop: for sources that have an end."""
        for segment in self.segments.values():
            segment.run_to_end({**self._initial, **segment.parallelism})

    def rehearse(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Do once what is slow the first time in a session: process what is there, rewrite all state, start again.

        When `stopped` says so it is broken off between two of these.
        """
        self.run_to_end()
        for segment in self.segments.values():
            partitions = segment.plan.state_number(segment.parallelism)
            if partitions is not None and not stopped():
                segment.repartition_state(partitions + 1)
        if not stopped():
            self.run_to_end()

    def __enter__(self) -> "RunningPipeline":
        try:
            self.start()
        except Exception:
            with suppress(Exception):  # why it did not start is what matters
                self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def position(self) -> dict[str, int]:
        """How many events of each source have come all the way to every sink."""
        return earliest(segment.position() for segment in self.segments.values() if segment.plan.sink is not None)

    def tidy(self) -> int:
        """Delete the batches of channels that every reader has committed, except for the last; return how many."""
        deleted = 0
        for name, channel in self.channels.items():
            readers = [segment for segment in self.segments.values() if name in segment.plan.inputs]
            consumed = [segment.consumed(name) for segment in readers]
            known = [batch for batch in consumed if batch is not None]
            if len(known) == len(readers):
                deleted += channel.discard_before(min(known) - self.options.kept_batches)
        return deleted

    def frame(self, plan: SegmentPlan, parallelism: Mapping[str, int]) -> "DataFrame":
        """What the query of a segment computes at that parallelism."""
        inputs = {
            name: self._open(name, parallelism[name]) if name in plan.sources else self.channels[name].read(self.spark)
            for name in plan.inputs
        }
        self._schemas |= {name: opened.schema for name, opened in inputs.items()}
        return build_frame(self.graph, plan, parallelism, inputs)

    def stateless_frames(self, blank: "Callable[[StructType], DataFrame]") -> "list[DataFrame]":
        """What all operators without state make of blank inputs; for those who want to run them for nothing."""
        return [
            frame
            for segment in self.segments.values()
            for inputs in [{name: blank(self._schemas[name]) for name in segment.plan.inputs}]
            for frame in stateless_frames(self.graph, segment.plan, inputs)
        ]

    def whole_frame(self, segment: RunningSegment, blank: "Callable[[StructType], DataFrame]") -> "DataFrame":
        """What a segment makes of blank inputs; for those who want to run it for nothing."""
        inputs = {name: blank(self._schemas[name]) for name in segment.plan.inputs}
        return build_frame(self.graph, segment.plan, segment.parallelism, inputs)

    def writer(self, segment: RunningSegment, frame: "DataFrame") -> "DataStreamWriter":
        """The query of a segment, ready to be given a trigger and started."""
        plan = segment.plan
        writer = frame.writeStream.queryName(f"{self.name}/{plan.name}").outputMode(plan.mode)
        writer = writer.option("checkpointLocation", str(segment.checkpoint))
        if plan.writes is not None:
            return writer.foreachBatch(segment.write_channel)
        sink = self.graph.nodes[plan.nodes[-1]]
        assert isinstance(sink, SinkNode)
        return attach_sink(writer, sink, self.folder)

    def sources_above(self, name: str) -> tuple[str, ...]:
        """The sources of generated load from which the rows of `name` come."""
        node = self.graph.nodes[name]
        if isinstance(node, SourceNode):
            return () if callable(node.load) else (name,)
        return tuple({source for above in self.graph.upstream(name) for source in self.sources_above(above)})

    def _segment(self, plan: SegmentPlan) -> RunningSegment:
        segment = RunningSegment(self, plan)
        schema = segment.prepare(self._initial)
        if plan.writes is not None:
            self.channels[plan.writes] = Channel(plan.writes, self.folder / "channels" / plan.writes, schema)
        return segment

    def _open(self, name: str, partitions: int) -> "DataFrame":
        source = self.graph.nodes[name]
        assert isinstance(source, SourceNode)
        if callable(source.load):
            return source.load(self.spark)  # type: ignore[no-any-return]
        if self.options.open_load is None:
            raise UsageError(f"Source '{name}' of '{self.name}' needs a generated load, and none was given to the run.")
        return self.options.open_load(self.spark, source, partitions)

    def _keep_tidy(self) -> None:
        while not self._stopping.wait(self.options.tidy_s):
            with suppress(OSError, ValueError):  # a file that Spark is just replacing; the next round finds it
                self.tidy()
