"""A journal read as a story: which windows were observed, what was changed, what was requested when."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from penstock.control.actions import Action
from penstock.control.entries import Acted, Decided, Ended, Entry, Judged, Observed, Refused, Started
from penstock.errors import UsageError
from penstock.model import (
    ApplicationObservation,
    Change,
    Configuration,
    Keep,
    Observation,
    ParallelismChange,
    WorkersChange,
    diff,
)


@dataclass(frozen=True, slots=True)
class Window:
    """One observation at its place on the run's clock.

    `since_s` is where the previous observation ended (or where this one's window began, after a start):
    between two observations of one start no time is left out, even when a measurement was refused.
    """

    start_s: float
    end_s: float
    since_s: float
    observation: Observation
    requested: Configuration

    @property
    def seconds(self) -> float:
        """Length of the measured window."""
        return self.end_s - self.start_s

    @property
    def workers(self) -> int:
        """Workers seen to run, or those requested where none could be seen."""
        return len(self.observation.workers) or self.requested.workers

    def application(self, name: str) -> ApplicationObservation | None:
        """What was measured of one application, if anything was."""
        return self.observation.applications.get(name)


@dataclass(frozen=True, slots=True)
class Episode:
    """One wish to change something and what became of it, from decision to verdict.

    `held_by` is set when a guard kept the loop from acting, `error` when the cluster did not comply.
    `rollback` marks the way back from a change that was judged worse.
    """

    at_s: float
    because: str
    before: Configuration
    target: Configuration
    held_by: str | None = None
    done: tuple[Action, ...] = ()
    error: str | None = None
    verdict: str | None = None
    verdict_because: str | None = None
    rollback: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """What is to change, piece by piece: `split 1 -> 2`, `workers 2 -> 3`."""
        return tuple(_described(change, len(self.target.parallelism) > 1) for change in diff(self.before, self.target))

    @property
    def action(self) -> str:
        """What is to change, in words."""
        return ", ".join(self.parts) or "no change"

    @property
    def direction(self) -> Literal["more", "less", "other"]:
        """Whether it takes more of everything it changes, less of it, or neither."""
        changes = diff(self.before, self.target)
        grows = {c.after > c.before for c in changes if isinstance(c, ParallelismChange | WorkersChange)}
        if len(grows) != 1:
            return "other"
        return "more" if grows.pop() else "less"

    @property
    def carried_out(self) -> bool:
        """Whether the cluster was really changed."""
        return bool(self.done) and self.error is None

    def concerns(self, application: str) -> bool:
        """Whether the cluster did something for that application, or for all of them."""
        return any(action.application in (application, None) for action in self.done)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Everything a journal tells about one run, in order and on one clock that never goes back.

    `applications` are in the order in which the run names them. `requested` holds every configuration asked for
    and since when; `chosen` the workers that each decision of the policy left requested; `kept` counts the
    decisions to change nothing.
    """

    started: Started
    applications: tuple[str, ...]
    windows: tuple[Window, ...]
    episodes: tuple[Episode, ...]
    requested: tuple[tuple[float, Configuration], ...]
    chosen: tuple[int, ...]
    kept: int
    refused: int
    end_s: float
    ended: Ended | None

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "Timeline":
        """Read a journal. Raises `UsageError` when it holds no start, or the starts of several runs."""
        remaining = iter(entries)
        first = next((entry for entry in remaining if isinstance(entry, Started)), None)
        if first is None:
            raise UsageError("The journal has no start of a run, so nothing can be measured; give it one that has.")
        reader = _Reader(first)
        for entry, at_s in _on_one_clock(remaining, first.at_s):
            reader.read(entry, at_s)
        return reader.timeline()


def _on_one_clock(entries: Iterable[Entry], start_s: float) -> Iterator[tuple[Entry, float]]:
    """Entries with their times; a part whose clock began anew is moved to where the part before it ended."""
    offset_s, last_s = 0.0, start_s
    for entry in entries:
        if isinstance(entry, Started):
            offset_s = max(offset_s, last_s - entry.at_s)
        last_s = max(last_s, entry.at_s + offset_s)
        yield entry, entry.at_s + offset_s


def _described(change: Change, several: bool) -> str:
    """A change in words, with its application where there are several."""
    if isinstance(change, WorkersChange):
        return f"workers {change.before} -> {change.after}"
    operator = f"{change.application}/{change.operator}" if several else change.operator
    if isinstance(change, ParallelismChange):
        return f"{operator} {change.before} -> {change.after}"
    return f"{operator} moves to {', '.join(change.after or ())}"


@dataclass
class _Reader:
    """Gathers a timeline entry by entry."""

    started: Started
    windows: list[Window] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    requested: list[tuple[float, Configuration]] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    observed_until_s: float | None = None
    open_episode: int | None = None
    kept: int = 0
    refused: int = 0
    ended: Ended | None = None

    def __post_init__(self) -> None:
        self.last_s = self.started.at_s
        self.requested.append((self.started.at_s, self.started.initial))

    @property
    def now_requested(self) -> Configuration:
        return self.requested[-1][1]

    def read(self, entry: Entry, at_s: float) -> None:
        self.last_s = max(self.last_s, at_s)
        match entry:
            case Started():
                self._started(entry, at_s)
            case Observed():
                self._observed(entry.observation, at_s - entry.at_s)
            case Refused():
                self.refused += 1
            case Decided():
                self._decided(entry, at_s)
            case Acted():
                self._acted(entry, at_s)
            case Judged():
                self._judged(entry, at_s)
            case Ended():
                self.ended = entry

    def _started(self, entry: Started, at_s: float) -> None:
        if not entry.resumed:
            raise UsageError("The journal holds more than one run; give every run a journal of its own.")
        self.requested.append((at_s, entry.initial))
        self.observed_until_s = None
        self.open_episode = None
        self.ended = None

    def _observed(self, observation: Observation, offset_s: float) -> None:
        if observation.window_s <= 0:
            return
        end_s = observation.at_s + offset_s
        start_s = end_s - observation.window_s
        since_s = start_s if self.observed_until_s is None else self.observed_until_s
        self.windows.append(Window(start_s, end_s, min(since_s, end_s), observation, self.now_requested))
        self.observed_until_s = end_s
        self.last_s = max(self.last_s, end_s)

    def _decided(self, entry: Decided, at_s: float) -> None:
        self.chosen.append((entry.target or self.now_requested).workers)
        if isinstance(entry.decision, Keep):
            self.kept += 1
            return
        self._open(Episode(at_s, entry.decision.because, self.now_requested, entry.target or entry.decision.target))
        if entry.target is None:
            self._close(held_by=entry.held_by or "nothing was asked for")

    def _acted(self, entry: Acted, at_s: float) -> None:
        if self.open_episode is None:
            self._open(Episode(at_s, "outside a decision of the policy", self.now_requested, entry.target))
        self._close(at_s=at_s, done=entry.actions, error=entry.error)
        if entry.error is None:
            self.requested.append((at_s, entry.target))

    def _judged(self, entry: Judged, at_s: float) -> None:
        tried = [i for i, episode in enumerate(self.episodes) if episode.carried_out and not episode.rollback]
        if tried:
            episode = self.episodes[tried[-1]]
            self.episodes[tried[-1]] = replace(episode, verdict=entry.verdict, verdict_because=entry.because)
        if entry.back_to is not None:
            self._open(Episode(at_s, entry.because, self.now_requested, entry.back_to, rollback=True))

    def _open(self, episode: Episode) -> None:
        self.episodes.append(episode)
        self.open_episode = len(self.episodes) - 1

    def _close(self, **outcome: Any) -> None:
        assert self.open_episode is not None
        self.episodes[self.open_episode] = replace(self.episodes[self.open_episode], **outcome)
        self.open_episode = None

    def timeline(self) -> Timeline:
        """What was gathered."""
        named = [topology.name for topology in self.started.topologies]
        seen = [name for window in self.windows for name in window.observation.applications]
        return Timeline(
            started=self.started,
            applications=tuple(dict.fromkeys([*named, *seen])),
            windows=tuple(self.windows),
            episodes=tuple(self.episodes),
            requested=tuple(self.requested),
            chosen=tuple(self.chosen),
            kept=self.kept,
            refused=self.refused,
            end_s=self.last_s,
            ended=self.ended,
        )
