"""Relax, Expand and Solve ODP (thesis, algorithm 3): the exact solver on and around the nodes of a relaxation."""

import numpy as np

from penstock.placement.costs import is_separable
from penstock.placement.heuristics.greedy import greedy_start
from penstock.placement.heuristics.judge import is_hopeless
from penstock.placement.heuristics.penalty import anchors, link_penalty
from penstock.placement.heuristics.relaxation import relaxed_shares
from penstock.placement.heuristics.subproblem import restricted, solved_exactly
from penstock.placement.heuristics.terrain import terrain_of
from penstock.placement.instance import Floats, Ints, instance_of
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer, Status

_NEIGHBOURS = 5
_METHOD = "exact solver around a relaxation"


def solve_relax_expand_solve(problem: Problem, budget: Budget) -> Answer:
    """Solve the problem on the nodes that its relaxation uses and on some of their neighbours, drawn by lot.

    If that has no solution, more neighbours are added until all nodes are there.
    """
    instance = instance_of(problem)
    if is_hopeless(instance):
        return Answer(infeasible=True)
    rng = np.random.default_rng(budget.seed)
    nodes = _used_nodes(problem, budget, rng)
    while not budget.is_over:
        nodes = _expanded(nodes, link_penalty(problem), rng)
        part = restricted(problem, nodes)
        if part is not None:
            result = solved_exactly(part, budget, budget.left_s)
            if result.placement is not None:
                return Answer(result.placement, method=f"{_METHOD}, {len(nodes)} nodes")
            if len(nodes) == instance.nodes:
                return Answer(infeasible=result.status is Status.INFEASIBLE, method=_METHOD)
    return Answer(method=_METHOD)


def _used_nodes(problem: Problem, budget: Budget, rng: np.random.Generator) -> Ints:
    """For every operator one of the nodes on which the relaxation puts a share of it, each as likely as the other.

    Where parts of the objective or the constraints cannot be relaxed to a linear programme, where the operators are
    put by the greedy heuristic.
    """
    instance = instance_of(problem)
    shares = relaxed_shares(terrain_of(problem), budget.left_s) if is_separable(problem) else None
    if shares is None:
        return np.unique(np.concatenate([greedy_start(problem), anchors(instance)]))
    chosen = [int(rng.choice(np.flatnonzero(row > 1e-6 * row.max()))) for row in shares]
    return np.unique(np.array(chosen, dtype=np.int64))


def _expanded(nodes: Ints, penalty: Floats, rng: np.random.Generator) -> Ints:
    """The nodes and up to five more for each, the more likely the smaller their penalty."""
    chosen = set(nodes.tolist())
    for node in nodes.tolist():
        others = np.array([other for other in range(len(penalty)) if other not in chosen], dtype=np.int64)
        if not len(others):
            break
        distance = penalty[node, others] + penalty[others, node]
        likelihood = 1.0 / (1.0 + np.argsort(np.argsort(distance, kind="stable"), kind="stable"))
        count = min(_NEIGHBOURS, len(others))
        chosen.update(rng.choice(others, count, replace=False, p=likelihood / likelihood.sum()).tolist())
    return np.array(sorted(chosen), dtype=np.int64)
