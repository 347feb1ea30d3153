"""The longest way through an application."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import InvalidModel
from penstock.model import Topology


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The costliest path from a source to a sink, and what it costs."""

    cost: float
    operators: tuple[str, ...]


def critical_path(
    topology: Topology,
    costs: Mapping[str, float],
    stream_costs: Mapping[tuple[str, str], float] | None = None,
) -> CriticalPath:
    """The longest path by the costs of operators and of streams (upstream, downstream).

    Streams without a cost cost nothing; every operator must have one. Among equally long paths the one whose operators
    come first in the topology's order is returned, so the result does not depend on the order of mappings.
    """
    missing = [name for name in topology.names if name not in costs]
    if missing:
        raise InvalidModel(f"Operator '{missing[0]}' of '{topology.name}' has no cost; give every operator one.")
    between = stream_costs or {}
    rank = {name: index for index, name in enumerate(topology.order)}
    longest: dict[str, tuple[float, tuple[str, ...]]] = {}
    for name in topology.order:
        ways = [
            (longest[up][0] + between.get((up, name), 0.0), longest[up][1])
            for up in sorted(topology.upstream(name), key=rank.__getitem__)
        ]
        cost, path = max(ways, key=lambda way: way[0], default=(0.0, ()))
        longest[name] = (cost + costs[name], (*path, name))
    cost, path = max((longest[sink] for sink in topology.sinks), key=lambda way: way[0])
    return CriticalPath(cost, path)
