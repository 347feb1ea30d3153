from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from penstock.placement import Problem, Stream
from penstock.placement.costs import costs_of
from penstock.placement.heuristics.greedy import greedy_start
from penstock.placement.heuristics.judge import is_hopeless
from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.regroupings import Regroupings
from penstock.placement.heuristics.responses import Pair, pairs_of, response
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


def with_twins(make_problem: Callable[..., Problem], operators: int, nodes: int) -> list[Landscape]:
    """Landscapes with interchangeable operators in the middle."""
    found = []
    for seed in range(12):
        problem = make_problem(seed, 2, nodes)
        first = replace(problem.operators[0], candidates=(problem.nodes[seed % nodes].name,))
        copy = replace(problem.operators[1], candidates=None)
        copies = tuple(replace(copy, name=f"copy{one}") for one in range(operators))
        streams = tuple(Stream(first.name, one.name, 10.0) for one in copies)
        many = replace(problem, operators=(first, *copies), streams=streams)
        if not is_hopeless(instance_of(many)) and costs_of(many).fits(greedy_start(many)):
            found.append(Landscape(terrain_of(many), greedy_start(many)))
    assert len(found) > 3
    return found


def test_regroupings_are_improvements_and_keep_to_the_rules(make_problem: Callable[..., Problem]) -> None:
    seen = 0
    for landscape in [*landscapes(make_problem, 9, 6), *with_twins(make_problem, 4, 6)]:
        ways = Regroupings(landscape.terrain, np.random.default_rng(0))
        found = [ways.exchanges(landscape), ways.relocations(landscape), ways.reorderings(landscape)]
        found += [ways.reassignment(landscape, one) for one in ways.twins]
        for better in found:
            if better is not None:
                seen += 1
                assert landscape.terrain.costs.fits(better.assignment)
                assert np.isfinite(landscape.terrain.costs.objective(better.assignment))
                assert better.value == pytest.approx(value(landscape, better.assignment), abs=1e-9)
                assert better.value < landscape.value
    assert seen > 20


def test_a_reassignment_is_the_best_of_its_class(make_problem: Callable[..., Problem]) -> None:
    seen = 0
    for landscape in with_twins(make_problem, 3, 4):
        ways = Regroupings(landscape.terrain, np.random.default_rng(0))
        (twins,) = ways.twins
        rows = np.repeat(landscape.assignment[None, :], 4**3, axis=0)
        rows[:, twins.members] = list(product(range(4), repeat=3))
        rows = rows[landscape.terrain.keep(rows)]
        found = ways.reassignment(landscape, twins)
        seen += found is not None
        least = landscape.value if found is None else found.value
        assert least == pytest.approx(landscape.terrain.values(rows).min(), abs=1e-8)
    assert seen


def test_every_reordering_that_helps_a_chain_is_seen(make_problem: Callable[..., Problem]) -> None:
    for seed in range(20):
        problem = make_problem(seed, 6, 6)
        names = [operator.name for operator in problem.operators]
        chain = replace(problem, streams=tuple(Stream(one, other, 10.0) for one, other in pairwise(names)))
        if is_hopeless(instance_of(chain)) or not costs_of(chain).fits(greedy_start(chain)):
            continue
        landscape = Landscape(terrain_of(chain), greedy_start(chain))
        found = Regroupings(landscape.terrain, np.random.default_rng(0)).reorderings(landscape)
        free = landscape.terrain.free
        tried = [landscape.value if found is None else found.value]
        for begin, end in combinations(range(len(free) + 1), 2):
            row = landscape.assignment.copy()
            row[free[begin:end]] = row[free[begin:end]][::-1]
            follow = np.diff(landscape.terrain.rank[free[begin:end]]) == 1
            if follow.all() and landscape.terrain.keep(row[None, :])[0]:
                tried.append(value(landscape, row))
        assert min(tried) == pytest.approx(tried[0], abs=1e-8)


def layered(make_problem: Callable[..., Problem], seed: int) -> Problem:
    """A source that feeds four operators, each of which feeds both of two others, on six nodes."""
    problem = make_problem(seed, 3, 6)
    source = replace(problem.operators[0], resources=0.5, candidates=(problem.nodes[seed % 6].name,))
    layers = [
        [replace(problem.operators[of], resources=1.0, candidates=None, name=f"{name}{i}") for i in range(count)]
        for of, name, count in ((1, "first", 4), (2, "second", 2))
    ]
    streams = [Stream(source.name, one.name, 7.0) for one in layers[0]]
    streams += [Stream(one.name, other.name, 3.0) for one in layers[0] for other in layers[1]]
    nodes = tuple(replace(node, resources=2.0) for node in problem.nodes)
    return replace(problem, operators=(source, *layers[0], *layers[1]), streams=tuple(streams), nodes=nodes)


def test_a_response_is_the_best_to_the_replacement_of_one_node(make_problem: Callable[..., Problem]) -> None:
    seen = 0
    for seed in range(20):
        problem = layered(make_problem, seed)
        terrain = terrain_of(problem)
        landscape = Landscape(terrain, greedy_start(problem))
        pairs = pairs_of(terrain, Regroupings(terrain, np.random.default_rng(0)).twins)
        if not problem.weights.response_time and not problem.weights.network:
            continue
        assert [(len(pair.movers), len(pair.responders)) for pair in pairs] == [(2, 4)]
        found = response(landscape, pairs[0])
        seen += found is not None
        least = landscape.value if found is None else found.value
        if found is not None:
            assert least == pytest.approx(value(landscape, found.assignment), abs=1e-9)
            assert least < landscape.value
        rows = replaced(landscape, pairs[0])
        assert least == pytest.approx(min(landscape.value, terrain.values(rows).min()), abs=1e-8)
    assert seen > 5


def replaced(landscape: Landscape, pair: Pair) -> Ints:
    """All placements in which the movers on one node are on another one and responders anywhere."""
    rows = []
    nodes = landscape.terrain.instance.nodes
    for host, target in product(set(landscape.assignment[pair.movers].tolist()), range(nodes)):
        place = landscape.assignment.copy()
        place[pair.movers[place[pair.movers] == host]] = target
        many = np.repeat(place[None, :], nodes ** len(pair.responders), axis=0)
        many[:, pair.responders] = list(product(range(nodes), repeat=len(pair.responders)))
        if target != host:
            rows.append(many)
    together = np.concatenate(rows)
    return together[landscape.terrain.keep(together)]
