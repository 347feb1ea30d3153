"""Hierarchical ODP (thesis, algorithm 1): from a few virtual data centres down to the nodes of those in use."""

import math
from dataclasses import dataclass, replace

import numpy as np

from penstock.placement.heuristics.judge import is_hopeless
from penstock.placement.heuristics.penalty import link_penalty
from penstock.placement.heuristics.subproblem import restricted, solved_exactly
from penstock.placement.instance import Floats, Ints, instance_of
from penstock.placement.objective import normalisation_of
from penstock.placement.problem import Network, Node, Operator, Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer, Result, Status

_GROUPING = 2
_METHOD = "exact solver down a hierarchy"
_LEVEL_LIMIT_S = 2.0
"""A level above the nodes only says where to look closer: what is found in this time will do."""


@dataclass(frozen=True, eq=False)
class Level:
    """The infrastructure at one level; `group[u]` is the data centre of the level above that holds node u of this."""

    problem: Problem
    group: Ints | None


def solve_hierarchical(problem: Problem, budget: Budget) -> Answer:
    """Solve the problem on data centres, then on what is inside those that are used, and so on down to the nodes."""
    if is_hopeless(instance_of(problem)):
        return Answer(infeasible=True)
    levels = hierarchy(problem, np.random.default_rng(budget.seed))
    used: Ints | None = None
    for level in levels:
        everything = np.arange(len(level.problem.nodes))
        inside = everything if used is None or level.group is None else np.flatnonzero(np.isin(level.group, used))
        limit_s = budget.left_s if level is levels[-1] else _LEVEL_LIMIT_S
        result = _solved(level.problem, inside, budget, limit_s)
        if level is levels[-1]:
            return Answer(result.placement, infeasible=result.status is Status.INFEASIBLE, method=_METHOD)
        used = everything if result.placement is None else _used(level.problem, result)
    return Answer(method=_METHOD)


def _solved(problem: Problem, inside: Ints, budget: Budget, limit_s: float) -> Result:
    """The problem on the nodes `inside`; on all of them if these do not do."""
    part = restricted(problem, inside)
    if part is not None:
        result = solved_exactly(part, budget, limit_s)
        if result.placement is not None or len(inside) == len(problem.nodes):
            return result
    return solved_exactly(problem, budget, limit_s)


def _used(problem: Problem, result: Result) -> Ints:
    names = {node for nodes in (result.placement or {}).values() for node in nodes}
    return np.array(sorted(problem.node_index[name] for name in names), dtype=np.int64)


def hierarchy(problem: Problem, rng: np.random.Generator) -> list[Level]:
    """The levels from two data centres down to the nodes of `problem`, each with about half as many as the next."""
    height = round(math.log(len(problem.nodes), _GROUPING)) - 1 if len(problem.nodes) > 1 else 0
    levels: list[Level] = []
    below = replace(problem, normalisation=normalisation_of(problem), availability_model=problem.available_by)
    for level in range(height, 0, -1):
        count = _GROUPING**level
        if count >= len(below.nodes):
            continue
        group = clusters(link_penalty(below), count, rng)
        levels.append(Level(below, group))
        below = _data_centres(below, group)
    levels.append(Level(below, None))
    return levels[::-1]


def clusters(penalty: Floats, count: int, rng: np.random.Generator) -> Ints:
    """The cluster of every node: k-means with nodes as centres, so that penalties within clusters are small."""
    distance = 0.5 * (penalty + penalty.T)
    centres = [int(rng.integers(len(distance)))]
    while len(centres) < count:
        nearest = distance[:, centres].min(axis=1)
        nearest[centres] = -1.0
        centres.append(int(np.argmax(nearest)))
    group = np.zeros(len(distance), dtype=np.int64)
    for _ in range(50):
        group = np.argmin(distance[:, centres], axis=1)
        group[centres] = np.arange(count)
        better = [_middle(distance, np.flatnonzero(group == index)) for index in range(count)]
        if better == centres:
            break
        centres = better
    return group


def _middle(distance: Floats, members: Ints) -> int:
    return int(members[np.argmin(distance[np.ix_(members, members)].sum(axis=1))])


def _data_centres(problem: Problem, group: Ints) -> Problem:
    """The problem on data centres: resources add up, speed-up, availability, delays and prices are means."""
    count = int(group.max()) + 1
    share = np.zeros((count, len(group)))
    share[group, np.arange(len(group))] = 1.0
    share /= share.sum(axis=1, keepdims=True)
    members = [[problem.nodes[u] for u in np.flatnonzero(group == index)] for index in range(count)]
    centre = {node.name: f"centre {index}" for index, nodes in enumerate(members) for node in nodes}
    network = problem.network
    return replace(
        problem,
        operators=tuple(_on_centres(operator, centre) for operator in problem.operators),
        nodes=tuple(_centre(f"centre {index}", nodes) for index, nodes in enumerate(members)),
        network=Network(
            _mean(network.delay_ms, share, 0.0),
            # A mean of ones may be above one by rounding.
            None if network.availability is None else np.minimum(_mean(network.availability, share, 1.0), 1.0),
            None,
            None if network.cost is None else _mean(network.cost, share, 0.0),
        ),
    )


def _centre(name: str, nodes: list[Node]) -> Node:
    return Node(
        name,
        sum(node.resources for node in nodes),
        sum(node.speedup for node in nodes) / len(nodes),
        sum(node.availability for node in nodes) / len(nodes),
    )


def _on_centres(operator: Operator, centre: dict[str, str]) -> Operator:
    if operator.candidates is None:
        return operator
    return replace(operator, candidates=tuple(sorted({centre[name] for name in operator.candidates})))


def _mean(matrix: Floats, share: Floats, diagonal: float) -> Floats:
    mean = np.asarray(share @ matrix @ share.T)
    np.fill_diagonal(mean, diagonal)
    return mean
