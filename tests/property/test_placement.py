"""All exact solvers agree with one another and with brute force, on problems of any kind."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidModel
from penstock.placement import Answer, Budget, DowntimeModel, Problem, Status, solver
from penstock.placement.counts_solver import solve_counts
from penstock.placement.exact import solve_exact
from penstock.placement.ilp import solve_ilp_with
from penstock.placement.milp import solve_here
from penstock.placement.problem_file import parse_problem, problem_document
from penstock.placement.result import checked
from penstock.testing.problems import SHAPES, ProblemKind, random_problem
from penstock.testing.solvers import brute_force

TIME_LIMIT_S = 60.0
TOLERANCE = 1e-6

SOLVERS: dict[str, Callable[[Problem], Answer]] = {
    "exact": lambda problem: solve_exact(problem, Budget(TIME_LIMIT_S)),
    "counts": lambda problem: solve_counts(problem, Budget(TIME_LIMIT_S)),
    "ilp": lambda problem: solve_ilp_with(problem, lambda milp: solve_here(milp, TIME_LIMIT_S)),
}

DOWNTIME_MODELS = st.sampled_from((None, *DowntimeModel))
SEEDS = st.integers(0, 2**32)


def problems(kinds: st.SearchStrategy[ProblemKind]) -> st.SearchStrategy[Problem]:
    return st.builds(random_problem, SEEDS, kinds)


SINGLE = problems(
    st.builds(
        ProblemKind,
        operators=st.integers(1, 5),
        nodes=st.integers(1, 4),
        shape=st.sampled_from(SHAPES),
        changing=DOWNTIME_MODELS,
        limited=st.booleans(),
    )
)
ALIKE = problems(
    st.builds(
        ProblemKind,
        operators=st.integers(4, 7),
        nodes=st.integers(2, 4),
        shape=st.sampled_from(("chain", "diamond", "layers")),
        alike=st.just(True),
    )
)
REPLICATED = problems(
    st.builds(
        ProblemKind,
        operators=st.integers(1, 3),
        nodes=st.integers(1, 3),
        shape=st.sampled_from(SHAPES),
        replicas=st.integers(2, 3),
        alike=st.booleans(),
        changing=DOWNTIME_MODELS,
        limited=st.booleans(),
    )
)


def loose_diamond(problem: Problem, resources: float, pinned_ends: int) -> Problem:
    """The same diamond, the operators between its ends as large as one another, and at most so many ends pinned."""
    last = len(problem.operators) - 1
    operators = [
        replace(
            operator,
            resources=operator.resources if index in (0, last) else resources,
            candidates=None if index in (0, last)[pinned_ends:] else operator.candidates,
        )
        for index, operator in enumerate(problem.operators)
    ]
    # Availability by nodes has no method but the general one.
    return replace(problem, operators=tuple(operators), availability_model=None)


LOOSE_DIAMONDS = st.builds(
    loose_diamond,
    problems(
        st.builds(
            ProblemKind,
            operators=st.integers(4, 6),
            nodes=st.integers(2, 4),
            shape=st.just("diamond"),
        )
    ),
    st.sampled_from((0.0, 0.5, 1.0)),
    st.integers(0, 1),
)


def assert_agreement(problem: Problem) -> None:
    best = brute_force(problem)
    for name, solve in SOLVERS.items():
        answer = solve(problem)
        event(f"{name} by {answer.method}")
        result = checked(problem, name, answer, 0.0)
        if best is None:
            assert result.status is Status.INFEASIBLE, name
            continue
        assert result.status is Status.OPTIMAL, name
        assert result.objective == pytest.approx(best, abs=TOLERANCE, rel=TOLERANCE), name
        assert result.bound is not None, name
        assert result.bound <= best + TOLERANCE * max(1.0, abs(best)), name


@given(SINGLE)
@settings(max_examples=60, deadline=None)
def test_one_replica_of_each_operator(problem: Problem) -> None:
    assert_agreement(problem)


@given(ALIKE)
@settings(max_examples=40, deadline=None)
def test_shapes_that_have_methods_of_their_own(problem: Problem) -> None:
    assert_agreement(problem)


@given(LOOSE_DIAMONDS)
@settings(max_examples=60, deadline=None)
def test_diamonds_whose_ends_have_a_choice(problem: Problem) -> None:
    assert_agreement(problem)


@given(REPLICATED)
@settings(max_examples=60, deadline=None)
def test_replication_and_redeployment(problem: Problem) -> None:
    assert_agreement(problem)


@given(
    problems(st.builds(ProblemKind, st.integers(1, 3), replicas=st.just(2), changing=st.sampled_from(DowntimeModel)))
)
@settings(max_examples=20, deadline=None)
def test_a_small_change_is_never_better_than_any_change(problem: Problem) -> None:
    best, restricted = brute_force(problem), solver("redrp").solve(problem, TIME_LIMIT_S)
    if restricted.objective is None:
        return
    assert best is not None
    assert restricted.objective >= best - TOLERANCE
    assert restricted.bound is None


@given(st.one_of(SINGLE, REPLICATED))
@settings(max_examples=60, deadline=None)
def test_a_problem_survives_its_document(problem: Problem) -> None:
    document = problem_document(problem)
    try:
        again = parse_problem(json.dumps(document))
    except InvalidModel:
        # Only what plainly cannot be solved is refused.
        assert brute_force(problem) is None
        return
    assert problem_document(again) == document
