"""What is most frequent in every window, kept in state by a Python processor."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues, ValueState

from penstock.spark.applications.waiting import served

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BUCKETS = (480, 65, 369, 243, 296, 648, 380, 258, 4241, 90, 445, 1752, 635, 853, 1414, 346)
"""Keys that Spark's hash spreads as evenly as can be over any number of partitions up to 8: divided by the least common
multiple of 1 to 8 their hashes leave 0 to 15. Every key costs something in every batch, so there should be few."""
_TABLES = 4

Counted: TypeAlias = tuple[str, int]
Rankings: TypeAlias = Mapping[int, list[Counted]]
"""A ranking for every window; windows are numbers that grow with time."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What is ranked: the first `k` of the column `item`, in windows of `window_s` that begin every `slide_s`.

    Events may be `lateness_s` late.
    """

    item: str
    k: int
    window_s: int
    slide_s: int
    lateness_s: int

    @property
    def windows(self) -> int:
        """How many windows are remembered: as many as may still change, and one more for what is on its way."""
        return 2 + math.ceil((self.window_s - self.slide_s + self.lateness_s) / self.slide_s)


def bucket_of(item: str) -> str:
    """The expression for the bucket of a column's value: by buckets, operators with state divide their work."""
    numbers = ", ".join(f"{number}L" for number in _BUCKETS)
    return f"element_at(array({numbers}), CAST(pmod(xxhash64({item}), {len(_BUCKETS)}) AS INT) + 1)"


def rank_buckets(counts: "DataFrame", ranking: Ranking, service_s: float = 0.0) -> "DataFrame":
    """The first of every window in each `bucket` of items, whenever they change.

    `counts` must have a `window_start`, the item and its `count`; what comes out has these, the bucket and a `place`.
    Every count takes `service_s`.
    """
    return _rank(counts.selectExpr(f"{bucket_of(ranking.item)} AS bucket", "*"), "bucket", ranking, service_s)


def rank_windows(rankings: "DataFrame", ranking: Ranking, service_s: float = 0.0) -> "DataFrame":
    """The first of every window, whenever they change; windows take turns at the tables by which state is divided.

    Every place of the `rankings` takes `service_s`.
    """
    table = f"pmod(unix_seconds(window_start) div {ranking.slide_s}, {_TABLES})"
    counts = rankings.selectExpr(f"{table} AS table", "window_start", ranking.item, "count")
    return _rank(counts, "table", ranking, service_s)


def _rank(counts: "DataFrame", key: str, ranking: Ranking, service_s: float) -> "DataFrame":
    processor = TopCounted(ranking.k, ranking.windows, key, service_s)
    schema = f"{key} bigint, window bigint, place int, item string, count bigint"
    # Times go through Python as plain numbers, which have no time zone to get wrong.
    numbered = counts.selectExpr(key, "unix_micros(window_start) AS window", f"{ranking.item} AS item", "count")
    rankings = numbered.groupBy(key).transformWithState(processor, schema, "Append", "None")
    named = f"item AS {ranking.item}"
    return rankings.selectExpr(key, "timestamp_micros(window) AS window_start", "place", named, "count")


def ranked(known: Iterable[Counted], updates: Iterable[Counted], k: int) -> list[Counted]:
    """The `k` items with the highest counts, of which each item has only its highest; equals are in order of the item.

    Counts only grow, so an item that was passed over comes back with the update that makes it one of the first.
    """
    best: dict[str, int] = {}
    for item, count in (*known, *updates):
        best[item] = max(count, best.get(item, 0))
    return sorted(best.items(), key=lambda counted: (-counted[1], counted[0]))[:k]


def updated(
    rankings: Rankings, updates: Iterable[tuple[int, str, int]], k: int, windows: int
) -> dict[int, list[Counted]]:
    """The rankings that change through `updates` (window, item, count).

    Of `rankings` at most `windows` are remembered; what comes for a window that was forgotten is left out.
    """
    taken: dict[int, list[Counted]] = defaultdict(list)
    oldest = min(rankings) if len(rankings) >= windows else None
    for window, item, count in updates:
        if oldest is None or window >= oldest:
            taken[window].append((item, count))
    fresh = {window: ranked(rankings.get(window, ()), counted, k) for window, counted in taken.items()}
    return {window: ranking for window, ranking in fresh.items() if ranking != rankings.get(window)}


class TopCounted(StatefulProcessor):
    """The `k` most frequent items of the last `windows` windows of every key; a ranking that changes is emitted.

    Rows must have a `window`, an `item` and a `count`; those emitted have these, the `key` and a `place`.
    """

    def __init__(self, k: int, windows: int, key: str, service_s: float) -> None:
        self._k = k
        self._windows = windows
        self._key = key
        self._service_s = service_s

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._kept: ValueState = handle.getValueState("rankings", "rankings string")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        """Take the counts of one batch for one key."""
        with served(rows, self._service_s) as taken:
            rankings = self._read()
            updates = ((row["window"], row["item"], row["count"]) for row in taken)
            changed = updated(rankings, updates, self._k, self._windows)
            if changed:
                newest = sorted((rankings | changed).items())[-self._windows :]
                self._kept.update((json.dumps(newest),))
            for window, ranking in changed.items():
                for place, (item, count) in enumerate(ranking, start=1):
                    yield Row(**{self._key: key[0]}, window=window, place=place, item=item, count=count)

    def close(self) -> None:
        """Nothing is open."""

    def _read(self) -> dict[int, list[Counted]]:
        (text,) = self._kept.get() or ("[]",)
        return {window: [(item, count) for item, count in ranking] for window, ranking in json.loads(text)}
