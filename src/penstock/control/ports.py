"""What the loop needs from the world. The simulator and the Spark runtime implement these; tests fake them."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from penstock.control.actions import Action
from penstock.control.entries import Entry
from penstock.model import Configuration, Observation


class Clock(Protocol):
    """Time since the start of the run."""

    def now_s(self) -> float:
        """Seconds since the start of the run."""
        ...

    def sleep_until(self, at_s: float) -> None:
        """Return when the clock shows at least `at_s`; at once if it does already."""
        ...


class Monitor(Protocol):
    """Tells what happened since it was last asked."""

    def observe(self) -> Observation:
        """What was measured since the previous call. Never acts."""
        ...


class Actuator(Protocol):
    """Changes what runs."""

    def apply(self, target: Configuration, release: Sequence[str] = ()) -> tuple[Action, ...]:
        """Ask for `target` and return what was done, each part at its cheapest level.

        Applying the configuration that is already requested does nothing and returns no actions.
        `release` names the workers to give up first. Raises `ActionFailed`.
        """
        ...

    def requested(self) -> Configuration:
        """The configuration last asked for."""
        ...


class Journal(Protocol):
    """An append-only record that survives a crash: once `append` has returned, the entry is kept."""

    def append(self, entry: Entry) -> None:
        """Keep `entry` for good."""
        ...

    def entries(self) -> Iterable[Entry]:
        """All kept entries, oldest first."""
        ...
