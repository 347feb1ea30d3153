"""A streaming source that follows a load curve exactly.

Event n of a schedule is offset n of the source: it becomes available at the instant it is due, whether or not the query
keeps up (open loop), and its `event_time` is that instant, so that latency counts from when an event should have
been handled. What an event holds depends on its number and the seed alone: a replayed batch is the same batch.
"""

import base64
import pickle
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from penstock.errors import UsageError
from penstock.spark.payloads import TIMESTAMP, Payload, payload
from penstock.workloads import Schedule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE_NAME = "penstock_load"

OFFSET_KEY = "events"
"""The one key of the source's offsets: `{"events": n}` means that events 0 to n - 1 are behind it."""

_CHUNK_ROWS = 8192

Offset = dict[str, int]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options of the source.

    `schedule` is an encoded `Schedule`; `epoch_s` the wall time, in seconds since 1970, of the schedule's time 0, which
    must stay the same when a query restarts; no event is due after `duration_s`.
    """

    schedule: str
    epoch_s: float
    payload: str = "numbers"
    seed: int = 0
    partitions: int = 1
    max_rows_per_batch: int | None = None
    duration_s: float | None = None

    def __post_init__(self) -> None:
        payload(self.payload)
        if self.partitions < 1:
            raise UsageError(f"The load source cannot have {self.partitions} partitions; it needs at least 1.")
        if self.max_rows_per_batch is not None and self.max_rows_per_batch < 1:
            raise UsageError(f"max_rows_per_batch is {self.max_rows_per_batch}; it must be at least 1.")

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "LoadOptions":
        """Read the options as Spark hands them over: text, and names in any case."""
        kinds: dict[str, Callable[[str], Any]] = {
            "schedule": str,
            "epoch_s": float,
            "payload": str,
            "seed": int,
            "partitions": int,
            "max_rows_per_batch": int,
            "duration_s": float,
        }
        given = {name: kind(options[name]) for name, kind in kinds.items() if name in options}
        for name in ("schedule", "epoch_s"):
            if name not in given:
                raise UsageError(f"The load source needs the option '{name}'; use load_source, which sets it.")
        return cls(**given)

    def texts(self) -> dict[str, str]:
        """The options as Spark wants them."""
        # repr() of a float gives every digit: the epoch must come back exactly.
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value if isinstance(value, str) else repr(value)
            for name, value in values.items()
            if value is not None
        }

    def due(self, now_s: float) -> int:
        """Events due at wall time `now_s` or before."""
        at_s = now_s - self.epoch_s
        if self.duration_s is not None:
            at_s = min(at_s, self.duration_s)
        return decode_schedule(self.schedule).events_until(at_s)


def load_source(
    schedule: Schedule,
    payload: str,
    seed: int,
    epoch_s: float,
    *,
    partitions: int = 1,
    max_rows_per_batch: int | None = None,
    duration_s: float | None = None,
) -> "Callable[[SparkSession], DataFrame]":
    """A function that opens the load as a streaming DataFrame on a session.

    Its columns are `event_id` (0, 1, 2, ...), `event_time`, and those of the payload. `epoch_s` is the wall time of the
    schedule's time 0 in seconds since 1970: keep it and give the same one when the query is restarted.
    """
    options = LoadOptions(
        encode_schedule(schedule), epoch_s, payload, seed, partitions, max_rows_per_batch, duration_s
    ).texts()

    def open_load(spark: "SparkSession") -> "DataFrame":
        spark.dataSource.register(LoadDataSource)
        return spark.readStream.format(SOURCE_NAME).options(**options).load()

    return open_load


def encode_schedule(schedule: Schedule) -> str:
    """A schedule as text that can travel as an option."""
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    return base64.b64encode(zlib.compress(dumps(schedule))).decode("ascii")


@lru_cache(maxsize=8)
def decode_schedule(text: str) -> Schedule:
    """The schedule in `text`; the same text gives the same object again, with all it has computed so far."""
    schedule = pickle.loads(zlib.decompress(base64.b64decode(text)))
    if not isinstance(schedule, Schedule):
        raise UsageError(f"The load source's schedule is a {type(schedule).__name__}; encode it with encode_schedule.")
    return schedule


class LoadDataSource(DataSource):
    """The data source `penstock_load`."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return SOURCE_NAME

    def schema(self) -> str:
        """`event_id`, `event_time` and the payload's columns."""
        kind = payload(LoadOptions.parse(self.options).payload)
        return f"event_id BIGINT, event_time TIMESTAMP, {kind.spark_schema()}"

    def streamReader(self, schema: Any) -> "LoadStreamReader":  # noqa: N802
        """The reader of the whole load."""
        return LoadStreamReader(LoadOptions.parse(self.options))


@dataclass
class EventRange(InputPartition):
    """Events `start` to `end - 1`."""

    start: int
    end: int


class LoadStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offers events as they fall due, and makes them up when they are read."""

    def __init__(self, options: LoadOptions) -> None:
        self._options = options
        self._last: int | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        """The first event."""
        return {OFFSET_KEY: 0}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """All events that are due, or as many as the limit allows."""
        begin = start[OFFSET_KEY]
        # A clock that is set back must not take events back.
        end = max(begin, self._due())
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        return {OFFSET_KEY: end}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """At most `max_rows_per_batch`."""
        rows = self._options.max_rows_per_batch
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        """All events that are due: minus what was processed, the backlog."""
        return {OFFSET_KEY: self._due()}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Offer nothing that falls due from now on."""
        self._last = self._due()

    def partitions(self, start: Offset, end: Offset) -> Sequence[EventRange]:
        """The events in between, cut into equal parts."""
        begin, count = start[OFFSET_KEY], end[OFFSET_KEY] - start[OFFSET_KEY]
        parts = min(self._options.partitions, count)
        cuts = [begin + count * part // parts for part in range(parts + 1)] if parts else []
        return [EventRange(first, last) for first, last in pairwise(cuts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of one part."""
        assert isinstance(partition, EventRange)
        return read_events(self._options, partition.start, partition.end)

    def _due(self) -> int:
        due = self._options.due(time.time())
        return due if self._last is None else min(due, self._last)


def read_events(options: LoadOptions, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Events `start` to `end - 1` in record batches: the same ones whenever and wherever they are asked for."""
    schedule = decode_schedule(options.schedule)
    kind = payload(options.payload)
    schema = _arrow_schema(kind)
    epoch_us = round(options.epoch_s * 1e6)
    for first in range(start, end, _CHUNK_ROWS):
        last = min(first + _CHUNK_ROWS, end)
        numbers = np.arange(first, last, dtype=np.int64)
        times_us = epoch_us + np.rint(schedule.times(first, last) * 1e6).astype(np.int64)
        columns = kind.make(numbers.view(np.uint64), times_us, options.seed)
        yield pa.RecordBatch.from_arrays([pa.array(numbers), pa.array(times_us, TIMESTAMP), *columns], schema=schema)


def _arrow_schema(kind: Payload) -> pa.Schema:
    return pa.schema([("event_id", pa.int64()), ("event_time", TIMESTAMP), *kind.schema])
