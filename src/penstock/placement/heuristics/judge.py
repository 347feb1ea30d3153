"""Many placements of single replicas, scored at once: what searches compare, while the evaluator has the last word."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from penstock.placement.costs import Costs, costs_of
from penstock.placement.evaluator import TOLERANCE
from penstock.placement.instance import UNITS, Floats, Instance, Ints, instance_of
from penstock.placement.objective import objective_of
from penstock.placement.problem import AvailabilityModel, Problem
from penstock.placement.result import Answer

_BATCH_NUMBERS = 2_000_000

Score = tuple[float, float]
"""By how much constraints are broken, then the objective: the lower of two is the better placement."""

WORST: Score = (np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a batch of placements; a violation of 0 keeps all constraints."""

    violation: Floats
    objective: Floats

    def best_first(self) -> Iterator[tuple[int, Score]]:
        """Positions and scores from best to worst; equals in the order of the batch."""
        for index in np.lexsort((self.objective, self.violation)):
            yield int(index), (float(self.violation[index]), float(self.objective[index]))

    def best(self) -> tuple[int, Score]:
        """The position and score of the first of the best; -1 if there is none."""
        if not self.violation.size:
            return -1, WORST
        least = self.violation.min()
        index = int(np.argmin(np.where(self.violation == least, self.objective, np.inf)))
        return index, (float(least), float(self.objective[index]))


