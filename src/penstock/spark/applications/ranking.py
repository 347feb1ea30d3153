"""The most frequent of a stream of counts, kept in state by a Python processor."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues, ValueState

Counted: TypeAlias = tuple[str, int]

_FORGET_MS = 15 * 60 * 1000
_RANKING = "words array<string>, counts array<bigint>"


def ranked(known: Iterable[Counted], updates: Iterable[Counted], k: int) -> list[Counted]:
    """The `k` words with the highest counts, of which each word has only its highest; equals are in order of the word.

    Counts only grow, so a word that was passed over comes back with the update that makes it one of the first.
    """
    best: dict[str, int] = {}
    for word, count in (*known, *updates):
        best[word] = max(count, best.get(word, 0))
    return sorted(best.items(), key=lambda counted: (-counted[1], counted[0]))[:k]


class TopWords(StatefulProcessor):
    """For every key the `k` most frequent words; emitted, with the key's columns, whenever they change.

    What was not touched for a quarter of an hour is forgotten.
    """

    def __init__(self, k: int, key: Sequence[str]) -> None:
        self._k = k
        self._key = tuple(key)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._ranking: ValueState = handle.getValueState("ranking", _RANKING, ttlDurationMs=_FORGET_MS)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        """Take the counts of one batch for one key."""
        words, counts = self._ranking.get() or ([], [])
        known = list(zip(words, counts, strict=True))
        ranking = ranked(known, ((row["word"], row["count"]) for row in rows), self._k)
        if ranking == known:
            return
        self._ranking.update(([word for word, _ in ranking], [count for _, count in ranking]))
        of_key = dict(zip(self._key, key, strict=True))
        for place, (word, count) in enumerate(ranking, start=1):
            yield Row(**of_key, place=place, word=word, count=count)

    def close(self) -> None:
        """Nothing is open."""
