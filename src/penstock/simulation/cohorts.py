"""Queues of events that are kept together by when they were born."""

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import TypeAlias

Cohort: TypeAlias = tuple[float, float, float]
"""Birth of its source events (s), events of this stream, source events they stand for."""

EPSILON = 1e-9


def merged(cohorts: Iterable[Cohort]) -> list[Cohort]:
    """The same events with one cohort for each birth, oldest first.

    Lanes share what they get, so without this a queue that is spread again and again would end in ever more and ever
    smaller cohorts.
    """
    counts: defaultdict[float, float] = defaultdict(float)
    masses: defaultdict[float, float] = defaultdict(float)
    for birth_s, count, mass in cohorts:
        counts[birth_s] += count
        masses[birth_s] += mass
    return [(birth_s, counts[birth_s], masses[birth_s]) for birth_s in sorted(counts)]


class Cohorts:
    """First in, first out; whole or fractional events."""

    __slots__ = ("_items", "count", "mass")

    def __init__(self) -> None:
        self._items: deque[Cohort] = deque()
        self.count = 0.0
        self.mass = 0.0

    def push(self, birth_s: float, count: float, mass: float) -> None:
        """Add a cohort at the end."""
        self._items.append((birth_s, count, mass))
        self.count += count
        self.mass += mass

    def extend(self, cohorts: Iterable[Cohort]) -> None:
        """Add cohorts at the end, in their order."""
        for cohort in cohorts:
            self._items.append(cohort)
            self.count += cohort[1]
            self.mass += cohort[2]

    def pop_all(self) -> list[Cohort]:
        """Take everything."""
        taken = list(self._items)
        self._items.clear()
        self.count = self.mass = 0.0
        return taken

    def pop(self, count: float) -> list[Cohort]:
        """Take the oldest `count` events; the last cohort is split if need be."""
        if count >= self.count - EPSILON:
            return self.pop_all()
        taken: list[Cohort] = []
        items = self._items
        left = count
        while left > EPSILON and items:
            cohort = items[0]
            if cohort[1] <= left + EPSILON:
                items.popleft()
            else:
                part = left / cohort[1]
                items[0] = (cohort[0], cohort[1] - left, cohort[2] * (1 - part))
                cohort = (cohort[0], left, cohort[2] * part)
            taken.append(cohort)
            left -= cohort[1]
            self.count -= cohort[1]
            self.mass -= cohort[2]
        return taken

    def drop_newest(self, count: float) -> float:
        """Throw away the newest `count` events and return the source events lost with them."""
        lost = 0.0
        items = self._items
        while count > EPSILON and items:
            birth_s, size, mass = items.pop()
            gone = min(size, count)
            part = gone / size
            lost += mass * part
            if gone < size:
                items.append((birth_s, size - gone, mass * (1 - part)))
            self.count -= gone
            count -= gone
        self.mass -= lost
        return lost
