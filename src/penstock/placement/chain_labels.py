"""Walks extended operator by operator, and forgotten as soon as they cannot become better than the best known one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.placement.instance import Floats, Ints
from penstock.placement.registry import Budget
from penstock.placement.segments import Walk, walk_bounds

Taken = NDArray[np.uint64] | Ints

_MOST_LABELS = 3_000_000
_MOST_CELLS = 40_000_000
_COMPARED = 60


@dataclass(frozen=True, eq=False)
class Found:
    """The best walk that is cheaper than asked, as the node of every operator; None if there is none.

    `complete` says that nothing was left out, so that no other walk is cheaper.
    """

    cost: float
    route: list[int] | None
    complete: bool


@dataclass(frozen=True, eq=False)
class _Labels:
    """Walks that have placed equally many operators; `parent` and `came` say from which label, at which number."""

    node: Ints
    cost: Floats
    priced: Floats
    taken: Taken
    parent: Ints
    came: Ints

    def __len__(self) -> int:
        return len(self.node)

    def pick(self, which: NDArray[np.bool_] | Ints) -> "_Labels":
        return _Labels(
            self.node[which],
            self.cost[which],
            self.priced[which],
            self.taken[which],
            self.parent[which],
            self.came[which],
        )

    @classmethod
    def join(cls, parts: list["_Labels"]) -> "_Labels":
        names = ("node", "cost", "priced", "taken", "parent", "came")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class _Visits:
    """Which nodes a walk has visited, as bits."""

    def __init__(self, walk: Walk) -> None:
        self.words = (walk.nodes + 63) // 64
        nodes = np.arange(walk.nodes)
        self.bits = np.zeros((walk.nodes, self.words), dtype=np.uint64)
        self.bits[nodes, nodes // 64] = np.uint64(1) << (nodes % 64).astype(np.uint64)

    def first(self, nodes: Ints, _need: int) -> Taken:
        return self.bits[nodes]

    def added(self, taken: Taken, nodes: Ints, _need: int) -> Taken:
        return np.asarray(taken | self.bits[nodes])

    def fits(self, taken: Taken, labels: Ints, nodes: Ints, _need: int) -> NDArray[np.bool_]:
        words = nodes // 64
        return np.asarray((taken[labels, words] & self.bits[nodes, words]) == 0)

    def within(self, taken: Taken, others: Taken) -> NDArray[np.bool_]:
        return np.asarray(((taken & ~others) == 0).all(axis=1))


class _Amounts:
    """How much of every node's room a walk has taken."""

    def __init__(self, walk: Walk) -> None:
        self.room = walk.room

    def first(self, nodes: Ints, need: int) -> Taken:
        return self.added(np.zeros((len(nodes), len(self.room)), dtype=np.int64), nodes, need)

    def added(self, taken: Taken, nodes: Ints, need: int) -> Taken:
        more = taken.copy()
        more[np.arange(len(nodes)), nodes] += need
        return more

    def fits(self, taken: Taken, labels: Ints, nodes: Ints, need: int) -> NDArray[np.bool_]:
        return np.asarray(taken[labels, nodes] + need <= self.room[nodes])

    def within(self, taken: Taken, others: Taken) -> NDArray[np.bool_]:
        return np.asarray((taken <= others).all(axis=1))


