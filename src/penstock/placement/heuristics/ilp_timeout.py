"""ODP+T of the thesis (section 5.6.1): the integer programme, and what it has found when its time is up."""

from penstock.placement.problem import Problem
from penstock.placement.registry import Budget, solver
from penstock.placement.result import Answer, Status

_TIMEOUT_S = 300.0


def solve_ilp_timeout(problem: Problem, budget: Budget) -> Answer:
    """The best placement that `ilp` finds within 300 s or within the time limit, whichever is shorter."""
    result = solver("ilp").solve(problem, max(0.01, min(budget.left_s, _TIMEOUT_S)), budget.seed)
    return Answer(result.placement, result.bound, result.status is Status.INFEASIBLE, "ilp with a timeout")
