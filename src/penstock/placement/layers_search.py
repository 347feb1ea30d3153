"""Best-first search for the placement of two full layers: the smaller layer is searched, the larger one follows."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, pairwise, product

import numpy as np
from numpy.typing import NDArray

from penstock.placement.instance import Floats, Ints
from penstock.placement.registry import Budget

_MOST_OPEN = 400_000
_DIVES, _POLISHED = 12, 2
_RANGES = 12


@dataclass(frozen=True, eq=False)
class Layer:
    """How many operators a layer has, what one costs and takes on every node, and how much room it needs."""

    number: int
    cost: Floats
    time_ms: Floats
    demand: int

    def slots(self, room: Ints) -> Ints:
        """How many operators of the layer fit on every node."""
        number = np.full(len(room), self.number) if self.demand == 0 else room // self.demand
        return np.asarray(np.where(np.isfinite(self.cost), np.clip(number, 0, self.number), 0))


@dataclass(frozen=True, eq=False)
class LayerTables:
    """Both layers, and what lies between them.

    `pair[u, v]` and `delay_ms[u, v]` are for an operator of the large layer on u and one of the small layer on v.
    """

    fixed: float
    small: Layer
    large: Layer
    pair: Floats
    delay_ms: Floats
    room: Ints
    large_first: bool

    @cached_property
    def trip_ms(self) -> Floats:
        """The time of a path over an operator of the large layer (row) and one of the small layer (column)."""
        return np.asarray(self.large.time_ms[:, None] + self.delay_ms + self.small.time_ms[None, :])

    @cached_property
    def small_slots(self) -> Ints:
        """How many operators of the small layer fit on every node."""
        return self.small.slots(self.room)

    def large_slots(self, used: Ints) -> Ints:
        """How many of the large layer fit beside the operators of the small layer that are there."""
        return self.large.slots(self.room - used * self.small.demand)


@dataclass(frozen=True, order=True)
class _Part:
    """A part of the search: nodes chosen for the small layer, nodes still allowed, and response times looked for."""

    promise: float
    depth: int
    number: int
    chosen: tuple[int, ...] = field(compare=False)
    allowed: NDArray[np.bool_] = field(compare=False)
    above_ms: float = field(compare=False)
    below_ms: float = field(compare=False)


class LayerSearch:
    """Best-first search over multisets of nodes for the small layer."""

    def __init__(self, tables: LayerTables, per_ms: float, budget: Budget) -> None:
        self.tables, self.per_ms, self.budget = tables, per_ms, budget
        self.best: tuple[Ints, Ints] | None = None
        self.best_cost = np.inf
        self.complete = False

    @property
    def _limit(self) -> float:
        return self.best_cost - (1e-9 * max(1.0, abs(self.best_cost)) if self.best is not None else 0.0)

    def run(self) -> float:
        """Search until done or out of time or memory; what no placement costs less than."""
        numbers = count()
        parts = self._roots(numbers)
        heapq.heapify(parts)
        while parts:
            part = heapq.heappop(parts)
            if part.promise >= self._limit:
                break
            if self.budget.is_over or len(parts) > _MOST_OPEN:
                return min(part.promise, self.best_cost)
            for child in self._children(part, numbers):
                heapq.heappush(parts, child)
        self.complete = True
        return self.best_cost

    def _roots(self, numbers: "count[int]") -> list[_Part]:
        """The whole search, cut into ranges of response time: fewer places are fast enough for a short one."""
        root = _Part(-np.inf, 0, next(numbers), (), self.tables.small_slots > 0, 0.0, np.inf)
        self._dive(root)
        if not self.per_ms or self.best is None:
            return [root]
        cost = float(self._promises(root, 0.0)[1].min())
        slowest_ms = (self.best_cost - cost) / self.per_ms
        fastest_ms = min(slowest_ms, (float(self._promises(root)[1].min()) - cost) / self.per_ms)
        borders = np.linspace(fastest_ms, slowest_ms, _RANGES + 1)
        # The first range begins at nothing and the last one never ends, so that nothing is lost to rounding.
        borders[0], borders[-1] = 0.0, np.inf
        return [
            replace(root, number=next(numbers), above_ms=float(low), below_ms=float(high))
            for low, high in pairwise(borders)
        ]

    def _children(self, part: _Part, numbers: "count[int]") -> Iterator[_Part]:
        """The parts that a part consists of; complete placements are tried at once.

        What a node promises holds for every placement that uses it at all. So nodes that promise too little are
        forgotten for good, and a part leaves out the nodes that come before its own in this order, which have parts of
        their own.
        """
        nodes, promises = self._promises(part)
        allowed = part.allowed.copy()
        allowed[nodes[promises >= self._limit]] = False
        for index in np.argsort(promises, kind="stable").tolist():
            if promises[index] >= self._limit:
                return
            node = int(nodes[index])
            chosen = (*part.chosen, node)
            if len(chosen) == self.tables.small.number:
                self._try(chosen)
                continue
            allowed[node] = self.tables.small_slots[node] > chosen.count(node)
            yield _Part(
                float(promises[index]),
                -len(chosen),
                next(numbers),
                chosen,
                allowed.copy(),
                part.above_ms,
                part.below_ms,
            )
            allowed[node] = False

    def _promises(self, part: _Part, per_ms: float | None = None) -> tuple[Ints, Floats]:
        """The nodes that may come next, and what a placement that uses them costs at least."""
        tables, per_ms = self.tables, self.per_ms if per_ms is None else per_ms
        number, left = tables.large.number, tables.small.number - len(part.chosen)
        used = np.bincount(np.array(part.chosen, dtype=np.int64), minlength=len(tables.room))
        slots, nodes = tables.large_slots(used), np.flatnonzero(part.allowed)
        places = np.flatnonzero(slots)
        copies = np.minimum(tables.small_slots - used, left)[nodes]
        if slots.sum() < number or copies.sum() < left:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        known = (tables.large.cost + tables.pair @ used)[places] / left
        cost = tables.pair.take(places, 0).take(nodes, 1) + known[:, None]
        slowest_ms = np.zeros(len(nodes))
        if self.per_ms:
            times_ms = np.maximum(
                self._longest_ms(part.chosen)[places, None], tables.trip_ms.take(places, 0).take(nodes, 1)
            )
            cost = np.where(times_ms < part.below_ms, cost, np.inf)
            slowest_ms = _largest_of_least(times_ms, slots[places], number)
        each = tables.small.cost[nodes] + _sum_of_least(cost, slots[places], number)
        others = np.sort(np.repeat(each, copies))[: left - 1].sum()
        promises = float(tables.small.cost[list(part.chosen)].sum()) + each + others
        if per_ms:
            rest_ms = np.sort(np.repeat(slowest_ms, copies))[left - 1]
            promises = promises + per_ms * np.maximum(slowest_ms, max(rest_ms, part.above_ms))
        return nodes, promises

    def _longest_ms(self, chosen: tuple[int, ...]) -> Floats:
        """For every node of the large layer the longest path over it and a chosen one."""
        if not chosen:
            return np.zeros(len(self.tables.room))
        return np.asarray(self.tables.trip_ms[:, sorted(set(chosen))].max(axis=1))

    def _try(self, chosen: tuple[int, ...]) -> float:
        """Place the large layer as well as can be, and remember it if it is better; the cost.

        The cheapest places come first. Then those that are as slow as the slowest of them are left out, and so on,
        until even the fastest conceivable response time could not make up for the costs.
        """
        tables, number = self.tables, self.tables.large.number
        used = np.bincount(np.array(chosen, dtype=np.int64), minlength=len(tables.room))
        slots = tables.large_slots(used)
        places = np.repeat(np.arange(len(slots)), slots)
        if len(places) < number:
            return np.inf
        fixed = float(tables.small.cost[list(chosen)].sum())
        cost, time_ms = (tables.large.cost + tables.pair @ used)[places], self._longest_ms(chosen)[places]
        fastest = float(np.partition(time_ms, number - 1)[number - 1])
        found = np.inf
        while len(places) >= number:
            taken = np.argpartition(cost, number - 1)[:number]
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

    def _dive(self, root: _Part) -> None:
        """First placements: from each of the best nodes on take what promises most, then polish the best of them."""
        nodes, promises = self._promises(root)
        first = nodes[np.argsort(promises, kind="stable")][:_DIVES].tolist()
        tried = [(self._try(chosen), chosen) for node in first if (chosen := self._greedy(root, node)) is not None]
        for _, chosen in sorted(tried)[:_POLISHED]:
            self._polish(chosen)

    def _greedy(self, root: _Part, node: int) -> tuple[int, ...] | None:
        chosen: tuple[int, ...] = (node,)
        allowed = root.allowed.copy()
        while len(chosen) < self.tables.small.number:
            allowed[node] = self.tables.small_slots[node] > chosen.count(node)
            nodes, promises = self._promises(replace(root, chosen=chosen, allowed=allowed))
            if not len(nodes):
                return None
            node = int(nodes[promises.argmin()])
            chosen = (*chosen, node)
        return chosen

    def _polish(self, chosen: tuple[int, ...]) -> None:
        """Exchange single nodes for better ones as long as that helps."""
        cost, improved = self._try(chosen), True
        nodes = np.flatnonzero(self.tables.small_slots).tolist()
        while improved and not self.budget.is_over:
            improved = False
            for position, node in product(range(len(chosen)), nodes):
                other = (*chosen[:position], node, *chosen[position + 1 :])
                if other.count(node) <= self.tables.small_slots[node]:
                    new = self._try(other)
                    if new < cost - 1e-12:
                        chosen, cost, improved = other, new, True


def _least(matrix: Floats, copies: Ints, number: int) -> tuple[Floats, Ints]:
    """The smallest entries of every column in order, and how many copies of each make up the `number` smallest.

    Every row counts as often as `copies` says.
    """
    rows = min(number, len(matrix))
    least = np.argpartition(matrix, rows - 1, axis=0)[:rows]
    values = np.take_along_axis(matrix, least, axis=0)
    order = np.argsort(values, axis=0)
    upto = np.minimum(np.cumsum(copies[np.take_along_axis(least, order, axis=0)], axis=0), number)
    return np.take_along_axis(values, order, axis=0), np.diff(upto, axis=0, prepend=0)


def _sum_of_least(matrix: Floats, copies: Ints, number: int) -> Floats:
    """The sum of the `number` smallest entries of every column."""
    values, taken = _least(matrix, copies, number)
    return np.asarray((np.where(taken > 0, values, 0.0) * taken).sum(axis=0))


def _largest_of_least(matrix: Floats, copies: Ints, number: int) -> Floats:
    """The largest of the `number` smallest entries of every column."""
    values, taken = _least(matrix, copies, number)
    return np.asarray(np.where(taken > 0, values, -np.inf).max(axis=0))
