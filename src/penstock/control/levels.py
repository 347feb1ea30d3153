"""The cheapest way to make each change (hot, restart, state), the same for every runtime."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.control.actions import Level
from penstock.model import Configuration, ParallelismChange, Topology, diff


@dataclass(frozen=True, slots=True)
class SegmentChange:
    """What changes in one segment, and the level at which that can be done."""

    application: str
    segment: tuple[str, ...]
    level: Level
    changes: tuple[ParallelismChange, ...]


def segment_changes(
    before: Configuration, after: Configuration, topologies: Mapping[str, Topology]
) -> tuple[SegmentChange, ...]:
    """All changes of parallelism, together for each segment.

    The partitions of a stateful operator need its state rewritten; those of a stateless one need a restart when
    it shares its query with a stateful one, and nothing otherwise.
    """
    changed = [change for change in diff(before, after) if isinstance(change, ParallelismChange)]
    result = []
    for application, topology in topologies.items():
        for segment in topology.all_segments:
            own = tuple(c for c in changed if c.application == application and c.operator in segment)
            if own:
                result.append(SegmentChange(application, segment, _level(own, segment, topology), own))
    return tuple(result)


def _level(changes: tuple[ParallelismChange, ...], segment: tuple[str, ...], topology: Topology) -> Level:
    stateful = {name for name in segment if topology.operator(name).stateful}
    if any(change.operator in stateful for change in changes):
        return Level.STATE
    return Level.RESTART if stateful else Level.HOT
