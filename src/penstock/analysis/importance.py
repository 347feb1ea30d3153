"""How important the operators of an application are by the look of its graph and of its streams."""

from collections.abc import Callable, Mapping

from penstock.model import Topology


def nearness_to_sources(topology: Topology) -> dict[str, float]:
    """1 for a source, 1/2 one stream away from the nearest one, then 1/3, and so on."""
    return _nearness(topology.order, topology.upstream)


def nearness_to_sinks(topology: Topology) -> dict[str, float]:
    """1 for a sink, 1/2 one stream before the nearest one, then 1/3, and so on."""
    return _nearness(tuple(reversed(topology.order)), topology.downstream)


def _nearness(order: tuple[str, ...], before: Callable[[str], tuple[str, ...]]) -> dict[str, float]:
    steps: dict[str, int] = {}
    for name in order:
        steps[name] = min((steps[other] + 1 for other in before(name)), default=0)
    return {name: 1.0 / (1 + count) for name, count in steps.items()}


def descendants(topology: Topology) -> dict[str, float]:
    """The number of operators that each operator's output reaches."""
    below: dict[str, set[str]] = {}
    for name in reversed(topology.order):
        children = topology.downstream(name)
        below[name] = set(children).union(*(below[child] for child in children))
    return {name: float(len(reached)) for name, reached in below.items()}


def centrality(topology: Topology) -> dict[str, float]:
    """The number of streams at each operator."""
    return {name: float(len(topology.upstream(name)) + len(topology.downstream(name))) for name in topology.names}


def link_load(
    topology: Topology, input_per_s: Mapping[str, float], output_per_s: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """What comes in and goes out at each operator per second; nothing where it is not known."""
    return {name: input_per_s.get(name, 0.0) + sum(output_per_s.get(name, {}).values()) for name in topology.names}