class LabelSearch:
    """Searches for walks, given prices of room that make the bound on the rest of a walk tight."""

    def __init__(self, walk: Walk, prices: Floats) -> None:
        self.walk, self.prices = walk, prices
        self.onward = walk_bounds(walk, prices).onward
        self.sold = float(prices @ walk.room)
        self.room: _Visits | _Amounts = _Visits(walk) if walk.visited_once else _Amounts(walk)

    def run(self, upper: float, budget: Budget, beam: int | None = None) -> Found:
        """The best walk that costs less than `upper`; with a beam, the best of those that look best at every step."""
        # A label must promise to be better by more than what rounding may have done to it.
        limit = upper - 1e-9 * max(1.0, abs(upper)) if np.isfinite(upper) else np.inf
        operators = self.walk.operators
        waiting: list[list[_Labels]] = [[] for _ in range(operators + 1)]
        kept: list[_Labels | None] = [None] * (operators + 1)
        self._start(waiting, limit)
        complete, made = True, 0
        for placed in range(1, operators + 1):
            if not waiting[placed]:
                continue
            labels = self._merged(_Labels.join(waiting[placed]))
            waiting[placed] = []
            if placed < operators:
                labels, all_kept = self._narrowed(labels, placed, beam)
                complete &= all_kept
            kept[placed] = labels
            made += len(labels)
            if made > _MOST_LABELS or len(labels) * self.walk.nodes > _MOST_CELLS or budget.is_over:
                return Found(upper, None, False)
            if placed < operators:
                self._extend(labels, placed, waiting, limit)
        return self._best(kept, upper, complete)

    def _start(self, waiting: list[list[_Labels]], limit: float) -> None:
        for length in range(1, min(self.walk.longest, self.walk.operators) + 1):
            cost = self.walk.segment[0, length]
            need = int(self.walk.need[0, length])
            priced = self.prices * need
            nodes = np.flatnonzero(cost + priced + self.onward[length - 1] - self.sold < limit)
            nothing = np.full(len(nodes), -1, dtype=np.int64)
            taken = self.room.first(nodes, need)
            waiting[length].append(_Labels(nodes, cost[nodes], priced[nodes], taken, nothing, np.zeros_like(nodes)))

    def _extend(self, labels: _Labels, placed: int, waiting: list[list[_Labels]], limit: float) -> None:
        """Add every segment that may follow to every label."""
        walk = self.walk
        reached = labels.cost[:, None] + walk.step[placed - 1][labels.node]
        reached[np.arange(len(labels)), labels.node] = np.inf
        for length in range(1, min(walk.longest, walk.operators - placed) + 1):
            need = int(walk.need[placed, length])
            cost = reached + walk.segment[placed, length][None, :]
            onward = self.onward[placed + length - 1] + self.prices * need - self.sold
            # Few promise enough, so room is looked at for those only.
            parents, nodes = np.nonzero(cost + onward[None, :] < limit - labels.priced[:, None])
            fitting = self.room.fits(labels.taken, parents, nodes, need)
            parents, nodes = parents[fitting], nodes[fitting]
            waiting[placed + length].append(
                _Labels(
                    nodes,
                    cost[parents, nodes],
                    labels.priced[parents] + self.prices[nodes] * need,
                    self.room.added(labels.taken[parents], nodes, need),
                    parents,
                    np.full(len(nodes), placed, dtype=np.int64),
                )
            )

    def _merged(self, labels: _Labels) -> _Labels:
        """Of labels on the same node with the same room taken only the cheapest."""
        if len(labels) < 2:
            return labels
        columns = [labels.taken[:, word] for word in range(labels.taken.shape[1])]
        labels = labels.pick(np.lexsort([labels.cost, *columns, labels.node]))
        new = np.ones(len(labels), dtype=np.bool_)
        new[1:] = (labels.node[1:] != labels.node[:-1]) | (labels.taken[1:] != labels.taken[:-1]).any(axis=1)
        return labels.pick(new)

    def _narrowed(self, labels: _Labels, placed: int, beam: int | None) -> tuple[_Labels, bool]:
        """Without what another label dominates, and at most as many as the beam is wide; whether that left all."""
        all_kept = beam is None or len(labels) <= beam
        if beam is not None and len(labels) > beam:
            promise = labels.cost + labels.priced + self.onward[placed - 1][labels.node]
            labels = labels.pick(np.argpartition(promise, beam)[:beam])
        return labels.pick(~self._dominated(labels)), all_kept

    def _dominated(self, labels: _Labels) -> NDArray[np.bool_]:
        """Labels for which another one on the same node costs no more and has taken no more room.

        Each is compared with the cheapest few only: more would take longer than it saves.
        """
        dominated = np.zeros(len(labels), dtype=np.bool_)
        order = np.lexsort([labels.cost, labels.node])
        borders = np.flatnonzero(np.diff(labels.node[order])) + 1
        for group in np.split(order, borders):
            taken = labels.taken[group]
            alive = np.ones(len(group), dtype=np.bool_)
            for index in range(min(len(group) - 1, _COMPARED)):
                if alive[index]:
                    alive[index + 1 :] &= ~self.room.within(taken[index], taken[index + 1 :])
            dominated[group[~alive]] = True
        return dominated

    def _best(self, kept: list[_Labels | None], upper: float, complete: bool) -> Found:
        last = kept[-1]
        if last is None or not len(last) or float(last.cost.min()) >= upper:
            return Found(upper, None, complete)
        index, placed, route = int(last.cost.argmin()), self.walk.operators, list[int]()
        while index >= 0:
            labels = kept[placed]
            assert labels is not None
            came = int(labels.came[index])
            route = [int(labels.node[index])] * (placed - came) + route
            placed, index = came, int(labels.parent[index])
        return Found(float(last.cost.min()), route, complete)
