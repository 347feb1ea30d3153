"""Rows that take their time: an operator keeps its slot busy for a declared service time but needs no processor.

With it scaling can be seen on a machine with fewer cores than the cluster has slots.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from penstock.errors import UsageError
from penstock.spark.applications.parameters import read

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Row = TypeVar("Row")


def wait_for(rows: "DataFrame", service_s: float) -> "DataFrame":
    """The same rows, each after its service time."""
    return rows.mapInArrow(Wait(service_s), rows.schema) if service_s > 0 else rows


@contextmanager
def served(rows: Iterable[Row], service_s: float) -> Iterator[list[Row]]:
    """All these rows, and what is done with them lasts as long as they take together, unless it does so anyhow.

    For operators with state: their rows come from Spark's exchange right into Python.
    """
    began_s = time.monotonic()
    taken = list(rows)
    yield taken
    time.sleep(max(0.0, began_s + len(taken) * service_s - time.monotonic()))


def service_s(parameters: Mapping[str, str]) -> float:
    """The parameter `service_ms`, in seconds; nothing is waited for where it is not given."""
    given = read(parameters, "service_ms", float, 0.0)
    if not 0 <= given < 60_000:
        raise UsageError(f"'service_ms={given:g}' is no service time; give milliseconds per event, such as 4.")
    return given / 1000


@dataclass(frozen=True)
class Wait:
    """Lets rows pass after their service time."""

    service_s: float

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        """Every batch, after as long as its rows take together."""
        for batch in batches:
            time.sleep(batch.num_rows * self.service_s)
            yield batch
