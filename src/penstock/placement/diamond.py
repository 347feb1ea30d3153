"""A diamond whose ends have a choice of nodes, exact.

Once source and sink have their nodes, the operators between them do not matter to one another, and the best assignment
of them is known (`independent.py`). So pairs of nodes for the two ends are searched, best first. What a pair costs at
least is what its operators cost on the best nodes that have room, each for itself, or, if that is more, what the
cheapest slots cost; the slowest path is bounded in the same two ways. Nodes of the source alone come first, with the
sink wherever it suits every operator best, so that most pairs need not be looked at.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from penstock.placement.costs import Costs, costs_of
from penstock.placement.independent import Slots, cheapest, pins_of
from penstock.placement.instance import Floats, Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer
from penstock.placement.structure import Diamond, diamond_of

METHOD = "diamond"


def fits_diamond(problem: Problem) -> bool:
    """Whether `solve_diamond` can solve `problem`, which must be separable."""
    instance = costs_of(problem).instance
    diamond = diamond_of(instance)
    if diamond is None:
        return False
    return len({int(instance.demand[one]) for one in diamond.middle if instance.pinned(one) is None}) <= 1


def solve_diamond(problem: Problem, budget: Budget) -> Answer:
    """The optimum; if time runs out, the best placement that was found and a bound."""
    costs = costs_of(problem)
    diamond = diamond_of(costs.instance)
    assert diamond is not None
    search = _Search(costs, diamond, budget)
    bound = search.run()
    if search.chosen is None:
        if np.isinf(bound):
            return Answer(infeasible=True, method=METHOD)
        return Answer(bound=costs.constant + bound, method=METHOD)
    return Answer(costs.instance.named(search.chosen), costs.constant + min(bound, search.best), method=METHOD)


class _Search:
    """Best-first search over the nodes of the ends; a part is a node of the source, or that and one of the sink."""

    def __init__(self, costs: Costs, diamond: Diamond, budget: Budget) -> None:
        self.costs, self.diamond, self.budget = costs, diamond, budget
        self.promises = _Promises(costs, diamond)
        self.best = np.inf
        self.chosen: Ints | None = None
        self._tried = False

    @property
    def _limit(self) -> float:
        return self.best - (1e-9 * max(1.0, abs(self.best)) if self.chosen is not None else 0.0)

    def run(self) -> float:
        """Search until done or out of time; what no placement costs less than, infinite if there is none.

        At least one pair is tried, so that even in a hurry there is a placement if it fits.
        """
        parts = [(self.promises.of_source(node), node, -1) for node in self.promises.sources.tolist()]
        heapq.heapify(parts)
        while parts and parts[0][0] < self._limit:
            promise, source, sink = heapq.heappop(parts)
            if self.budget.is_over and self._tried:
                return promise
            if sink < 0:
                for pair in self._pairs(source):
                    heapq.heappush(parts, pair)
                continue
            bound = self._try(source, sink)
            if bound < self._limit:  # only for want of time
                return min([bound, *(part[0] for part in parts[:1])])
        return self.best

    def _pairs(self, source: int) -> list[tuple[float, int, int]]:
        """The parts with the source on a node; as long as nothing has been found, the best of them is tried."""
        values, sinks = self.promises.of_pairs(source).tolist(), self.promises.sinks.tolist()
        pairs = [(value, source, sink) for value, sink in zip(values, sinks, strict=True) if value < self._limit]
        if pairs and self.chosen is None:
            self._try(*min(pairs)[1:])
        return pairs

    def _try(self, source: int, sink: int) -> float:
        """Place the operators between two ends, and remember it if it is better; a bound on the cost."""
        self._tried = True
        pins = {**pins_of(self.costs.instance), self.diamond.source: source, self.diamond.sink: sink}
        best, chosen, bound = cheapest(Slots(self.costs, pins), self.budget, self.best)
        if chosen is not None:
            self.best, self.chosen = best, chosen
        return bound


@dataclass(frozen=True, eq=False)
class _Kind:
    """Operators between the ends that are alike: how many, what they cost and take on a node, and one's streams."""

    number: int
    pinned: bool
    cost: Floats
    time_ms: Floats
    into: int
    out: int


