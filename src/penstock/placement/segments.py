"""Bounds on walks over nodes: a dynamic programme over segments, and prices for room that is used too often."""

from dataclasses import dataclass

import numpy as np

from penstock.placement.instance import Floats, Ints
from penstock.placement.registry import Budget

_ROUNDS = 300
_PATIENCE = 8
_FIRST_STEP = 1.5
_LAST_STEP = 0.01
_SHRINK = 0.6


@dataclass(frozen=True, eq=False)
class Walk:
    """Operators that follow one another, each on a node.

    `segment[s, l, u]` is what the l operators from s on cost on node u, infinite if they cannot be there; `step[s]`
    what it costs to go from operator s to the next between any two nodes. A segment takes `need[s, l]` of the `room`
    of its node: of its capacity, or of the one visit that it may get if returning to a node is never better.
    """

    segment: Floats
    step: list[Floats]
    need: Ints
    room: Ints
    visited_once: bool

    @classmethod
    def of(cls, own: Floats, step: list[Floats], demand: Ints, capacity: Ints, visited_once: bool) -> "Walk":
        """The walk whose operators have these costs and demands on nodes of this capacity."""
        operators, nodes = own.shape
        longest = longest_segment(demand, capacity)
        segment = np.full((operators, longest + 1, nodes), np.inf)
        need = np.zeros((operators, longest + 1), dtype=np.int64)
        for start in range(operators):
            cost = np.zeros(nodes)
            for length in range(1, min(longest, operators - start) + 1):
                cost = cost + own[start + length - 1]
                need[start, length] = demand[start : start + length].sum()
                segment[start, length] = np.where(need[start, length] <= capacity, cost, np.inf)
        if visited_once:
            return cls(segment, step, np.ones_like(need), np.ones(nodes, dtype=np.int64), True)
        return cls(segment, step, need, capacity, False)

    @property
    def operators(self) -> int:
        """How many operators are placed."""
        return len(self.segment)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.room)

    @property
    def longest(self) -> int:
        """The most operators in a segment."""
        return int(self.segment.shape[1]) - 1


def longest_segment(demand: Ints, capacity: Ints) -> int:
    """The most operators in a row that fit on the largest node, at least 1."""
    most, start, used = 1, 0, 0
    for end, needed in enumerate(demand.tolist()):
        used += needed
        while used > int(capacity.max()) and start < end:
            used -= int(demand[start])
            start += 1
        most = max(most, end - start + 1)
    return most


@dataclass(frozen=True, eq=False)
class WalkBounds:
    """What a walk costs at least, room being sold at prices.

    `onward[t, u]` is the least for all after operator t, which is on u. `route` is the cheapest walk as segments
    (start, length, node), which may use more room than there is.
    """

    least: float
    onward: Floats
    route: list[tuple[int, int, int]]


def walk_bounds(walk: Walk, prices: Floats) -> WalkBounds:
    """Solve the programme backwards, so that the rest of a walk is known for every place it may have got to."""
    operators, nodes = walk.operators, walk.nodes
    onward = np.full((operators, nodes), np.inf)
    onward[-1] = 0.0
    following = np.zeros((operators, nodes), dtype=np.int64)
    from_here = np.full((operators + 1, nodes), np.inf)
    lengths = np.zeros((operators, nodes), dtype=np.int64)
    for start in range(operators - 1, -1, -1):
        for length in range(1, min(walk.longest, operators - start) + 1):
            cost = walk.segment[start, length] + prices * walk.need[start, length] + onward[start + length - 1]
            better = cost < from_here[start]
            from_here[start][better], lengths[start][better] = cost[better], length
        if start:
            going = walk.step[start - 1] + from_here[start][None, :]
            going.flat[:: nodes + 1] = np.inf
            following[start - 1] = going.argmin(axis=1)
            onward[start - 1] = going[np.arange(nodes), following[start - 1]]
    route, start, node = [], 0, int(from_here[0].argmin())
    least = float(from_here[0, node]) - float(prices @ walk.room)
    while start < operators and np.isfinite(least):
        length = int(lengths[start, node])
        route.append((start, length, node))
        start += length
        node = int(following[start - 1, node])
    return WalkBounds(least, onward, route)


def price_room(walk: Walk, upper: float, budget: Budget) -> tuple[float, Floats]:
    """Prices that make the bound high, by subgradient steps, and that bound; `upper` is the cost of a known walk."""
    prices = chosen = np.zeros(walk.nodes)
    least, step, waited = -np.inf, _FIRST_STEP, 0
    for _ in range(_ROUNDS):
        bounds = walk_bounds(walk, prices)
        if bounds.least > least + 1e-9:
            least, chosen, waited = bounds.least, prices, 0
        else:
            waited += 1
            step, waited = (step * _SHRINK, 0) if waited >= _PATIENCE else (step, waited)
        excess = -walk.room.astype(float)
        for start, length, node in bounds.route:
            excess[node] += walk.need[start, length]
        excess[(prices <= 0) & (excess < 0)] = 0.0
        if not excess.any() or step < _LAST_STEP or upper - least < 1e-9 or budget.is_over:
            break
        prices = np.maximum(0.0, prices + step * (upper - bounds.least) / float(excess @ excess) * excess)
    return least, chosen
