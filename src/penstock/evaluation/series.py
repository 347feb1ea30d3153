"""Time series of a run, as plots need them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.evaluation.measures import arrived, completed
from penstock.evaluation.timeline import Timeline, Window
from penstock.model import ApplicationObservation

POINTS = 600
"""As many points as a plot can show; longer series are thinned."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points over time; `None` leaves a gap."""

    at_s: tuple[float, ...]
    values: tuple[float | None, ...]

    def known(self) -> tuple[float, ...]:
        """All values that are known."""
        return tuple(value for value in self.values if value is not None)

    def raised(self, by: float) -> "Series":
        """The same series, a little higher."""
        return Series(self.at_s, tuple(None if value is None else value + by for value in self.values))

    def thinned(self, merge: Callable[[Sequence[float]], float], points: int = POINTS) -> "Series":
        """At most `points` points, each merging as many neighbours; unchanged when there are no more than that."""
        size = math.ceil(len(self.at_s) / points) if self.at_s else 1
        if size == 1:
            return self
        at_s, values = [], []
        for start in range(0, len(self.at_s), size):
            known = [value for value in self.values[start : start + size] if value is not None]
            times = self.at_s[start : start + size]
            at_s.append(sum(times) / len(times))
            values.append(merge(known) if known else None)
        return Series(tuple(at_s), tuple(values))


OfApplication: TypeAlias = Callable[[Timeline, str], Series]
"""A series of one application of a run."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which an operator had the same number of instances."""

    start_s: float
    end_s: float
    instances: int


def load(timeline: Timeline, application: str) -> Series:
    """Source events per second that arrived."""
    return _rate(timeline, application, arrived)


def throughput(timeline: Timeline, application: str) -> Series:
    """Source events per second that were completed."""
    return _rate(timeline, application, completed)


def backlog(timeline: Timeline, application: str) -> Series:
    """Events waiting at the end of each window."""
    found = [seen.backlog if (seen := w.application(application)) else None for w in timeline.windows]
    return Series(tuple(w.end_s for w in timeline.windows), tuple(found)).thinned(max)


def latency(timeline: Timeline, application: str, which: str) -> Series:
    """Latency in seconds; `which` is a field of `Latency`, such as `p95_s`."""

    def value(window: Window) -> float | None:
        seen = window.application(application)
        return getattr(seen.latency, which) if seen is not None and seen.latency is not None else None

    return _middle(timeline, value).thinned(max)


def workers(timeline: Timeline) -> Series:
    """Workers seen to run, each point standing for the time since the one before."""
    windows = timeline.windows
    if not windows:
        return Series((), ())
    at_s = (windows[0].since_s, *(w.end_s for w in windows))
    return Series(at_s, (windows[0].workers, *(w.workers for w in windows))).thinned(max)


def requested_workers(timeline: Timeline) -> Series:
    """Workers asked for, each point standing for the time until the next."""
    at_s = [at for at, _ in timeline.requested]
    values = [configuration.workers for _, configuration in timeline.requested]
    return Series((*at_s, timeline.end_s), (*values, values[-1]))


def parallelism(timeline: Timeline, application: str, operator: str) -> tuple[Stretch, ...]:
    """Instances seen to run, as stretches of equal number."""
    stretches: list[Stretch] = []
    for window in timeline.windows:
        seen = window.application(application)
        if seen is None or operator not in seen.operators:
            continue
        instances = seen.operators[operator].instances
        last = stretches[-1] if stretches else None
        if last is not None and last.instances == instances and last.end_s >= window.since_s - 1e-6:
            stretches[-1] = Stretch(last.start_s, window.end_s, instances)
        else:
            stretches.append(Stretch(window.since_s, window.end_s, instances))
    return tuple(stretches)


def _rate(
    timeline: Timeline, application: str, count: Callable[[ApplicationObservation, float], float | None]
) -> Series:
    def value(window: Window) -> float | None:
        seen = window.application(application)
        events = None if seen is None else count(seen, window.seconds)
        return None if events is None else events / window.seconds

    return _middle(timeline, value).thinned(lambda known: sum(known) / len(known))


def _middle(timeline: Timeline, value: Callable[[Window], float | None]) -> Series:
    """Values that hold for a whole window, placed in the middle of it."""
    windows = timeline.windows
    return Series(tuple((w.start_s + w.end_s) / 2 for w in windows), tuple(value(w) for w in windows))
