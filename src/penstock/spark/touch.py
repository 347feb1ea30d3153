"""The least that can be done with state."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues, ValueState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_PER_SLOT = 8


def touched_state(spark: "SparkSession", slots: int) -> "DataFrame":
    """A batch that writes a few rows of state with as many tasks as the session's exchanges have."""
    rows = spark.range(0, _ROWS_PER_SLOT * slots, 1, slots)
    return rows.groupBy("id").transformWithState(_Touch(), "id bigint", "Append", "None")


class _Touch(StatefulProcessor):
    """Remembers of every key that it was there."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._seen: ValueState = handle.getValueState("seen", "seen boolean")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        """Note one key."""
        self._seen.update((True,))
        yield Row(id=key[0])

    def close(self) -> None:
        """Nothing is open."""
