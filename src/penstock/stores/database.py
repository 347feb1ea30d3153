"""Opening sqlite files so that what was committed survives the process, and foreign or broken files are refused."""

import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from penstock.errors import UsageError

_MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Layout:
    """What a file of ours looks like: its mark in the header, its schema version and its tables."""

    what: str
    application_id: int
    version: int
    tables: tuple[str, ...]


class Database:
    """One open file of ours, usable from any thread.

    Once `write` has returned, what it wrote survives the death of the process (with `power_safe` also of the machine),
    and readers never wait for a writer. Raises `UsageError` for a file that is something else, broken, or written
    by a newer version; such a file is left as it is. Unless `create`, it must exist.
    """

    def __init__(
        self, path: str | PathLike[str], layout: Layout, create: bool = True, power_safe: bool = False
    ) -> None:
        self.path = Path(path)
        self._what = layout.what
        self._lock = threading.Lock()
        _check_path(self.path, layout.what, create)
        self._connection = _connect(self.path, layout, power_safe)

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query. Raises `UsageError` when the file cannot be read."""
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise UsageError(f"The {self._what} {self.path} could not be read: {_reason(error)}.") from None

    def write(self, *statements: tuple[str, Sequence[object]]) -> None:
        """Carry out all of the statements or none.

        Raises `sqlite3.IntegrityError` when a row that must be unique is there already, and `UsageError` when the
        file cannot be written.
        """
        try:
            # Leaving the connection's context commits, or, on an error, undoes all.
            with self._lock, self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                for statement, values in statements:
                    self._connection.execute(statement, values)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise UsageError(f"The {self._what} {self.path} could not be written: {_reason(error)}.") from None

    def close(self) -> None:
        """Release the file; closing twice is closing once."""
        with self._lock:
            self._connection.close()


def _connect(path: Path, layout: Layout, power_safe: bool) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise UsageError(f"The {layout.what} {path} cannot be opened: {_reason(error)}.") from None
    try:
        _prepare(connection, path, layout)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if power_safe else 'NORMAL'}")
    except sqlite3.Error as error:
        connection.close()
        raise UsageError(_broken(path, layout.what, error)) from None
    except BaseException:
        connection.close()
        raise
    return connection


def _reason(error: sqlite3.Error) -> str:
    """What sqlite says, without its full stop."""
    return str(error).rstrip(".")


def _broken(path: Path, what: str, error: sqlite3.Error) -> str:
    if getattr(error, "sqlite_errorcode", 0) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return f"The {what} {path} is damaged ({_reason(error)}); restore it from a copy or name another file."
    return f"The {what} {path} cannot be used: {_reason(error)}."


def _check_path(path: Path, what: str, create: bool) -> None:
    if path.is_dir():
        raise UsageError(f"The {what} {path} is a folder; name a file.")
    if not path.exists():
        if not create:
            raise UsageError(f"There is no {what} at {path}.")
        if not path.parent.is_dir():
            raise UsageError(f"The {what} {path} cannot be created because its folder does not exist.")
        return
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        raise UsageError(f"The {what} {path} cannot be read: {error.strerror}.") from None
    # An empty file is what a process leaves that dies before its first commit.
    if start not in (b"", _MAGIC):
        raise UsageError(f"The file {path} is not a {what}; name another file.")


def _prepare(connection: sqlite3.Connection, path: Path, layout: Layout) -> None:
    if _is_blank(connection):
        _create(connection, layout)
    application_id, version = _number(connection, "application_id"), _number(connection, "user_version")
    if application_id != layout.application_id:
        raise UsageError(f"The file {path} is not a {layout.what}; name another file.")
    if version > layout.version:
        raise UsageError(
            f"The {layout.what} {path} was written by a newer version of Penstock "
            f"(format {version}, this one knows {layout.version}); upgrade Penstock or name another file."
        )
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise UsageError(f"The {layout.what} {path} is damaged; restore it from a copy or name another file.")


def _is_blank(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return tables == 0 and _number(connection, "application_id") == 0


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)


def _create(connection: sqlite3.Connection, layout: Layout) -> None:
    """Write mark and tables in one transaction, unless another process has just done so."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _is_blank(connection):
            for table in layout.tables:
                connection.execute(table)
            connection.execute(f"PRAGMA application_id = {layout.application_id}")
            connection.execute(f"PRAGMA user_version = {layout.version}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
