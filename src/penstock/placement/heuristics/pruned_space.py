"""ODP on a Pruned Space (thesis, algorithm 2): the exact solver on ever larger sets of nodes around the pinned ones."""

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


def nested_sets(penalty: Floats, inside: Ints) -> list[Ints]:
    """The sets of a tree of nodes that hold more than the nodes `inside`, smallest first; the last holds all."""
    sets = [np.array([node]) for node in range(len(penalty))]
    found: list[Ints] = []
    while len(sets) > 1:
        sets = _joined(sets, penalty)
        found.extend(members for members in sets if np.isin(inside, members).all() and len(members) > len(inside))
    return found or [np.arange(len(penalty))]


def _joined(sets: list[Ints], penalty: Floats) -> list[Ints]:
    """The sets joined in pairs, those first that have the least penalties among their members; an odd one stays."""
    count = len(sets)
    member = np.zeros((count, len(penalty)))
    for index, members in enumerate(sets):
        member[index, members] = 1.0
    between = member @ (penalty + penalty.T) @ member.T
    inner = 0.5 * np.diagonal(between)
    one, other = np.triu_indices(count, 1)
    order = np.argsort(between[one, other] + inner[one] + inner[other], kind="stable")
    left = set(range(count))
    pairs = []
    for first, second in zip(one[order].tolist(), other[order].tolist(), strict=True):
        if first in left and second in left:
            pairs.append(np.sort(np.concatenate([sets[first], sets[second]])))
            left -= {first, second}
    return pairs + [sets[index] for index in sorted(left)]
