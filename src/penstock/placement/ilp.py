"""The thesis's integer programme, literally: a variable for every deployment of an operator and for every pair of them.

ODP (4.9 to 4.16), ODRP (6.21 to 6.32) and EDRP (8.12 to 8.23) are one formulation here: a deployment is a multiset of
nodes, which with a single replica is a node. The paths of (4.10) are replaced by arrival times, which mean the same.
It is the benchmark for the other solvers, and it is slow.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from penstock.errors import UsageError
from penstock.placement.downtime import by_node, downtime_terms
from penstock.placement.evaluator import allowed, evaluate
from penstock.placement.instance import Floats, Instance, Ints, instance_of
from penstock.placement.milp import Milp, MilpAnswer, MilpBuilder, solve_apart
from penstock.placement.objective import Objective, objective_of
from penstock.placement.problem import AvailabilityModel, Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer

_MOST_VARIABLES = 3_000_000


@dataclass(frozen=True, eq=False)
class Deployments:
    """All deployments of one operator that could be: replicas on every node, and the latency that follows."""

    counts: Ints
    latency_ms: Floats

    @property
    def used(self) -> Floats:
        """1 for every node that a deployment uses, else 0."""
        return np.asarray((self.counts > 0).astype(float))

    @property
    def shares(self) -> Floats:
        """The share of the input that each node gets."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))


def solve_ilp(problem: Problem, budget: Budget) -> Answer:
    """Solve `problem` by its literal integer programme, with HiGHS in a process of its own."""
    return solve_ilp_with(problem, lambda milp: solve_apart(milp, budget.left_s, budget.seed))


def solve_ilp_with(problem: Problem, solve: Callable[[Milp], MilpAnswer], start: Ints | None = None) -> Answer:
    """The same with any way to solve a programme, which may `start` from a placement: the node of every operator."""
    instance = instance_of(problem)
    _refuse_too_large(instance)
    choices = [deployments(instance, operator) for operator in range(instance.operators)]
    if not all(len(choice.counts) for choice in choices):
        return Answer(infeasible=True, method="ilp")
    programme = _Programme(instance, objective_of(problem), choices)
    milp = programme.build()
    answer = solve(milp if start is None else replace(milp, start=programme.start(start)))
    bound = None if answer.bound is None else answer.bound + programme.objective.constant
    if answer.solution is None:
        return Answer(bound=bound, infeasible=answer.infeasible, method="ilp")
    counts = np.array(
        [choice.counts[int(np.argmax(answer.solution[x]))] for choice, x in zip(choices, programme.x, strict=True)]
    )
    placement = instance.named_counts(counts)
    if not evaluate(problem, placement).is_feasible:
        # The solver works to a tolerance, and this solution is not one by ours.
        return Answer(bound=bound, method="ilp")
    return Answer(placement, bound, method="ilp")


def deployments(instance: Instance, operator: int) -> Deployments:
    """Every multiset of candidates that is allowed, that keeps up with the load and that fits if nothing else runs."""
    rows: list[Ints] = []
    latencies: list[float] = []
    for replicas in range(1, instance.most[operator] + 1):
        latency = instance.latency_ms[operator][replicas - 1]
        if not np.isfinite(latency):
            continue
        for nodes in combinations_with_replacement(instance.candidates[operator].tolist(), replicas):
            counts = np.bincount(np.array(nodes, dtype=np.int64), minlength=instance.nodes)
            if (counts * instance.demand[operator] <= instance.capacity).all():
                rows.append(counts)
                latencies.append(float(latency / instance.speedup[list(nodes)].min()))
    counts = np.array(rows, dtype=np.int64).reshape(len(rows), instance.nodes)
    return Deployments(counts, np.array(latencies))


def _refuse_too_large(instance: Instance) -> None:
    sizes = [
        sum(comb(len(candidates) + h - 1, h) for h in range(1, most + 1))
        for candidates, most in zip(instance.candidates, instance.most, strict=True)
    ]
    pairs = sum(sizes[tail] * sizes[head] for tail, head in zip(instance.tails, instance.heads, strict=True))
    if sum(sizes) + pairs > _MOST_VARIABLES:
        raise UsageError(
            f"The integer programme would have {sum(sizes) + pairs:,} variables, too many to be built; use 'exact'."
        )


