"""The objective around one placement, kept up to date move by move: what every single move would change.

Works on the separable parts of the objective and on the critical path, for problems where these are all there is.
A step costs a few array operations on a table of operators and nodes, whatever number of moves it compares.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from penstock.placement.costs import Costs, costs_of
from penstock.placement.instance import Floats, Instance, Ints
from penstock.placement.problem import Problem

_TIE_BREAK = 0.01
"""How much the mean delay of a stream counts beside the longest path, so that there is a slope on plateaus."""


@dataclass(frozen=True, eq=False)
class Terrain:
    """What does not change with the placement.

    `weights[i, j]` is what multiplies row `j` of the neighbours' costs; `links` holds those rows for every node, first
    as seen by the tail of a stream, then as seen by its head, for each kind of cost in turn.
    """

    costs: Costs
    weights: Floats
    links: Floats
    kinds: int
    neighbours: tuple[Ints, ...]
    before: "NeighbourSets"
    after: "NeighbourSets"
    rank: Ints
    spans: tuple[Ints, Ints]

    @property
    def instance(self) -> Instance:
        """The arrays of the problem."""
        return self.costs.instance


@dataclass(frozen=True, eq=False)
class NeighbourSets:
    """The distinct sets of operators before (or after) an operator; `of[i]` is the set of operator i, -1 for none."""

    members: tuple[tuple[int, ...], ...]
    of: Ints
    flat: Ints = field(init=False)
    starts: Ints = field(init=False)

    def __post_init__(self) -> None:
        sizes = [len(members) for members in self.members]
        object.__setattr__(self, "flat", np.array([m for members in self.members for m in members], dtype=np.int64))
        object.__setattr__(self, "starts", np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64))


@lru_cache(maxsize=8)
def terrain_of(problem: Problem) -> Terrain:
    """The terrain of `problem`, made once."""
    costs = costs_of(problem)
    instance = costs.instance
    kinds = _kinds(costs)
    size = instance.operators
    weights = np.zeros((size, 2 * size * len(kinds)))
    for kind, (factors, _) in enumerate(kinds):
        offset = 2 * size * kind
        np.add.at(weights, (instance.tails, offset + instance.heads), factors)
        np.add.at(weights, (instance.heads, offset + size + instance.tails), factors)
    links = np.concatenate([part for _, matrix in kinds for part in (matrix.T, matrix)])
    rank = np.empty(size, dtype=np.int64)
    rank[list(problem.order)] = np.arange(size)
    return Terrain(
        costs,
        weights,
        links,
        len(kinds),
        tuple(_neighbours(instance, operator) for operator in range(size)),
        _sets([tuple(sorted({int(instance.tails[s]) for s in streams})) for streams in instance.incoming]),
        _sets([tuple(sorted({int(instance.heads[s]) for s in streams})) for streams in instance.outgoing]),
        rank,
        _spans(instance, rank),
    )


def _kinds(costs: Costs) -> list[tuple[Floats, Floats]]:
    """A factor for every stream and a matrix over links, for each kind of cost that a stream has."""
    instance = costs.instance
    kinds = [(instance.volume, costs.volume_cost)]
    if costs.rate_cost is not None:
        kinds.append((instance.rate, costs.rate_cost))
    if costs.fixed_cost is not None:
        kinds.append((np.ones(instance.streams), costs.fixed_cost))
    if costs.per_ms and instance.streams:
        slope = _TIE_BREAK * costs.per_ms / instance.streams
        kinds.append((np.full(instance.streams, slope), instance.delay_ms))
    return [(factors, matrix) for factors, matrix in kinds if matrix.any() and factors.any()] or kinds[:1]


def _neighbours(instance: Instance, operator: int) -> Ints:
    streams = [*instance.outgoing[operator], *instance.incoming[operator]]
    ends = {int(instance.tails[s]) for s in streams} | {int(instance.heads[s]) for s in streams}
    return np.array(sorted(ends - {operator}), dtype=np.int64)


def _sets(neighbours: list[tuple[int, ...]]) -> NeighbourSets:
    distinct = sorted({members for members in neighbours if members})
    index = {members: position for position, members in enumerate(distinct)}
    return NeighbourSets(tuple(distinct), np.array([index.get(members, -1) for members in neighbours], dtype=np.int64))


def _spans(instance: Instance, rank: Ints) -> tuple[Ints, Ints]:
    """The ranks between which every stream leaps; paths begin before the first operator and end after the last."""
    sources = [rank[o] for o in range(instance.operators) if not instance.incoming[o]]
    sinks = [rank[o] for o in range(instance.operators) if not instance.outgoing[o]]
    begins = np.concatenate([rank[instance.tails], np.full(len(sources), -1), sinks]).astype(np.int64)
    ends = np.concatenate([rank[instance.heads], sources, np.full(len(sinks), instance.operators)]).astype(np.int64)
    return begins, ends
