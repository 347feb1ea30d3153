"""A number that no placement's objective is below, found without searching.

Every operator is looked at by itself, on every node:

- Its own costs, and those of its streams to pinned operators, are known. Of a stream between two operators that are not
  pinned each end pays half, and pays as if its neighbours had the slots nearest to its node, the largest streams the
  nearest ones (the bound of Gilmore and Lawler for quadratic assignment).
- A path through it is no shorter than if every operator before and after it, by itself, were where that is best.

Then all operators have to find slots: nodes have only so many, counted by the smallest demand. That is an assignment
problem, and whoever sits farthest out says how long the longest path is at least.
"""

import heapq
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from penstock.placement.costs import is_separable
from penstock.placement.heuristics.judge import is_hopeless
from penstock.placement.heuristics.terrain import NeighbourSets, Terrain, stream_costs, terrain_of
from penstock.placement.instance import Floats, Ints, instance_of
from penstock.placement.problem import Problem
from penstock.placement.structure import chain_of

_SLACK = 1e-9
_MOST_NUMBERS = 20_000_000


@dataclass(frozen=True, slots=True)
class Outlook:
    """A quick bound, and the nodes that the operators would have if all of them cost what the cheapest one does."""

    bound: float
    nodes: tuple[int, ...]


def lower_bound(problem: Problem) -> float | None:
    """A number that no placement's objective is below, or None if nothing is known about objectives of this kind.

    Takes a time that grows with the square of the nodes, and for chains in addition with their length.
    """
    outlook = outlook_of(problem)
    if outlook is None:
        return None
    terrain = terrain_of(problem)
    if not len(terrain.free):
        return outlook.bound
    slots = _slots(terrain)
    costs, known = _least_costs(terrain, slots)
    longest_ms = _farthest(_shortest_ms(problem), slots, len(costs))
    found = known + _assigned(costs, slots) + terrain.per_ms * longest_ms
    if chain_of(terrain.instance) is not None:
        found = max(found, _farthest(_least_chains(terrain), slots, len(costs)))
    return max(outlook.bound, terrain.costs.constant + found - _SLACK)


@lru_cache(maxsize=8)
def outlook_of(problem: Problem) -> Outlook | None:
    """A weaker bound without an assignment problem, None if nothing is known; made once."""
    if not is_separable(problem) or is_hopeless(instance_of(problem)):
        return None
    terrain = terrain_of(problem)
    if not len(terrain.free):
        pinned = np.array([candidates[0] for candidates in terrain.instance.candidates])
        return Outlook(terrain.costs.objective(pinned) - _SLACK, ())
    slots = _slots(terrain)
    costs, known = _least_costs(terrain, slots)
    least, nodes = swept(costs.min(axis=0), terrain.per_ms * _shortest_ms(problem), slots, len(costs))
    return Outlook(terrain.costs.constant + known + least - _SLACK, nodes)


def shortest_path_ms(problem: Problem) -> float:
    """What the longest path is at least, in any placement; 0 if nothing is known or paths are not looked at."""
    terrain = terrain_of(problem)
    if not terrain.per_ms or not len(terrain.free):
        return 0.0
    return _farthest(_shortest_ms(problem), _slots(terrain), len(terrain.free))


@lru_cache(maxsize=8)
def _shortest_ms(problem: Problem) -> Floats:
    """What the longest path is at least if any operator that is not pinned runs on a node, for every node."""
    terrain = terrain_of(problem)
    if not terrain.per_ms:
        return np.zeros(terrain.instance.nodes)
    return np.asarray(_least_paths_ms(terrain)[terrain.free].min(axis=0))


