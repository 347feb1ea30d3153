"""Two full layers of interchangeable operators between a pinned source and a pinned sink, exact.

Only the smaller layer is branched upon, as a multiset of nodes. Once it is placed, the larger layer takes the cheapest
slots, faster ones if response time asks for it. While r operators of the smaller layer are still to place, each pays
at least its own cost plus that of the cheapest slots for the larger layer, in which the known costs of a slot are
shared among the r. The search goes on with whatever promises most until nothing promises to be better than the best
placement found.
"""

import heapq
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from penstock.placement.costs import Costs, costs_of
from penstock.placement.instance import Floats, Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer
from penstock.placement.structure import Layers, layers_of

METHOD = "layers"
_MOST_OPEN = 400_000
_POLISHED = 40


def fits_layers(problem: Problem) -> bool:
    """Whether `solve_layers` can solve `problem`, which must be separable."""
    return layers_of(costs_of(problem)) is not None


def solve_layers(problem: Problem, budget: Budget) -> Answer:
    """The optimum; if time or memory run out, the best placement that was found and a bound."""
    costs = costs_of(problem)
    layers = layers_of(costs)
    assert layers is not None
    tables = _tables(costs, layers)
    if tables is None:
        return Answer(infeasible=True, method=METHOD)
    search = _Search(tables, costs.per_ms, budget)
    least = search.run()
    if search.best is None:
        return Answer(infeasible=search.complete, bound=None, method=METHOD)
    small, large = search.best
    assignment = np.empty(costs.instance.operators, dtype=np.int64)
    assignment[layers.source] = costs.instance.candidates[layers.source][0]
    assignment[layers.sink] = costs.instance.candidates[layers.sink][0]
    first, second = (large, small) if tables.large_first else (small, large)
    assignment[list(layers.first)], assignment[list(layers.second)] = first, second
    bound = min(tables.fixed + least, costs.objective(assignment))
    return Answer(costs.instance.named(assignment), bound, method=METHOD)


