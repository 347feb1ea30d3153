"""How often every item occurs in every window, kept in state by a Python processor that tells what changes at once.

Spark's own count of a window can be followed by another operator with state only when the window is over, or in another
query. What this counts can be ranked in the same query.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues, ValueState

from penstock.spark.applications.ranking import Ranking, bucket_of
from penstock.spark.applications.waiting import served

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Counts: TypeAlias = Mapping[int, Mapping[str, int]]
"""How often each item occurred in every window; windows are numbers that grow with time."""


def count_items(events: "DataFrame", ranking: Ranking, service_s: float = 0.0) -> "DataFrame":
    """How often each item that is to be ranked has occurred in each window, whenever that changes.

    `events` must have an `event_time` and the item; what comes out has a `window_start`, the item and its `count`.
    Every event takes `service_s`.
    """
    window = f"unix_micros(window(event_time, '{ranking.window_s} seconds', '{ranking.slide_s} seconds').start)"
    items = events.selectExpr(f"{bucket_of(ranking.item)} AS bucket", f"{window} AS window", f"{ranking.item} AS item")
    processor = WindowCounts(ranking.windows, service_s)
    schema = "window bigint, item string, count bigint"
    counts = items.groupBy("bucket").transformWithState(processor, schema, "Append", "None")
    return counts.selectExpr("timestamp_micros(window) AS window_start", f"item AS {ranking.item}", "count")


def counted(counts: Counts, items: Iterable[tuple[int, str]], windows: int) -> dict[int, dict[str, int]]:
    """The counts that change through `items` (window, item).

    Of `counts` at most `windows` are remembered; what comes for a window that was forgotten is left out.
    """
    oldest = min(counts) if len(counts) >= windows else None
    changed: dict[int, dict[str, int]] = defaultdict(dict)
    for (window, item), more in Counter(items).items():
        if oldest is None or window >= oldest:
            changed[window][item] = counts.get(window, {}).get(item, 0) + more
    return dict(changed)


class WindowCounts(StatefulProcessor):
    """Counts the items of the last `windows` windows of every key; a count that changes is emitted.

    Rows must have a `window` and an `item`; those emitted have these and a `count`.
    """

    def __init__(self, windows: int, service_s: float) -> None:
        self._windows = windows
        self._service_s = service_s

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._kept: ValueState = handle.getValueState("counts", "counts string")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        """Take the items of one batch for one key."""
        with served(rows, self._service_s) as taken:
            (text,) = self._kept.get() or ("[]",)
            counts: dict[int, dict[str, int]] = dict(json.loads(text))
            changed = counted(counts, ((row["window"], row["item"]) for row in taken), self._windows)
            for window, items in changed.items():
                counts.setdefault(window, {}).update(items)
            self._kept.update((json.dumps(sorted(counts.items())[-self._windows :]),))
            for window, items in changed.items():
                for item, count in items.items():
                    yield Row(window=window, item=item, count=count)

    def close(self) -> None:
        """Nothing is open."""
