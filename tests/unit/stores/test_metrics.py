import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.errors import InvalidModel, UsageError
from penstock.stores import DataRange, MemoryMetricStore, MetricStore, Profile, SqliteJournal, SqliteMetricStore
from penstock.testing.stores import example_observation

ADDING = """
import sys
from penstock.control.actions import Action, Level
from penstock.stores import SqliteMetricStore
from penstock.testing.stores import example_observation

store = SqliteMetricStore(sys.argv[1], keep_s=500.0)
for number in range(1, 301):
    store.add(example_observation(10.0 * number))
    store.add_action(10.0 * number, Action(str(number), Level.HOT, None, 1.0, 0.0))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def test_another_process_can_read_while_one_writes(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sqlite"
    child = subprocess.Popen([sys.executable, "-c", ADDING, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child, SqliteMetricStore(path) as reader:
        for line in child.stdout:
            told = 10.0 * int(line)
            times = [observation.at_s for observation in reader.window(-1.0, 1e9)]
            # What was told of is there, nothing is missing in between, and what is too old goes with what comes.
            assert times[-1] >= told
            assert times == [times[-1] - 10.0 * back for back in reversed(range(min(50, round(times[-1] / 10))))]
            average = reader.averages(told)
            assert average is None or average.applications["words"].input_per_s == 100.0
    assert child.returncode == 0
    with SqliteMetricStore(path) as reader:
        assert [observation.at_s for observation in reader.window(-1.0, 1e9)][-1] == 3000.0
        assert len(reader.actions()) == 50


def test_two_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sqlite"
    children = [subprocess.Popen([sys.executable, "-c", ADDING, str(path)], stdout=subprocess.DEVNULL) for _ in "ab"]
    assert [child.wait() for child in children] == [0, 0]
    with SqliteMetricStore(path) as reader:
        assert len(reader.window(-1.0, 1e9)) >= 50


@pytest.mark.parametrize("keep_s", [0.0, -1.0, float("nan")])
def test_a_store_that_would_keep_nothing_is_refused(tmp_path: Path, keep_s: float) -> None:
    with pytest.raises(UsageError, match="longer than"):
        SqliteMetricStore(tmp_path / "metrics.sqlite", keep_s)
    with pytest.raises(UsageError, match="longer than"):
        MemoryMetricStore(keep_s)


def test_a_journal_is_not_a_metric_store(tmp_path: Path) -> None:
    SqliteJournal(tmp_path / "journal.sqlite").close()
    with pytest.raises(UsageError, match="is not a metric store"):
        SqliteMetricStore(tmp_path / "journal.sqlite")
    with pytest.raises(UsageError, match="There is no metric store"):
        SqliteMetricStore(tmp_path / "metrics.sqlite", create=False)


def test_deleting_what_is_too_old_looks_at_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sqlite"
    with SqliteMetricStore(path, keep_s=500.0) as store:
        for number in range(200):
            store.add(example_observation(10.0 * number))
            assert len(store.window(-1.0, 1e9)) <= 50
        plan = store._database.rows("EXPLAIN QUERY PLAN DELETE FROM observations WHERE at_s <= 5.0")
    assert "USING INDEX" in str(plan)


def test_both_stores_are_metric_stores(tmp_path: Path) -> None:
    with SqliteMetricStore(tmp_path / "metrics.sqlite") as kept:
        stores: tuple[MetricStore, ...] = (kept, MemoryMetricStore())
        assert [store.averages(10.0) for store in stores] == [None, None]


def test_a_profile_says_when_and_from_what_it_was_made() -> None:
    with pytest.raises(InvalidModel, match="no time zone"):
        Profile("words", "busy", 1, datetime(2024, 1, 1), {})
    assert Profile("words", "busy", 1, datetime(2024, 1, 1, tzinfo=UTC), {}).data is None
    for since_s, until_s in ((2.0, 1.0), (float("nan"), 1.0), (0.0, float("inf"))):
        with pytest.raises(InvalidModel, match="cannot reach"):
            DataRange(since_s, until_s)
