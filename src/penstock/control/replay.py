"""Feeds a loop what another loop saw, so that it comes to the same decisions and the same state."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from penstock.control.actions import Action
from penstock.control.entries import Acted, Decided, Ended, Entry, Observed, Refused, Requested, Started
from penstock.control.loop import ControlLoop, Plant, Ports
from penstock.errors import ActionFailed, BadObservation, UsageError
from penstock.model import Configuration, Observation
from penstock.policies.base import Policy


class Tape:
    """Recorded entries as the ports of a loop: it sees what was seen, and what it asks for happens as it did."""

    def __init__(self, entries: Sequence[Entry], initial: Configuration) -> None:
        self._sights: list[tuple[Observed | Refused, list[int]]] = []
        for entry in entries:
            if isinstance(entry, Observed | Refused):
                self._sights.append((entry, []))
            elif isinstance(entry, Requested) and self._sights:
                self._sights[-1][1].append(entry.workers)
        self._acts = {entry.at_s: entry for entry in entries if isinstance(entry, Acted)}
        self._requested = initial
        self._now_s = 0.0
        self._next: Observed | Refused | None = None
        self.made: list[Entry] = []

    def rounds(self) -> Iterable[Sequence[int]]:
        """Advance to each recorded round in turn; gives the workers that were asked for in it."""
        for sight, asked in self._sights:
            self._now_s, self._next = sight.at_s, sight
            yield asked

    def now_s(self) -> float:
        """The time of the recorded round."""
        return self._now_s

    def sleep_until(self, at_s: float) -> None:
        """A tape advances by its rounds alone."""

    def observe(self) -> Observation:
        """What was observed in this round; what was refused is refused again."""
        if isinstance(self._next, Observed):
            return self._next.observation
        raise BadObservation(self._next.because if self._next else "the tape has not begun")

    def apply(self, target: Configuration, release: Sequence[str] = ()) -> tuple[Action, ...]:
        """What was done when the same was asked for."""
        recorded = self._acts.get(self._now_s)
        if recorded is not None and recorded.error is not None:
            raise ActionFailed(recorded.error)
        self._requested = target
        return recorded.actions if recorded is not None else ()

    def requested(self) -> Configuration:
        """What was last asked for."""
        return self._requested

    def append(self, entry: Entry) -> None:
        """Keep what the loop writes while it replays."""
        self.made.append(entry)

    def entries(self) -> Iterable[Entry]:
        """What the loop wrote while it replayed."""
        return self.made


@dataclass(frozen=True, slots=True)
class Replayed:
    """One decision as it was recorded and as it was made again; None where one side has none."""

    recorded: Decided | None
    again: Decided | None

    @property
    def same(self) -> bool:
        """Whether both sides decided the same."""
        return self.recorded == self.again


def began(entries: Sequence[Entry]) -> Started:
    """The entry with which the run began, or `UsageError`."""
    first = entries[0] if entries else None
    if not isinstance(first, Started):
        raise UsageError("The journal does not begin with the start of a run; nothing can be replayed from it.")
    return first


def rewound(entries: Sequence[Entry], policy: Policy[Any]) -> tuple[ControlLoop[Any], Tape]:
    """A loop that has lived through `entries`, and the tape with what it decided meanwhile.

    Give the loop real `ports` to let it go on from there.
    """
    start = began(entries)
    plant = Plant({t.name: t for t in start.topologies}, start.cluster, start.objectives)
    tape = Tape([entry for entry in entries if not isinstance(entry, Ended)], start.initial)
    loop = ControlLoop(plant, policy, Ports(tape, tape, tape, tape), start.settings)
    for asked in tape.rounds():
        for workers in asked:
            loop.request(workers)
        loop.round()
    return loop, tape


def replay(entries: Sequence[Entry], policy: Policy[Any]) -> list[Replayed]:
    """Every decision of a journal, recorded and made again by `policy`."""
    _, tape = rewound(entries, policy)
    recorded = [entry for entry in entries if isinstance(entry, Decided)]
    again = [entry for entry in tape.made if isinstance(entry, Decided)]
    return [Replayed(r, a) for r, a in zip_longest(recorded, again)]
