"""A sink in a database: every batch is stored once, however often it is tried.

The rows of a batch and the note that it is stored are one transaction. A batch that is tried again, because the driver
died after the transaction and before Spark's own commit, finds the note and stores nothing. sqlite serves where no URL
is given; a PostgreSQL URL needs the package psycopg. Rows pass through the driver: this is for results, not for floods.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import EnvironmentMissing, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql://", "postgres://")
_NOTES = "penstock_batches"
_BUSY_S = 60.0
_COLUMN_TYPES = {
    "boolean": "BOOLEAN",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "DOUBLE PRECISION",
    "double": "DOUBLE PRECISION",
    "timestamp": "TIMESTAMPTZ",
}


def check_url(url: str) -> str:
    """The URL, or `UsageError` if it is of no database that can be written to."""
    if not url.startswith((_SQLITE, *_POSTGRESQL)):
        raise UsageError(
            f"'{url.partition('://')[0]}' is no database to store in; "
            "write sqlite:///FILE or postgresql://USER@HOST/DATABASE."
        )
    return url


def sqlite_url(path: str) -> str:
    """The URL of a sqlite file."""
    return f"{_SQLITE}{path}"


@dataclass(frozen=True, slots=True)
class StoreLimit:
    """How much a slow store takes: `writes_per_s` rows per second or, with a `counter`, steps of that column."""

    writes_per_s: float
    counter: str | None = None

    def __post_init__(self) -> None:
        if self.writes_per_s <= 0:
            raise UsageError(f"A store cannot take {self.writes_per_s:g} writes per second; give a rate above 0.")


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """Where rows go: a table of the database at `url`; rows with the same `key` replace one another.

    `run` tells apart the batches of different runs that store in the same database.
    """

    url: str
    name: str
    run: str
    key: tuple[str, ...] = ()


class DatabaseSink:
    """Stores batches in a table."""

    def __init__(
        self, table: DatabaseTable, limit: StoreLimit | None = None, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self._table = table
        self._limit = limit
        self._wait = wait

    def write(self, frame: "DataFrame", batch_id: int) -> None:
        """Store `frame` as that batch; for use with `foreachBatch`."""
        with closing(_connect(self._table.url)) as database:
            self._create_tables(database, frame.schema)
            if self._is_stored(database, batch_id):
                # The batch was stored but not committed. Its state, if it has any, must still be brought to this batch.
                frame.write.format("noop").mode("overwrite").save()
                return
            self.store(database, batch_id, frame.columns, _rows(frame))

    def store(self, database: Any, batch_id: int, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Store the rows and the note that this batch is stored: all of it or nothing."""
        cursor = database.cursor()
        cursor.execute("BEGIN")
        try:
            self._note(cursor, batch_id)
            writes = self._writes(cursor, columns, rows)
            if rows:
                cursor.executemany(self._insertion(columns), rows)
            if self._limit is not None:
                # The transaction stays open while the store is slow, as it would with one that really is.
                self._wait(writes / self._limit.writes_per_s)
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        cursor.execute("COMMIT")

    def _create_tables(self, database: Any, schema: "StructType") -> None:
        columns = [f"{_quoted(field.name)} {_column_type(field.dataType.typeName())}" for field in schema.fields]
        if self._table.key:
            columns.append(f"PRIMARY KEY ({_listed(self._table.key)})")
        cursor = database.cursor()
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {_quoted(self._table.name)} ({', '.join(columns)})")
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {_NOTES} "
            "(run TEXT, stored_in TEXT, batch BIGINT, PRIMARY KEY (run, stored_in, batch))"
        )

    def _is_stored(self, database: Any, batch_id: int) -> bool:
        cursor = database.cursor()
        mark = self._mark
        cursor.execute(
            f"SELECT 1 FROM {_NOTES} WHERE run = {mark} AND stored_in = {mark} AND batch = {mark}",
            (self._table.run, self._table.name, batch_id),
        )
        return cursor.fetchone() is not None

    def _note(self, cursor: Any, batch_id: int) -> None:
        marks = ", ".join([self._mark] * 3)
        cursor.execute(f"INSERT INTO {_NOTES} VALUES ({marks})", (self._table.run, self._table.name, batch_id))

    def _writes(self, cursor: Any, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
        """How many writes the rows are to the store: one each, or by how much the counter has grown."""
        if self._limit is None or self._limit.counter is None:
            return len(rows)
        places = {column: place for place, column in enumerate(columns)}
        counter = self._limit.counter
        same = " AND ".join(f"{_quoted(column)} = {self._mark}" for column in self._table.key)
        query = f"SELECT {_quoted(counter)} FROM {_quoted(self._table.name)} WHERE {same}"
        grown = 0
        for row in rows:
            cursor.execute(query, [row[places[column]] for column in self._table.key])
            (before,) = cursor.fetchone() or (0,)
            grown += max(0, row[places[counter]] - before)
        return grown

    def _insertion(self, columns: Sequence[str]) -> str:
        marks = ", ".join([self._mark] * len(columns))
        insertion = f"INSERT INTO {_quoted(self._table.name)} ({_listed(columns)}) VALUES ({marks})"
        if not self._table.key:
            return insertion
        changes = ", ".join(f"{_quoted(c)} = excluded.{_quoted(c)}" for c in columns if c not in self._table.key)
        action = f"DO UPDATE SET {changes}" if changes else "DO NOTHING"
        return f"{insertion} ON CONFLICT ({_listed(self._table.key)}) {action}"

    @property
    def _mark(self) -> str:
        """How a value is marked in a statement."""
        return "?" if self._table.url.startswith(_SQLITE) else "%s"


def sink_options(options: Mapping[str, str]) -> tuple[tuple[str, ...], StoreLimit | None]:
    """The key and the limit that a sink was declared with."""
    key = tuple(column for column in options.get("key", "").split(",") if column)
    rate = float(options.get("writes_per_s", "0"))
    return key, StoreLimit(rate, options.get("counter")) if rate else None


def _connect(url: str) -> Any:
    """A connection that begins a transaction only when told to."""
    if check_url(url).startswith(_SQLITE):
        return sqlite3.connect(url.removeprefix(_SQLITE), timeout=_BUSY_S, isolation_level=None)
    try:
        import psycopg
    except ImportError:
        raise EnvironmentMissing(
            "Storing in PostgreSQL needs the package psycopg; install it with pip install 'penstock[postgresql]'."
        ) from None
    return psycopg.connect(url, autocommit=True)


def _rows(frame: "DataFrame") -> list[list[Any]]:
    table = frame.toArrow()
    return [[_plain(value) for value in row] for row in zip(*(c.to_pylist() for c in table.columns), strict=True)]


def _plain(value: Any) -> Any:
    """The value as every database takes it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value, sort_keys=True, default=str) if isinstance(value, list | dict) else value


def _column_type(spark_type: str) -> str:
    return _COLUMN_TYPES.get(spark_type, "TEXT")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_quoted, names))
