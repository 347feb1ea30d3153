"""The most frequent words of every window, kept in state by a Python processor."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues, ValueState

Counted: TypeAlias = tuple[str, int]
Rankings: TypeAlias = Mapping[int, list[Counted]]
"""A ranking for every window; windows are numbers that grow with time."""


def ranked(known: Iterable[Counted], updates: Iterable[Counted], k: int) -> list[Counted]:
    """The `k` words with the highest counts, of which each word has only its highest; equals are in order of the word.

    Counts only grow, so a word that was passed over comes back with the update that makes it one of the first.
    """
    best: dict[str, int] = {}
    for word, count in (*known, *updates):
        best[word] = max(count, best.get(word, 0))
    return sorted(best.items(), key=lambda counted: (-counted[1], counted[0]))[:k]


def updated(
    rankings: Rankings, updates: Iterable[tuple[int, str, int]], k: int, windows: int
) -> dict[int, list[Counted]]:
    """The rankings that change through `updates` (window, word, count).

    Of `rankings` at most `windows` are remembered; what comes for a window that was forgotten is left out.
    """
    taken: dict[int, list[Counted]] = defaultdict(list)
    oldest = min(rankings) if len(rankings) >= windows else None
    for window, word, count in updates:
        if oldest is None or window >= oldest:
            taken[window].append((word, count))
    fresh = {window: ranked(rankings.get(window, ()), counted, k) for window, counted in taken.items()}
    return {window: ranking for window, ranking in fresh.items() if ranking != rankings.get(window)}


class TopWords(StatefulProcessor):
    """The `k` most frequent words of the last `windows` windows of every key; a ranking that changes is emitted.

    Rows must have a `window`, a `word` and a `count`; those emitted have these, the `key` and a `place`.
    """

    def __init__(self, k: int, windows: int, key: str) -> None:
        self._k = k
        self._windows = windows
        self._key = key

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._kept: ValueState = handle.getValueState("rankings", "rankings string")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        """Take the counts of one batch for one key."""
        rankings = self._read()
        updates = ((row["window"], row["word"], row["count"]) for row in rows)
        changed = updated(rankings, updates, self._k, self._windows)
        if not changed:
            return
        newest = sorted((rankings | changed).items())[-self._windows :]
        self._kept.update((json.dumps(newest),))
        for window, ranking in changed.items():
            for place, (word, count) in enumerate(ranking, start=1):
                yield Row(**{self._key: key[0]}, window=window, place=place, word=word, count=count)

    def close(self) -> None:
        """Nothing is open."""

    def _read(self) -> dict[int, list[Counted]]:
        (text,) = self._kept.get() or ("[]",)
        return {window: [(word, count) for word, count in ranking] for window, ranking in json.loads(text)}
