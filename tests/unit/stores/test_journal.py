import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.control.entries import Ended, Observed, Refused
from penstock.errors import UsageError
from penstock.stores import MemoryJournal, SqliteJournal, Summary, summary
from penstock.testing.stores import example_entries, example_observation

APPENDING = """
import sys
from penstock.control.entries import Observed
from penstock.stores import SqliteJournal
from penstock.testing.stores import example_observation

journal = SqliteJournal(sys.argv[1])
number = 0
while True:
    number += 1
    journal.append(Observed(float(number), example_observation(float(number))))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def appending(path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", APPENDING, str(path)], stdout=subprocess.PIPE, text=True)


def kill_after(child: "subprocess.Popen[str]", reports: int) -> int:
    """Kill the child once it has reported so many entries, and give the last one that it reported."""
    assert child.stdout is not None
    with child.stdout as reported:
        for _ in range(reports):
            assert reported.readline()
        child.send_signal(signal.SIGKILL)
        last = [line for line in reported.read().splitlines() if line]
        child.wait()
    return int(last[-1]) if last else reports


@pytest.mark.parametrize("reports", [1, 37, 900])
def test_what_was_appended_survives_a_killed_process(tmp_path: Path, reports: int) -> None:
    path = tmp_path / "journal.sqlite"
    returned = kill_after(appending(path), reports)
    assert returned >= reports
    with SqliteJournal(path, create=False) as journal:
        kept = list(journal.entries())
        # One more may have been committed than the child lived to tell of.
        assert len(kept) in (returned, returned + 1)
        assert kept == [Observed(float(n), example_observation(float(n))) for n in range(1, len(kept) + 1)]
        assert journal.found == Summary(len(kept), float(len(kept)), ended=False)
        journal.append(Ended(1e6, "went on after the crash"))
        assert summary(journal).entries == len(kept) + 1


def test_another_process_can_read_while_one_writes(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    child = appending(path)
    assert child.stdout is not None
    try:
        assert child.stdout.readline()
        lengths = []
        with SqliteJournal(path, create=False) as journal:
            for _ in range(20):
                kept = [entry.at_s for entry in journal.entries()]
                assert kept == [float(n) for n in range(1, len(kept) + 1)]
                lengths.append(len(kept))
                for _ in range(20):
                    assert child.stdout.readline()
        assert lengths == sorted(lengths)
        assert lengths[-1] >= 380
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_a_transaction_that_was_not_committed_is_simply_absent(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SqliteJournal(path) as journal:
        journal.append(Refused(1.0, "kept"))
        journal.append(Refused(2.0, "cut"))
        log = path.with_name("journal.sqlite-wal")
        size = log.stat().st_size
        # What a process leaves that dies inside the write of its last transaction.
        copy = tmp_path / "copy.sqlite"
        copy.write_bytes(path.read_bytes())
        copy.with_name("copy.sqlite-wal").write_bytes(log.read_bytes()[: size - 100])
    with SqliteJournal(copy) as journal:
        assert list(journal.entries()) == [Refused(1.0, "kept")]


def test_the_summary_at_opening_is_that_of_reading_it_through(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    for entry in example_entries():
        with SqliteJournal(path) as journal:
            assert journal.found == summary(journal)
            journal.append(entry)
    with SqliteJournal(path) as journal:
        assert journal.found == summary(journal) == Summary(len(example_entries()), 90.0, ended=True)


def test_the_summary_speaks() -> None:
    assert str(Summary(0, None, ended=False)) == "no entries"
    assert str(Summary(1, 0.0, ended=False)) == "1 entry up to 0 s; its run was cut off"
    assert str(Summary(25, 600.0, ended=True)) == "25 entries up to 600 s; its run came to its end"
    assert str(summary(MemoryJournal([Refused(2.5, "x")]))) == "1 entry up to 2.5 s; its run was cut off"


def test_many_entries_are_read_in_order(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "journal.sqlite") as journal:
        for number in range(513):
            journal.append(Refused(float(number), "x"))
        assert [entry.at_s for entry in journal.entries()] == list(range(513))


def test_two_writers_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SqliteJournal(path) as one, SqliteJournal(path) as other:
        one.append(Refused(1.0, "one"))
        other.append(Refused(2.0, "other"))
        with pytest.raises(UsageError, match="Another run writes to the journal"):
            one.append(Refused(3.0, "one"))
        assert list(one.entries()) == [Refused(1.0, "one"), Refused(2.0, "other")]


def test_a_journal_can_be_made_safe_from_power_loss(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SqliteJournal(path, power_safe=True) as journal:
        journal.append(Refused(1.0, "x"))
    with SqliteJournal(path) as journal:
        assert list(journal.entries()) == [Refused(1.0, "x")]


def test_a_closed_journal_says_that_it_cannot_be_used(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.sqlite")
    journal.close()
    journal.close()
    with pytest.raises(UsageError, match=r"closed database\.$"):
        journal.append(Refused(1.0, "x"))
    with pytest.raises(UsageError, match=r"closed database\.$"):
        list(journal.entries())


def filled(path: Path) -> None:
    with SqliteJournal(path) as journal:
        for number in range(50):
            journal.append(Observed(float(number), example_observation()))


def text(path: Path) -> None:
    path.write_text("at_s,value\n1,2\n")


def one_byte(path: Path) -> None:
    path.write_bytes(b"x")


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE prices (value REAL)")
    connection.close()


def newer(path: Path) -> None:
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def header_only(path: Path) -> None:
    filled(path)
    os.truncate(path, 60)


def truncated(path: Path) -> None:
    filled(path)
    os.truncate(path, path.stat().st_size // 2)


def scribbled(path: Path) -> None:
    filled(path)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x55" * 8192)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (text, "is not a journal"),
        (one_byte, "is not a journal"),
        (foreign, "is not a journal"),
        (newer, "newer version of Penstock"),
        (header_only, "damaged"),
        (truncated, "damaged"),
        (scribbled, "damaged"),
        (Path.mkdir, "is a folder"),
    ],
)
def test_what_is_not_a_sound_journal_is_refused_and_left_alone(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "journal.sqlite"
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(UsageError, match=message) as caught:
        SqliteJournal(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_where_there_is_no_journal_none_is_made_unasked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no journal"):
        SqliteJournal(tmp_path / "journal.sqlite", create=False)
    with pytest.raises(UsageError, match="folder does not exist"):
        SqliteJournal(tmp_path / "nowhere" / "journal.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_died_before_its_first_commit_leaves_an_empty_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.touch()
    with SqliteJournal(path) as journal:
        assert str(journal.found) == "no entries"
        journal.append(Refused(1.0, "x"))


def test_an_entry_of_a_kind_that_is_unknown_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute('UPDATE entries SET body = \'{"kind": "dreamt"}\' WHERE position = 3')
    connection.close()
    with SqliteJournal(path) as journal, pytest.raises(UsageError, match="Entry 3 of the journal"):
        list(journal.entries())
