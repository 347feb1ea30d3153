"""What a search over placements needs of a problem and what no placement changes."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.placement.costs import Costs, costs_of
from penstock.placement.instance import Floats, Instance, Ints
from penstock.placement.problem import Problem
from penstock.placement.structure import chain_of

Bools = NDArray[np.bool_]

_TIE_BREAK = 0.3
"""How much the mean delay of a stream counts beside the longest path, so that plateaus have a slope."""


@dataclass(frozen=True, eq=False)
class NeighbourSets:
    """The distinct sets of operators right before (or right after) an operator.

    `of[i]` is the set of operator i, -1 for none; `flat` holds the members of all sets, set k from `starts[k]` on.
    """

    members: tuple[tuple[int, ...], ...]
    of: Ints
    flat: Ints
    starts: Ints

    @classmethod
    def among(cls, neighbours: list[tuple[int, ...]]) -> "NeighbourSets":
        """The distinct ones among the neighbours of every operator."""
        distinct = tuple(sorted({members for members in neighbours if members}))
        index = {members: position for position, members in enumerate(distinct)}
        sizes = [len(members) for members in distinct]
        return cls(
            distinct,
            np.array([index.get(members, -1) for members in neighbours], dtype=np.int64),
            np.array([member for members in distinct for member in members], dtype=np.int64),
            np.cumsum([0, *sizes], dtype=np.int64)[:-1],
        )


@dataclass(frozen=True, eq=False)
class StreamCost:
    """One kind of cost that streams have: a factor for every stream times a matrix over links."""

    factors: Floats
    matrix: Floats


@dataclass(frozen=True, eq=False)
class Terrain:
    """The parts of a separable objective, arranged for searching.

    What is minimised is `node[i, u]` for every operator i on its node u, plus the costs of all streams, plus `per_ms`
    times the longest path: the objective without its constant, to which a small share of the mean delay is added if
    `per_ms` is not 0.
    """

    costs: Costs
    node: Floats
    per_ms: float
    stream_costs: tuple[StreamCost, ...]
    before: NeighbourSets
    after: NeighbourSets

    @property
    def instance(self) -> Instance:
        """The arrays of the problem."""
        return self.costs.instance

    @cached_property
    def free(self) -> Ints:
        """The operators that are not pinned, every one after those that feed it."""
        order = self.instance.problem.order
        return np.array([operator for operator in order if self.instance.pinned(operator) is None], dtype=np.int64)

    @cached_property
    def rank(self) -> Ints:
        """The position of every operator in the order in which they feed each other."""
        rank = np.empty(self.instance.operators, dtype=np.int64)
        rank[list(self.instance.problem.order)] = np.arange(self.instance.operators)
        return rank

    @cached_property
    def leaps(self) -> tuple[Ints, Ints]:
        """The ranks that every stream joins, then those of paths' beginnings (from -1) and ends (to the number)."""
        instance, rank = self.instance, self.rank
        sources, sinks = rank[self.sources], rank[self.sinks]
        return (
            np.concatenate([rank[instance.tails], np.full(len(sources), -1), sinks]),
            np.concatenate([rank[instance.heads], sources, np.full(len(sinks), instance.operators)]),
        )

    @cached_property
    def sources(self) -> Ints:
        """Operators that nothing feeds."""
        return np.flatnonzero(self.before.of < 0)

    @cached_property
    def sinks(self) -> Ints:
        """Operators that feed nothing."""
        return np.flatnonzero(self.after.of < 0)

    @cached_property
    def classes(self) -> Ints:
        """The class of every operator: equal neighbours, rates, demand and costs."""
        keys: dict[bytes, int] = {}
        parts = [self.node, self.instance.demand[:, None], *(part for pair in self.weights for part in pair)]
        if self.per_ms:
            parts.append(self.costs.execution_ms)
        table = np.concatenate([part.astype(float) for part in parts], axis=1)
        return np.array([keys.setdefault(row.tobytes(), len(keys)) for row in table], dtype=np.int64)

    @cached_property
    def weights(self) -> tuple[tuple[Floats, Floats], ...]:
        """For every kind of cost what operator i (row) sends to j (column), and what it gets from j."""
        instance, size = self.instance, self.instance.operators
        pairs = []
        for cost in self.stream_costs:
            sends = np.zeros((size, size))
            np.add.at(sends, (instance.tails, instance.heads), cost.factors)
            pairs.append((sends, sends.T.copy()))
        return tuple(pairs)

    @cached_property
    def neighbours(self) -> tuple[Ints, ...]:
        """The operators that are joined to every operator by streams."""
        joined = np.zeros((self.instance.operators,) * 2, dtype=bool)
        joined[self.instance.tails, self.instance.heads] = True
        return tuple(np.flatnonzero(row) for row in joined | joined.T)

    @cached_property
    def blocks(self) -> tuple[tuple[Ints, Ints, Ints], ...]:
        """Operators that have the same operators before them: those before, they, and the streams between them.

        In an order in which everything before is known when a block comes up.
        """
        instance = self.instance
        streams = {(int(i), int(j)): s for s, (i, j) in enumerate(zip(instance.tails, instance.heads, strict=True))}
        seen: dict[int, tuple[Ints, Ints, Ints]] = {}
        for operator in instance.problem.order:
            index = int(self.before.of[operator])
            if index < 0 or index in seen:
                continue
            tails, heads = self.before.members[index], np.flatnonzero(self.before.of == index)
            between = np.array([streams[tail, head] for tail in tails for head in heads.tolist()], dtype=np.int64)
            seen[index] = np.array(tails, dtype=np.int64), heads, between
        return tuple(seen.values())

    def values(self, assignments: Ints) -> Floats:
        """What is minimised, for every row of `assignments`."""
        instance = self.instance
        places = np.ascontiguousarray(assignments.T)
        total = self.node[np.arange(instance.operators)[:, None], places].sum(axis=0)
        links = places[instance.tails] * instance.nodes + places[instance.heads]
        delays = np.take(instance.delay_ms, links)
        for cost in self.stream_costs:
            total += cost.factors @ (delays if cost.matrix is instance.delay_ms else np.take(cost.matrix, links))
        if self.per_ms:
            total += self.per_ms * self._latest_ms(places, delays)
        return np.asarray(total)

    def _latest_ms(self, places: Ints, delays: Floats) -> Floats:
        """The critical path of every column."""
        done = self.costs.execution_ms[np.arange(self.instance.operators)[:, None], places]
        for tails, heads, streams in self.blocks:
            if len(tails) == len(heads) == 1:
                done[heads[0]] += done[tails[0]] + delays[streams[0]]
                continue
            arriving = delays[streams].reshape(len(tails), len(heads), -1) + done[tails][:, None, :]
            done[heads] += arriving.max(axis=0)
        return np.asarray(done.max(axis=0))

    def keep(self, assignments: Ints) -> Bools:
        """Whether every row keeps to capacities and candidates."""
        allowed = np.isfinite(self.node[np.arange(self.instance.operators), assignments]).all(axis=1)
        return np.asarray(allowed & self._fit(assignments))

    def _fit(self, assignments: Ints) -> Bools:
        """Whether every row gives no node more than it can take."""
        instance, rows = self.instance, len(assignments)
        keys = assignments + (np.arange(rows) * instance.nodes)[:, None]
        demand = np.broadcast_to(instance.demand, assignments.shape)
        used = np.bincount(keys.ravel(), weights=demand.ravel(), minlength=rows * instance.nodes)
        return np.asarray((used.reshape(rows, -1) <= instance.capacity).all(axis=1))


