"""The database sink: a batch is stored once and whole, or not at all."""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.errors import EnvironmentMissing, UsageError
from penstock.spark.databases import DatabaseSink, DatabaseTable, StoreLimit, check_url, sink_options, sqlite_url
from penstock.spark.graph import SinkNode
from penstock.spark.sinks import is_shared, sink_path


@dataclass(frozen=True)
class Kind:
    name: str

    def typeName(self) -> str:  # noqa: N802
        return self.name


@dataclass(frozen=True)
class Field:
    name: str
    dataType: Kind  # noqa: N815


@dataclass(frozen=True)
class Schema:
    fields: tuple[Field, ...]


@dataclass
class Frame:
    """As much of a DataFrame as the sink needs; it counts how often it was run only for its state."""

    rows: Sequence[dict[str, Any]]
    kinds: dict[str, str] = field(default_factory=lambda: {"word": "string", "count": "long"})
    run_for_state: int = 0

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(name, Kind(kind)) for name, kind in self.kinds.items()))

    @property
    def columns(self) -> list[str]:
        return list(self.kinds)

    def toArrow(self) -> pa.Table:  # noqa: N802
        return pa.table({name: [row[name] for row in self.rows] for name in self.kinds})

    @property
    def write(self) -> "Frame":
        return self

    def format(self, name: str) -> "Frame":
        assert name == "noop"
        return self

    def mode(self, name: str) -> "Frame":
        return self

    def save(self) -> None:
        self.run_for_state += 1


def words(**counts: int) -> Any:
    return Frame([{"word": word, "count": count} for word, count in counts.items()])


def sqlite_database(folder: Path) -> str:
    return sqlite_url(str(folder / "store.sqlite"))


