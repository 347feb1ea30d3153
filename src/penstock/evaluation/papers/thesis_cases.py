"""The placement problems of the QoS-aware deployment and adaptation thesis: applications, networks and parameters."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from penstock.placement import Network, Node, Normalisation, Operator, Problem, Stream, Weights
from penstock.placement.infrastructure import network_of, nodes_of
from penstock.workloads import waxman

Edges = list[tuple[int, int]]

OBJECTIVES: Mapping[str, Weights] = {
    "availability": Weights(availability=1.0),
    "response time": Weights(response_time=1.0),
    "network usage": Weights(network=1.0),
    "all": Weights(response_time=0.33, availability=0.33, network=0.33),
}
"""The objectives of chapter 5 and their weights (sections 5.6.2 and 5.6.3)."""

TOPOLOGIES = ("diamond", "sequential", "replicated")

_OPERATORS = 20
_AVAILABILITY = (0.588, 0.972)
_FACTORS: Mapping[str, Normalisation] = {
    "diamond": Normalisation((74.0, 410.0), _AVAILABILITY, (132.2, 1409.2)),
    "sequential": Normalisation((114.0, 3098.0), _AVAILABILITY, (8.4, 303.8)),
    "replicated": Normalisation((49.0, 247.0), _AVAILABILITY, (52.0, 446.4)),
}
"""Table 5.1: the least and the most of response time (ms), availability and network usage (KB, one for each tuple under
way: of sequential applications the most are 3,098 ms without 60 ms of execution, at 100 tuples/s)."""


def edges(topology: str, operators: int) -> Edges:
    """The streams of an application: operator 0 is the source, the last one the sink.

    A diamond has all others side by side (chapter 4 calls it fat), a replicated application has two full layers, the
    first twice as large as the second.
    """
    last = operators - 1
    if topology == "sequential":
        return [(one, one + 1) for one in range(last)]
    if topology == "diamond":
        return [(0, one) for one in range(1, last)] + [(one, last) for one in range(1, last)]
    second = range(last - (operators - 2) // 3, last)
    first = range(1, second.start)
    between = [(one, other) for one in first for other in second]
    return [*((0, one) for one in first), *between, *((other, last) for other in second)]


def chapter_5(topology: str, objective: str, nodes: int, seed: int, operators: int = _OPERATORS) -> Problem:
    """An application on a two-level Waxman network, parameters of Table 5.1; source and sink share a random node.

    With 20 operators, as published, metrics are normalised by the published factors, which are the same for all
    networks (section 5.6.1), otherwise by the extremes that are possible.
    """
    cluster = waxman(nodes, seed)
    pinned = cluster.workers[int(np.random.default_rng(seed).integers(nodes))].name
    placed = tuple(
        Operator(f"o{one}", 1.0, 3.0, (pinned,) if one in (0, operators - 1) else None) for one in range(operators)
    )
    streams = tuple(Stream(f"o{one}", f"o{other}", 100.0) for one, other in edges(topology, operators))
    return Problem(
        placed,
        streams,
        nodes_of(cluster),
        network_of(cluster),
        OBJECTIVES[objective],
        normalisation=_FACTORS[topology] if operators == _OPERATORS else Normalisation(),
    )


def chapter_4(topology: str, operators: int, nodes: int, capacity: int, seed: int) -> Problem:
    """The response time of an application on random delays around 22 ms, parameters of Table 4.2; nothing is pinned."""
    delay_ms = gaussian_delays_ms(nodes, seed)
    placed = tuple(Operator(f"o{one}", 1.0, 1000.0) for one in range(operators))
    streams = tuple(Stream(f"o{one}", f"o{other}", 100.0) for one, other in edges(topology, operators))
    names = tuple(Node(f"n{node + 1}", float(capacity)) for node in range(nodes))
    return Problem(placed, streams, names, Network(delay_ms), Weights(response_time=1.0))


def gaussian_delays_ms(nodes: int, seed: int) -> NDArray[np.float64]:
    """Delays drawn from a normal distribution with mean 22 and deviation 5, at least 1, the same in both directions."""
    drawn = np.maximum(np.random.default_rng(seed).normal(22.0, 5.0, size=(nodes, nodes)), 1.0)
    delays = np.triu(drawn, 1)
    return np.asarray(delays + delays.T)
