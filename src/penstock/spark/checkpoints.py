"""What a query's checkpoint folder says about it, read as plain files; it holds whether or not the query runs."""

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlparse

from penstock.errors import ActionFailed

_STATE_PARTITIONS = "spark.sql.shuffle.partitions"


def folder_of(checkpoint: str | Path) -> Path:
    """The folder behind a checkpoint location, which may be a path or a `file:` address."""
    text = str(checkpoint)
    parts = urlparse(text)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if parts.scheme and "://" in text:
        raise ActionFailed(f"The checkpoint {text} is not on this machine's file system, so it cannot be read here.")
    return Path(text)


def last_offset(checkpoint: str | Path) -> int | None:
    """The last batch that was begun; None before the first."""
    return _last(folder_of(checkpoint) / "offsets")


def last_committed(checkpoint: str | Path) -> int | None:
    """The last batch that was finished; None before the first."""
    return _last(folder_of(checkpoint) / "commits")


def is_clean(checkpoint: str | Path) -> bool:
    """Whether every batch that was begun has been finished."""
    return last_offset(checkpoint) == last_committed(checkpoint)


def state_partitions(checkpoint: str | Path, batch: int | None = None) -> int | None:
    """The partitions over which the state is spread as of `batch` (the last one begun); None if it is not on record.

    After a rewrite of the state that was cut off, this is the number that rewrite was for.
    """
    batch = last_offset(checkpoint) if batch is None else batch
    if batch is None:
        return None
    value = _settings(folder_of(checkpoint) / "offsets" / str(batch)).get(_STATE_PARTITIONS)
    return None if value is None else int(value)


def unfinished_rewrite(checkpoint: str | Path) -> int | None:
    """The number of partitions for which a rewrite of the state was begun and not finished; None if there is none.

    A rewrite stands in the log as a batch of its own, and only a rewrite changes the number. Spark starts no query on
    such a checkpoint until the rewrite was repeated for the same number.
    """
    batch = last_offset(checkpoint)
    if not batch or is_clean(checkpoint):
        return None
    number, before = state_partitions(checkpoint), state_partitions(checkpoint, batch - 1)
    return None if number == before else number


def source_offsets(checkpoint: str | Path, batch: int) -> tuple[str | None, ...]:
    """The end offsets of `batch`, one per source, as the sources wrote them; empty if the batch is not on record."""
    try:
        lines = (folder_of(checkpoint) / "offsets" / str(batch)).read_text().splitlines()
    except OSError:
        return ()
    return tuple(None if line == "-" else line for line in lines[2:])


def _last(log: Path) -> int | None:
    try:
        batches = [int(entry.name) for entry in log.iterdir() if entry.name.isdigit()]
    except FileNotFoundError:
        return None
    return max(batches, default=None)


def _settings(offsets: Path) -> Mapping[str, str]:
    """The settings that an entry of the offset log records: a version, then one line of metadata, then the offsets."""
    try:
        lines = offsets.read_text().splitlines()
    except FileNotFoundError:
        return {}
    try:
        settings = json.loads(lines[1]).get("conf", {})
    except (IndexError, ValueError) as error:
        raise ActionFailed(f"The entry {offsets.name} of the offset log in {offsets.parent} cannot be read.") from error
    return {str(name): str(value) for name, value in settings.items()}
