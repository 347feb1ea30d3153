"""A problem as arrays: operators, nodes and streams by position instead of by name."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.placement.latency import latency_ms
from penstock.placement.problem import NetworkMetric, Placement, Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNITS = 1_000_000
"""Resources are compared in millionths, as integers, so that every solver means the same by "it fits"."""


@dataclass(frozen=True, eq=False)
class Instance:
    """The arrays of a problem; positions follow its operators, nodes and streams.

    `candidates[i]` are nodes that can hold at least one replica of operator i. `latency_ms[i][h - 1]` is the latency
    of i with h replicas on a reference node, infinite if they cannot keep up; h runs to `most[i]`, the replicas that
    are allowed and could fit if i had the infrastructure for itself (at least 1, so that nothing is empty).
    """

    problem: Problem
    demand: Ints
    capacity: Ints
    candidates: tuple[Ints, ...]
    most: tuple[int, ...]
    latency_ms: tuple[Floats, ...]
    speedup: Floats
    tails: Ints
    heads: Ints
    rate: Floats
    volume: Floats
    delay_ms: Floats
    network_factor: Floats
    log_node: Floats
    log_link: Floats | None
    link_cost: Floats | None
    bandwidth: Floats | None

    @property
    def operators(self) -> int:
        """How many operators there are."""
        return len(self.demand)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.capacity)

    @property
    def streams(self) -> int:
        """How many streams there are."""
        return len(self.tails)

    @cached_property
    def outgoing(self) -> tuple[tuple[int, ...], ...]:
        """The streams that leave every operator."""
        return tuple(tuple(np.flatnonzero(self.tails == operator).tolist()) for operator in range(self.operators))

    @cached_property
    def incoming(self) -> tuple[tuple[int, ...], ...]:
        """The streams that reach every operator."""
        return tuple(tuple(np.flatnonzero(self.heads == operator).tolist()) for operator in range(self.operators))

    def pinned(self, operator: int) -> int | None:
        """The only node on which `operator` can run, or None."""
        return int(self.candidates[operator][0]) if len(self.candidates[operator]) == 1 else None

    def execution_ms(self, operator: int) -> Floats:
        """Latency of a single replica of `operator` on every node."""
        slowness: Floats = self.latency_ms[operator][0] / self.speedup
        return slowness

    def named(self, assignment: Ints) -> Placement:
        """The placement that puts the one replica of every operator on the node given by position."""
        names = [node.name for node in self.problem.nodes]
        return {o.name: (names[u],) for o, u in zip(self.problem.operators, assignment.tolist(), strict=True)}

    def named_counts(self, counts: Ints) -> Placement:
        """The placement with `counts[i, u]` replicas of operator i on node u."""
        names = [node.name for node in self.problem.nodes]
        return {
            operator.name: tuple(names[u] for u in np.flatnonzero(row) for _ in range(row[u]))
            for operator, row in zip(self.problem.operators, counts, strict=True)
        }


def replica_counts(problem: Problem, placement: Placement) -> Ints:
    """Replicas of every operator (row) on every node (column); names must be known."""
    counts = np.zeros((len(problem.operators), len(problem.nodes)), dtype=np.int64)
    for operator, nodes in placement.items():
        for node in nodes:
            counts[problem.operator_index[operator], problem.node_index[node]] += 1
    return counts


@lru_cache(maxsize=16)
def instance_of(problem: Problem) -> Instance:
    """The arrays of `problem`, made once."""
    demand = _units([operator.resources for operator in problem.operators])
    capacity = _units([node.resources for node in problem.nodes])
    candidates = tuple(_candidates(problem, i, int(demand[i]), capacity) for i in range(len(demand)))
    most = tuple(
        _most(problem.operators[i].max_replicas, int(demand[i]), capacity[candidates[i]]) for i in range(len(demand))
    )
    loads = input_rates_per_s(problem)
    tails, heads = (
        np.array([problem.operator_index[end] for end in ends], dtype=np.int64)
        for ends in ([s.source for s in problem.streams], [s.target for s in problem.streams])
    )
    network = problem.network
    return Instance(
        problem,
        demand,
        capacity,
        candidates,
        most,
        tuple(
            np.array([latency_ms(operator, load, h) for h in range(1, k + 1)])
            for operator, load, k in zip(problem.operators, loads, most, strict=True)
        ),
        np.array([node.speedup for node in problem.nodes]),
        tails,
        heads,
        np.array([stream.rate_per_s for stream in problem.streams], dtype=float),
        np.array([stream.volume_per_s for stream in problem.streams], dtype=float),
        network.delay_ms,
        _network_factor(network.delay_ms, problem.network_metric),
        np.log([node.availability for node in problem.nodes]),
        _log_link(network.availability),
        network.cost if network.cost is not None and network.cost.any() else None,
        _finite(network.bandwidth_per_s),
    )


def input_rates_per_s(problem: Problem) -> list[float]:
    """What every operator has to process: the sum of what flows in, or for a source the largest of what flows out.

    A source's tuples go to each of its consumers, so their rates do not add up.
    """
    flows_in: list[list[float]] = [[] for _ in problem.operators]
    flows_out: list[list[float]] = [[] for _ in problem.operators]
    for stream in problem.streams:
        flows_in[problem.operator_index[stream.target]].append(stream.rate_per_s)
        flows_out[problem.operator_index[stream.source]].append(stream.rate_per_s)
    computed = [
        sum(incoming) if incoming else max(outgoing, default=0.0)
        for incoming, outgoing in zip(flows_in, flows_out, strict=True)
    ]
    return [
        rate if operator.input_rate_per_s is None else operator.input_rate_per_s
        for operator, rate in zip(problem.operators, computed, strict=True)
    ]


def _units(resources: list[float]) -> Ints:
    return np.array([round(amount * UNITS) for amount in resources], dtype=np.int64)


def _candidates(problem: Problem, operator: int, demand: int, capacity: Ints) -> Ints:
    names = problem.operators[operator].candidates
    allowed = range(len(capacity)) if names is None else sorted(problem.node_index[name] for name in names)
    return np.array([u for u in allowed if capacity[u] >= demand], dtype=np.int64)


def _most(max_replicas: int, demand: int, capacity: Ints) -> int:
    fitting = max_replicas if demand == 0 else int((capacity // demand).sum())
    return max(1, min(max_replicas, fitting))


def _network_factor(delay_ms: Floats, metric: NetworkMetric) -> Floats:
    """What one unit of volume costs on every link; delays count in seconds."""
    if metric is NetworkMetric.TRAFFIC:
        return np.asarray(1.0 - np.eye(len(delay_ms)))
    return np.asarray(delay_ms / 1000.0 if metric is NetworkMetric.USAGE else (delay_ms / 1000.0) ** 2)


def _log_link(availability: Floats | None) -> Floats | None:
    if availability is None or (availability == 1.0).all():
        return None
    logs = np.log(availability)
    np.fill_diagonal(logs, 0.0)
    return np.asarray(logs)


def _finite(bandwidth: Floats | None) -> Floats | None:
    if bandwidth is None:
        return None
    limited = bandwidth.copy()
    np.fill_diagonal(limited, np.inf)
    return limited if np.isfinite(limited).any() else None
