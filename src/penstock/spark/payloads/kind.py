"""What a payload is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.uint64]
Columns: TypeAlias = Sequence[pa.Array]

TIMESTAMP = pa.timestamp("us", tz="UTC")

_SPARK_TYPES = {
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    TIMESTAMP: "TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class Payload:
    """One kind of event.

    `make(numbers, times_us, seed)` gives the columns of `schema` for the events with these numbers, due at these
    microseconds since 1970.
    """

    name: str
    summary: str
    schema: pa.Schema
    make: Callable[[Numbers, NDArray[np.int64], int], Columns]

    def spark_schema(self) -> str:
        """The columns as Spark writes a schema."""
        return ", ".join(f"{field.name} {_SPARK_TYPES[field.type]}" for field in self.schema)
