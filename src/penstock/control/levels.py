"""The cheapest way to make each change (hot, restart, state), the same for every runtime."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.control.actions import Level
from penstock.model import Configuration, ParallelismChange, Role, Topology, diff


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

    The partitions of a stateful operator need its state rewritten, those of a source a restart of its query; those of
    any other operator change while the query runs.
    """
    changed = [change for change in diff(before, after) if isinstance(change, ParallelismChange)]
    result = []
    for application, topology in topologies.items():
        for segment in topology.all_segments:
            own = tuple(c for c in changed if c.application == application and c.operator in segment)
            if own:
                result.append(SegmentChange(application, segment, _level(own, topology), own))
    return tuple(result)


def _level(changes: tuple[ParallelismChange, ...], topology: Topology) -> Level:
    changed = [topology.operator(change.operator) for change in changes]
    if any(operator.stateful for operator in changed):
        return Level.STATE
    return Level.RESTART if any(operator.role is Role.SOURCE for operator in changed) else Level.HOT
