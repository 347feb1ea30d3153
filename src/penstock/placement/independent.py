"""Operators that do not matter to one another: an assignment of operators to slots, and a limit on the slowest."""

from collections.abc import Mapping

import numpy as np

from penstock.placement.costs import Costs, costs_of
from penstock.placement.instance import Floats, Instance, Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer
from penstock.placement.structure import are_independent, free_operators

METHOD = "independent"


def fits_independent(problem: Problem) -> bool:
    """Whether `solve_independent` can solve `problem`, which must be separable."""
    costs = costs_of(problem)
    demands = {int(costs.instance.demand[operator]) for operator in free_operators(costs.instance)}
    return len(demands) <= 1 and are_independent(costs)


def solve_independent(problem: Problem, budget: Budget) -> Answer:
    """The optimum; if time runs out, the best assignment that was found and a bound."""
    costs = costs_of(problem)
    best, chosen, bound = cheapest(Slots(costs, pins_of(costs.instance)), budget)
    if chosen is None:
        return Answer(infeasible=True, method=METHOD)
    return Answer(costs.instance.named(chosen), costs.constant + min(best, bound), method=METHOD)


def cheapest(slots: "Slots", budget: Budget, below: float = np.inf) -> tuple[float, Ints | None, float]:
    """The best assignment: its cost, its nodes and a bound that equals the cost unless time ran out.

    Without a limit on the response time the assignment is the cheapest there is. Then anything as slow as its slowest
    operator is forbidden, and so on: costs rise while response times fall, until even the fastest conceivable one
    could not make up for the costs. Nodes are None if nothing costs less than `below`, which then is the cost.
    """
    per_ms, fastest_ms = slots.costs.per_ms, slots.fastest_ms()
    if fastest_ms is None:
        return below, None, below
    best, chosen = below, None
    found = slots.assign((below - slots.least_cost) / per_ms if per_ms > 0 and below < np.inf else np.inf)
    while found is not None:
        cost, assignment, slowest_ms = found
        if cost + per_ms * slowest_ms < best:
            best, chosen = cost + per_ms * slowest_ms, assignment
        bound = cost + per_ms * fastest_ms
        if per_ms == 0 or slowest_ms <= slots.rest_ms or bound >= best:
            break
        if budget.is_over:
            return best, chosen, bound
        found = slots.assign(min(slowest_ms, (best - cost) / per_ms))
    return best, chosen, best


def pins_of(instance: Instance) -> dict[int, int]:
    """The node of every operator that has no choice."""
    nodes = ((operator, instance.pinned(operator)) for operator in range(instance.operators))
    return {operator: node for operator, node in nodes if node is not None}


