from pathlib import Path

from penstock.stores import MemoryJournal, SqliteJournal
from penstock.testing.stores import JournalContract


class TestSqliteJournal(JournalContract):
    def make(self, folder: Path) -> SqliteJournal:
        return SqliteJournal(folder / "journal.sqlite")


class TestMemoryJournal(JournalContract):
    durable = False

    def make(self, folder: Path) -> MemoryJournal:
        return MemoryJournal()
