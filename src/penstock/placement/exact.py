"""The exact solver: the best method for the shape of the problem."""

from penstock.placement.chain import fits_chain, solve_chain
from penstock.placement.costs import is_separable
from penstock.placement.counts_solver import solve_counts
from penstock.placement.diamond import fits_diamond, solve_diamond
from penstock.placement.independent import fits_independent, solve_independent
from penstock.placement.layers import fits_layers, solve_layers
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer

_SHAPES = (
    (fits_independent, solve_independent),
    (fits_chain, solve_chain),
    (fits_diamond, solve_diamond),
    (fits_layers, solve_layers),
)


def solve_exact(problem: Problem, budget: Budget) -> Answer:
    """The best placement, proven, or the best that was found in the time, with a bound.

    Operators that do not matter to one another (such as a diamond's between pinned ends), chains, diamonds and full
    layers have methods of their own, if nothing but capacities limits the placement. Everything else is solved by
    numbers of replicas.
    """
    if is_separable(problem):
        for fits, solve in _SHAPES:
            if fits(problem):
                return solve(problem, budget)
    return solve_counts(problem, budget)
