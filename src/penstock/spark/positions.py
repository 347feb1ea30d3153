"""How far a query has come, counted in events of the sources: the key to latency and completeness across channels.

The position of a batch says, for every source of generated load, how many of its events that batch and all before it
have taken in. Every batch of a channel carries its writer's position, so that the position of a query behind any number
of channels can be told: once it has committed a batch, all those events have come that far.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from penstock.spark.checkpoints import folder_of

Position: TypeAlias = Mapping[str, int]
"""Events taken in, by source. A source whose offsets are not numbers of events is not in it."""

_EVENTS = "events"
_LOG_OFFSET = "logOffset"


def earliest(positions: Iterable[Position]) -> dict[str, int]:
    """What has come all the way on every path: for each source the least of several positions."""
    found: dict[str, int] = {}
    for position in positions:
        for source, events in position.items():
            found[source] = min(events, found.get(source, events))
    return found


def events_taken(offset: str | None) -> int | None:
    """How many events an offset of the load source stands for; None if it is of another kind."""
    return _field(offset, _EVENTS)


def newest_folder(checkpoint: str | Path, source: int, offset: str | None) -> str | None:
    """The name of the last folder from which a file source has taken files up to `offset`; None before the first.

    `source` is the source's place in the query. Spark writes the names of the files to a log of the source's own.
    """
    number = _field(offset, _LOG_OFFSET)
    if number is None or number < 0:
        return None
    log = folder_of(checkpoint) / "sources" / str(source)
    for entry in (log / str(number), log / f"{number}.compact"):
        if entry.exists():
            return max(_folders(entry.read_text(), number), default=None)
    return None


def _folders(log: str, number: int) -> list[str]:
    # Entries of earlier batches come first in a compacted log, and there may be many of them.
    folders: list[str] = []
    for line in reversed(log.splitlines()[1:]):
        entry = json.loads(line)
        if entry["batchId"] != number:
            break
        folders.append(Path(entry["path"]).parent.name)
    return folders


def _field(offset: str | None, name: str) -> int | None:
    if offset is None:
        return None
    try:
        value = json.loads(offset)
    except ValueError:
        return None
    number = value.get(name) if isinstance(value, dict) else None
    return number if isinstance(number, int) else None