def _slots(terrain: Terrain) -> Ints:
    """How many operators that are not pinned every node could take at most."""
    instance, free = terrain.instance, terrain.free
    room = instance.capacity.copy()
    for operator in set(range(instance.operators)) - set(free.tolist()):
        room[instance.candidates[operator][0]] -= instance.demand[operator]
    smallest = int(instance.demand[free].min())
    most = len(free)
    return np.clip(room // smallest, 0, most) if smallest else np.full(instance.nodes, most)


def _least_costs(terrain: Terrain, slots: Ints) -> tuple[Floats, float]:
    """For every free operator (row) and node the least that it costs there, and the costs of what is pinned."""
    instance, free = terrain.instance, terrain.free
    fixed = np.setdiff1d(np.arange(instance.operators), free)
    place = np.array([instance.candidates[operator][0] for operator in fixed], dtype=np.int64)
    table = terrain.node[free].copy()
    known = float(terrain.node[fixed, place].sum())
    for cost in stream_costs(terrain.costs, 0.0) if terrain.per_ms else terrain.stream_costs:
        sends = np.zeros((instance.operators, instance.operators))
        np.add.at(sends, (instance.tails, instance.heads), cost.factors)
        known += float((sends[np.ix_(fixed, fixed)] * cost.matrix[np.ix_(place, place)]).sum())
        table += (
            sends[np.ix_(free, fixed)] @ cost.matrix[:, place].T + sends[np.ix_(fixed, free)].T @ cost.matrix[place]
        )
        among = sends[np.ix_(free, free)]
        if np.allclose(cost.matrix, cost.matrix.T):
            table += 0.5 * _nearest(cost.matrix, slots, among + among.T)
        else:
            table += 0.5 * (_nearest(cost.matrix, slots, among) + _nearest(cost.matrix.T, slots, among.T))
    return table, known


def _nearest(matrix: Floats, slots: Ints, weights: Floats) -> Floats:
    """For every operator and node the streams in its row of `weights` to the cheapest slots, largest to cheapest."""
    most = int((weights > 0).sum(axis=1).max())
    if not most:
        return np.zeros((len(weights), len(matrix)))
    others = np.repeat(slots[None, :], len(slots), axis=0)
    np.fill_diagonal(others, np.maximum(slots - 1, 0))
    order = np.argsort(matrix, axis=1, kind="stable")
    offered = np.take_along_axis(others, order, axis=1)
    offered[:, -1] += most
    taken = np.clip(most - (np.cumsum(offered, axis=1) - offered), 0, offered)
    nearest = np.repeat(np.take_along_axis(matrix, order, axis=1).ravel(), taken.ravel()).reshape(-1, most)
    largest = -np.sort(-weights, axis=1)[:, :most]
    return np.asarray(largest @ nearest.T)


def _least_paths_ms(terrain: Terrain) -> Floats:
    """For every operator and node the least length of the longest path through it there."""
    instance = terrain.instance
    own = np.where(np.isfinite(terrain.node), terrain.costs.execution_ms, np.inf)
    ending = _reached_ms(instance.problem.order, own, terrain.before, instance.delay_ms)
    beginning = _reached_ms(instance.problem.order[::-1], own, terrain.after, instance.delay_ms.T)
    return np.where(np.isfinite(own), ending + beginning - np.where(np.isfinite(own), own, 0.0), np.inf)


def _reached_ms(order: tuple[int, ...], own: Floats, sets: NeighbourSets, delay_ms: Floats) -> Floats:
    """The least length of the longest path that ends with each operator on each node."""
    length = own.copy()
    onward: dict[bytes, Floats] = {}
    for operator in order:
        index = int(sets.of[operator])
        if index < 0:
            continue
        latest = np.zeros(own.shape[1])
        for other in sets.members[index]:
            key = length[other].tobytes()
            if key not in onward:
                onward[key] = (length[other][:, None] + delay_ms).min(axis=0)
            latest = np.maximum(latest, onward[key])
        length[operator] += latest
    return length


def _least_chains(terrain: Terrain) -> Floats:
    """For every node what a chain costs at least if any operator that is not pinned runs there."""
    order = terrain.instance.problem.order
    ending = [terrain.node[order[0]]]
    for one, other in pairwise(order):
        ending.append(terrain.node[other] + (ending[-1][:, None] + _link_costs(terrain, one)).min(axis=0))
    beginning = [terrain.node[order[-1]]]
    for one, _ in list(pairwise(order))[::-1]:
        beginning.append(terrain.node[one] + (_link_costs(terrain, one) + beginning[-1][None, :]).min(axis=1))
    free = set(terrain.free.tolist())
    totals = [
        before + after - np.where(np.isfinite(terrain.node[one]), terrain.node[one], 0.0)
        for one, before, after in zip(order, ending, beginning[::-1], strict=True)
        if one in free
    ]
    return np.asarray(np.min(totals, axis=0))


def _link_costs(terrain: Terrain, operator: int) -> Floats:
    """What the only stream that leaves an operator costs on every link."""
    stream = terrain.instance.outgoing[operator][0]
    zero = np.zeros((terrain.instance.nodes, terrain.instance.nodes))
    return np.asarray(sum((kind.factors[stream] * kind.matrix for kind in terrain.stream_costs), start=zero))


def swept(
    cost: Floats, path_cost: Floats, slots: Ints, count: int, below: float = np.inf
) -> tuple[float, tuple[int, ...]]:
    """The least sum of the `count` cheapest slots and the largest path cost among their nodes, and their nodes.

    No nodes if there are not enough slots, or if no sum is below the limit.
    """
    best, total = below, 0.0
    nodes: tuple[int, ...] = ()
    taken: list[tuple[float, int]] = []
    for node in _worth_sweeping(cost, path_cost, slots, count, below):
        price = float(cost[node])
        for _ in range(int(slots[node])):
            if len(taken) < count:
                heapq.heappush(taken, (-price, node))
                total += price
            elif price < -taken[0][0]:
                total += price + heapq.heapreplace(taken, (-price, node))[0]
        if len(taken) == count and total + float(path_cost[node]) < best:
            best, nodes = total + float(path_cost[node]), tuple(sorted(where for _, where in taken))
    return (best, nodes) if nodes else (-np.inf, ())


def _worth_sweeping(cost: Floats, path_cost: Floats, slots: Ints, count: int, below: float) -> list[int]:
    """The nodes by their path cost, up to where that alone is more than any price could make good."""
    order = np.argsort(path_cost, kind="stable")
    order = order[np.isfinite(cost[order] + path_cost[order]) & (slots[order] > 0)]
    prices, paths = np.repeat(cost[order], slots[order]), np.repeat(path_cost[order], slots[order])
    if len(prices) < count or not count:
        return []
    least = float(np.partition(prices, count - 1)[:count].sum())
    if least + paths[count - 1] >= below:
        return []
    if paths[0] == paths[-1]:
        order = order[np.argsort(cost[order], kind="stable")]
        return [int(node) for node in order[: int(np.searchsorted(np.cumsum(slots[order]), count)) + 1]]
    most = min(below, float(prices[:count].sum() + paths[count - 1])) - least
    return [int(node) for node in order[path_cost[order] <= most + _SLACK]]


def _farthest(paths_ms: Floats, slots: Ints, count: int) -> float:
    """The least that the longest path can be if `count` operators take the slots where paths are shortest."""
    order = np.argsort(paths_ms, kind="stable")
    enough = int(np.searchsorted(np.cumsum(slots[order]), count))
    return float(paths_ms[order[min(enough, len(order) - 1)]])


def _assigned(costs: Floats, slots: Ints) -> float:
    """The least sum if every operator takes a slot of its own."""
    if int(slots.sum()) * len(costs) > _MOST_NUMBERS:
        return float(costs.min(axis=1).sum())
    from scipy.optimize import linear_sum_assignment

    table = np.repeat(costs, slots, axis=1)
    out_of_reach = float(np.where(np.isfinite(table), np.abs(table), 0.0).sum()) + 1.0
    rows, columns = linear_sum_assignment(np.where(np.isfinite(table), table, out_of_reach))
    return float(table[rows, columns].sum())
