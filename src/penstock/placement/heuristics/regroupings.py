"""Placements in which several operators change their nodes at once, where single moves help no more."""

from functools import lru_cache

import numpy as np

from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.local_search import IMPROVEMENT
from penstock.placement.heuristics.lower_bound import shortest_path_ms
from penstock.placement.heuristics.terrain import Terrain
from penstock.placement.instance import Floats, Ints

_TARGETS = 8
"""To how many nodes the operators of a node are offered: those where their streams would cost least."""

_NUMBERS = 400_000
"""How many links are looked at in one go; of more placements than that allows a random sample is taken."""

_LONGEST_REORDERED = 24


class Regroupings:
    """The larger neighbourhoods of a placement, each as placements in rows that keep to capacities and candidates.

    Only those are returned that may be improvements: what they change is known beforehand but for the longest path,
    which cannot become shorter than a lower bound.
    """

    def __init__(self, terrain: Terrain, rng: np.random.Generator) -> None:
        self._terrain = terrain
        self._shortest_path_ms = shortest_path_ms(terrain.instance.problem)
        self._rng = rng
        instance = terrain.instance
        self._rows = max(64, _NUMBERS // max(instance.streams, instance.operators))
        self._pairs = _different_pairs(terrain)
        self._pinned = np.setdiff1d(np.arange(instance.operators), terrain.free)
        self._alike = _alike(terrain)
        self._runs = _runs(terrain)
        self._inside = np.isin(instance.tails, terrain.free) & np.isin(instance.heads, terrain.free)
        self._both_ways = [cost.matrix + cost.matrix.T for cost in terrain.stream_costs]
        self._joined = [sends[self._pairs] + gets[self._pairs] for sends, gets in terrain.weights]

    def exchanges(self, landscape: Landscape) -> Ints:
        """Two operators, not interchangeable, on each other's nodes."""
        place, table = landscape.assignment, landscape.table
        one, other = self._pairs
        here, there = place[one], place[other]
        change = table[one, there] + table[other, here] - table[one, here] - table[other, there]
        for joined, both_ways in zip(self._joined, self._both_ways, strict=True):
            change += joined * both_ways[here, there]
        change[here == there] = np.inf
        chosen = self._sample(self._distinct(self._promising(change, landscape), place))
        rows = np.repeat(place[None, :], len(chosen), axis=0)
        index = np.arange(len(chosen))
        rows[index, one[chosen]], rows[index, other[chosen]] = there[chosen], here[chosen]
        return self._kept(rows)

    def relocations(self, landscape: Landscape) -> Ints:
        """Everything on a node that is not pinned, on another node that has room for it."""
        place, free = landscape.assignment, self._terrain.free
        if not len(free):
            return np.zeros((0, len(place)), dtype=np.int64)
        nodes, change = self._relocation_changes(landscape)
        targets = np.argsort(change, axis=1, kind="stable")[:, :_TARGETS]
        change = np.take_along_axis(change, targets, axis=1)
        chosen = self._sample(self._promising(change.ravel(), landscape))
        moved = place[None, :] == nodes[chosen // targets.shape[1]][:, None]
        moved[:, self._pinned] = False
        return np.where(moved, targets.ravel()[chosen][:, None], place[None, :])

    def _relocation_changes(self, landscape: Landscape) -> tuple[Ints, Floats]:
        """The nodes that are used, and what going from each (row) to every node (column) changes but for paths."""
        place, instance = landscape.assignment, self._terrain.instance
        ordered = self._terrain.free[np.argsort(place[self._terrain.free], kind="stable")]
        nodes, starts = np.unique(place[ordered], return_index=True)
        rows = np.arange(len(nodes))
        change = np.add.reduceat(landscape.table[ordered], starts, axis=0)
        change -= change[rows, nodes][:, None]
        tails = place[instance.tails]
        inside = self._inside & (tails == place[instance.heads])
        for cost, both_ways in zip(self._terrain.stream_costs, self._both_ways, strict=True):
            within = np.bincount(tails[inside], weights=cost.factors[inside], minlength=instance.nodes)
            change -= within[nodes][:, None] * both_ways[nodes]
        change[landscape.room < np.add.reduceat(instance.demand[ordered], starts)[:, None]] = np.inf
        change[rows, nodes] = np.inf
        return nodes, change

    def reorderings(self, landscape: Landscape) -> Ints:
        """Operators in a row, whose nodes are taken in the opposite order or shifted by one or two."""
        place = landscape.assignment
        parts = [np.zeros((0, len(place)), dtype=np.int64)]
        for run in self._runs:
            orders = _reorderings(len(run))
            if len(orders) > self._rows:
                orders = orders[self._sample(np.arange(len(orders)))]
            rows = np.repeat(place[None, :], len(orders), axis=0)
            rows[:, run] = place[run][orders]
            parts.append(rows)
        return self._kept(np.concatenate(parts))

    def _promising(self, change: Floats, landscape: Landscape) -> Ints:
        """Which of these changes to look at more closely."""
        if not self._terrain.per_ms:
            best = int(np.argmin(change)) if len(change) else 0
            return np.array([best] if len(change) and change[best] < -IMPROVEMENT else [], dtype=np.int64)
        hope = self._terrain.per_ms * (landscape.longest_ms - self._shortest_path_ms)
        return np.flatnonzero(change < hope - IMPROVEMENT)

    def _distinct(self, pairs: Ints, place: Ints) -> Ints:
        """Those pairs that do not repeat another one: interchangeable operators on the same nodes."""
        classes, nodes = self._terrain.classes, self._terrain.instance.nodes
        one, other = (classes[ends[pairs]] * nodes + place[ends[pairs]] for ends in self._pairs)
        return pairs[np.sort(np.unique(one * (len(classes) * nodes) + other, return_index=True)[1])]

    def _sample(self, indices: Ints) -> Ints:
        if len(indices) <= self._rows:
            return indices
        return np.sort(self._rng.choice(indices, self._rows, replace=False))

    def _kept(self, rows: Ints) -> Ints:
        terrain = self._terrain
        if self._alike or not len(rows):
            return rows
        allowed = np.isfinite(terrain.node[np.arange(terrain.instance.operators), rows]).all(axis=1)
        return rows[allowed & terrain.fit(rows)]


def _alike(terrain: Terrain) -> bool:
    """Whether operators can trade places without anyone having to check."""
    possible = np.isfinite(terrain.node[terrain.free])
    demand = terrain.instance.demand[terrain.free]
    return bool((demand == demand[:1]).all() and (possible == possible[:1]).all())


def _different_pairs(terrain: Terrain) -> tuple[Ints, Ints]:
    one, other = np.triu_indices(len(terrain.free), 1)
    one, other = terrain.free[one], terrain.free[other]
    different = terrain.classes[one] != terrain.classes[other]
    return one[different], other[different]


def _runs(terrain: Terrain) -> list[Ints]:
    """Operators that are not pinned and follow each other without branches, as long as possible."""
    free = set(terrain.free.tolist())
    following: dict[int, int] = {}
    for tails, heads, _ in terrain.blocks:
        tail, head = int(tails[0]), int(heads[0])
        alone = len(tails) == len(heads) == 1 and len(terrain.after.members[terrain.after.of[tail]]) == 1
        if alone and {tail, head} <= free:
            following[tail] = head
    runs = []
    for first in sorted(set(following) - set(following.values())):
        run = [first]
        while run[-1] in following:
            run.append(following[run[-1]])
        runs.append(np.array(run, dtype=np.int64))
    return runs


@lru_cache(maxsize=64)
def _reorderings(length: int) -> Ints:
    """Every stretch of a row reversed, and shifted by one and by two places in both directions."""
    rows = set()
    for begin in range(length):
        for end in range(begin + 2, min(length, begin + _LONGEST_REORDERED) + 1):
            stretch = list(range(begin, end))
            shifted = [stretch[by:] + stretch[:by] for by in (1, 2, -1, -2)]
            for order in (stretch[::-1], *shifted):
                rows.add((*range(begin), *order, *range(end, length)))
    rows.discard(tuple(range(length)))
    return np.array(sorted(rows), dtype=np.int64).reshape(len(rows), length)
