"""The objective taken apart for solvers that place one replica of each operator.

It is a constant, plus a cost for every operator on its node, plus a cost for every stream on its link, plus a factor
times the critical path. Solvers search with these parts; what they return is judged by the evaluator, and a test
holds the two to the same objective.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from penstock.placement.evaluator import TOLERANCE
from penstock.placement.instance import Floats, Instance, Ints, instance_of
from penstock.placement.objective import objective_of
from penstock.placement.problem import AvailabilityModel, Problem

__all__ = ["TOLERANCE", "Costs", "costs_of", "is_separable"]


@dataclass(frozen=True, eq=False)
class Costs:
    """The parts of the objective.

    `node[i, u]` is what operator i costs on node u, infinite where it cannot run; `execution_ms[i, u]` what it adds
    to a path. `volume_cost`, `rate_cost` and `fixed_cost` are what a stream costs on every link per unit of volume,
    per tuple per second and as such; the last two are None if they are nothing.
    """

    instance: Instance
    constant: float
    per_ms: float
    node: Floats
    execution_ms: Floats
    volume_cost: Floats
    rate_cost: Floats | None
    fixed_cost: Floats | None

    def stream(self, stream: int) -> Floats:
        """What a stream costs on every link."""
        matrix = self.instance.volume[stream] * self.volume_cost
        if self.rate_cost is not None:
            matrix = matrix + self.instance.rate[stream] * self.rate_cost
        return np.asarray(matrix if self.fixed_cost is None else matrix + self.fixed_cost)

    def stream_from(self, stream: int, tail: int) -> Floats:
        """What a stream costs on the links from one node."""
        row = self.instance.volume[stream] * self.volume_cost[tail]
        if self.rate_cost is not None:
            row = row + self.instance.rate[stream] * self.rate_cost[tail]
        return np.asarray(row if self.fixed_cost is None else row + self.fixed_cost[tail])

    def stream_at(self, stream: int, tail: int, head: int) -> float:
        """What a stream costs on one link."""
        cost = self.instance.volume[stream] * self.volume_cost[tail, head]
        if self.rate_cost is not None:
            cost += self.instance.rate[stream] * self.rate_cost[tail, head]
        return float(cost if self.fixed_cost is None else cost + self.fixed_cost[tail, head])

    @property
    def streams_matter(self) -> bool:
        """Whether it makes a difference how operators lie to one another."""
        delays = self.per_ms > 0 and bool(self.instance.delay_ms.any())
        volumes = bool(self.volume_cost.any() and self.instance.volume.any())
        rates = self.rate_cost is not None and bool(self.instance.rate.any())
        return self.instance.streams > 0 and (delays or volumes or rates or self.fixed_cost is not None)

    def path_ms(self, assignment: Ints) -> float:
        """The length of the critical path."""
        instance = self.instance
        arrivals = self.execution_ms[np.arange(instance.operators), assignment].tolist()
        latencies = list(arrivals)
        delays = instance.delay_ms[assignment[instance.tails], assignment[instance.heads]].tolist()
        heads = instance.heads.tolist()
        for operator in instance.problem.order:
            for stream in instance.outgoing[operator]:
                head = heads[stream]
                arrivals[head] = max(arrivals[head], arrivals[operator] + delays[stream] + latencies[head])
        return float(max(arrivals))

    def objective(self, assignment: Ints) -> float:
        """The objective of putting every operator on the node given by position, whether or not it fits."""
        instance = self.instance
        total = self.constant + float(self.node[np.arange(instance.operators), assignment].sum())
        tails, heads = assignment[instance.tails], assignment[instance.heads]
        total += float(instance.volume @ self.volume_cost[tails, heads])
        if self.rate_cost is not None:
            total += float(instance.rate @ self.rate_cost[tails, heads])
        if self.fixed_cost is not None:
            total += float(self.fixed_cost[tails, heads].sum())
        return total + (self.per_ms * self.path_ms(assignment) if self.per_ms else 0.0)

    def fits(self, assignment: Ints) -> bool:
        """Whether no node is given more than it can take."""
        used = np.bincount(assignment, weights=self.instance.demand, minlength=self.instance.nodes)
        return bool((used <= self.instance.capacity).all())


def is_separable(problem: Problem) -> bool:
    """Whether `Costs` says all there is to say: single replicas, nothing bounded, operators available one by one."""
    limits = problem.bounds
    bounded = limits.response_time_ms is not None or limits.cost is not None or limits.downtime_s is not None
    by_nodes = problem.available_by is AvailabilityModel.NODES and problem.weights.availability > 0
    changing = problem.current is not None and problem.weights.downtime > 0
    limited = instance_of(problem).bandwidth is not None
    return not (problem.replicates or bounded or by_nodes or changing or limited)


@lru_cache(maxsize=16)
def costs_of(problem: Problem) -> Costs:
    """The parts of the objective of `problem`, made once."""
    instance, objective = instance_of(problem), objective_of(problem)
    node = np.full((instance.operators, instance.nodes), np.inf)
    for index, (operator, nodes) in enumerate(zip(problem.operators, instance.candidates, strict=True)):
        if not np.isfinite(instance.latency_ms[index][0]):
            continue
        node[index, nodes] = objective.per_cost * operator.cost * operator.resources
        node[index, nodes] -= objective.per_log_loss * instance.log_node[nodes]
    return Costs(
        instance,
        objective.constant,
        objective.per_ms,
        node,
        np.array([instance.execution_ms(index) for index in range(instance.operators)]),
        objective.per_network * instance.network_factor,
        None if instance.link_cost is None or not objective.per_cost else objective.per_cost * instance.link_cost,
        None
        if instance.log_link is None or not objective.per_log_loss
        else -objective.per_log_loss * instance.log_link,
    )
