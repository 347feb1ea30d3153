"""Processes that end with this one, however it ends."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.errors import ActionFailed
from penstock.spark import guardian

_END_TIMEOUT_S = 60.0


class GuardedProcesses:
    """Starts processes through a guardian, which ends them all with their descendants on `close`.

    The same happens when this process ends in any way, `kill -9` included. Signals from the terminal (Ctrl-C)
    reach this process only. `close` may be called more than once and returns when everything is gone.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._guardian: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-I", "-S", guardian.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            start_new_session=True,
        )

    @property
    def alias(self) -> Path | None:
        """A short path to `folder`, however long its own is, until `close`; None where the system has no such thing."""
        path = Path(f"/proc/{self._guardian.pid}/cwd")
        return path if path.exists() else None

    def run(self, command: Sequence[str | Path], env: Mapping[str, str], log: Path) -> int:
        """Start `command`, its output appended to `log`; the new process's number. Raises `ActionFailed`."""
        arguments = [str(part) for part in command]
        return int(self._ask({"run": arguments, "env": dict(env), "log": str(log)})["pid"])

    def end(self, pid: int) -> None:
        """End a process started here with its descendants; returns when they are gone."""
        self._ask({"end": pid})

    def watch(self, pid: int) -> None:
        """Also end the process `pid`, started by others, on `close`."""
        self._ask({"watch": pid})

    @staticmethod
    def lives(pid: int) -> bool:
        """Whether process `pid` is there."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True

    def close(self) -> None:
        """End everything; returns when it is gone."""
        for stream in (self._guardian.stdin, self._guardian.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        try:
            self._guardian.wait(timeout=_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # What it started dies with it.
            self._guardian.kill()
            self._guardian.wait()

    def _ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        requests, answers = self._guardian.stdin, self._guardian.stdout
        if requests is None or answers is None or requests.closed:
            raise ActionFailed("No process can be started any more: the processes were closed.")
        try:
            requests.write(json.dumps(command) + "\n")
            requests.flush()
            line = answers.readline()
        except OSError as error:
            raise ActionFailed(f"The process that guards the others is gone ({error}).") from error
        if not line:
            raise ActionFailed("The process that guards the others is gone.")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ActionFailed(f"A process could not be started: {answer['error']}.")
        return answer
