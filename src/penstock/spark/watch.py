"""What a segment has done since it was last looked at: all its batches, over restarts of its query as well."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.errors import BadObservation
from penstock.model import Topology
from penstock.spark.attribution import Flow, Sample, Work, covered_s, stage_owners, work_of
from penstock.spark.checkpoints import is_clean, last_committed
from penstock.spark.internals import failure
from penstock.spark.markers import Mark, Side
from penstock.spark.progress import BatchProgress, StageRecord, StateProgress
from penstock.spark.segments import RunningSegment
from penstock.spark.status import MarkedRows, StatusReader, reports_after

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_SETTLE_S = 0.25
"""Stages are reported a little later than the batch they belong to; a batch younger than this is left for next time."""

_OVERLAP_S = 2.0
_FORGET_S = 600.0
_MEMORY = 0.5


class StagePool:
    """The finished stages of all queries, by run and batch, until somebody takes them."""

    def __init__(self, reader: StatusReader, now_s: float) -> None:
        self.codegens: dict[int, frozenset[int]] = {}
        self._reader = reader
        self._since_s = now_s
        self._seen: dict[tuple[int, int], float] = {}
        self._waiting: dict[tuple[str, int], list[StageRecord]] = {}

    def refresh(self, now_s: float) -> None:
        """Fetch what has finished since the last time."""
        found = self._reader.stages(self._since_s - _OVERLAP_S)
        new = [stage for stage in found if (stage.stage, stage.attempt) not in self._seen]
        self._since_s = now_s
        for stage in new:
            self._seen[stage.stage, stage.attempt] = now_s
            if stage.run_id is not None and stage.batch is not None:
                self._waiting.setdefault((stage.run_id, stage.batch), []).append(stage)
        if new:
            self.codegens |= self._reader.codegens(min(stage.stage for stage in new))
        self._forget(now_s)

    def take(self, run_id: str, batch: int) -> tuple[StageRecord, ...]:
        """The stages of a batch; they are given once."""
        return tuple(self._waiting.pop((run_id, batch), ()))

    def _forget(self, now_s: float) -> None:
        old = now_s - _FORGET_S
        self._seen = {key: at_s for key, at_s in self._seen.items() if at_s >= old}
        self._waiting = {
            key: stages for key, stages in self._waiting.items() if (stages[-1].completed_at_s or now_s) >= old
        }
        kept = min((stage for stage, _ in self._seen), default=0)
        self.codegens = {stage: found for stage, found in self.codegens.items() if stage >= kept}


@dataclass(frozen=True, slots=True)
class SegmentWindow:
    """What one segment did.

    `finished` are all batches committed since the last look. The rest describes those of them of whose stages it is
    known which operators they worked for (all, if it is known of none), which took `span_s` seconds: 0 if nothing was
    to be done, None if a batch has been under way all the time.
    `selectivity` is rows returned per row handed over, as sampled; `whole` are the operators whose stages write every
    row that is returned, so that these are counted. `rows` counts those taken from each source and channel.
    """

    finished: tuple[BatchProgress, ...] = ()
    measured: tuple[BatchProgress, ...] = ()
    span_s: float | None = None
    work: Mapping[str, Work] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    selectivity: Mapping[str, float] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    parallel_share: float | None = None
    states: tuple[StateProgress, ...] = ()

    @property
    def idle(self) -> bool:
        """Whether there was nothing to do."""
        return self.span_s is not None and not self.measured


class SegmentWatch:
    """Keeps an eye on one segment, whatever query it has at the moment."""

    def __init__(self, segment: RunningSegment, topology: Topology, now_s: float) -> None:
        self.segment = segment
        self.flow = Flow.of(segment.plan, topology)
        self._query: StreamingQuery | None = segment.query
        last = last_committed(segment.checkpoint)
        self._seen_batch = -1 if last is None else last
        self._reported_s = float("-inf")
        self._covered_until_s = now_s
        self._settling: list[BatchProgress] = []
        self._marked: MarkedRows | None = None
        self._sample: Sample | None = None
        self._passed: dict[Mark, float] = {}
        self._whole: dict[str, bool] = {}
        self._states: tuple[StateProgress, ...] = ()

    def finished(self) -> tuple[BatchProgress, ...]:
        """The batches committed since the last call. Raises `BadObservation` if the query has died."""
        before, self._query = self._query, self.segment.query
        queries = [before] if before is self._query else [before, self._query]
        found: list[BatchProgress] = []
        for query in queries:
            if query is None:
                continue
            reports = reports_after(query, self._reported_s)
            self._reported_s = max([self._reported_s, *(report.started_at_s for report in reports)])
            found.extend(report for report in reports if not report.idle and report.batch > self._seen_batch)
        problem = None if self._query is None else failure(self._query)
        if problem is not None:
            raise BadObservation(f"segment '{self.segment.name}' has failed: {problem}")
        return tuple(found)

    def measure(self, finished: tuple[BatchProgress, ...], pool: StagePool, reader: StatusReader) -> SegmentWindow:
        """What is known of the batches that have finished and settled; to be called after `pool.refresh`."""
        now_s = time.time()
        self._settling.extend(finished)
        measured = tuple(b for b in self._settling if b.committed_at_s <= now_s - _SETTLE_S)
        self._settling = [batch for batch in self._settling if batch not in measured]
        if not measured:
            return SegmentWindow(finished, span_s=self._idle_span_s(now_s), states=self._states)
        self._states = measured[-1].states or self._states
        ends_s = [min(self._covered_until_s, measured[0].started_at_s), *(batch.committed_at_s for batch in measured)]
        self._covered_until_s = ends_s[-1]
        stages = [pool.take(batch.run_id, batch.batch) for batch in measured]
        position = self._take_sample(measured, stages, reader)
        owned = [(own, stage_owners(own, pool.codegens, self._sample, self.flow)) for own in stages]
        if position is not None:
            self._compare(work_of([owned[position]]))
        # A change of parallelism changes the plan, and the marks are those of the newest: older batches do not fit it.
        telling = [i for i, (_, owners) in enumerate(owned) if owners] or range(len(measured))
        described = tuple(measured[i] for i in telling)
        return SegmentWindow(
            finished,
            described,
            max(sum(ends_s[i + 1] - ends_s[i] for i in telling), 1e-3),
            work_of(owned[i] for i in telling),
            self._rows(described),
            self._selectivity(),
            frozenset(name for name, whole in self._whole.items() if whole),
            _parallel_share(described, [stages[i] for i in telling]),
            self._states,
        )

    def _idle_span_s(self, now_s: float) -> float | None:
        """How long nothing has been to do; None if that is not so."""
        if self._settling or self._query is None or not is_clean(self.segment.checkpoint):
            return None
        status = self._query.status
        if status["isDataAvailable"] or status["message"].startswith("Initializing"):
            return None
        span_s, self._covered_until_s = now_s - self._covered_until_s, now_s
        return max(span_s, 0.0)

    def _take_sample(
        self, measured: tuple[BatchProgress, ...], stages: list[tuple[StageRecord, ...]], reader: StatusReader
    ) -> int | None:
        """Take the newest marks that belong to a measured batch, and tell to which; those of a batch still settling
        wait for it."""
        held, self._marked = self._marked, None if self._query is None else reader.marked_rows(self._query)
        numbers = {batch.batch: position for position, batch in enumerate(measured)}
        marked = next((m for m in (self._marked, held) if m is not None and m.filters and m.batch in numbers), None)
        if marked is None:
            return None
        position = numbers[marked.batch]
        self._sample = Sample.of(marked, len({stage.stage for stage in stages[position]}))
        source_rows = self._rows((measured[position],))
        for number, name in self.flow.numbers.items():
            if name in source_rows:
                self._pass(Mark(number, Side.IN), source_rows[name])
        for mark, rows in self._sample.rows.items():
            self._pass(mark, rows)
        return position

    def _compare(self, sampled: Mapping[str, Work]) -> None:
        """See who wrote fewer rows in the sampled batch than were returned: Spark aggregates in part what goes to some
        operators with state, and where it has once, it may again."""
        for number, name in self.flow.numbers.items():
            returned = self._sample.rows.get(Mark(number, Side.OUT)) if self._sample is not None else None
            if returned is not None and name in sampled and sampled[name].alone:
                self._whole[name] = self._whole.get(name, True) and sampled[name].written_rows >= returned

    def _pass(self, mark: Mark, rows: int) -> None:
        # Old samples fade, so that one batch without output does not look like an operator without output.
        self._passed[mark] = _MEMORY * self._passed.get(mark, 0.0) + rows

    def _selectivity(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for number, name in self.flow.numbers.items():
            handed, returned = self._passed.get(Mark(number, Side.IN)), self._passed.get(Mark(number, Side.OUT))
            if handed and returned is not None:
                found[name] = returned / handed
        return found

    def _rows(self, batches: tuple[BatchProgress, ...]) -> dict[str, int]:
        inputs = self.segment.plan.inputs
        rows = dict.fromkeys(inputs, 0)
        for batch in batches:
            for name, source in zip(inputs, batch.sources, strict=False):
                rows[name] += source.input_rows
        return rows


def _parallel_share(batches: tuple[BatchProgress, ...], stages: list[tuple[StageRecord, ...]]) -> float | None:
    """The part of the batches' time in which stages were at work; the rest does not shrink with more instances."""
    known = [(batch.duration_s, covered_s(own)) for batch, own in zip(batches, stages, strict=True) if own]
    total_s = sum(duration_s for duration_s, _ in known)
    return min(1.0, sum(work_s for _, work_s in known) / total_s) if total_s > 0 else None
