"""What a solver returns: a placement that the evaluator has checked, and how good it is known to be."""

from dataclasses import dataclass
from enum import StrEnum

from penstock.errors import PenstockError
from penstock.placement.evaluator import TOLERANCE, Evaluation, evaluate
from penstock.placement.problem import Placement, Problem


class Status(StrEnum):
    """How the search ended."""

    OPTIMAL = "optimal"
    """No placement has an objective lower by more than 1e-6 (or by a millionth, if it is above 1): proven."""

    FEASIBLE = "feasible"
    """A placement that keeps all constraints; the gap says how far from the best it may be."""

    INFEASIBLE = "infeasible"
    """No placement keeps all constraints: proven."""

    TIMEOUT = "timeout"
    """The solver came to its limits without having found a placement or proven that there is none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a solver has to say: a placement if it found one, and what it has proven.

    `bound` is a number that no placement's objective is below, or None if nothing is known. A solver does not claim
    to be optimal: the status follows from its bound and from what the evaluator makes of its placement.
    """

    placement: Placement | None = None
    bound: float | None = None
    infeasible: bool = False
    method: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a search. `method` says how the solver went about it."""

    solver: str
    status: Status
    runtime_s: float
    placement: Placement | None = None
    evaluation: Evaluation | None = None
    bound: float | None = None
    method: str = ""

    @property
    def objective(self) -> float | None:
        """The objective of the placement, None without one."""
        return None if self.evaluation is None else self.evaluation.objective

    @property
    def gap(self) -> float | None:
        """How far the objective may be above the best, as a share of it; None if nothing is known."""
        if self.objective is None or self.bound is None:
            return None
        return max(0.0, self.objective - self.bound) / max(abs(self.objective), TOLERANCE)


class WrongAnswer(PenstockError):
    """A solver returned what breaks a constraint or contradicts its own bound: a mistake in the solver."""


def checked(problem: Problem, solver: str, answer: Answer, runtime_s: float) -> Result:
    """The result that `answer` amounts to, its placement evaluated; `WrongAnswer` if it cannot be right."""
    if answer.placement is None:
        status = Status.INFEASIBLE if answer.infeasible else Status.TIMEOUT
        return Result(
            solver, status, runtime_s, bound=None if answer.infeasible else answer.bound, method=answer.method
        )
    evaluation = evaluate(problem, answer.placement)
    if not evaluation.is_feasible:
        raise WrongAnswer(f"Solver '{solver}' broke a constraint: {evaluation.violations[0]}")
    bound, slack = answer.bound, TOLERANCE * max(1.0, abs(evaluation.objective))
    if bound is not None and bound > evaluation.objective + slack:
        raise WrongAnswer(
            f"Solver '{solver}' found {evaluation.objective:.9g}, below the bound {bound:.9g} that it had proven."
        )
    proven = bound is not None and evaluation.objective - bound <= slack
    bound = None if bound is None else min(bound, evaluation.objective)
    status = Status.OPTIMAL if proven else Status.FEASIBLE
    placement = {operator.name: tuple(sorted(answer.placement[operator.name])) for operator in problem.operators}
    return Result(solver, status, runtime_s, placement, evaluation, bound, answer.method)
