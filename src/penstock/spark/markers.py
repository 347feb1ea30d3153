"""Marks in a query plan that count an operator's rows and tell which operator a stage belongs to.

A mark is a filter that lets every row pass. Its condition, `SPARK_PARTITION_ID() >= -1003`, is generated code and costs
next to nothing; it is not deterministic in the optimizer's eyes, so it is neither dropped nor pushed elsewhere; and its
literal carries the operator's number. The filter's own metric `numOutputRows` is then the row count. A user's filter
right below a mark may be merged into it: the merged filter's rows are still those that pass the mark.

The number of an operator is its position in `topology.operators`, whatever the execution mode. `IN` counts what
is handed to an operator and `OUT` what it returns. An `OUT` mark always lies in the operator's own stage, so it tells
whose stage that is; the `IN` mark of a stateful operator lies in the stage before it, ahead of Spark's partial
aggregation. A stage with several `OUT` marks is a union of branches that share its tasks; a stage without any reads a
channel.
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BASE = 1000
_CONDITION = re.compile(r"SPARK_PARTITION_ID\(\) >= -(\d+)", re.IGNORECASE)


class Side(IntEnum):
    """Which rows of an operator a mark counts."""

    IN = 0
    OUT = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """One side of the operator at position `operator` of the topology."""

    operator: int
    side: Side

    @property
    def number(self) -> int:
        """The number that the condition carries."""
        return _BASE + 2 * self.operator + self.side


def mark(frame: "DataFrame", operator: int, side: Side) -> "DataFrame":
    """The same rows, counted from here on as those of `operator`."""
    from pyspark.sql import functions as F  # noqa: N812

    return frame.where(F.spark_partition_id() >= F.lit(-Mark(operator, side).number))


def marks_in(description: str) -> tuple[Mark, ...]:
    """The marks that the text of a plan, or of one of its nodes, contains, in order of appearance."""
    numbers = (int(found) - _BASE for found in _CONDITION.findall(description))
    return tuple(Mark(number // 2, Side(number % 2)) for number in numbers if number >= 0)
