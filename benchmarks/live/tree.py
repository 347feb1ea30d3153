"""Processor time of the processes that this one has started."""

import os
from contextlib import suppress
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s() -> float:
    """Processor seconds of all descendants, those that have ended and were waited for by a living one included."""
    return sum(_descendants().values())


def threads_cpu_s(named: str) -> float:
    """Processor seconds of all living threads of descendants whose name begins so."""
    total_ns = 0
    for pid in _descendants():
        for thread in Path(f"/proc/{pid}/task").glob("*"):
            with suppress(OSError):
                if (thread / "comm").read_text().startswith(named):
                    total_ns += int((thread / "schedstat").read_text().split()[0])
    return total_ns / 1e9


def _descendants() -> dict[int, float]:
    """The processor seconds of each descendant."""
    parents: dict[int, int] = {}
    times_s: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # The name, in brackets, may hold anything; numbers follow it.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.name)
        parents[pid] = int(fields[1])
        times_s[pid] = sum(int(ticks) for ticks in fields[11:15]) / _TICKS_PER_S
    return {pid: taken_s for pid, taken_s in times_s.items() if _descends(pid, os.getpid(), parents)}


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False
