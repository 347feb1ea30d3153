"""What every single move from a placement would change, kept up to date from move to move.

A step costs a few array operations on a table of operators and nodes, however many moves that compares.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.placement.heuristics.local_search import IMPROVEMENT
from penstock.placement.heuristics.terrain import NeighbourSets, Terrain
from penstock.placement.instance import Floats, Ints
from penstock.placement.registry import Budget

_FEW = 32
"""Up to so many operators or paths are faster looked at one by one."""


@dataclass(frozen=True, eq=False)
class Delays:
    """The delays of all links in the direction in which paths are followed; also as lists, faster one by one."""

    matrix: Floats
    rows: list[list[float]]

    @classmethod
    def of(cls, matrix: Floats) -> "Delays":
        """Delays from rows to columns."""
        return cls(np.ascontiguousarray(matrix), matrix.tolist())


class Landscape:
    """One placement that keeps capacities, and the surroundings of it; the terrain says what is minimised.

    `table[i, u]` is what operator i and its streams cost on node u while the others stay, without the longest path,
    whose length is `longest_ms` (0 if it does not count).
    """

    def __init__(self, terrain: Terrain, assignment: Ints) -> None:
        self.terrain = terrain
        instance = terrain.instance
        self._rows = np.arange(instance.operators)
        self._onward, self._back = Delays.of(instance.delay_ms), Delays.of(instance.delay_ms.T)
        self._same_demand = bool((instance.demand == instance.demand[0]).all())
        begins, ends = terrain.leaps
        leapt = np.bincount(begins + 1, minlength=instance.operators + 1)[: instance.operators]
        self._avoidable = (np.cumsum(leapt - np.bincount(ends, minlength=instance.operators + 1)[:-1]) > 0)[
            terrain.rank
        ]
        self._first_of_class = np.unique(terrain.classes, return_index=True)[1]
        self._links = [(np.ascontiguousarray(cost.matrix.T), cost.matrix) for cost in terrain.stream_costs]
        self.reset(assignment)

    def reset(self, assignment: Ints) -> None:
        """Go to another placement."""
        instance = self.terrain.instance
        self.assignment = assignment.copy()
        used = np.bincount(assignment, weights=instance.demand, minlength=instance.nodes)
        self.room = instance.capacity - used.astype(np.int64)
        self.table = self.terrain.node.copy()
        first = self._first_of_class
        for (sends, gets), (to, out_of) in zip(self.terrain.weights, self._links, strict=True):
            shares = sends[first] @ to[assignment] + gets[first] @ out_of[assignment]
            self.table += shares[self.terrain.classes]
        self._follow_paths()

    @property
    def value(self) -> float:
        """What is minimised; the table counts every stream at both of its ends."""
        at = self._rows, self.assignment
        return float(0.5 * (self.table[at] + self.terrain.node[at]).sum() + self.terrain.per_ms * self.longest_ms)

    def descend(self, budget: Budget) -> None:
        """Make the best move as long as one is an improvement."""
        while not budget.is_over:
            change = self.changes()
            operator, node = divmod(int(np.argmin(change)), change.shape[1])
            if change[operator, node] > -IMPROVEMENT:
                return
            self.move(operator, node)

    def move(self, operator: int, node: int) -> None:
        """Put `operator` on `node`."""
        before, near = self.assignment[operator], self.terrain.neighbours[operator]
        for (sends, gets), (to, out_of) in zip(self.terrain.weights, self._links, strict=True):
            self.table[near] += sends[near, operator][:, None] * (to[node] - to[before])
            self.table[near] += gets[near, operator][:, None] * (out_of[node] - out_of[before])
        demand = self.terrain.instance.demand[operator]
        self.room[before] += demand
        self.room[node] -= demand
        self.assignment[operator] = node
        self._follow_paths()

    def changes(self) -> Floats:
        """What moving each operator (row) to each node (column) would change; infinite where it does not fit."""
        instance, per_ms = self.terrain.instance, self.terrain.per_ms
        change = self.table - self.table[self._rows, self.assignment][:, None]
        if per_ms:
            through = self.terrain.costs.execution_ms.copy()
            self._add_farthest(through, self.terrain.before, self._arrival_ms, self._onward.matrix)
            self._add_farthest(through, self.terrain.after, self._rest_ms, self._back.matrix)
            np.maximum(through, self._without_ms()[:, None], out=through)
            through -= self.longest_ms
            through *= per_ms
            change += through
        if self._same_demand:
            change[:, self.room < instance.demand[0]] = np.inf
        else:
            change[self.room[None, :] < instance.demand[:, None]] = np.inf
        return change

    def through_ms(self, operator: int) -> Floats:
        """For every node the longest path through `operator` there while the others stay; paths must count."""
        own = self.terrain.costs.execution_ms[operator]
        return np.asarray(self.side_ms(operator, onward=False) + self.side_ms(operator, onward=True) - own)

    def side_ms(self, operator: int, onward: bool) -> Floats:
        """For every node the longest path that begins (`onward`) or ends with `operator` there; 0 if none counts."""
        if not self.terrain.per_ms:
            return np.zeros(self.terrain.instance.nodes)
        sets, known_ms, delays = (
            (self.terrain.after, self._rest_ms, self._back)
            if onward
            else (self.terrain.before, self._arrival_ms, self._onward)
        )
        own = self.terrain.costs.execution_ms[operator]
        if sets.of[operator] < 0:
            return np.asarray(own)
        near = list(sets.members[sets.of[operator]])
        return np.asarray(own + (known_ms[near][:, None] + delays.matrix[self.assignment[near]]).max(axis=0))

    def _add_farthest(self, through: Floats, sets: NeighbourSets, times_ms: Floats, delay_ms: Floats) -> None:
        """Add for every operator and node the latest arrival from (or longest rest to) the operators next to it."""
        if not len(sets.flat):
            return
        reached = times_ms[sets.flat][:, None] + delay_ms[self.assignment[sets.flat]]
        farthest = np.maximum.reduceat(reached, sets.starts, axis=0)
        has = sets.of >= 0
        through[has] += farthest[sets.of[has]]

    def _follow_paths(self) -> None:
        """The longest path that ends with every operator, and the longest that begins with it."""
        self.longest_ms = 0.0
        if not self.terrain.per_ms:
            return
        order = self.terrain.instance.problem.order
        own = self.terrain.costs.execution_ms[self._rows, self.assignment].tolist()
        self._arrival_ms = np.array(_longest(order, own, self.assignment, self.terrain.before, self._onward))
        self._rest_ms = np.array(_longest(order[::-1], own, self.assignment, self.terrain.after, self._back))
        self.longest_ms = float(self._arrival_ms.max())

    def _without_ms(self) -> Floats:
        """For every operator the longest path that avoids it.

        Such a path lies on one side of it in the order of operators or leaps over it by one of its streams.
        """
        terrain, instance, place = self.terrain, self.terrain.instance, self.assignment
        tails, heads = instance.tails, instance.heads
        lengths = np.concatenate(
            [
                self._arrival_ms[tails] + instance.delay_ms[place[tails], place[heads]] + self._rest_ms[heads],
                self._rest_ms[terrain.sources],
                self._arrival_ms[terrain.sinks],
            ]
        )
        begins, ends = terrain.leaps
        leapt = np.zeros(instance.operators, dtype=bool)
        for leap in np.flatnonzero(lengths >= self.longest_ms - IMPROVEMENT)[:_FEW]:
            leapt[begins[leap] + 1 : ends[leap]] = True
        leapt = leapt[terrain.rank]
        without = np.where(leapt, self.longest_ms, 0.0)
        for operator in terrain.free.tolist():
            if not leapt[operator] and self._avoidable[operator]:
                rank = terrain.rank[operator]
                without[operator] = lengths[(begins < rank) & (ends > rank)].max()
        return without


def _longest(order: Sequence[int], own: list[float], place: Ints, sets: NeighbourSets, delays: Delays) -> list[float]:
    """The longest path that ends with every operator, when all in its set come before it in `order`."""
    length = [0.0] * len(own)
    at = place.tolist()
    known: dict[tuple[int, int], float] = {}
    index = sets.of.tolist()
    for operator in order:
        if index[operator] < 0:
            length[operator] = own[operator]
            continue
        # Interchangeable operators on one node need not be looked at twice.
        key = index[operator], at[operator]
        if key not in known:
            before = sets.members[key[0]]
            if len(before) > _FEW:
                times = np.array([length[other] for other in before])
                known[key] = float((times + delays.matrix[place[list(before)], key[1]]).max())
            else:
                known[key] = max([length[other] + delays.rows[at[other]][key[1]] for other in before])
        length[operator] = known[key] + own[operator]
    return length
