"""No placement heuristic is better than the best placement, nor than any bound that was proven."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.placement import Network, Node, Operator, Problem, Status, Stream, Weights, evaluate, solver
from penstock.placement.heuristics import HEURISTICS, lower_bound
from penstock.testing.problems import ProblemKind, random_problem
from penstock.testing.solvers import brute_force

# The integer programme starts a process for every problem; its own test is with the others of the heuristics.
NAMES = [info.name for info in HEURISTICS if info.name != "ilp-timeout"]


@lru_cache(maxsize=512)
def problem_of(seed: int, operators: int, nodes: int) -> Problem:
    """A random graph on random nodes: mixed demands, capacities, speeds, pins, weights and directed delays."""
    rng = np.random.default_rng(seed)
    delay = rng.uniform(1.0, 40.0, size=(nodes, nodes))
    np.fill_diagonal(delay, 0.0)
    names = [f"n{index}" for index in range(nodes)]
    pins = [(str(rng.choice(names)),) if rng.random() < 0.3 else None for _ in range(operators)]
    share = [float(weight) for weight in rng.dirichlet(np.ones(3))]
    return Problem(
        tuple(
            Operator(f"o{index}", float(rng.choice([0.5, 1.0])), float(rng.integers(1, 9)), pin)
            for index, pin in enumerate(pins)
        ),
        tuple(
            Stream(f"o{i}", f"o{j}", float(rng.integers(0, 50)))
            for i in range(operators)
            for j in range(i + 1, operators)
            if rng.random() < 0.5
        ),
        tuple(
            Node(name, float(rng.integers(1, 3)), float(rng.choice([0.5, 1.0, 2.0])), float(rng.uniform(0.9, 1.0)))
            for name in names
        ),
        Network(delay),
        Weights(*share),
    )


@lru_cache(maxsize=512)
def best_of(problem: Problem) -> float | None:
    return brute_force(problem)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), operators=st.integers(1, 5), nodes=st.integers(2, 4))
def test_no_heuristic_is_better_than_the_best(name: str, seed: int, operators: int, nodes: int) -> None:
    problem = problem_of(seed, operators, nodes)
    best, bound = best_of(problem), lower_bound(problem)
    result = solver(name).solve(problem)
    if best is None:
        assert result.placement is None
        return
    assert result.status is not Status.INFEASIBLE
    assert bound is None or bound <= best + 1e-6
    assert result.bound is None or result.bound <= best + 1e-6
    if result.placement is not None and result.objective is not None:
        assert result.objective >= best - 1e-6
        assert evaluate(problem, result.placement).is_feasible


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), operators=st.integers(4, 7), shape=st.sampled_from(("chain", "diamond", "layers")))
def test_searching_among_interchangeable_operators_is_sound(seed: int, operators: int, shape: str) -> None:
    problem = random_problem(seed, ProblemKind(operators=operators, nodes=4, shape=shape, alike=True))
    best, result = brute_force(problem), solver("iterated-local-search").solve(problem)
    if best is None:
        assert result.placement is None
        return
    assert result.bound is None or result.bound <= best + 1e-6
    assert result.objective is None or result.objective >= best - 1e-6