class _Promises:
    """What placements cost at least if the nodes of the source, or of both ends, are given."""

    def __init__(self, costs: Costs, diamond: Diamond) -> None:
        self.costs, self.diamond, instance = costs, diamond, costs.instance
        self.sources = np.flatnonzero(np.isfinite(costs.node[diamond.source]))
        self.sinks = np.flatnonzero(np.isfinite(costs.node[diamond.sink]))
        self.kinds = _kinds(costs, diamond)
        free = [one for one in diamond.middle if instance.pinned(one) is None]
        self.number = len(free)
        self.demand = int(instance.demand[free[0]]) if free else 0
        self.room = instance.capacity.copy()
        for one in diamond.middle:
            node = instance.pinned(one)
            if node is not None:
                self.room[node] -= instance.demand[one]
        self._nearest = [out.min(axis=0, initial=np.inf)[None, :] for out in self._outward()]
        onward_ms = instance.delay_ms + costs.execution_ms[diamond.sink]
        self._onward_ms = np.asarray(onward_ms[:, self.sinks].T)
        self._nearest_ms = self._onward_ms.min(axis=0, initial=np.inf)[None, :]

    def of_source(self, source: int) -> float:
        """What any placement with the source on this node costs at least."""
        room = self.room.copy()
        room[source] -= self.costs.instance.demand[self.diamond.source]
        sink = float(self.costs.node[self.diamond.sink].min())
        return sink + float(self._promise(source, room[None, :], self._nearest, self._nearest_ms)[0])

    def of_pairs(self, source: int) -> Floats:
        """What any placement with the source on this node costs at least, for every node of the sink."""
        room = np.tile(self.room, (len(self.sinks), 1))
        room[:, source] -= self.costs.instance.demand[self.diamond.source]
        room[np.arange(len(self.sinks)), self.sinks] -= self.costs.instance.demand[self.diamond.sink]
        ends = self.costs.node[self.diamond.sink, self.sinks]
        return np.asarray(ends + self._promise(source, room, self._outward(), self._onward_ms))

    def _outward(self) -> Iterator[Floats]:
        """For each kind what its stream costs to the sink's nodes (rows) from all nodes, one after the other."""
        return (np.asarray(self.costs.stream(kind.out)[:, self.sinks].T) for kind in self.kinds)

    def _promise(self, source: int, room: Ints, out: Iterable[Floats], onward_ms: Floats) -> Floats:
        """A bound for every row of `room`, which is what the nodes have beside the ends and pinned operators.

        `out` has for each kind what its stream to the sink costs, `onward_ms` the time from a node to the sink's end.
        """
        costs, free = self.costs, self.number
        slots = np.full(room.shape, free) if self.demand == 0 else np.clip(room // self.demand, 0, free)
        begin_ms = costs.instance.delay_ms[source] + costs.execution_ms[self.diamond.source, source]
        each, slowest_ms = np.zeros(len(room)), np.zeros(len(room))
        least, least_ms = (np.full(room.shape, np.inf) for _ in range(2))
        pinned = np.zeros(len(room))
        for kind, outward in zip(self.kinds, out, strict=True):
            can = np.isfinite(kind.cost) & (kind.pinned | (slots > 0))
            cost = np.where(can, kind.cost + costs.stream_from(kind.into, source) + outward, np.inf)
            time_ms = np.where(can, begin_ms + kind.time_ms + onward_ms, np.inf)
            each += kind.number * cost.min(axis=1)
            slowest_ms = np.maximum(slowest_ms, time_ms.min(axis=1))
            if kind.pinned:
                pinned += kind.number * cost.min(axis=1)
            else:
                least, least_ms = np.minimum(least, cost), np.minimum(least_ms, time_ms)
        if free:
            each = np.maximum(each, pinned + _least(least, slots, free)[0])
        promise = np.where((room < 0).any(axis=1), np.inf, costs.node[self.diamond.source, source] + each)
        if costs.per_ms > 0:
            slowest_ms = np.maximum(slowest_ms, _least(least_ms, slots, free)[1]) if free else slowest_ms
            promise = promise + costs.per_ms * slowest_ms
        return np.asarray(promise)


def _least(matrix: Floats, slots: Ints, number: int) -> tuple[Floats, Floats]:
    """The sum and the largest of the `number` smallest entries of every row, each counted as often as it has slots."""
    order = np.argsort(matrix, axis=1, kind="stable")
    values = np.take_along_axis(matrix, order, axis=1)
    upto = np.minimum(np.cumsum(np.take_along_axis(slots, order, axis=1), axis=1), number)
    taken = np.diff(upto, axis=1, prepend=0)
    short = upto[:, -1] < number
    total = (np.where(taken > 0, values, 0.0) * taken).sum(axis=1)
    largest = np.where(taken > 0, values, -np.inf).max(axis=1)
    return np.where(short, np.inf, total), np.where(short, np.inf, largest)


def _kinds(costs: Costs, diamond: Diamond) -> list[_Kind]:
    """The operators between the ends, those that cost the same everywhere taken together."""
    instance = costs.instance
    groups: dict[tuple[object, ...], list[int]] = {}
    for one in diamond.middle:
        flows = [(float(instance.rate[s]), float(instance.volume[s])) for s in _streams(costs, one)]
        rows = (costs.node[one].tobytes(), costs.execution_ms[one].tobytes())
        groups.setdefault((*flows, *rows, instance.pinned(one)), []).append(one)
    kinds = []
    for members in groups.values():
        one = members[0]
        pinned = instance.pinned(one) is not None
        kinds.append(_Kind(len(members), pinned, costs.node[one], costs.execution_ms[one], *_streams(costs, one)))
    return kinds


def _streams(costs: Costs, operator: int) -> tuple[int, int]:
    return costs.instance.incoming[operator][0], costs.instance.outgoing[operator][0]