@lru_cache(maxsize=16)
def judge_of(problem: Problem) -> "Judge":
    """The judge of `problem`, made once."""
    costs = costs_of(problem)
    if problem.available_by is AvailabilityModel.OPERATORS:
        return Judge(costs)
    # Nodes are available as such, not for every operator on them, so that part is not separable.
    per_log_loss = objective_of(problem).per_log_loss
    return Judge(
        replace(costs, node=costs.node + per_log_loss * costs.instance.log_node, fixed_cost=None), per_log_loss
    )


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores placements given as the node of every operator, one placement in a row."""

    costs: Costs
    per_node_loss: float = 0.0

    @property
    def instance(self) -> Instance:
        """The arrays of the problem."""
        return self.costs.instance

    def scores(self, assignments: Ints) -> Scores:
        """The scores of all rows."""
        instance = self.instance
        width = max(1, instance.operators, instance.streams, instance.nodes)
        parts = np.array_split(assignments, max(1, -(-len(assignments) * width // _BATCH_NUMBERS)))
        scored = [self._scores(part) for part in parts]
        return Scores(
            np.concatenate([part.violation for part in scored]), np.concatenate([part.objective for part in scored])
        )

    def score(self, assignment: Ints) -> Score:
        """The score of one placement."""
        return self.scores(assignment[None, :]).best()[1]

    def answer(self, assignment: Ints | None, method: str) -> Answer:
        """The answer that a placement amounts to, none if it breaks a constraint."""
        if assignment is None or self.score(assignment)[0] > 0:
            return Answer(method=method)
        return Answer(self.instance.named(assignment), method=method)

    def _scores(self, assignments: Ints) -> Scores:
        instance, costs = self.instance, self.costs
        tails, heads = assignments[:, instance.tails], assignments[:, instance.heads]
        links = tails * instance.nodes + heads
        allowed = costs.node[np.arange(instance.operators), assignments]
        objective = costs.constant + np.where(np.isfinite(allowed), allowed, 0.0).sum(axis=1)
        objective += np.take(costs.volume_cost, links) @ instance.volume
        if costs.rate_cost is not None:
            objective += np.take(costs.rate_cost, links) @ instance.rate
        if costs.fixed_cost is not None:
            objective += np.take(costs.fixed_cost, links).sum(axis=1)
        violation = (~np.isfinite(allowed)).sum(axis=1) + self._overload(assignments)
        if costs.per_ms or instance.problem.bounds.response_time_ms is not None:
            path_ms = self._paths_ms(assignments, links)
            objective += costs.per_ms * path_ms
            violation += _excess(path_ms, instance.problem.bounds.response_time_ms)
        if self.per_node_loss:
            objective += self.per_node_loss * self._log_loss(assignments, links)
        violation += self._traffic_violation(links)
        return Scores(violation, objective)

    def _overload(self, assignments: Ints) -> Floats:
        """How many resources nodes are short of."""
        instance = self.instance
        keys = assignments + (np.arange(len(assignments)) * instance.nodes)[:, None]
        demand = np.broadcast_to(instance.demand, assignments.shape)
        used = np.bincount(keys.ravel(), weights=demand.ravel(), minlength=len(assignments) * instance.nodes)
        over = np.maximum(used.reshape(len(assignments), -1) - instance.capacity, 0.0)
        return np.asarray(over.sum(axis=1) / UNITS)

    def _paths_ms(self, assignments: Ints, links: Ints) -> Floats:
        """The length of the critical path of every row."""
        instance = self.instance
        delays = np.take(instance.delay_ms, links).T.copy()
        latencies = self.costs.execution_ms[np.arange(instance.operators), assignments].T.copy()
        arrivals = np.zeros_like(latencies)
        for operator in instance.problem.order:
            done = arrivals[operator]
            done += latencies[operator]
            for stream in instance.outgoing[operator]:
                head = arrivals[instance.heads[stream]]
                np.maximum(head, done + delays[stream], out=head)
        return np.asarray(arrivals.max(axis=0))

    def _log_loss(self, assignments: Ints, links: Ints) -> Floats:
        """Minus the logarithm of the availability of all used nodes and links, each counted once."""
        loss = _sum_once(assignments, -self.instance.log_node)
        if self.instance.log_link is not None:
            loss += _sum_once(links, -np.ravel(self.instance.log_link))
        return loss

    def _traffic_violation(self, links: Ints) -> Floats:
        """By which share bandwidths and the bound on cost are exceeded."""
        instance = self.instance
        excess = np.zeros(len(links))
        if instance.bandwidth is not None:
            size = instance.nodes**2
            keys, inverse = np.unique(links + (np.arange(len(links)) * size)[:, None], return_inverse=True)
            flows = np.bincount(np.ravel(inverse), weights=np.broadcast_to(instance.volume, links.shape).ravel())
            limits = np.ravel(instance.bandwidth)[keys % size]
            over = np.where(flows > limits + TOLERANCE * np.maximum(1.0, limits), flows - limits, 0.0)
            over[over > 0] /= np.maximum(1.0, limits[over > 0])
            excess += np.bincount(keys // size, weights=over, minlength=len(links))
        if instance.problem.bounds.cost is not None:
            cost = np.full(len(links), sum(o.cost * o.resources for o in instance.problem.operators))
            if instance.link_cost is not None:
                cost += np.take(instance.link_cost, links) @ instance.rate
            excess += _excess(cost, instance.problem.bounds.cost)
        return excess


def _excess(values: Floats, limit: float | None) -> Floats:
    if limit is None:
        return np.zeros(len(values))
    room = TOLERANCE * max(1.0, limit)
    return np.where(values > limit + room, (values - limit) / max(1.0, limit), 0.0)


def _sum_once(places: Ints, values: Floats) -> Floats:
    """For every row the sum of the values at the places that occur in it."""
    ordered = np.sort(places, axis=1)
    first = np.ones(ordered.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return np.asarray((values[ordered] * first).sum(axis=1))


def is_hopeless(instance: Instance) -> bool:
    """Whether an operator can run nowhere, or all nodes together are too small: then there is no placement."""
    stranded = any(
        not len(candidates) or not np.isfinite(latency[0])
        for candidates, latency in zip(instance.candidates, instance.latency_ms, strict=True)
    )
    return stranded or int(instance.demand.sum()) > int(instance.capacity.sum())


def judged(problem: Problem) -> Judge | None:
    """The judge of `problem`, or None if it plainly has no solution."""
    return None if is_hopeless(instance_of(problem)) else judge_of(problem)
