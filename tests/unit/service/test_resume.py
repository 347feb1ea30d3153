"""A simulated run that was killed is taken up again and ends as if nothing had happened."""

import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Spawn = Callable[..., "subprocess.Popen[str]"]

KILL_AFTER = """
import os, signal
from penstock.stores import SqliteJournal
keep, left = SqliteJournal.append, {count}
def append(self, entry):
    global left
    keep(self, entry)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
SqliteJournal.append = append
"""


def command(out: str, duration_s: int, *more: str) -> tuple[str, ...]:
    run = ("simulate", "top-words", "--policy", "ds2", "--load", "stair", "--duration", str(duration_s), "--seed", "5")
    return (*run, "--out", out, "--json", *more)


def finished(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


def kept(folder: Path) -> int:
    """Entries in the journal below `folder`; 0 while there is none."""
    for path in folder.glob("*/journal.sqlite"):
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
                return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])
        except sqlite3.Error:
            return 0
        finally:
            connection.close()
    return 0


def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been(spawn: Spawn, tmp_path: Path) -> None:
    whole = finished(spawn(*command("whole", 600)))
    assert whole[0] == 0, whole[2]
    total = 0
    for count in (1, 39, 60):
        code, out, err = finished(spawn(*command("cut", 600), before=KILL_AFTER.format(count=count)))
        assert (code, out) == (-signal.SIGKILL, "")
        assert (f"Found {total} entr" in err) == (total > 0)
        total += count
        assert kept(tmp_path / "cwd" / "cut") == total
    code, out, err = finished(spawn(*command("cut", 600)))
    assert code == 0, err
    assert err.startswith(f"Found {total} entries up to ")
    assert "its run was cut off" in err
    assert "going on with it" in err
    assert json.loads(out) == json.loads(whole[1])


def ended(process: "subprocess.Popen[str]") -> bool:
    """Whether the process ends within a moment."""
    try:
        process.wait(0.02)
    except subprocess.TimeoutExpired:
        return False
    return True


def killed_from_outside(spawn: Spawn, folder: Path, duration_s: int, entries: int) -> bool:
    """Start a run and kill it once its journal has so many entries; False if it was quicker than that."""
    process = spawn(*command(folder.name, duration_s))
    deadline_s = time.monotonic() + 120
    while kept(folder) < entries and not ended(process):
        assert time.monotonic() < deadline_s, "the run does not get anywhere"
    process.kill()
    return finished(process)[0] == -signal.SIGKILL


def test_a_run_that_is_killed_at_any_moment_is_taken_up(spawn: Spawn, tmp_path: Path) -> None:
    duration_s = 2500
    for attempt in range(5):
        folder = tmp_path / "cwd" / f"attempt{attempt}"
        if killed_from_outside(spawn, folder, duration_s, 30) and killed_from_outside(spawn, folder, duration_s, 120):
            break
    else:
        pytest.fail("every run ended before it could be killed")
    assert kept(folder) >= 120
    code, out, err = finished(spawn(*command(folder.name, duration_s)))
    assert code == 0, err
    assert "going on with it" in err
    code, undisturbed, err = finished(spawn(*command("whole", duration_s)))
    assert code == 0, err
    assert "Found" not in err
    assert json.loads(out) == json.loads(undisturbed)


def test_the_journal_of_a_different_run_is_refused_in_one_sentence(spawn: Spawn, tmp_path: Path) -> None:
    assert finished(spawn(*command("out", 300), before=KILL_AFTER.format(count=20)))[0] == -signal.SIGKILL
    code, out, err = finished(spawn(*command("out", 300, "--workers", "3")))
    assert (code, out) == (2, "")
    said = err.splitlines()[-1]
    assert said.startswith("penstock: Entry 1 of the journal is from another run: ")
    assert said.endswith("or name another journal.")
    assert "Traceback" not in err
    assert kept(tmp_path / "cwd" / "out") == 20


def test_a_finished_run_is_replaced(penstock: Callable[..., Any]) -> None:
    first = penstock(*command("out", 60))
    second = penstock(*command("out", 60, "--workers", "3"))
    assert (first.code, second.code) == (0, 0)
    assert "Found" not in second.err
    assert json.loads(second.out)["pool"] == 3
