"""A problem on part of its nodes, with the same objective."""

from dataclasses import replace

import numpy as np

from penstock.placement.instance import Floats, Ints, instance_of
from penstock.placement.objective import normalisation_of
from penstock.placement.problem import Network, Operator, Problem
from penstock.placement.registry import Budget, solver
from penstock.placement.result import Result


def restricted(problem: Problem, nodes: Ints) -> Problem | None:
    """The problem on `nodes` alone, or None if they cannot do: too little room, or none for some operator.

    Its objectives are those of the whole problem.
    """
    instance, wanted = instance_of(problem), set(nodes.tolist())
    if int(instance.capacity[nodes].sum()) < int(instance.demand.sum()):
        return None
    if not all(wanted.intersection(candidates.tolist()) for candidates in instance.candidates):
        return None
    names = {problem.nodes[node].name for node in wanted}
    inside = np.array(sorted(wanted), dtype=np.int64)
    return replace(
        problem,
        operators=tuple(_within(operator, names) for operator in problem.operators),
        nodes=tuple(problem.nodes[node] for node in inside),
        network=_part(problem.network, inside),
        normalisation=normalisation_of(problem),
        availability_model=problem.available_by,
    )


def solved_exactly(problem: Problem, budget: Budget, limit_s: float) -> Result:
    """What the exact solver makes of a problem in what is left of the time, but no more than `limit_s`."""
    return solver("exact").solve(problem, max(0.01, min(budget.left_s, limit_s)), budget.seed)


def _within(operator: Operator, names: set[str]) -> Operator:
    if operator.candidates is None:
        return operator
    return replace(operator, candidates=tuple(name for name in operator.candidates if name in names))


def _part(network: Network, nodes: Ints) -> Network:
    def among(matrix: Floats | None) -> Floats | None:
        return None if matrix is None else matrix[np.ix_(nodes, nodes)]

    return Network(
        network.delay_ms[np.ix_(nodes, nodes)],
        among(network.availability),
        among(network.bandwidth_per_s),
        among(network.cost),
    )
