"""Placements in which several operators change their nodes at once, where single moves help no more."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.local_search import IMPROVEMENT
from penstock.placement.heuristics.lower_bound import shortest_path_ms, swept
from penstock.placement.heuristics.terrain import Terrain
from penstock.placement.instance import Floats, Ints

_TARGETS = 8
"""To how many nodes the operators of a node are offered: those where their streams would cost least."""

_NUMBERS = 400_000
"""How many links are looked at in one go; of more placements than that allows a random sample is taken."""

_LONGEST_REORDERED = 24


@dataclass(frozen=True, eq=False)
class Run:
    """Operators in a row, and in which orders they could take each other's nodes.

    `own` and `links` are where a table of operators and nodes, and one of nodes and nodes, are read for every order.
    """

    operators: Ints
    orders: Ints
    own: Ints
    links: Ints

    @classmethod
    def of(cls, operators: Ints) -> "Run":
        """The run of these operators."""
        length, orders = len(operators), _reorderings(len(operators))
        return cls(operators, orders, np.arange(length) * length + orders, orders[:, :-1] * length + orders[:, 1:])


@dataclass(frozen=True, eq=False)
class Twins:
    """Interchangeable operators, and whether every path leads through one of them."""

    members: Ints
    unavoidable: bool


@dataclass(frozen=True, eq=False)
class Found:
    """A placement that is better than the one at hand, and what is minimised there."""

    assignment: Ints
    value: float


class Regroupings:
    """The larger neighbourhoods of a placement: of each the best placement, if that is an improvement.

    What they change is known beforehand but for the longest path, which cannot become shorter than a lower bound; only
    what may be an improvement is looked at more closely.
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
        self._runs = [Run.of(operators) for operators in _runs(terrain)]
        self.twins = _twins(terrain)
        """The operators of every class that has several."""
        self._inside = np.isin(instance.tails, terrain.free) & np.isin(instance.heads, terrain.free)
        self._both_ways = [cost.matrix + cost.matrix.T for cost in terrain.stream_costs]
        self._joined = [sends[self._pairs] + gets[self._pairs] for sends, gets in terrain.weights]

    def reassignment(self, landscape: Landscape, twins: Twins) -> Found | None:
        """All operators of a class on the slots that are best for them while the others stay."""
        members, instance, per_ms = twins.members, self._terrain.instance, self._terrain.per_ms
        place, cost, demand = landscape.assignment, landscape.table[members[0]], int(instance.demand[members[0]])
        held = np.bincount(place[members], minlength=instance.nodes)
        slots = landscape.room // demand + held if demand else np.full(instance.nodes, len(members))
        # Paths that avoid all of them are left out, so the gain may be less than it looks, but not more.
        now = float(cost[place[members]].sum()) + per_ms * landscape.longest_ms
        paths = per_ms * landscape.through_ms(int(members[0])) if per_ms else np.zeros(instance.nodes)
        least, nodes = swept(cost, paths, np.minimum(slots, len(members)), len(members), now - IMPROVEMENT)
        if not nodes:
            return None
        row = place.copy()
        row[members] = nodes
        exact = twins.unavoidable or not per_ms
        return Found(row, landscape.value + least - now) if exact else self._better_of(landscape, row[None, :])

    def exchanges(self, landscape: Landscape) -> Found | None:
        """Two operators, not interchangeable, on each other's nodes."""
        place, table = landscape.assignment, landscape.table
        one, other = self._pairs
        here, there = place[one], place[other]
        change = table[one, there] + table[other, here] - table[one, here] - table[other, there]
        for joined, both_ways in zip(self._joined, self._both_ways, strict=True):
            change += joined * both_ways[here, there]
        change[here == there] = np.inf

        def rows_of(chosen: Ints) -> Ints:
            chosen = self._distinct(chosen, place)
            rows = np.repeat(place[None, :], len(chosen), axis=0)
            index = np.arange(len(chosen))
            rows[index, one[chosen]], rows[index, other[chosen]] = there[chosen], here[chosen]
            return self._kept(rows)

        return self._best(landscape, change, rows_of)

    def relocations(self, landscape: Landscape) -> Found | None:
        """Everything on a node that is not pinned, on another node that has room for it."""
        place = landscape.assignment
        if not len(self._terrain.free):
            return None
        nodes, change = self._relocation_changes(landscape)
        if self._terrain.per_ms and change.shape[1] > _TARGETS:
            targets = np.argpartition(change, _TARGETS, axis=1)[:, :_TARGETS]
        else:
            targets = np.repeat(np.arange(change.shape[1])[None, :], len(nodes), axis=0)

        def rows_of(chosen: Ints) -> Ints:
            moved = place[None, :] == nodes[chosen // targets.shape[1]][:, None]
            moved[:, self._pinned] = False
            return np.where(moved, targets.ravel()[chosen][:, None], place[None, :])

        return self._best(landscape, np.take_along_axis(change, targets, axis=1).ravel(), rows_of)

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

    def reorderings(self, landscape: Landscape) -> Found | None:
        """Operators in a row, whose nodes are taken in the opposite order or shifted by one or two."""
        place, found = landscape.assignment, None
        for run in self._runs:

            def rows_of(chosen: Ints, run: Run = run) -> Ints:
                rows = np.repeat(place[None, :], len(chosen), axis=0)
                rows[:, run.operators] = place[run.operators][run.orders[chosen]]
                return self._kept(rows)

            found = _better(found, self._best(landscape, self._reordering_changes(landscape, run), rows_of))
        return found

    def _reordering_changes(self, landscape: Landscape, run: Run) -> Floats:
        """What every order of a run changes but for paths."""
        operators, nodes = run.operators, landscape.assignment[run.operators]
        at = np.ix_(nodes, nodes)
        own = landscape.table[np.ix_(operators, nodes)]
        change = np.zeros(len(run.orders))
        for (sends, _), cost in zip(self._terrain.weights, self._terrain.stream_costs, strict=True):
            factors, between = sends[operators[:-1], operators[1:]], cost.matrix[at]
            # The table counts streams inside the run as they are now.
            own[1:] -= factors[:, None] * between[:-1]
            own[:-1] -= factors[:, None] * between.T[1:]
            change += np.take(between, run.links) @ factors - np.diagonal(between, 1) @ factors
        change += np.take(own, run.own).sum(axis=1) - np.trace(own)
        return change

    def _best(self, landscape: Landscape, change: Floats, rows_of: Callable[[Ints], Ints]) -> Found | None:
        """The best of the placements whose `change` is known but for paths, if that is an improvement."""
        exact = self._alike and not self._terrain.per_ms
        if exact:
            best = int(np.argmin(change)) if len(change) else 0
            if not len(change) or change[best] >= -IMPROVEMENT:
                return None
            return Found(rows_of(np.array([best]))[0], landscape.value + float(change[best]))
        hope = self._terrain.per_ms * (landscape.longest_ms - self._shortest_path_ms)
        chosen = self._sample(np.flatnonzero(change < hope - IMPROVEMENT))
        return self._better_of(landscape, rows_of(chosen)) if len(chosen) else None

    def _better_of(self, landscape: Landscape, rows: Ints) -> Found | None:
        """The best of these placements, if that is an improvement."""
        if not len(rows):
            return None
        values = self._terrain.values(rows)
        first = int(np.argmin(values))
        return Found(rows[first], float(values[first])) if values[first] < landscape.value - IMPROVEMENT else None

    def _distinct(self, pairs: Ints, place: Ints) -> Ints:
        """Those pairs that do not repeat another one: interchangeable operators on the same nodes."""
        if len(pairs) == 1:
            return pairs
        classes, nodes = self._terrain.classes, self._terrain.instance.nodes
        one, other = (classes[ends[pairs]] * nodes + place[ends[pairs]] for ends in self._pairs)
        return pairs[np.sort(np.unique(one * (len(classes) * nodes) + other, return_index=True)[1])]

    def _sample(self, indices: Ints) -> Ints:
        if len(indices) <= self._rows:
            return indices
        return np.sort(self._rng.choice(indices, self._rows, replace=False))

    def _kept(self, rows: Ints) -> Ints:
        return rows if self._alike or not len(rows) else rows[self._terrain.keep(rows)]


def _better(one: Found | None, other: Found | None) -> Found | None:
    return other if one is None or (other is not None and other.value < one.value) else one


def _twins(terrain: Terrain) -> list[Twins]:
    """The operators of every class that has several, none of them pinned."""
    groups: dict[int, list[int]] = {}
    for operator in terrain.free.tolist():
        groups.setdefault(int(terrain.classes[operator]), []).append(operator)
    several = [members for members in groups.values() if len(members) > 1]
    return [Twins(np.array(members, dtype=np.int64), _is_unavoidable(terrain, members)) for members in several]


def _is_unavoidable(terrain: Terrain, operators: list[int]) -> bool:
    """Whether every path from an operator that nothing feeds to one that feeds nothing leads through one of these."""
    reached = set(terrain.sources.tolist()) - set(operators)
    for operator in terrain.instance.problem.order:
        before = terrain.before.of[operator]
        if operator not in operators and before >= 0 and not reached.isdisjoint(terrain.before.members[before]):
            reached.add(operator)
    return reached.isdisjoint(terrain.sinks.tolist())


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