def read(url: str, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        return database.execute(query).fetchall()


STORED = 'SELECT word, count FROM "words" ORDER BY word, count'


@pytest.fixture
def url(tmp_path: Path) -> str:
    return sqlite_database(tmp_path)


@pytest.fixture
def table(url: str) -> DatabaseTable:
    return DatabaseTable(url, "words", "a-run")


def test_a_batch_that_is_tried_again_stores_nothing_twice(url: str, table: DatabaseTable) -> None:
    again = words(a=1, b=2)
    DatabaseSink(table).write(words(a=1, b=2), 0)
    DatabaseSink(table).write(again, 0)
    assert read(url, STORED) == [("a", 1), ("b", 2)]
    assert again.run_for_state == 1
    DatabaseSink(table).write(words(a=1), 1)
    assert read(url, STORED) == [("a", 1), ("a", 1), ("b", 2)]


def test_another_run_stores_its_own_batches(url: str, table: DatabaseTable) -> None:
    DatabaseSink(table).write(words(a=1), 0)
    DatabaseSink(DatabaseTable(url, "words", "another-run")).write(words(b=1), 0)
    assert read(url, STORED) == [("a", 1), ("b", 1)]


def test_rows_with_the_same_key_replace_one_another(url: str) -> None:
    sink = DatabaseSink(DatabaseTable(url, "words", "a-run", key=("word",)))
    sink.write(words(a=1, b=2), 0)
    sink.write(words(b=5, c=1), 1)
    assert read(url, STORED) == [("a", 1), ("b", 5), ("c", 1)]


def test_a_batch_that_fails_half_way_leaves_nothing_and_can_be_tried_again(url: str, table: DatabaseTable) -> None:
    def dies(_: float) -> None:
        raise KeyboardInterrupt

    DatabaseSink(table).write(words(a=1), 0)
    with pytest.raises(KeyboardInterrupt):
        DatabaseSink(table, StoreLimit(1.0), dies).write(words(b=2), 1)
    assert read(url, STORED) == [("a", 1)]
    DatabaseSink(table).write(words(b=2), 1)
    assert read(url, STORED) == [("a", 1), ("b", 2)]


def test_no_rows_are_a_batch_too(url: str, table: DatabaseTable) -> None:
    DatabaseSink(table).write(words(), 0)
    DatabaseSink(table).write(words(a=1), 0)
    assert read(url, STORED) == []


def test_a_limited_store_makes_every_row_wait(table: DatabaseTable) -> None:
    waited: list[float] = []
    DatabaseSink(table, StoreLimit(4.0), waited.append).write(words(a=100, b=200), 0)
    assert waited == [0.5]


def test_a_counter_waits_for_what_it_has_grown_by(url: str) -> None:
    waited: list[float] = []
    table = DatabaseTable(url, "words", "a-run", key=("word",))
    sink = DatabaseSink(table, StoreLimit(10.0, counter="count"), waited.append)
    sink.write(words(a=5, b=5), 0)
    sink.write(words(b=8, c=2), 1)
    assert waited == [1.0, 0.5]


def test_times_and_lists_are_stored_as_text(url: str) -> None:
    at = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
    kinds = {"at": "timestamp", "names": "array", "known": "boolean"}
    frame: Any = Frame([{"at": at, "names": ["b", "a"], "known": True}], kinds)
    DatabaseSink(DatabaseTable(url, "facts", "a-run")).write(frame, 0)
    assert read(url, "SELECT * FROM facts") == [("2026-01-31T23:59:00+00:00", '["b", "a"]', 1)]


@pytest.mark.parametrize("url", ["mysql://host/db", "file.sqlite", "sqlite:file"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is no database to store in; write sqlite:///FILE or postgresql://"):
        check_url(url)


def test_a_refusal_does_not_repeat_a_password() -> None:
    with pytest.raises(UsageError) as refused:
        check_url("mysql://me:secret@host/db")
    assert "secret" not in str(refused.value)


def test_without_a_driver_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    sink = DatabaseSink(DatabaseTable("postgresql://nobody@localhost/none", "words", "a-run"))
    with pytest.raises(EnvironmentMissing, match=r"pip install 'penstock\[postgresql\]'"):
        sink.write(words(a=1), 0)


def test_a_store_must_take_something() -> None:
    with pytest.raises(UsageError, match="cannot take -1 writes per second"):
        StoreLimit(-1.0)


def test_options_are_read() -> None:
    assert sink_options({}) == ((), None)
    options = {"key": "campaign,window_start", "writes_per_s": "2.5", "counter": "views"}
    assert sink_options(options) == (("campaign", "window_start"), StoreLimit(2.5, "views"))


def test_a_sink_of_the_user_is_known_as_such(tmp_path: Path) -> None:
    private = SinkNode("store", "op", format="database")
    assert sink_path(private, tmp_path) == str(tmp_path / "sinks" / "store.sqlite")
    assert not is_shared(private)
    assert is_shared(SinkNode("store", "op", format="database", options={"url": "postgresql://host/db"}))


@pytest.fixture
def postgresql() -> Iterator[tuple[str, Callable[[str], list[tuple[Any, ...]]]]]:
    """A real server, where the environment names one."""
    url = os.environ.get("PENSTOCK_TEST_POSTGRESQL_URL")
    if url is None:
        pytest.skip("PENSTOCK_TEST_POSTGRESQL_URL names no server")
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(url, autocommit=True) as database:

        def query(text: str) -> list[tuple[Any, ...]]:
            return database.execute(text).fetchall()  # type: ignore[no-any-return]

        yield url, query
        database.execute('DROP TABLE IF EXISTS "words", penstock_batches')


def test_postgresql_stores_the_same(postgresql: tuple[str, Callable[[str], list[tuple[Any, ...]]]]) -> None:
    url, query = postgresql
    waited: list[float] = []
    sink = DatabaseSink(DatabaseTable(url, "words", "a-run", key=("word",)), StoreLimit(10.0, "count"), waited.append)
    for batch, frame in ((0, words(a=5, b=5)), (0, words(a=5, b=5)), (1, words(b=8, c=2)), (1, words(b=8, c=2))):
        sink.write(frame, batch)
    assert query(STORED) == [("a", 5), ("b", 8), ("c", 2)]
    assert waited == [1.0, 0.5]
