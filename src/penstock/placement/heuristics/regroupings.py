"""Placements in which several operators change their nodes at once, where single moves help no more."""

from functools import lru_cache

import numpy as np

from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.terrain import Terrain
from penstock.placement.instance import Ints

_TARGETS = 16
"""To how many nodes the operators of a node are offered: those where they would cost least one by one."""

_NUMBERS = 400_000
"""How many links are looked at in one go; of more placements than that allows a random sample is taken."""

_LONGEST_REORDERED = 24


class Regroupings:
    """The larger neighbourhoods of a placement, each as placements in rows that keep to capacities and candidates."""

    def __init__(self, terrain: Terrain, rng: np.random.Generator) -> None:
        self._terrain = terrain
        self._rng = rng
        self._rows = max(64, _NUMBERS // max(terrain.instance.streams, terrain.instance.operators))
        self._pairs = _different_pairs(terrain)
        self._runs = _runs(terrain)

    def exchanges(self, landscape: Landscape) -> Ints:
        """Two operators, not interchangeable, on each other's nodes."""
        place, classes = landscape.assignment, self._terrain.classes
        one, other = self._pairs
        apart = np.flatnonzero(place[one] != place[other])
        kinds = np.stack([classes[one], place[one], classes[other], place[other]])[:, apart]
        _, first = np.unique(kinds, axis=1, return_index=True)
        chosen = self._sample(apart[np.sort(first)])
        one, other = one[chosen], other[chosen]
        rows = np.repeat(place[None, :], len(one), axis=0)
        index = np.arange(len(one))
        rows[index, one], rows[index, other] = place[other], place[one]
        return self._kept(rows)

    def relocations(self, landscape: Landscape) -> Ints:
        """Everything on a node that is not pinned, on another node that has room for it."""
        place, free = landscape.assignment, self._terrain.free
        parts = [np.zeros((0, len(place)), dtype=np.int64)]
        for node in np.unique(place[free]).tolist():
            movers = free[place[free] == node]
            cost = landscape.table[movers].sum(axis=0)
            cost[landscape.room < self._terrain.instance.demand[movers].sum()] = np.inf
            cost[node] = np.inf
            targets = np.argsort(cost, kind="stable")[:_TARGETS]
            targets = targets[np.isfinite(cost[targets])]
            rows = np.repeat(place[None, :], len(targets), axis=0)
            rows[:, movers] = targets[:, None]
            parts.append(rows)
        joined = np.concatenate(parts)
        return joined[self._sample(np.arange(len(joined)))]

    def reorderings(self, landscape: Landscape) -> Ints:
        """Operators in a row, whose nodes are taken in the opposite order or shifted by one or two."""
        place = landscape.assignment
        parts = [np.zeros((0, len(place)), dtype=np.int64)]
        for run in self._runs:
            orders = _reorderings(len(run))
            orders = orders[self._sample(np.arange(len(orders)))]
            shuffled = place[run][orders]
            shuffled = shuffled[(shuffled != place[run]).any(axis=1)]
            rows = np.repeat(place[None, :], len(shuffled), axis=0)
            rows[:, run] = shuffled
            parts.append(rows)
        return self._kept(np.concatenate(parts))

    def _sample(self, indices: Ints) -> Ints:
        if len(indices) <= self._rows:
            return indices
        return np.sort(self._rng.choice(indices, self._rows, replace=False))

    def _kept(self, rows: Ints) -> Ints:
        terrain = self._terrain
        if not len(rows):
            return rows
        allowed = np.isfinite(terrain.costs.node[np.arange(terrain.instance.operators), rows]).all(axis=1)
        return rows[allowed & terrain.fit(rows)]


def _different_pairs(terrain: Terrain) -> tuple[Ints, Ints]:
    one, other = np.triu_indices(len(terrain.free), 1)
    one, other = terrain.free[one], terrain.free[other]
    different = terrain.classes[one] != terrain.classes[other]
    return one[different], other[different]


def _runs(terrain: Terrain) -> list[Ints]:
    """Operators that are not pinned and follow each other without branches, as long as possible."""
    following = {}
    for operator in terrain.free.tolist():
        after = terrain.after.members[terrain.after.of[operator]] if terrain.after.of[operator] >= 0 else ()
        if len(after) == 1 and after[0] in set(terrain.free.tolist()):
            before = terrain.before.members[terrain.before.of[after[0]]]
            if len(before) == 1:
                following[operator] = after[0]
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
    rows = {tuple(range(length))}
    for begin in range(length):
        for end in range(begin + 2, min(length, begin + _LONGEST_REORDERED) + 1):
            stretch = list(range(begin, end))
            shifted = [stretch[by:] + stretch[:by] for by in (1, 2, -1, -2)]
            for order in (stretch[::-1], *shifted):
                rows.add((*range(begin), *order, *range(end, length)))
    return np.array(sorted(rows), dtype=np.int64)
