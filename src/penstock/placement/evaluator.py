"""What a placement is worth. This is the only place that computes metrics; every solver's answer is checked by it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from penstock.errors import InvalidModel, UnknownName
from penstock.placement.downtime import DowntimeTerms, downtime_s, downtime_terms
from penstock.placement.instance import UNITS, Floats, Instance, Ints, instance_of, replica_counts
from penstock.placement.objective import Objective, objective_of
from penstock.placement.problem import AvailabilityModel, Placement, Problem

TOLERANCE = 1e-6
"""Bounds and bandwidths hold to a millionth of their size; objectives are equal if they differ by no more."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of a placement, and in `violations` one sentence for every constraint that it breaks.

    Response time is infinite if an operator cannot keep up with its load, which is a violation too. Downtime is None
    without a current deployment.
    """

    objective: float
    response_time_ms: float
    availability: float
    network: float
    cost: float
    downtime_s: float | None
    critical_path: tuple[str, ...]
    violations: tuple[str, ...]

    @property
    def is_feasible(self) -> bool:
        """Whether all constraints are kept."""
        return not self.violations


def allowed(limit: float) -> float:
    """The most that a metric with this limit may be."""
    return limit + TOLERANCE * max(1.0, limit)


def evaluate(problem: Problem, placement: Placement) -> Evaluation:
    """Compute everything about `placement`. Every operator must have a node, and all names must be known."""
    for name, nodes in placement.items():
        if name not in problem.operator_index:
            raise UnknownName.of("operator called", name, problem.operator_index)
        for node in nodes:
            if node not in problem.node_index:
                raise UnknownName.of("node called", node, problem.node_index)
    missing = [operator.name for operator in problem.operators if not placement.get(operator.name)]
    if missing:
        raise InvalidModel(f"The placement has no node for operator '{missing[0]}'.")
    return evaluator_of(problem).evaluate(replica_counts(problem, placement))


@lru_cache(maxsize=16)
def evaluator_of(problem: Problem) -> "Evaluator":
    """The evaluator of `problem`, made once."""
    return Evaluator(instance_of(problem), objective_of(problem))


@dataclass(frozen=True)
class Evaluator:
    """Evaluates placements given as replicas of every operator (row) on every node (column)."""

    instance: Instance
    objective: Objective

    @cached_property
    def _downtime_terms(self) -> tuple[DowntimeTerms, ...] | None:
        return downtime_terms(self.instance)

    def evaluate(self, counts: Ints) -> Evaluation:
        """All metrics; `counts` must give every operator at least one replica."""
        response_ms, path = self._response(counts)
        log_loss, network, cost = self._log_loss(counts), self._network(counts), self._cost(counts)
        terms = self._downtime_terms
        down_s = None if terms is None else downtime_s(terms, counts)
        names = [operator.name for operator in self.instance.problem.operators]
        return Evaluation(
            self.objective.value(response_ms, log_loss, network, cost, down_s or 0.0),
            response_ms,
            math.exp(-log_loss),
            network,
            cost,
            down_s,
            tuple(names[operator] for operator in path),
            tuple(self._violations(counts, response_ms, cost, down_s)),
        )

    def _response(self, counts: Ints) -> tuple[float, tuple[int, ...]]:
        """The critical path and its length (6.8)."""
        instance = self.instance
        arrivals = [0.0] * instance.operators
        before = [-1] * instance.operators
        hosts = [np.flatnonzero(row) for row in counts]
        heads = instance.heads.tolist()
        for operator in instance.problem.order:
            arrivals[operator] += self._latency_ms(operator, counts[operator])
            for stream in instance.outgoing[operator]:
                head = heads[stream]
                arrival = arrivals[operator] + self._delay_ms(hosts[operator], hosts[head])
                if before[head] < 0 or arrival > arrivals[head]:
                    arrivals[head], before[head] = arrival, operator
        path = [int(np.argmax(arrivals))]
        while before[path[-1]] >= 0:
            path.append(before[path[-1]])
        return max(arrivals), tuple(reversed(path))

    def _latency_ms(self, operator: int, row: Ints) -> float:
        """Latency of the slowest replica (6.1)."""
        replicas = int(row.sum())
        latencies = self.instance.latency_ms[operator]
        latency = latencies[min(replicas, len(latencies)) - 1]
        return float(latency / self.instance.speedup[row > 0].min())

    def _delay_ms(self, tail: Ints, head: Ints) -> float:
        """Delay between the replicas that are farthest apart (6.4), given the nodes that host them."""
        if len(tail) == len(head) == 1:
            return float(self.instance.delay_ms[tail[0], head[0]])
        return float(self.instance.delay_ms[np.ix_(tail, head)].max())

    def _log_loss(self, counts: Ints) -> float:
        """Minus the logarithm of the availability (4.8, 6.3, 6.6, 6.16)."""
        instance, used = self.instance, counts > 0
        if instance.problem.available_by is AvailabilityModel.NODES:
            loss = -float(instance.log_node[used.any(axis=0)].sum())
            if instance.log_link is None:
                return loss
            linked = (used[instance.tails].astype(int).T @ used[instance.heads].astype(int)) > 0
            return loss - float(instance.log_link[linked].sum())
        loss = -float((used @ instance.log_node).sum())
        return loss if instance.log_link is None else loss + self._over_streams(-instance.log_link, used.astype(float))

    def _over_streams(self, matrix: Floats, shares: Floats, factors: Floats | None = None) -> float:
        """The sum over streams and links of `matrix` times the shares of tail and head times the stream's factor."""
        instance = self.instance
        weights = np.zeros((instance.operators, instance.operators))
        np.add.at(weights, (instance.tails, instance.heads), 1.0 if factors is None else factors)
        return float((weights * (shares @ matrix @ shares.T)).sum())

    @staticmethod
    def _shares(counts: Ints) -> Floats:
        """The share of an operator's input that each node gets."""
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def _network(self, counts: Ints) -> float:
        """Traffic, usage or elastic energy, replicas counted with multiplicity (6.17 to 6.20)."""
        return self._over_streams(self.instance.network_factor, self._shares(counts), self.instance.volume)

    def _cost(self, counts: Ints) -> float:
        """Price of all replicas and of what flows between nodes (6.12), replicas counted with multiplicity."""
        operators = self.instance.problem.operators
        cost = sum(o.cost * o.resources * int(row.sum()) for o, row in zip(operators, counts, strict=True))
        if self.instance.link_cost is not None:
            cost += self._over_streams(self.instance.link_cost, self._shares(counts), self.instance.rate)
        return float(cost)

    def _violations(self, counts: Ints, response_ms: float, cost: float, down_s: float | None) -> Iterator[str]:
        instance = self.instance
        problem = instance.problem
        used = counts.T @ instance.demand
        for node in np.flatnonzero(used > instance.capacity):
            name, has = problem.nodes[node].name, problem.nodes[node].resources
            yield f"Node '{name}' has {has:g} resources, and {used[node] / UNITS:g} are used."
        yield from self._operator_violations(counts)
        yield from self._bandwidth_violations(counts)
        limits = problem.bounds
        for what, value, limit in (
            ("response time", response_ms, limits.response_time_ms),
            ("cost", cost, limits.cost),
            ("downtime", down_s, limits.downtime_s),
        ):
            if value is not None and limit is not None and value > allowed(limit):
                yield f"The {what} is {value:g}, above its bound of {limit:g}."

    def _operator_violations(self, counts: Ints) -> Iterator[str]:
        for operator, row in zip(self.instance.problem.operators, counts, strict=True):
            replicas = int(row.sum())
            if replicas > operator.max_replicas:
                yield f"Operator '{operator.name}' has {replicas} replicas, above its {operator.max_replicas}."
            allowed = operator.candidates
            for node in np.flatnonzero(row):
                name = self.instance.problem.nodes[node].name
                if allowed is not None and name not in allowed:
                    yield f"Operator '{operator.name}' may not run on node '{name}'."
            if not math.isfinite(self._latency_ms(self.instance.problem.operator_index[operator.name], row)):
                yield f"Operator '{operator.name}' cannot keep up with its load with {replicas} replicas."

    def _bandwidth_violations(self, counts: Ints) -> Iterator[str]:
        bandwidth = self.instance.bandwidth
        if bandwidth is None:
            return
        shares = self._shares(counts)
        tails, heads = shares[self.instance.tails], shares[self.instance.heads]
        flows = (tails * self.instance.volume[:, None]).T @ heads
        names = [node.name for node in self.instance.problem.nodes]
        for u, v in np.argwhere(flows > bandwidth + TOLERANCE * np.maximum(1.0, bandwidth)):
            yield f"Link {names[u]} -> {names[v]} carries {flows[u, v]:g} per second, above its {bandwidth[u, v]:g}."
