"""ODP+T of the thesis (section 5.6.1): the integer programme, and what it has found when its time is up."""

from dataclasses import replace

from penstock.placement.heuristics.greedy import greedy_start
from penstock.placement.heuristics.judge import judged
from penstock.placement.ilp import solve_ilp_with
from penstock.placement.milp import solve_apart
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer

_METHOD = "ilp with a timeout"
_TIMEOUT_S = 300.0


def solve_ilp_timeout(problem: Problem, budget: Budget) -> Answer:
    """The best placement that `ilp` finds within 300 s or within the time limit, whichever is shorter.

    The programme is that of `ilp`, but it starts from the placement of Greedy First-fit, if that keeps the
    constraints, so the answer is not worse than that. The thesis says nothing of a start.
    """
    judge = judged(problem)
    if judge is None:
        return Answer(infeasible=True, method=_METHOD)
    start = greedy_start(problem)
    known = judge.answer(start, _METHOD)
    answer = solve_ilp_with(
        problem,
        lambda milp: solve_apart(milp, max(0.01, min(budget.left_s, _TIMEOUT_S)), budget.seed),
        None if known.placement is None else start,
    )
    placement = known.placement if answer.placement is None else answer.placement
    return replace(answer, placement=placement, method=_METHOD)