class _Programme:
    """The rows and variables of one problem. Times are scaled so that they count like the objective."""

    def __init__(self, instance: Instance, objective: Objective, choices: list[Deployments]) -> None:
        self.instance, self.objective, self.choices = instance, objective, choices
        self.bounds = instance.problem.bounds
        self.by_nodes = instance.problem.available_by is AvailabilityModel.NODES
        self.builder = MilpBuilder()
        self.x: list[Ints] = []
        self.y: list[Ints] = []

    def build(self) -> Milp:
        for operator, choice in enumerate(self.choices):
            self.x.append(self.builder.add(self._operator_costs(operator, choice), 1.0, True))
            self._equal(self.x[operator], 1.0)
        for stream in range(self.instance.streams):
            self._add_stream(stream)
        self._add_capacities()
        self._add_bandwidths()
        self._add_arrivals()
        self._add_availability()
        self._add_cost_bound()
        self._add_downtime()
        return self.builder.build()

    def start(self, assignment: Ints) -> Floats:
        """What the variables of operators and streams are when every operator has one replica on the node given."""
        values = np.full(self.builder.variables, np.nan)
        chosen = []
        for node, choice, x in zip(assignment, self.choices, self.x, strict=True):
            alone = (choice.counts[:, node] == 1) & (choice.counts.sum(axis=1) == 1)
            values[x] = alone
            chosen.append(int(np.argmax(alone)))
        for stream, y in enumerate(self.y):
            tail, head = self._ends(stream)
            values[y] = 0.0
            values[y[chosen[tail], chosen[head]]] = 1.0
        return values

    def _equal(self, columns: Ints, total: float) -> None:
        self.builder.row(columns, np.ones(columns.size), total, total)

    def _ends(self, stream: int) -> tuple[int, int]:
        return int(self.instance.tails[stream]), int(self.instance.heads[stream])

    def _money(self, operator: int, choice: Deployments) -> Floats:
        priced = self.instance.problem.operators[operator]
        return np.asarray(priced.cost * priced.resources * choice.counts.sum(axis=1))

    def _operator_costs(self, operator: int, choice: Deployments) -> Floats:
        costs = self.objective.per_cost * self._money(operator, choice)
        if not self.by_nodes:
            costs = costs - self.objective.per_log_loss * (choice.used @ self.instance.log_node)
        return np.asarray(costs)

    def _between(self, stream: int, matrix: Floats | None) -> Floats:
        """What a stream costs for every pair of deployments, when `matrix` says what it costs on every link."""
        tail, head = (self.choices[end] for end in self._ends(stream))
        if matrix is None:
            return np.zeros((len(tail.counts), len(head.counts)))
        return np.asarray(tail.shares @ matrix @ head.shares.T)

    def _add_stream(self, stream: int) -> None:
        """The pair variables of a stream, tied to the deployments of its ends (4.13, 4.14)."""
        instance, objective = self.instance, self.objective
        tail, head = self._ends(stream)
        costs = objective.per_network * instance.volume[stream] * self._between(stream, instance.network_factor)
        costs += objective.per_cost * instance.rate[stream] * self._between(stream, instance.link_cost)
        if instance.log_link is not None and not self.by_nodes:
            costs -= objective.per_log_loss * (self.choices[tail].used @ instance.log_link @ self.choices[head].used.T)
        y = self.builder.add(costs, 1.0, True)
        self.y.append(y)
        for x, pairs in ((self.x[tail], y), (self.x[head], y.T)):
            for column, row in zip(x, pairs, strict=True):
                values = np.append(np.ones(row.size), -1.0)
                self.builder.row(np.append(row, column), values, 0.0, 0.0)

    def _add_capacities(self) -> None:
        """What runs on a node fits (4.11)."""
        demand = self.instance.demand
        unit = max(1, int(np.gcd.reduce(demand)))
        columns = np.concatenate(self.x)
        for node in range(self.instance.nodes):
            on_node = [c.counts[:, node] * (int(d) // unit) for c, d in zip(self.choices, demand, strict=True)]
            used = np.concatenate(on_node)
            room = int(self.instance.capacity[node]) // unit
            if used.any():
                self.builder.row(columns[used > 0], used[used > 0].astype(float), -np.inf, float(room))

    def _add_bandwidths(self) -> None:
        """What flows over a link fits (4.17)."""
        bandwidth = self.instance.bandwidth
        if bandwidth is None or not self.y:
            return
        for u, v in np.argwhere(np.isfinite(bandwidth)):
            flows = []
            for stream, volume in enumerate(self.instance.volume):
                tail, head = (self.choices[end] for end in self._ends(stream))
                flows.append(np.ravel(volume * np.outer(tail.shares[:, u], head.shares[:, v])))
            values = np.concatenate(flows)
            columns = np.concatenate([np.ravel(y) for y in self.y])
            limit = allowed(float(bandwidth[u, v]))
            self.builder.row(columns[values > 0], values[values > 0] / limit, -np.inf, 1.0)

    def _scale(self, factor: float, bound: float | None) -> float | None:
        """What a metric that is a maximum is multiplied by, None if it need not be known."""
        if factor > 0:
            return factor
        return None if bound is None else 1.0 / max(bound, 1.0)

    def _add_maximum(self, factor: float, scale: float, bound: float | None) -> Ints:
        upper = np.inf if bound is None else allowed(bound) * scale
        return self.builder.add(np.array([1.0 if factor > 0 else 0.0]), upper, False)

    def _add_arrivals(self) -> None:
        """Response time: no earlier than the output of any operator, whose input is no earlier than its upstream's."""
        scale = self._scale(self.objective.per_ms, self.bounds.response_time_ms)
        if scale is None:
            return
        response = self._add_maximum(self.objective.per_ms, scale, self.bounds.response_time_ms)
        arrivals = self.builder.add(np.zeros(self.instance.operators), np.inf, False)
        for operator, choice in enumerate(self.choices):
            columns = np.concatenate([response, arrivals[operator : operator + 1], self.x[operator]])
            values = np.concatenate([[1.0, -1.0], -scale * choice.latency_ms])
            self.builder.row(columns, values, 0.0, np.inf)
        for stream, y in enumerate(self.y):
            tail, head = self._ends(stream)
            delays = _farthest(self.instance.delay_ms, self.choices[tail], self.choices[head])
            columns = np.concatenate([arrivals[[head, tail]], self.x[tail], np.ravel(y)])
            values = np.concatenate([[1.0, -1.0], -scale * self.choices[tail].latency_ms, -scale * np.ravel(delays)])
            self.builder.row(columns, values, 0.0, np.inf)

    def _add_availability(self) -> None:
        """Every used node and link counts once (6.16, 6.24, 6.25)."""
        instance, factor = self.instance, self.objective.per_log_loss
        if not self.by_nodes or factor <= 0:
            return
        z = self.builder.add(-factor * instance.log_node, 1.0, True)
        for choice, x in zip(self.choices, self.x, strict=True):
            for node in range(instance.nodes):
                on = x[choice.counts[:, node] > 0]
                if on.size:
                    self.builder.row(np.append(on, z[node]), np.append(np.ones(on.size), -1.0), -np.inf, 0.0)
        if instance.log_link is None:
            return
        links = self.builder.add(-factor * instance.log_link, 1.0, True)
        for stream, y in enumerate(self.y):
            tail, head = (self.choices[end] for end in self._ends(stream))
            for u, v in np.argwhere(instance.log_link < 0):
                on = y[np.ix_(tail.counts[:, u] > 0, head.counts[:, v] > 0)]
                if on.size:
                    self.builder.row(np.append(on, links[u, v]), np.append(np.ones(on.size), -1.0), -np.inf, 0.0)

    def _add_cost_bound(self) -> None:
        bound = self.bounds.cost
        if bound is None:
            return
        parts = [self._money(operator, choice) for operator, choice in enumerate(self.choices)]
        for stream in range(self.instance.streams):
            parts.append(np.ravel(self.instance.rate[stream] * self._between(stream, self.instance.link_cost)))
        columns = np.concatenate([*self.x, *(np.ravel(y) for y in self.y)])
        limit = allowed(bound)
        self.builder.row(columns, np.concatenate(parts) / limit, -np.inf, 1.0)

    def _add_downtime(self) -> None:
        """Downtime: no shorter than that of any operator (8.14); with restarts nor than any restart (8.33)."""
        terms = downtime_terms(self.instance)
        scale = self._scale(self.objective.per_downtime_s, self.bounds.downtime_s)
        if terms is None or scale is None:
            return
        down = self._add_maximum(self.objective.per_downtime_s, scale, self.bounds.downtime_s)
        changed = self.builder.add(np.zeros(1), 1.0, True)
        for term, choice, x in zip(terms, self.choices, self.x, strict=True):
            times = np.array([term.change_s(by_node(counts)) for counts in choice.counts])
            self.builder.row(np.append(x, down), np.append(-scale * times, 1.0), 0.0, np.inf)
            if not term.restarts:
                continue
            moved = np.array([by_node(counts) != term.before for counts in choice.counts], dtype=float)
            self.builder.row(np.append(x, changed), np.append(-moved, 1.0), 0.0, np.inf)
            self.builder.row(np.append(down, changed), np.array([1.0, -scale * term.restart_s()]), 0.0, np.inf)


def _farthest(delay_ms: Floats, tail: Deployments, head: Deployments) -> Floats:
    """The largest delay between the nodes of every pair of deployments."""
    far = np.stack([np.where(row[:, None] > 0, delay_ms, 0.0).max(axis=0) for row in tail.counts])
    return np.stack([np.where(row[None, :] > 0, far, 0.0).max(axis=1) for row in head.counts], axis=1)
