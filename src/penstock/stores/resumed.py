"""Going on with a run that was cut off, by running it again over what its journal already holds."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from penstock.control.entries import Entry
from penstock.control.ports import Journal
from penstock.errors import JournalMismatch


class ResumedJournal:
    """A journal that holds the beginning of a deterministic run, while that run is done again from its start.

    As long as there are kept entries, `append` checks that the run writes the same ones again; then it appends.
    `position` counts the entries that were met or appended so far.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._kept = iter(journal.entries())
        self._ahead = next(self._kept, None)
        self.position = 0

    @property
    def caught_up(self) -> bool:
        """Whether every kept entry was met, so that the next `append` writes."""
        return self._ahead is None

    def append(self, entry: Entry) -> None:
        """Meet the next kept entry, or keep this one for good.

        Raises `JournalMismatch` when the kept entry is another one; the journal is then unchanged.
        """
        if self._ahead is None:
            self._journal.append(entry)
        elif self._ahead != entry:
            raise JournalMismatch(
                f"Entry {self.position + 1} of the journal is from another run: {difference(self._ahead, entry)}; "
                "go on with the settings it was begun with, or name another journal."
            )
        else:
            self._ahead = next(self._kept, None)
        self.position += 1

    def entries(self) -> Iterable[Entry]:
        """All entries of the journal, oldest first, met or not."""
        return self._journal.entries()


def difference(kept: object, new: object, place: str = "") -> str:
    """The first place in which two unequal values differ, and how, in words."""
    if type(kept) is type(new):
        for name, before, after in _parts(kept, new):
            if before != after:
                return difference(before, after, f"{place}{name}" if place else name.lstrip("."))
    where = f"{place} is " if place else "it is "
    return f"{where}{_short(kept)} there and {_short(new)} now"


def _parts(kept: Any, new: Any) -> Iterator[tuple[str, object, object]]:
    """The parts of two values of the same type, side by side; none if they cannot be set side by side."""
    if is_dataclass(kept):
        for field in fields(kept):
            yield f".{field.name}", getattr(kept, field.name), getattr(new, field.name)
    elif isinstance(kept, Mapping) and set(kept) == set(new):
        for key in kept:
            yield f"[{key}]", kept[key], new[key]
    elif isinstance(kept, tuple) and len(kept) == len(new):
        for index, (before, after) in enumerate(zip(kept, new, strict=True)):
            yield f"[{index}]", before, after


def _short(value: object) -> str:
    if is_dataclass(value):
        return type(value).__name__
    text = repr(sorted(value)) if isinstance(value, Mapping) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
