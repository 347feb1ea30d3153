"""Which method solves what, and what had gone wrong once."""

from dataclasses import replace

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.evaluation.papers.thesis_cases import OBJECTIVES, chapter_4, chapter_5
from penstock.placement import (
    Answer,
    Bounds,
    Budget,
    Network,
    Node,
    Normalisation,
    Operator,
    Problem,
    Status,
    Stream,
    Weights,
    WrongAnswer,
    evaluate,
    solver,
)
from penstock.placement.counts_solver import solve_counts
from penstock.placement.exact import solve_exact
from penstock.placement.heuristics.greedy import greedy_start
from penstock.placement.ilp import solve_ilp_with
from penstock.placement.milp import Milp, MilpAnswer, MilpBuilder, solve_apart, solve_here
from penstock.placement.result import checked
from penstock.testing.problems import ProblemKind, random_problem
from penstock.testing.solvers import brute_force


def links(nodes: int, value: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.asarray(value * (1.0 - np.eye(nodes)))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("topology", "method"), [("diamond", "independent"), ("sequential", "chain"), ("replicated", "layers")]
)
def test_every_shape_has_its_method_and_it_agrees_with_the_general_one(
    topology: str, objective: str, method: str
) -> None:
    problem = chapter_5(topology, objective, 9, seed=3, operators=8)
    special, general = solve_exact(problem, Budget(60.0)), solve_counts(problem, Budget(60.0))
    # Without response time and streams that matter, operators of any shape are independent.
    assert special.method == ("independent" if objective == "availability" else method)
    results = [checked(problem, "exact", answer, 0.0) for answer in (special, general)]
    assert [result.status for result in results] == [Status.OPTIMAL] * 2
    assert results[0].objective == pytest.approx(results[1].objective, abs=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_diamond_whose_ends_have_a_choice_has_a_method_that_agrees_with_the_general_one(objective: str) -> None:
    problem = chapter_5("diamond", objective, 6, seed=3, operators=6)
    problem = replace(problem, operators=tuple(replace(operator, candidates=None) for operator in problem.operators))
    special, general = solve_exact(problem, Budget(60.0)), solve_counts(problem, Budget(60.0))
    assert special.method == ("independent" if objective == "availability" else "diamond")
    results = [checked(problem, "exact", answer, 0.0) for answer in (special, general)]
    assert [result.status for result in results] == [Status.OPTIMAL] * 2
    assert results[0].objective == pytest.approx(results[1].objective, abs=1e-6)


def test_the_fat_application_of_chapter_4_is_proven() -> None:
    result = solver("exact").solve(chapter_4("diamond", 10, 20, 4, seed=1))
    assert (result.method, result.status) == ("diamond", Status.OPTIMAL)


def test_the_ends_of_a_diamond_take_room_from_what_is_between_them() -> None:
    def problem(*rooms: float) -> Problem:
        sizes = {"source": 2.0, "left": 1.0, "right": 1.0, "sink": 1.5}
        streams = tuple(Stream(*ends) for one in ("left", "right") for ends in (("source", one), (one, "sink")))
        operators = tuple(Operator(name, size, 1.0) for name, size in sizes.items())
        return Problem(
            operators,
            streams,
            tuple(Node(name, room) for name, room in zip("ab", rooms, strict=True)),
            Network(links(2, 10.0)),
        )

    together = solver("exact").solve(problem(3.5, 5.5))
    assert together.method == "diamond"
    assert together.placement == dict.fromkeys(("source", "left", "right", "sink"), ("b",))
    apart = solver("exact").solve(problem(3.5, 2.0))
    assert apart.status is Status.OPTIMAL
    assert apart.placement == {"source": ("b",), "left": ("a",), "right": ("a",), "sink": ("a",)}
    # There is room for 5.5 in all, which is what they need, but not in two parts of these sizes.
    assert solver("exact").solve(problem(3.25, 2.25)).status is Status.INFEASIBLE


def test_bounds_and_replication_go_to_the_general_method() -> None:
    problem = chapter_5("sequential", "response time", 5, seed=1, operators=4)
    assert solve_exact(problem, Budget()).method == "chain"
    bounded = replace(problem, bounds=Bounds(response_time_ms=1000.0))
    assert solve_exact(bounded, Budget()).method == "counts"
    operators = tuple(replace(operator, max_replicas=2) for operator in problem.operators)
    assert solve_exact(replace(problem, operators=operators), Budget()).method == "counts"


def test_a_link_that_is_too_thin_for_one_replica_carries_a_part() -> None:
    # 100 per second over a link of 30: only three replicas on other nodes keep each link at a third of it or less.
    ends = (
        Operator("a", 1.0, candidates=("n0",)),
        Operator("b", 1.0, candidates=("n1", "n2", "n3", "n4"), max_replicas=4),
    )
    problem = Problem(
        ends,
        (Stream("a", "b", 100.0),),
        tuple(Node(f"n{index}", 1.0) for index in range(5)),
        Network(links(5, 10.0), bandwidth_per_s=links(5, 30.0) + np.eye(5)),
        Weights(cost=1.0),
    )
    for answer in (solve_exact(problem, Budget()), solve_ilp_with(problem, lambda milp: solve_here(milp, 60.0))):
        result = checked(problem, "any", answer, 0.0)
        assert result.status is Status.OPTIMAL
        assert result.placement is not None
        assert len(result.placement["b"]) == 4
    thinner = replace(problem, network=replace(problem.network, bandwidth_per_s=links(5, 20.0) + np.eye(5)))
    assert solver("exact").solve(thinner).status is Status.INFEASIBLE


def test_the_best_is_not_cut_off_by_presolve() -> None:
    # One node is 20 ms from all others, which are next to one another: nothing needs to be on it.
    delay_ms = links(5, 0.0)
    delay_ms[1, :] = delay_ms[:, 1] = 20.0
    delay_ms[1, 1] = 0.0
    problem = Problem(
        (
            Operator("o0", 1.0, candidates=("n3",), max_replicas=3, service_rate_per_s=96.0),
            Operator("o1", 1.0, max_replicas=3, service_rate_per_s=33.0),
            Operator("o2", 1.0, 3.0, candidates=("n4",), max_replicas=3),
        ),
        (Stream("o0", "o1", 20.0), Stream("o0", "o2", 20.0)),
        tuple(Node(f"n{index}", 2.0) for index in range(5)),
        Network(delay_ms),
    )
    result = solver("exact").solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(brute_force(problem), abs=1e-6)


def test_a_bound_that_is_met_exactly_is_met() -> None:
    # 0.1 + 0.2 is above 0.3 in floating point.
    operators = (Operator("a", 1.0, 0.1), Operator("b", 1.0, 0.2))
    nodes, network = (Node("n", 2.0),), Network(np.zeros((1, 1)))
    problem = Problem(operators, (Stream("a", "b"),), nodes, network, bounds=Bounds(response_time_ms=0.3))
    for name in ("exact", "ilp"):
        assert solver(name).solve(problem).status is Status.OPTIMAL


def test_numbers_far_apart_do_not_overflow() -> None:
    problem = Problem(
        (Operator("a", 1.0, 1e12, max_replicas=2), Operator("b", 1.0, 1e-3, cost=1e12)),
        (Stream("a", "b", 1e12, 1e12),),
        (Node("n", 2.0), Node("m", 2.0, 1e-6)),
        Network(links(2, 1e12), cost=links(2, 1e12)),
        Weights(response_time=0.25, network=0.25, cost=0.5),
        normalisation=Normalisation((0.0, 1.0), None, (0.0, 1.0), (0.0, 1.0)),
        bounds=Bounds(response_time_ms=1e13),
    )
    result = solver("exact").solve(problem)
    assert result.placement == {"a": ("n",), "b": ("n",)}
    assert result.objective == pytest.approx(brute_force(problem))


@pytest.mark.parametrize("seed", range(5))
def test_equal_seeds_give_equal_answers(seed: int) -> None:
    problem = random_problem(seed, ProblemKind(6, 5, replicas=2, alike=True))
    one, other = (solver("exact").solve(problem) for _ in range(2))
    assert one.placement == other.placement
    assert one.bound == other.bound


@pytest.mark.parametrize("topology", ["sequential", "replicated", "diamond"])
def test_out_of_time_there_is_a_placement_or_none_but_no_false_bound(topology: str) -> None:
    problem = chapter_5(topology, "all", 16, seed=2, operators=11)
    best, hurried = solver("exact").solve(problem), solver("exact").solve(problem, 1e-6)
    assert best.status is Status.OPTIMAL
    assert best.objective is not None
    assert hurried.status in (Status.OPTIMAL, Status.FEASIBLE, Status.TIMEOUT)
    assert hurried.bound is None or hurried.bound <= best.objective + 1e-6


def test_a_diamond_out_of_time_has_a_placement_and_says_what_may_be_missing() -> None:
    problem = chapter_5("diamond", "all", 16, seed=2, operators=11)
    problem = replace(problem, operators=tuple(replace(operator, candidates=None) for operator in problem.operators))
    best, hurried = solver("exact").solve(problem), solver("exact").solve(problem, 1e-9)
    assert best.status is Status.OPTIMAL
    assert (hurried.method, hurried.status) == ("diamond", Status.FEASIBLE)
    assert best.objective is not None
    assert hurried.bound is not None
    assert hurried.bound <= best.objective + 1e-6
    assert hurried.gap is not None
    assert hurried.gap > 0


def test_a_child_process_solves_and_is_ended() -> None:
    builder = MilpBuilder()
    x = builder.add(np.array([-3.0, -2.0]), 10.0, True)
    builder.row(x, np.array([2.0, 1.0]), -np.inf, 7.5)
    answer = solve_apart(builder.build(), 20.0)
    assert answer.solution is not None
    assert answer.solution.round().tolist() == [0.0, 7.0]
    assert answer.bound == pytest.approx(-14.0)


def test_a_start_keeps_all_rows_of_the_literal_programme_that_it_says_something_about() -> None:
    problem = chapter_5("replicated", "all", 9, seed=1, operators=8)
    built: list[Milp] = []

    def solve(milp: Milp) -> MilpAnswer:
        built.append(milp)
        return solve_here(milp, 60.0)

    started = solve_ilp_with(problem, solve, greedy_start(problem))
    assert checked(problem, "ilp", started, 0.0).status is Status.OPTIMAL
    (milp,) = built
    totals = np.add.reduceat(milp.values * milp.start[milp.columns], milp.starts[:-1])
    known = ~np.isnan(totals)
    assert (~known).sum() == len(problem.operators) + len(problem.streams)  # the arrival times
    assert (milp.row_lower[known] <= totals[known]).all()
    assert (totals[known] <= milp.row_upper[known]).all()


def test_the_literal_programme_is_refused_where_it_cannot_be_built() -> None:
    problem = chapter_5("replicated", "all", 100, seed=1)
    with pytest.raises(UsageError, match="variables, too many to be built"):
        solver("ilp").solve(replace(problem, operators=tuple(replace(o, max_replicas=3) for o in problem.operators)))


def test_a_solver_that_breaks_a_constraint_or_its_bound_is_found_out() -> None:
    problem = chapter_5("sequential", "response time", 4, seed=1, operators=4)
    best = solver("exact").solve(problem)
    assert best.placement is not None
    assert best.objective is not None
    with pytest.raises(WrongAnswer, match="below the bound"):
        checked(problem, "liar", Answer(best.placement, best.objective + 0.1), 0.0)
    elsewhere = {**best.placement, "o1": ("n1",) * 9}
    assert not evaluate(problem, elsewhere).is_feasible
    with pytest.raises(WrongAnswer, match="broke a constraint"):
        checked(problem, "liar", Answer(elsewhere, 0.0), 0.0)
