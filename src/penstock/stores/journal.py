"""Journals: in a sqlite file, which survives the death of its process at any moment, and in memory."""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from types import TracebackType

from penstock.control.entries import Ended, Entry
from penstock.control.ports import Journal
from penstock.errors import UsageError
from penstock.stores.codec import decode_entry, encode_entry
from penstock.stores.database import Database, Layout

_LAYOUT = Layout(
    what="journal",
    application_id=int.from_bytes(b"PenJ", "big"),
    version=1,
    tables=("CREATE TABLE entries (position INTEGER PRIMARY KEY, at_s REAL NOT NULL, kind TEXT NOT NULL, body TEXT)",),
)
_PAGE = 256


@dataclass(frozen=True, slots=True)
class Summary:
    """What a journal holds: how many entries, the time of the last one, and whether the run came to its end."""

    entries: int
    last_s: float | None
    ended: bool

    @property
    def cut_off(self) -> bool:
        """Whether a run was begun and did not come to its end."""
        return self.entries > 0 and not self.ended

    def __str__(self) -> str:
        if self.last_s is None:
            return "no entries"
        end = "its run came to its end" if self.ended else "its run was cut off"
        return f"{self.entries} entr{'y' if self.entries == 1 else 'ies'} up to {self.last_s:g} s; {end}"


def summary(journal: Journal) -> Summary:
    """What any journal holds, found by reading it through."""
    count, last = 0, None
    for entry in journal.entries():
        count, last = count + 1, entry
    return Summary(count, None if last is None else last.at_s, isinstance(last, Ended))


class MemoryJournal:
    """A journal that lasts as long as the object. It refuses what a file could not hold."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = list(entries)

    def append(self, entry: Entry) -> None:
        """Keep `entry`. Raises `BadObservation` for an entry that cannot be written as JSON."""
        encode_entry(entry)
        self._entries.append(entry)

    def entries(self) -> Iterator[Entry]:
        """All entries kept so far, oldest first."""
        return iter(tuple(self._entries))


class SqliteJournal:
    """A journal in a sqlite file, of which one process is the writer and any number may be readers.

    Once `append` has returned, the entry survives `kill -9`; an entry whose `append` had not returned is there as a
    whole or not at all. With `power_safe` this also holds when the machine loses power, at the price of waiting
    for the disk at every entry. Raises `UsageError` for a file that is not a journal, is damaged or of a newer
    version, or, unless `create`, does not exist. `found` says what the journal held when it was opened.
    """

    def __init__(self, path: str | PathLike[str], create: bool = True, power_safe: bool = False) -> None:
        self._database = Database(path, _LAYOUT, create, power_safe)
        self._lock = threading.Lock()
        self._next: int | None = None
        self.found = self._summary()

    def append(self, entry: Entry) -> None:
        """Keep `entry` for good.

        Raises `BadObservation` for an entry that cannot be written as JSON, and `UsageError` when another process
        writes to the same journal or the file cannot be written.
        """
        row = (entry.at_s, entry.kind, encode_entry(entry))
        with self._lock:
            position = self._last() + 1 if self._next is None else self._next
            # An interrupt (Ctrl-C) may fall between the commit and its being counted.
            self._next = None
            try:
                self._database.write(("INSERT INTO entries VALUES (?, ?, ?, ?)", (position, *row)))
            except sqlite3.IntegrityError:
                path = self._database.path
                raise UsageError(f"Another run writes to the journal {path}; give each run its own.") from None
            self._next = position + 1

    def entries(self) -> Iterator[Entry]:
        """All entries that are kept when the first one is asked for, oldest first."""
        last = self._last()
        query = "SELECT position, body FROM entries WHERE position > ? AND position <= ? ORDER BY position"
        # Page by page, so that no read is left open, which would keep sqlite from tidying up behind the writer.
        for start in range(0, last, _PAGE):
            for position, body in self._database.rows(query, (start, min(start + _PAGE, last))):
                yield self._decoded(position, body)

    def close(self) -> None:
        """Release the file; closing twice is closing once."""
        self._database.close()

    def __enter__(self) -> "SqliteJournal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _summary(self) -> Summary:
        rows = self._database.rows("SELECT position, at_s, kind FROM entries ORDER BY position DESC LIMIT 1")
        if not rows:
            return Summary(0, None, ended=False)
        position, at_s, kind = rows[0]
        return Summary(position, at_s, ended=kind == "ended")

    def _last(self) -> int:
        ((position,),) = self._database.rows("SELECT coalesce(max(position), 0) FROM entries")
        return int(position)

    def _decoded(self, position: int, body: str) -> Entry:
        try:
            return decode_entry(body)
        except UsageError as error:
            raise UsageError(f"Entry {position} of the journal {self._database.path} cannot be read: {error}") from None
