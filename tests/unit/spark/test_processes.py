"""Processes that end with the one that started them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.errors import ActionFailed
from penstock.spark.processes import GuardedProcesses

# A family as Spark's: a child that ignores polite requests, and one that left its process group and lost its parent.
FAMILY = """
echo $$ >> pids
(trap '' TERM; echo $(exec sh -c 'echo $PPID') >> pids; while :; do sleep 1; done) &
setsid sh -c 'sh -c "echo \\$\\$ >> pids; exec sleep 600" & exit 0'
wait
"""


def lives(pid: int) -> bool:
    """Whether the process is there and not merely uncollected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def family(folder: Path) -> list[int]:
    file = folder / "pids"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.fixture
def processes() -> Iterator[GuardedProcesses]:
    guarded = GuardedProcesses()
    yield guarded
    guarded.close()


def start_family(processes: GuardedProcesses, folder: Path) -> int:
    command = ["sh", "-c", f"cd '{folder}'; {FAMILY}"]
    first = processes.run(command, dict(os.environ), folder / "log")
    assert eventually(lambda: len(family(folder)) == 3)
    assert all(lives(pid) for pid in family(folder))
    return first


def test_close_ends_all_descendants(processes: GuardedProcesses, tmp_path: Path) -> None:
    start_family(processes, tmp_path)
    processes.close()
    assert not any(lives(pid) for pid in family(tmp_path))
    processes.close()
    with pytest.raises(ActionFailed, match="were closed"):
        processes.run(["true"], {}, tmp_path / "log")


def test_one_program_can_be_ended_alone(processes: GuardedProcesses, tmp_path: Path) -> None:
    staying = processes.run(["sleep", "600"], dict(os.environ), tmp_path / "log")
    leaving = processes.run(["sleep", "600"], dict(os.environ), tmp_path / "log")
    processes.end(leaving)
    assert not processes.lives(leaving)
    assert processes.lives(staying)


def test_what_ends_by_itself_is_seen_to_be_gone(processes: GuardedProcesses, tmp_path: Path) -> None:
    pid = processes.run(["sh", "-c", "echo $GREETING; exit 3"], {"GREETING": "hello"}, tmp_path / "log")
    assert eventually(lambda: not processes.lives(pid))
    assert (tmp_path / "log").read_text() == "hello\n"


def test_a_program_that_does_not_exist_is_an_error(processes: GuardedProcesses, tmp_path: Path) -> None:
    with pytest.raises(ActionFailed, match="could not be started"):
        processes.run([tmp_path / "missing"], {}, tmp_path / "log")


def test_watched_processes_end_too() -> None:
    with subprocess.Popen(["sleep", "600"]) as stranger:
        processes = GuardedProcesses()
        processes.watch(stranger.pid)
        processes.close()
        assert stranger.wait(timeout=60) == -signal.SIGKILL


def test_everything_ends_with_a_killed_parent(tmp_path: Path) -> None:
    code = f"""
import os, time
from pathlib import Path
from penstock.spark.processes import GuardedProcesses
processes = GuardedProcesses()
processes.run(["sh", "-c", "cd '{tmp_path}';" + {FAMILY!r}], dict(os.environ), Path("{tmp_path}/log"))
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        try:
            assert eventually(lambda: len(family(tmp_path)) == 3)
        finally:
            parent.kill()
    assert eventually(lambda: not any(lives(pid) for pid in family(tmp_path)))


def test_programs_end_with_a_killed_guardian(processes: GuardedProcesses, tmp_path: Path) -> None:
    pid = processes.run(["sleep", "600"], dict(os.environ), tmp_path / "log")
    guardian = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guardian, signal.SIGKILL)
    assert eventually(lambda: not lives(pid))
    with pytest.raises(ActionFailed, match="is gone"):
        processes.run(["true"], {}, tmp_path / "log")


def test_a_folder_has_a_short_name_as_long_as_it_is_guarded(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    guarded = GuardedProcesses(folder)
    try:
        alias = guarded.alias
        assert alias is not None
        assert alias.samefile(folder)
        assert len(str(alias)) < 40
    finally:
        guarded.close()
    assert not alias.exists()
