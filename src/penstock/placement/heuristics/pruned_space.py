"""ODP on a Pruned Space (thesis, algorithm 2): the exact solver on ever larger sets of nodes around the pinned ones."""

from collections.abc import Iterator

import numpy as np

from penstock.placement.heuristics.judge import is_hopeless
from penstock.placement.heuristics.penalty import anchors, link_penalty
from penstock.placement.heuristics.subproblem import restricted, solved_exactly
from penstock.placement.instance import Floats, Ints, instance_of
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer, Status

_METHOD = "exact solver on a pruned space"


def solve_pruned_space(problem: Problem, budget: Budget) -> Answer:
    """Solve the problem on the smallest set of nodes around the pinned operators that has a solution."""
    instance = instance_of(problem)
    if is_hopeless(instance):
        return Answer(infeasible=True)
    for nodes in nested_sets(link_penalty(problem), anchors(instance)):
        part = restricted(problem, nodes)
        if part is None:
            continue
        result = solved_exactly(part, budget, budget.left_s)
        if result.placement is not None:
            return Answer(result.placement, method=f"{_METHOD} of {len(nodes)} nodes")
        if len(nodes) == instance.nodes and result.status is Status.INFEASIBLE:
            return Answer(infeasible=True, method=_METHOD)
        if budget.is_over:
            break
    return Answer(method=_METHOD)


def nested_sets(penalty: Floats, inside: Ints) -> Iterator[Ints]:
    """Sets of nodes that hold the nodes `inside`, each about twice as large as the one before; the last holds all.

    Nodes come in pairs, formed so that penalties within pairs are small. A set grows by the pair that adds least to the
    penalties between its members. Of the tree of all such sets only those are made that hold the nodes `inside`.
    """
    both = penalty + penalty.T
    pair_of = _paired(both)
    pairs = int(pair_of.max()) + 1
    within = np.bincount(pair_of, weights=(both * (pair_of[:, None] == pair_of)).sum(axis=1)) / 2
    members = np.isin(pair_of, pair_of[inside])
    waiting = np.isin(np.arange(pairs), pair_of[inside], invert=True)
    yield np.flatnonzero(members)
    size = int(members.sum())
    while waiting.any():
        size = min(2 * size, len(penalty))
        while members.sum() < size:
            added = within + np.bincount(pair_of, weights=both[:, members].sum(axis=1))
            chosen = int(np.argmin(np.where(waiting, added, np.inf)))
            members |= pair_of == chosen
            waiting[chosen] = False
        yield np.flatnonzero(members)


def _paired(penalty: Floats) -> Ints:
    """The pair of every node, pairs with the least penalty being formed first; an odd node is one by itself."""
    one, other = np.triu_indices(len(penalty), 1)
    order = np.argsort(penalty[one, other], kind="stable")
    pair_of = np.full(len(penalty), -1, dtype=np.int64)
    count = 0
    for first, second in zip(one[order].tolist(), other[order].tolist(), strict=True):
        if pair_of[first] < 0 and pair_of[second] < 0:
            pair_of[[first, second]] = count
            count += 1
    pair_of[pair_of < 0] = count
    return pair_of