class Slots:
    """Operators that are not pinned as rows, slots of nodes as columns; `pins` have their nodes already.

    Those that are not pinned need the same resources and must not matter to one another.
    """

    def __init__(self, costs: Costs, pins: Mapping[int, int]) -> None:
        self.costs, self.pins, instance = costs, pins, costs.instance
        self.free = [operator for operator in range(instance.operators) if operator not in pins]
        room = instance.capacity.copy()
        for operator, node in self.pins.items():
            room[node] -= instance.demand[operator]
        self.overfull = bool((room < 0).any())
        demand = int(instance.demand[self.free[0]]) if self.free else 1
        number = np.full(instance.nodes, len(self.free)) if demand == 0 else np.maximum(room, 0) // demand
        self.node_of_slot = np.repeat(np.arange(instance.nodes), np.minimum(number, len(self.free)))
        self._before_ms, self._after_ms = self._path_ends()
        self.rest_ms = max(self._before_ms.values(), default=0.0)
        self.cost, self.time_ms = self._rows()
        self.fixed_cost = self._fixed_cost()
        self.least_cost = self.fixed_cost + float(self.cost.min(axis=1).sum())

    def _rows(self) -> tuple[Floats, Floats]:
        """What every free operator costs on every node, and the longest path through it."""
        costs, instance = self.costs, self.costs.instance
        cost = costs.node[self.free].copy()
        time_ms = np.zeros_like(cost)
        for row, operator in enumerate(self.free):
            for stream in (*instance.incoming[operator], *instance.outgoing[operator]):
                other = int(instance.tails[stream] + instance.heads[stream] - operator)
                node = self.pins.get(other)
                if node is not None:
                    matrix = costs.stream(stream)
                    cost[row] += matrix[node] if other == instance.tails[stream] else matrix[:, node]
            if costs.per_ms > 0:
                time_ms[row] = self._through_ms(operator)
        return cost, time_ms

    def _through_ms(self, operator: int) -> Floats:
        """The longest path through an operator for every node it may be on; all others on such a path are pinned."""
        instance = self.costs.instance
        before, after = self._before_ms, self._after_ms
        there, onward = np.zeros(instance.nodes), np.zeros(instance.nodes)
        for stream in instance.incoming[operator]:
            tail = int(instance.tails[stream])
            there = np.maximum(there, before[tail] + instance.delay_ms[self.pins[tail]])
        for stream in instance.outgoing[operator]:
            head = int(instance.heads[stream])
            onward = np.maximum(onward, instance.delay_ms[:, self.pins[head]] + after[head])
        return np.asarray(there + self.costs.execution_ms[operator] + onward)

    def _path_ends(self) -> tuple[dict[int, float], dict[int, float]]:
        """For every pinned operator the longest path of pinned ones up to and including it, and from it on."""
        instance = self.costs.instance
        before: dict[int, float] = {}
        after: dict[int, float] = {}
        for operator in instance.problem.order:
            if operator in self.pins:
                own = float(self.costs.execution_ms[operator, self.pins[operator]])
                before[operator] = own + max(
                    (before[t] + self._delay_ms(t, operator) for t in self._neighbours(operator, True) if t in before),
                    default=0.0,
                )
        for operator in reversed(instance.problem.order):
            if operator in self.pins:
                own = float(self.costs.execution_ms[operator, self.pins[operator]])
                after[operator] = own + max(
                    (after[h] + self._delay_ms(operator, h) for h in self._neighbours(operator, False) if h in after),
                    default=0.0,
                )
        return before, after

    def _neighbours(self, operator: int, upstream: bool) -> list[int]:
        instance = self.costs.instance
        if upstream:
            return [int(instance.tails[stream]) for stream in instance.incoming[operator]]
        return [int(instance.heads[stream]) for stream in instance.outgoing[operator]]

    def _delay_ms(self, tail: int, head: int) -> float:
        return float(self.costs.instance.delay_ms[self.pins[tail], self.pins[head]])

    def _fixed_cost(self) -> float:
        costs, instance = self.costs, self.costs.instance
        total = sum(float(costs.node[operator, node]) for operator, node in self.pins.items())
        for stream, (tail, head) in enumerate(zip(instance.tails.tolist(), instance.heads.tolist(), strict=True)):
            if tail in self.pins and head in self.pins:
                total += costs.stream_at(stream, self.pins[tail], self.pins[head])
        return total

    def fastest_ms(self) -> float | None:
        """A response time that no assignment can be below, or None if there is none at all."""
        if self.overfull or not np.isfinite(self.fixed_cost):
            return None
        finite = np.where(np.isfinite(self.cost), self.time_ms, np.inf)
        slowest = float(finite.min(axis=1).max()) if self.free else 0.0
        return max(slowest, self.rest_ms) if np.isfinite(slowest) else None

    def assign(self, limit_ms: float) -> tuple[float, Ints, float] | None:
        """The cheapest assignment with all paths shorter than the limit: cost, nodes, longest path; None if none."""
        from scipy.optimize import linear_sum_assignment

        allowed = np.where(self.time_ms < limit_ms, self.cost, np.inf)[:, self.node_of_slot]
        if len(self.free) > len(self.node_of_slot) or not np.isfinite(allowed).any(axis=1).all():
            return None
        try:
            rows, columns = linear_sum_assignment(allowed)
        except ValueError:  # no complete assignment
            return None
        nodes = self.node_of_slot[columns]
        assignment = np.empty(self.costs.instance.operators, dtype=np.int64)
        for operator, node in self.pins.items():
            assignment[operator] = node
        assignment[self.free] = nodes
        longest = float(self.time_ms[rows, nodes].max(initial=self.rest_ms))
        return self.fixed_cost + float(allowed[rows, columns].sum()), assignment, longest
