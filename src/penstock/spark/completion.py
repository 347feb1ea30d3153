"""Which events have come all the way through an application, when, and how late they were."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.model import Latency
from penstock.spark.positions import events_taken
from penstock.spark.progress import BatchProgress
from penstock.spark.segments import RunningPipeline, RunningSegment
from penstock.workloads.schedule import Schedule

_MOST_EVENTS = 50_000
_CHUNK_EVENTS = 500


@dataclass(frozen=True, slots=True)
class SourceLoad:
    """The timetable of a source: `schedule` begins at `epoch_s` (wall time) and nothing is due after `duration_s`."""

    schedule: Schedule
    epoch_s: float
    duration_s: float | None = None

    def due(self, now_s: float) -> int:
        """Events due at wall time `now_s`."""
        at_s = now_s - self.epoch_s
        return self.schedule.events_until(at_s if self.duration_s is None else min(at_s, self.duration_s))

    def most_due(self, span_s: float, horizon_s: float) -> int:
        """The most events that fall due in any of the spans into which the time until `horizon_s` is cut."""
        until_s = min(horizon_s, math.inf if self.duration_s is None else self.duration_s)
        ends = [self.schedule.events_until(at_s) for at_s in np.arange(0.0, until_s + span_s, span_s)]
        return int(np.diff(ends).max())

    def sampled(self, start: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Events `start` to `end - 1` and when they were due: all of them or, of very many, an even part."""
        if end - start <= _MOST_EVENTS:
            begins, size = [start], end - start
        else:
            begins = np.linspace(start, end - _CHUNK_EVENTS, _MOST_EVENTS // _CHUNK_EVENTS).astype(int).tolist()
            size = _CHUNK_EVENTS
        events = np.concatenate([np.arange(begin, begin + size) for begin in begins])
        times_s = np.concatenate([self.schedule.times(begin, begin + size) for begin in begins])
        return events, times_s + self.epoch_s


@dataclass
class _Arrivals:
    """When one segment that ends in a sink had committed how many events of one source."""

    at_s: list[float] = field(default_factory=list)
    events: list[int] = field(default_factory=list)

    def add(self, at_s: float, events: int) -> None:
        if not self.events or events > self.events[-1]:
            self.at_s.append(at_s)
            self.events.append(events)

    def forget(self, events: int) -> None:
        """Drop what is not needed for events from `events` on."""
        keep = int(np.searchsorted(self.events, events, side="right"))
        del self.at_s[:keep], self.events[:keep]


@dataclass(frozen=True, slots=True)
class Completed:
    """What happened to an application's events since the last look; None where a source has no timetable."""

    arrived: float | None = None
    completed: float | None = None
    backlog: float | None = None
    latency: Latency | None = None
    arrived_at: Mapping[str, int] = field(default_factory=dict)
    """Events that arrived at each source."""


class Completions:
    """Follows an application's events from timetable to sink.

    An event is completed when every sink behind its source has committed a batch that holds it, or what became of it.
    Positions of batches tell this exactly, through channels as well. Counts go on from `counted`, the events that were
    seen to arrive and to be completed before a crash, else from what the checkpoints hold.
    """

    def __init__(
        self, pipeline: RunningPipeline, loads: Mapping[str, SourceLoad], counted: tuple[float, float] | None = None
    ) -> None:
        self._sinks = {segment.name: segment for segment in pipeline.segments.values() if segment.plan.sink is not None}
        self._loads = loads
        self._known = all(name in loads for name in pipeline.topology.sources)
        self._paths = {
            source: tuple(name for name, sink in self._sinks.items() if source in _sources(pipeline, sink))
            for source in pipeline.topology.sources
        }
        held = {name: segment.position() for name, segment in self._sinks.items()}
        self._done = {
            source: min((held[name].get(source, 0) for name in names), default=0)
            for source, names in self._paths.items()
        }
        self._due = dict(self._done)
        held_by_all = float(sum(self._done.values()))
        self._unseen = tuple(held_by_all - seen for seen in counted or (held_by_all, held_by_all))
        self._arrivals = {(source, name): _Arrivals() for source, names in self._paths.items() for name in names}
        self._reached = {(s, name): held[name].get(s, 0) for s, names in self._paths.items() for name in names}

    def look(self, now_s: float, finished: Mapping[str, Iterable[BatchProgress]]) -> Completed:
        """What has happened up to wall time `now_s`; `finished` are the new batches of every segment."""
        for name, sink in self._sinks.items():
            for batch in finished.get(name, ()):
                for source, events in _position(sink, batch).items():
                    if (source, name) in self._arrivals:
                        self._arrivals[source, name].add(batch.committed_at_s, events)
                        self._reached[source, name] = max(events, self._reached[source, name])
        if not self._known:
            return Completed()
        arrived = {source: self._arrived(source, now_s) for source in self._paths}
        late = [self._complete(source) for source in self._paths]
        (unseen_arrivals, unseen_completions), self._unseen = self._unseen, (0.0, 0.0)
        return Completed(
            arrived=unseen_arrivals + sum(arrived.values()),
            completed=unseen_completions + sum(count for count, _ in late),
            backlog=float(sum(max(0, self._due[source] - self._done[source]) for source in self._paths)),
            latency=_latency([lateness for _, lateness in late]),
            arrived_at=arrived,
        )

    def waiting(self, source: str, taken: int) -> int | None:
        """Events of a source that are due and not among the first `taken`."""
        return max(0, self._due[source] - taken) if source in self._loads else None

    def _arrived(self, source: str, now_s: float) -> int:
        # What a query has taken was due, whatever the clocks of two processes say.
        reached = max((self._reached[source, name] for name in self._paths[source]), default=0)
        due = max(self._loads[source].due(now_s), self._due[source], reached)
        arrived, self._due[source] = due - self._due[source], due
        return arrived

    def _complete(self, source: str) -> tuple[int, NDArray[np.float64]]:
        """How many events of a source have newly come all the way, and how late (a sample of) them were."""
        paths = self._paths[source]
        begin, end = self._done[source], min((self._reached[source, name] for name in paths), default=0)
        if end <= begin:
            return 0, np.empty(0)
        self._done[source] = end
        events, due_s = self._loads[source].sampled(begin, end)
        ended_s = np.max([_ended_s(self._arrivals[source, name], events) for name in paths], axis=0)
        for name in paths:
            self._arrivals[source, name].forget(end)
        return end - begin, np.maximum(ended_s - due_s, 0.0)


def _ended_s(arrivals: _Arrivals, events: NDArray[np.int64]) -> NDArray[np.float64]:
    """When a segment had committed each of the events (already committed before it was watched: never late)."""
    places = np.searchsorted(arrivals.events, events, side="right")
    times_s = np.append(np.asarray(arrivals.at_s), arrivals.at_s[-1] if arrivals.at_s else 0.0)
    return np.asarray(times_s[np.minimum(places, len(times_s) - 1)], dtype=np.float64)


def _latency(lateness: list[NDArray[np.float64]]) -> Latency | None:
    all_s = np.concatenate(lateness) if lateness else np.empty(0)
    if not len(all_s):
        return None
    p50_s, p95_s, p99_s = (float(value) for value in np.percentile(all_s, (50, 95, 99)))
    return Latency(float(all_s.mean()), p50_s, p95_s, p99_s)


def _position(segment: RunningSegment, batch: BatchProgress) -> Mapping[str, int]:
    """How far a batch has come; from its progress where that says it, which spares reading the checkpoint."""
    if segment.plan.reads:
        return segment.position(batch.batch)
    taken = {
        name: events_taken(source.end_offset) for name, source in zip(segment.plan.inputs, batch.sources, strict=False)
    }
    return {name: events for name, events in taken.items() if events is not None}


def _sources(pipeline: RunningPipeline, segment: RunningSegment) -> set[str]:
    """The sources whose events reach a segment, through any number of channels."""
    writers = {other.plan.writes: other for other in pipeline.segments.values() if other.plan.writes is not None}
    found = set(segment.plan.sources)
    for channel in segment.plan.reads:
        found |= _sources(pipeline, writers[channel])
    return found
