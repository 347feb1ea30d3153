"""A small process that starts others and does not let them outlive whoever asked for them.

It is run as a script by `processes.py` and imports nothing outside the standard library. It reads one JSON
command per line and answers each with one line:

    {"run": [program, argument, ...], "env": {...}, "log": path}    start a program; answer {"pid": n}
    {"end": pid}                                                    end a program it started, with its descendants
    {"watch": pid}                                                  end that foreign process too when all ends

When its input ends, which also happens when the asking process is killed with `kill -9`, it ends everything it
has started and all their descendants, then itself. On Linux descendants that have lost their parent come to it
(it is a "child subreaper"), so none can slip away; elsewhere it ends the process groups of what it started.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 4.0
POLL_S = 0.1


class Guardian:
    """Holds what was started and what is watched."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None) if LINUX else None
        self._started: dict[int, subprocess.Popen[bytes]] = {}
        self._watched: dict[int, int] = {}
        if self._libc is not None:
            self._libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out one command."""
        try:
            if "run" in command:
                return {"pid": self._run(command)}
            if "watch" in command:
                self._watch(int(command["watch"]))
            elif "end" in command:
                self._end(int(command["end"]))
            return {}
        except OSError as error:
            return {"error": str(error)}

    def reap(self) -> None:
        """Collect what has ended, adopted orphans included."""
        for process in self._started.values():
            process.poll()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass

    def end_all(self) -> None:
        """End everything: first politely, after a while by force. Returns when nothing is left."""
        for pid in self._started:
            _send(pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while self._remaining() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        while remaining := self._remaining():
            for pid in remaining:
                self._kill(pid)
            time.sleep(POLL_S)

    def _run(self, command: dict[str, Any]) -> int:
        with Path(command["log"]).open("ab") as log:
            process = subprocess.Popen(
                command["run"],
                env=command["env"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=self._die_with_guardian,  # noqa: PLW1509 (there is one thread)
            )
        self._started[process.pid] = process
        return process.pid

    def _die_with_guardian(self) -> None:
        # Should the guardian itself be killed by force, the kernel ends what it started.
        if self._libc is not None:
            self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def _watch(self, pid: int) -> None:
        # A descriptor, unlike a number, can never come to mean another process.
        self._watched[pid] = -1
        with suppress(OSError, AttributeError):
            self._watched[pid] = os.pidfd_open(pid)

    def _end(self, pid: int) -> None:
        family = {pid, *_descendants(pid)}
        _send(pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while remaining := family & self._remaining():
            if time.monotonic() > deadline:
                for member in remaining:
                    self._kill(member)
            time.sleep(POLL_S)
        self._started.pop(pid, None)

    def _remaining(self) -> set[int]:
        self.reap()
        own = set(_descendants(os.getpid())) if LINUX else {p for p, q in self._started.items() if q.poll() is None}
        return own | {pid for pid in self._watched if self._watched_lives(pid)}

    def _watched_lives(self, pid: int) -> bool:
        descriptor = self._watched[pid]
        if descriptor >= 0:
            return not select.select([descriptor], [], [], 0)[0]
        return _send(pid, 0)

    def _kill(self, pid: int) -> None:
        if not LINUX and pid in self._started:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        elif self._watched.get(pid, -1) >= 0:
            with suppress(OSError):
                signal.pidfd_send_signal(self._watched[pid], signal.SIGKILL)
        else:
            _send(pid, signal.SIGKILL)


def _send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def _descendants(root: int) -> list[int]:
    """All living processes below `root`; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name in brackets may hold spaces: what follows it is "state parent ...".
            state, parent = entry.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry.parent.name))
    found: list[int] = []
    ahead = [root]
    while ahead:
        below = children.get(ahead.pop(), [])
        found += below
        ahead += below
    return found


def main() -> None:
    """Serve commands until the input ends or a signal asks to end."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    guardian = Guardian()
    try:
        _serve(guardian)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        guardian.end_all()


def _serve(guardian: Guardian) -> None:
    pending = b""
    while True:
        guardian.reap()
        if not select.select([0], [], [], 0.5)[0]:
            continue
        received = os.read(0, 65536)
        if not received:
            return
        *lines, pending = (pending + received).split(b"\n")
        for line in lines:
            answer = json.dumps(guardian.answer(json.loads(line)))
            with suppress(BrokenPipeError):
                os.write(1, answer.encode() + b"\n")


if __name__ == "__main__":
    main()