@lru_cache(maxsize=8)
def terrain_of(problem: Problem) -> Terrain:
    """The terrain of `problem`, whose objective must be separable; made once."""
    costs = costs_of(problem)
    instance = costs.instance
    before = [tuple(sorted({int(instance.tails[s]) for s in streams})) for streams in instance.incoming]
    after = [tuple(sorted({int(instance.heads[s]) for s in streams})) for streams in instance.outgoing]
    # In a chain everything is on the only path, so that its length falls into parts too.
    in_parts = chain_of(instance) is not None
    return Terrain(
        costs,
        costs.node + costs.per_ms * costs.execution_ms if in_parts else costs.node,
        0.0 if in_parts else costs.per_ms,
        stream_costs(costs, costs.per_ms * (1.0 if in_parts else _TIE_BREAK / max(1, instance.streams))),
        NeighbourSets.among(before),
        NeighbourSets.among(after),
    )


def stream_costs(costs: Costs, per_ms: float) -> tuple[StreamCost, ...]:
    """All kinds of costs that there are, with `per_ms` for the delay of a stream."""
    instance = costs.instance
    kinds = [
        StreamCost(instance.volume, costs.volume_cost),
        StreamCost(np.full(instance.streams, per_ms), instance.delay_ms),
    ]
    if costs.rate_cost is not None:
        kinds.append(StreamCost(instance.rate, costs.rate_cost))
    if costs.fixed_cost is not None:
        kinds.append(StreamCost(np.ones(instance.streams), costs.fixed_cost))
    distinct: list[StreamCost] = []
    for kind in kinds:
        if not (kind.matrix.any() and kind.factors.any()):
            continue
        if distinct and (scale := _ratio(kind.matrix, distinct[-1].matrix)) is not None:
            distinct[-1] = StreamCost(distinct[-1].factors + scale * kind.factors, distinct[-1].matrix)
        else:
            distinct.append(kind)
    return tuple(distinct)


def _ratio(matrix: Floats, other: Floats) -> float | None:
    """By what one matrix is a multiple of the other, None if it is not."""
    scale = float(matrix.max() / other.max())
    return scale if np.allclose(matrix, scale * other, rtol=1e-12, atol=0.0) else None
