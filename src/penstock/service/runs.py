"""Where runs are kept, and how one is taken up again."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock.control import Ended, Entry, Journal
from penstock.control.entries import STOPPED
from penstock.errors import UsageError
from penstock.service.requests import RunRequest
from penstock.stores import ResumedJournal, SqliteJournal, summary

JOURNAL = "journal.sqlite"
METRICS = "metrics.sqlite"


def open_folder(folder: Path) -> Path:
    """Make sure that `folder` exists and can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"The folder '{folder}' cannot be written to ({error.strerror}); choose another.") from None
    return folder


def discard(folder: Path) -> None:
    """Remove the journal of an earlier run."""
    for path in folder.glob(f"{JOURNAL}*"):
        path.unlink()


@contextmanager
def simulated_journal(folder: Path, say: Callable[[str], None]) -> Iterator[Journal]:
    """The journal of a simulated run below `folder`.

    A run that was cut off is taken up: it is simulated again from its start, checked entry by entry against what was
    kept, and goes on from there. A finished one is replaced.
    """
    path = open_folder(folder) / JOURNAL
    if path.exists():
        with SqliteJournal(path) as kept:
            found = summary(kept)
        if not found.cut_off:
            discard(folder)
        else:
            say(f"Found {found} in {folder}; going on with it.")
    with SqliteJournal(path) as journal:
        yield ResumedJournal(journal)


def kept_entries(folder: Path) -> list[Entry]:
    """All that the journal below `folder` holds."""
    with SqliteJournal(folder / JOURNAL, create=False) as journal:
        return list(journal.entries())


def was_stopped(entries: Sequence[Entry]) -> bool:
    """Whether the user broke off the run with these entries."""
    return any(isinstance(entry, Ended) and entry.because == STOPPED for entry in entries[-1:])


def run_folder(out: Path, request: RunRequest) -> Path:
    """The folder of one run below the output folder."""
    return out / request.slug
