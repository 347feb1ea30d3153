from pathlib import Path

from penstock.stores import MemoryJournal, MemoryMetricStore, SqliteJournal, SqliteMetricStore
from penstock.testing.stores import JournalContract, MetricStoreContract


class TestSqliteJournal(JournalContract):
    def make(self, folder: Path) -> SqliteJournal:
        return SqliteJournal(folder / "journal.sqlite")


class TestMemoryJournal(JournalContract):
    durable = False

    def make(self, folder: Path) -> MemoryJournal:
        return MemoryJournal()


class TestSqliteMetricStore(MetricStoreContract):
    def make(self, folder: Path, keep_s: float | None = None) -> SqliteMetricStore:
        return SqliteMetricStore(folder / "metrics.sqlite", keep_s)


class TestMemoryMetricStore(MetricStoreContract):
    durable = False

    def make(self, folder: Path, keep_s: float | None = None) -> MemoryMetricStore:
        return MemoryMetricStore(keep_s)
