"""The linear relaxation of operator placement, made small: interchangeable operators share their variables.

A relaxation has a solution that treats interchangeable operators alike, being convex, so one of each class is enough.
Streams to pinned operators need no variables, and streams between others only for pairs of nodes near each other.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.placement.heuristics.terrain import Bools, Terrain
from penstock.placement.instance import Floats, Ints

_NEAREST = 24


def relaxed_shares(terrain: Terrain, time_limit_s: float) -> Floats | None:
    """The share of every operator (row) that the relaxation puts on every node; None if it was not solved in time."""
    import scipy.optimize

    programme = _Relaxation(terrain)
    programme.add_streams()
    programme.add_capacities()
    programme.add_paths()
    equal, equal_to = programme.equal.matrix(programme.size)
    above, above_to = programme.at_most.matrix(programme.size)
    options = {"time_limit": time_limit_s}
    cost = np.concatenate(programme.cost)
    solve: Any = scipy.optimize.linprog
    found = solve(cost, above, above_to, equal, equal_to, (0, None), method="highs", options=options)
    return programme.shares(found.x) if found.x is not None else None


class _Rows:
    """Rows of a linear programme."""

    def __init__(self) -> None:
        self.parts: list[tuple[Ints, Floats]] = []
        self.right: list[float] = []

    def add(self, columns: Ints, values: Floats | float, right: float) -> None:
        self.parts.append((columns, np.broadcast_to(np.asarray(values, dtype=float), columns.shape)))
        self.right.append(right)

    def matrix(self, size: int) -> tuple[Any, Any]:
        """The rows as a sparse matrix of `size` columns, and their right-hand sides."""
        from scipy.sparse import csr_array

        if not self.parts:
            return None, None
        rows = np.repeat(np.arange(len(self.parts)), [len(columns) for columns, _ in self.parts])
        columns = np.concatenate([columns for columns, _ in self.parts])
        values = np.concatenate([values for _, values in self.parts])
        return csr_array((values, (rows, columns)), shape=(len(self.parts), size)), np.array(self.right)


class _Relaxation:
    """Variables and rows, for one operator of each class."""

    def __init__(self, terrain: Terrain) -> None:
        self.terrain = terrain
        self.equal, self.at_most = _Rows(), _Rows()
        self.cost: list[Floats] = []
        self.size = 0
        members: dict[int, list[int]] = {}
        for operator, index in enumerate(terrain.classes.tolist()):
            members.setdefault(index, []).append(operator)
        self.members = {operators[0]: operators for operators in members.values()}
        self.nodes = {one: terrain.instance.candidates[one] for one in self.members}
        self.x: dict[int, Ints] = {}
        for one, operators in self.members.items():
            self.x[one] = self._variables(len(operators) * terrain.node[one, self.nodes[one]])
            self.equal.add(self.x[one], 1.0, 1.0)
        self.pairs: dict[tuple[int, int], tuple[Ints, Ints, Ints]] = {}

    def _variables(self, cost: Floats) -> Ints:
        self.cost.append(np.asarray(cost, dtype=float))
        self.size += len(cost)
        return np.arange(self.size - len(cost), self.size)

    def _joined(self) -> Iterator[tuple[int, int]]:
        """The classes between which there are streams, by the first operator of each."""
        first = {operator: one for one, operators in self.members.items() for operator in operators}
        instance = self.terrain.instance
        ends = {(first[int(i)], first[int(j)]) for i, j in zip(instance.tails, instance.heads, strict=True)}
        return iter(sorted(ends))

    def add_streams(self) -> None:
        """A variable for every pair of nodes of a stream, tied to where its ends are."""
        near = _near(self.terrain.instance.delay_ms)
        for tail, head in self._joined():
            tail_at, head_at = self.nodes[tail], self.nodes[head]
            allowed = near[np.ix_(tail_at, head_at)] | (len(tail_at) == 1) | (len(head_at) == 1)
            from_, to = np.nonzero(allowed)
            streams = len(self.members[tail]) * len(self.members[head])
            cost = sum(
                streams * sends[tail, head] * kind.matrix[tail_at[from_], head_at[to]]
                for kind, (sends, _) in zip(self.terrain.stream_costs, self.terrain.weights, strict=True)
            )
            y = self._variables(np.broadcast_to(cost, from_.shape))
            self.pairs[tail, head] = y, tail_at[from_], head_at[to]
            self._tie(y, from_, self.x[tail])
            self._tie(y, to, self.x[head])

    def _tie(self, y: Ints, at: Ints, x: Ints) -> None:
        for position, variable in enumerate(x.tolist()):
            columns = y[at == position]
            self.equal.add(np.append(columns, variable), np.append(np.ones(len(columns)), -1.0), 0.0)

    def add_capacities(self) -> None:
        """What runs on a node fits."""
        instance = self.terrain.instance
        for node in range(instance.nodes):
            columns, values = [], []
            for one, operators in self.members.items():
                here = self.x[one][self.nodes[one] == node]
                columns.extend(here.tolist())
                values.extend([float(len(operators) * instance.demand[one])] * len(here))
            if columns:
                scale = max(1.0, float(instance.demand.max()))
                self.at_most.add(np.array(columns), np.array(values) / scale, float(instance.capacity[node]) / scale)

    def add_paths(self) -> None:
        """The longest path, from the times at which operators are reached."""
        terrain = self.terrain
        if not terrain.per_ms:
            return
        longest = self._variables(np.array([terrain.per_ms]))
        reached = {one: self._variables(np.zeros(1)) for one in self.members}
        own = {one: terrain.costs.execution_ms[one, self.nodes[one]] for one in self.members}
        for one, x in self.x.items():
            self.at_most.add(np.concatenate([reached[one], x, longest]), np.concatenate([[1.0], own[one], [-1.0]]), 0.0)
        for (tail, head), (y, from_, to) in self.pairs.items():
            columns = np.concatenate([reached[tail], self.x[tail], y, reached[head]])
            delays = terrain.instance.delay_ms[from_, to]
            self.at_most.add(columns, np.concatenate([[1.0], own[tail], delays, [-1.0]]), 0.0)

    def shares(self, solution: Floats) -> Floats:
        """The shares of all operators."""
        shares = np.zeros((self.terrain.instance.operators, self.terrain.instance.nodes))
        for one, operators in self.members.items():
            for operator in operators:
                shares[operator, self.nodes[one]] = solution[self.x[one]]
        return shares


def _near(delay_ms: Floats) -> Bools:
    """For every node the nodes nearest to it, and those to which it is one of the nearest."""
    near = np.zeros(delay_ms.shape, dtype=bool)
    nearest = np.argsort(delay_ms, axis=1, kind="stable")[:, :_NEAREST]
    np.put_along_axis(near, nearest, True, axis=1)
    return np.asarray(near | near.T | np.eye(len(near), dtype=bool))
