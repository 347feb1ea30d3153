"""Everything Penstock raises on purpose.

    PenstockError
    ├── UsageError          what the user asked for cannot be done as asked (exit code 2)
    │   ├── InvalidModel        a topology, cluster or configuration that contradicts itself
    │   ├── UnknownName         a name that is not on the list it should be on
    │   └── EnvironmentMissing  something the machine must have is missing (Java, a port, a file)
    ├── BadObservation      a measurement that must not be acted upon
    ├── JournalMismatch     a journal that was written by a different run
    └── ActionFailed        the cluster did not do what it was asked to

Every message is one sentence that says what is wrong and, where there is a choice, what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class PenstockError(Exception):
    """The root of the tree; catching it catches all that is raised on purpose."""


class UsageError(PenstockError):
    """What the user asked for cannot be done as asked."""


class InvalidModel(UsageError):
    """A topology, cluster or configuration that contradicts itself."""


class UnknownName(UsageError):
    """A name that is not on the list it should be on."""

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> "UnknownName":
        """The error for an unknown `name`, with the nearest known one as a hint."""
        names = sorted(known)
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"choose one of: {', '.join(names)}."
        return cls(f"There is no {kind} '{name}'; {hint}")


class EnvironmentMissing(UsageError):
    """Something the machine must have is missing."""


class BadObservation(PenstockError):
    """A measurement that must not be acted upon."""


class JournalMismatch(UsageError):
    """A journal that was written by a different run."""


class ActionFailed(PenstockError):
    """The cluster did not do what it was asked to."""
