"""What every placement solver must do, as a test class to inherit, and the brute force that it is held against.

    class TestMine(SolverContract):
        def make_solver(self) -> SolverInfo:
            return SolverInfo("mine", "my own", solve_mine)

pytest then runs the whole suite against it.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, product

import pytest

from penstock.errors import UsageError
from penstock.placement import DowntimeModel, Placement, Problem, SolverInfo, Status, evaluate
from penstock.placement.instance import instance_of
from penstock.testing.problems import ProblemKind, random_problem

_SLACK = 1e-6


class SolverContract:
    """The promises of a solver; override `make_solver` and, for a slow one, `seeds`."""

    seeds: tuple[int, ...] = (0, 1, 2, 3)

    def make_solver(self) -> SolverInfo:
        """The solver under test."""
        raise NotImplementedError("a solver contract needs make_solver()")

    def problems(self) -> Iterator[Problem]:
        """Tiny problems of every kind that the solver says it can deal with."""
        solver = self.make_solver()
        for seed in self.seeds:
            kind = ProblemKind(operators=3, nodes=3, limited=bool(seed % 2))
            if not solver.needs_current:
                yield random_problem(seed, kind)
                if solver.replication:
                    yield random_problem(seed, replace(kind, replicas=2))
            if solver.current:
                yield random_problem(seed, replace(kind, changing=DowntimeModel.RESTART))

    def test_a_placement_keeps_the_constraints_and_none_is_better_than_the_best(self) -> None:
        """What it finds is feasible, not below the least objective there is, and not below its own bound."""
        for problem in self.problems():
            result, best = self.make_solver().solve(problem), brute_force(problem)
            if result.placement is None:
                assert result.evaluation is None
                continue
            assert best is not None
            assert evaluate(problem, result.placement) == result.evaluation
            assert result.evaluation is not None
            assert result.evaluation.is_feasible
            assert result.evaluation.objective >= best - _SLACK
            assert result.bound is None or result.bound <= result.evaluation.objective + _SLACK

    def test_what_is_called_proven_is_true(self) -> None:
        """`optimal` is the best there is, and `infeasible` means that there is nothing."""
        for problem in self.problems():
            result, best = self.make_solver().solve(problem), brute_force(problem)
            if result.status is Status.INFEASIBLE:
                assert best is None
            if result.status is Status.OPTIMAL:
                assert result.objective == pytest.approx(best, abs=10 * _SLACK)

    def test_the_same_problem_gives_the_same_answer(self) -> None:
        """Equal problems, limits and seeds, equal placements."""
        for problem in self.problems():
            once, again = (self.make_solver().solve(problem, seed=3) for _ in range(2))
            assert (once.status, once.placement, once.bound) == (again.status, again.placement, again.bound)

    def test_what_it_cannot_deal_with_is_refused(self) -> None:
        """Replicas and current deployments are refused in a sentence, not ignored."""
        solver, kind = self.make_solver(), ProblemKind(operators=3, nodes=3)
        refused = [replace(kind, replicas=2)] if not solver.replication else []
        refused += [replace(kind, changing=DowntimeModel.RESTART)] if not solver.current else []
        refused += [kind] if solver.needs_current else []
        for wrong in refused:
            with pytest.raises(UsageError, match=f"Solver '{solver.name}'"):
                solver.solve(random_problem(0, wrong))


def every_placement(problem: Problem) -> Iterator[Placement]:
    """All placements, of any number of replicas, of a problem that must be tiny."""
    instance = instance_of(problem)
    names = [node.name for node in problem.nodes]
    choices = [
        [
            tuple(names[node] for node in nodes)
            for replicas in range(1, instance.most[index] + 1)
            for nodes in combinations_with_replacement(instance.candidates[index].tolist(), replicas)
        ]
        for index in range(instance.operators)
    ]
    for nodes in product(*choices):
        yield {operator.name: at for operator, at in zip(problem.operators, nodes, strict=True)}


def brute_force(problem: Problem) -> float | None:
    """The least objective of all placements that keep the constraints, or None if there is none."""
    evaluations = (evaluate(problem, placement) for placement in every_placement(problem))
    return min((e.objective for e in evaluations if e.is_feasible), default=None)