@dataclass(frozen=True, eq=False)
class _Tables:
    """What operators of the small and of the large layer cost, and how long they take, on every node.

    `pair[u, v]` and `delay_ms[u, v]` are for an operator of the large layer on u and one of the small layer on v.
    """

    fixed: float
    small_number: int
    large_number: int
    small: Floats
    large: Floats
    pair: Floats
    small_ms: Floats
    large_ms: Floats
    delay_ms: Floats
    room: Ints
    small_demand: int
    large_demand: int
    large_first: bool

    def slots(self, used: Ints, demand: int, most: int) -> Ints:
        """How many operators of a demand still fit on every node, at most `most`."""
        left = self.room - used * self.small_demand
        return np.asarray(np.clip(left // demand if demand else np.where(left >= 0, most, 0), 0, most))


def _tables(costs: Costs, layers: Layers) -> _Tables | None:
    """The tables of a problem; None if the pinned operators do not fit."""
    instance, per_ms = costs.instance, costs.per_ms
    source, sink = (int(instance.candidates[end][0]) for end in (layers.source, layers.sink))
    room = instance.capacity.copy()
    for operator, node in ((layers.source, source), (layers.sink, sink)):
        room[node] -= instance.demand[operator]
    one, other = layers.first[0], layers.second[0]
    into, between, out = (
        costs.stream(_stream(costs, *ends)) for ends in ((layers.source, one), (one, other), (other, layers.sink))
    )
    ends = [float(costs.node[layers.source, source]), float(costs.node[layers.sink, sink])]
    if (room < 0).any() or not np.isfinite(ends).all():
        return None
    # What the two ends take is on every path: it counts as a fixed cost, and paths begin and end with a delay.
    ends_ms = float(costs.execution_ms[layers.source, source] + costs.execution_ms[layers.sink, sink])
    first, second = costs.node[one] + into[source], costs.node[other] + out[:, sink]
    first_ms = instance.delay_ms[source] + costs.execution_ms[one]
    second_ms = costs.execution_ms[other] + instance.delay_ms[:, sink]
    large_first = len(layers.first) >= len(layers.second)
    numbers = (len(layers.second), len(layers.first)) if large_first else (len(layers.first), len(layers.second))
    demands = (other, one) if large_first else (one, other)
    return _Tables(
        costs.constant + sum(ends) + (per_ms * ends_ms if per_ms else 0.0),
        *numbers,
        *((second, first) if large_first else (first, second)),
        between if large_first else between.T,
        *((second_ms, first_ms) if large_first else (first_ms, second_ms)),
        instance.delay_ms if large_first else instance.delay_ms.T,
        room,
        *(int(instance.demand[operator]) for operator in demands),
        large_first,
    )


def _stream(costs: Costs, tail: int, head: int) -> int:
    return next(stream for stream in costs.instance.outgoing[tail] if costs.instance.heads[stream] == head)


class _Search:
    """Best-first search over multisets of nodes for the small layer."""

    def __init__(self, tables: _Tables, per_ms: float, budget: Budget) -> None:
        self.tables, self.per_ms, self.budget = tables, per_ms, budget
        self.best: tuple[Ints, Ints] | None = None
        self.best_cost = np.inf
        self.complete = False

    @property
    def _limit(self) -> float:
        slack = 1e-9 * max(1.0, abs(self.best_cost)) if self.best is not None else 0.0
        return self.best_cost - slack

    def run(self) -> float:
        """Search until done or out of time or memory; what no placement costs less than."""
        tables, ties = self.tables, count()
        slots = tables.slots(np.zeros_like(tables.room), tables.small_demand, tables.small_number)
        open_nodes: list[tuple[float, int, int, tuple[int, ...], NDArray[np.bool_]]] = [
            (-np.inf, 0, next(ties), (), np.isfinite(tables.small) & (slots > 0))
        ]
        while open_nodes:
            least, _, _, chosen, allowed = heapq.heappop(open_nodes)
            if least >= self._limit:
                break
            if self.budget.is_over or len(open_nodes) > _MOST_OPEN:
                return min(least, self.best_cost)
            nodes, promises = self._children(chosen, allowed)
            if not chosen and len(nodes):
                self._dive(nodes)
            for index in np.argsort(promises, kind="stable"):
                if promises[index] >= self._limit:
                    break
                node, more = int(nodes[index]), (*chosen, int(nodes[index]))
                if len(more) == tables.small_number:
                    self._try(more)
                else:
                    left = allowed.copy()
                    left[nodes[:index]] = False
                    left[node] = slots[node] > more.count(node)
                    heapq.heappush(open_nodes, (float(promises[index]), -len(more), next(ties), more, left))
        self.complete = True
        return self.best_cost

    def _children(self, chosen: tuple[int, ...], allowed: NDArray[np.bool_]) -> tuple[Ints, Floats]:
        """The nodes that may come next, best first, and what a placement that goes on there costs at least.

        A placement that goes on with a node uses none of those before it in this order.
        """
        tables = self.tables
        left = tables.small_number - len(chosen)
        used = np.bincount(np.array(chosen, dtype=np.int64), minlength=len(tables.room))
        places = self._places(used)
        nodes = np.flatnonzero(allowed)
        if len(places) < tables.large_number or not len(nodes):
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        known = tables.large + tables.pair @ used
        shared = tables.pair[np.ix_(places, nodes)] + (known[places] / left)[:, None]
        number = tables.large_number
        each = tables.small[nodes] + np.partition(shared, number - 1, axis=0)[:number].sum(axis=0)
        times_ms = np.maximum(self._trip_ms(chosen)[places, None], self._trips_ms(places, nodes))
        slowest_ms = np.partition(times_ms, number - 1, axis=0)[number - 1]
        order = np.argsort(each + self.per_ms * slowest_ms if self.per_ms else each, kind="stable")
        nodes, each, slowest_ms = nodes[order], each[order], slowest_ms[order]
        copies = np.minimum(tables.slots(used, tables.small_demand, left)[nodes], left)
        others = np.sort(np.repeat(each, copies))[: left - 1]
        if copies.sum() < left:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        promises = float(tables.small @ used if chosen else 0.0) + each + others.sum()
        if self.per_ms:
            rest = np.sort(np.repeat(slowest_ms, copies))[left - 1]
            promises = promises + self.per_ms * np.maximum(slowest_ms, rest)
        return nodes, promises

    def _places(self, used: Ints) -> Ints:
        """The slots that the large layer may take, each named by its node."""
        slots = self.tables.slots(used, self.tables.large_demand, self.tables.large_number)
        return np.repeat(np.arange(len(slots)), np.where(np.isfinite(self.tables.large), slots, 0))

    def _trips_ms(self, places: Ints, nodes: Ints) -> Floats:
        """The time of a path over every pair of a place and a node."""
        tables = self.tables
        return tables.large_ms[places, None] + tables.delay_ms[np.ix_(places, nodes)] + tables.small_ms[None, nodes]

    def _trip_ms(self, chosen: tuple[int, ...]) -> Floats:
        """For every node the longest path over it and a chosen one."""
        every = np.arange(len(self.tables.room))
        if not chosen:
            return np.zeros(len(every))
        return np.asarray(self._trips_ms(every, np.array(sorted(set(chosen)), dtype=np.int64)).max(axis=1))

    def _try(self, chosen: tuple[int, ...]) -> float:
        """Place the large layer as well as can be, and remember it if it is better; the cost."""
        tables, number = self.tables, self.tables.large_number
        used = np.bincount(np.array(chosen, dtype=np.int64), minlength=len(tables.room))
        places = self._places(used)
        if len(places) < number:
            return np.inf
        fixed = float(tables.small[list(chosen)].sum())
        cost, time_ms = (tables.large + tables.pair @ used)[places], self._trip_ms(chosen)[places]
        fastest = float(np.partition(time_ms, number - 1)[number - 1]) if self.per_ms else 0.0
        found = np.inf
        while len(places) >= number:
            taken = np.argpartition(cost, number - 1)[:number] if len(cost) > number else np.arange(number)
            slowest = float(time_ms[taken].max())
            total = fixed + float(cost[taken].sum())
            if total + self.per_ms * slowest < min(found, self.best_cost):
                self.best = np.array(sorted(chosen), dtype=np.int64), np.sort(places[taken])
                self.best_cost = total + self.per_ms * slowest
            found = min(found, total + self.per_ms * slowest)
            if not self.per_ms or total + self.per_ms * fastest >= found:
                break
            faster = time_ms < slowest
            places, cost, time_ms = places[faster], cost[faster], time_ms[faster]
        return found

    def _dive(self, nodes: Ints) -> None:
        """A first placement: take what looks best, then exchange single nodes for better ones as long as that helps."""
        tables = self.tables
        slots = tables.slots(np.zeros_like(tables.room), tables.small_demand, tables.small_number)
        chosen = tuple(np.repeat(nodes, slots[nodes])[: tables.small_number].tolist())
        if len(chosen) < tables.small_number:
            return
        cost, improved = self._try(chosen), True
        while improved and not self.budget.is_over:
            improved = False
            for position in range(len(chosen)):
                for node in nodes[:_POLISHED].tolist():
                    if chosen.count(node) >= slots[node]:
                        continue
                    other = (*chosen[:position], node, *chosen[position + 1 :])
                    new = self._try(other)
                    if new < cost - 1e-12:
                        chosen, cost, improved = other, new, True
