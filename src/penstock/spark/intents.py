"""The journal of actions in progress: what must be completed or undone after a crash."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from threading import Lock

from penstock.control.actions import Level
from penstock.errors import JournalMismatch


class Step(StrEnum):
    """How far an action has come, in this order."""

    INTENT = "intent"
    STOPPED = "stopped"
    REPARTITIONED = "repartitioned"
    STARTED = "started"
    COMMITTED = "committed"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Intent:
    """A change of one segment from one parallelism to another, and the last step that is known to be done.

    `outcome` is set when it is closed: `done`, `undone`, or what went wrong.
    """

    number: int
    application: str
    segment: str
    level: Level
    before: Mapping[str, int]
    after: Mapping[str, int]
    step: Step = Step.INTENT
    outcome: str | None = None


class IntentLog:
    """A file with one line per step, each on disk before the call returns. One process writes it at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._intents = {intent.number: intent for intent in _replayed(path)}

    def open(
        self, application: str, segment: str, level: Level, before: Mapping[str, int], after: Mapping[str, int]
    ) -> Intent:
        """Write down what is about to be done."""
        with self._lock:
            number = max(self._intents, default=0) + 1
            return self._keep(Intent(number, application, segment, level, dict(before), dict(after)))

    def advance(self, intent: Intent, step: Step) -> Intent:
        """Write down that `step` is done."""
        with self._lock:
            return self._keep(replace(intent, step=step))

    def close(self, intent: Intent, outcome: str = "done") -> Intent:
        """Write down that nothing is left to be done."""
        with self._lock:
            return self._keep(replace(intent, step=Step.CLOSED, outcome=outcome))

    def unfinished(self) -> tuple[Intent, ...]:
        """What was begun and not closed, oldest first."""
        with self._lock:
            return tuple(intent for intent in self._intents.values() if intent.step is not Step.CLOSED)

    def all(self) -> tuple[Intent, ...]:
        """Everything that was ever begun, oldest first."""
        with self._lock:
            return tuple(self._intents.values())

    def _keep(self, intent: Intent) -> Intent:
        line = json.dumps(asdict(intent), sort_keys=True) + "\n"
        with self.path.open("ab") as stream:
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())
        self._intents[intent.number] = intent
        return intent


def _replayed(path: Path) -> Iterator[Intent]:
    """Every line's intent; later lines of the same number replace earlier ones."""
    if not path.exists():
        return
    content = path.read_bytes()
    # A crash may have cut off the last line: that step was not done, and the next line must not be glued to it.
    whole, newline, rest = content.rpartition(b"\n")
    if rest:
        with path.open("r+b") as stream:
            stream.truncate(len(whole) + len(newline))
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            yield _intent(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise JournalMismatch(f"Line {number} of {path} is no record of an action; move the file away.") from error


def _intent(record: dict[str, object]) -> Intent:
    fields = dict(record)
    fields["level"] = Level(str(record["level"]))
    fields["step"] = Step(str(record["step"]))
    return Intent(**fields)  # type: ignore[arg-type]
