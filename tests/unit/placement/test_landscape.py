from collections.abc import Callable

import numpy as np
import pytest

from penstock.placement import Problem
from penstock.placement.costs import costs_of
from penstock.placement.heuristics.greedy import greedy_start
from penstock.placement.heuristics.judge import is_hopeless
from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.regroupings import Regroupings
from penstock.placement.heuristics.terrain import terrain_of
from penstock.placement.instance import Ints, instance_of
from penstock.placement.registry import Budget

SIZES = ((5, 4), (9, 6), (1, 3))


def landscapes(make_problem: Callable[..., Problem], operators: int, nodes: int) -> list[Landscape]:
    found = []
    for seed in range(25):
        problem = make_problem(seed, operators, nodes)
        if is_hopeless(instance_of(problem)):
            continue
        start = greedy_start(problem)
        if costs_of(problem).fits(start):
            found.append(Landscape(terrain_of(problem), start))
    assert len(found) > 3
    return found


def value(landscape: Landscape, assignment: Ints) -> float:
    return float(landscape.terrain.values(assignment[None, :])[0])


@pytest.mark.parametrize(("operators", "nodes"), SIZES)
def test_changes_are_those_of_the_values(make_problem: Callable[..., Problem], operators: int, nodes: int) -> None:
    for landscape in landscapes(make_problem, operators, nodes):
        rng = np.random.default_rng(0)
        for _ in range(4):
            assert landscape.value == pytest.approx(value(landscape, landscape.assignment), abs=1e-9)
            change = landscape.changes()
            possible = np.argwhere(np.isfinite(change))
            for operator, node in possible.tolist():
                moved = landscape.assignment.copy()
                moved[operator] = node
                assert change[operator, node] == pytest.approx(value(landscape, moved) - landscape.value, abs=1e-9)
            if len(possible):
                landscape.move(*rng.choice(possible).tolist())


@pytest.mark.parametrize(("operators", "nodes"), SIZES)
def test_moves_that_do_not_fit_are_infinite(make_problem: Callable[..., Problem], operators: int, nodes: int) -> None:
    for landscape in landscapes(make_problem, operators, nodes):
        costs, change = landscape.terrain.costs, landscape.changes()
        for operator in range(operators):
            for node in set(range(nodes)) - {int(landscape.assignment[operator])}:
                moved = landscape.assignment.copy()
                moved[operator] = node
                possible = np.isfinite(costs.node[operator, node]) and costs.fits(moved)
                assert np.isfinite(change[operator, node]) == possible


def test_values_are_objectives_but_for_the_slope(
    make_problem: Callable[..., Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.placement.heuristics.terrain._TIE_BREAK", 0.0)
    for seed in range(100, 120):
        problem = make_problem(seed)
        if is_hopeless(instance_of(problem)):
            continue
        terrain, costs = terrain_of(problem), costs_of(problem)
        start = greedy_start(problem)
        assert float(terrain.values(start[None, :])[0]) + costs.constant == pytest.approx(costs.objective(start))


def test_a_descent_ends_where_no_move_helps(make_problem: Callable[..., Problem]) -> None:
    for landscape in landscapes(make_problem, 9, 6):
        before = landscape.value
        landscape.descend(Budget())
        assert landscape.value <= before
        assert landscape.changes().min() > -1e-8
        assert landscape.terrain.costs.fits(landscape.assignment)


def test_regroupings_keep_to_the_rules(make_problem: Callable[..., Problem]) -> None:
    seen = 0
    for landscape in landscapes(make_problem, 9, 6):
        regroupings = Regroupings(landscape.terrain, np.random.default_rng(0))
        for neighbourhood in (regroupings.exchanges, regroupings.relocations, regroupings.reorderings):
            for row in neighbourhood(landscape):
                seen += 1
                assert landscape.terrain.costs.fits(row)
                assert np.isfinite(landscape.terrain.costs.objective(row))
    assert seen > 50
