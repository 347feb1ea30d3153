from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from penstock.evaluation.papers.thesis_cases import OBJECTIVES, chapter_5
from penstock.placement import Network, Node, Operator, Problem, Stream, Weights, solver
from penstock.placement.heuristics import lower_bound
from penstock.placement.heuristics.lower_bound import outlook_of, shortest_path_ms, swept
from penstock.testing.solvers import brute_force


@pytest.mark.parametrize(("operators", "nodes"), [(5, 3), (4, 5), (1, 3)])
def test_no_placement_is_below_the_bound(make_problem: Callable[..., Problem], operators: int, nodes: int) -> None:
    known = 0
    for seed in range(20):
        problem = make_problem(seed, operators, nodes)
        bound, best = lower_bound(problem), brute_force(problem)
        if bound is not None and best is not None:
            known += 1
            outlook = outlook_of(problem)
            assert outlook is not None
            assert outlook.bound <= bound <= best
    assert known > 5


def test_chains_are_not_below_their_bound() -> None:
    for seed in range(15):
        rng = np.random.default_rng(seed)
        delay = rng.uniform(1.0, 40.0, size=(5, 5))
        np.fill_diagonal(delay, 0.0)
        operators = tuple(Operator(f"o{i}", 1.0, 3.0, ("n0",) if i in (0, 4) else None) for i in range(5))
        streams = tuple(Stream(f"o{i}", f"o{i + 1}", float(rng.integers(1, 9))) for i in range(4))
        rooms = (2.0, 1.0, 1.0, 1.0, 1.0)
        nodes = tuple(Node(f"n{i}", room, availability=float(rng.uniform(0.9, 1))) for i, room in enumerate(rooms))
        weights = Weights(response_time=0.4, network=0.4, availability=0.2)
        problem = Problem(operators, streams, nodes, Network(delay), weights)
        bound, best = lower_bound(problem), brute_force(problem)
        assert bound is not None
        assert best is not None
        assert bound <= best


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_operators_side_by_side_leave_no_gap(objective: str) -> None:
    problem = chapter_5("diamond", objective, 36, seed=3)
    found = solver("iterated-local-search").solve(problem)
    assert found.status == "optimal"
    assert lower_bound(problem) == pytest.approx(found.objective, abs=1e-6)


def test_the_longest_path_is_no_shorter_than_said() -> None:
    problem = chapter_5("replicated", "response time", 36, seed=2)
    found = solver("iterated-local-search").solve(problem)
    assert found.evaluation is not None
    assert 0.0 < shortest_path_ms(problem) <= found.evaluation.response_time_ms


def test_nothing_is_claimed_about_what_does_not_fall_into_parts(make_problem: Callable[..., Problem]) -> None:
    assert lower_bound(make_problem(0, features="bounds")) is None
    hopeless = Problem((Operator("o", 5.0),), (), (Node("n"),), Network(np.zeros((1, 1))))
    assert lower_bound(hopeless) is None


def test_what_is_pinned_is_known() -> None:
    operators = tuple(Operator(name, execution_time_ms=2.0, candidates=("n",)) for name in "ab")
    problem = Problem(operators, (Stream("a", "b"),), (Node("n", 2.0),), Network(np.zeros((1, 1))))
    assert lower_bound(problem) == pytest.approx(brute_force(problem), abs=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_the_sweep_finds_the_cheapest_slots_with_their_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, paths, slots = rng.uniform(0, 9, 6), rng.choice([0.0, 1.0, 5.0, np.inf], 6), rng.integers(0, 3, 6)
    everything = [node for node in range(6) for _ in range(slots[node])]
    sums = [cost[list(some)].sum() + paths[list(some)].max() for some in combinations(everything, 3)]
    least, nodes = swept(cost, paths, slots, 3)
    if not sums or not np.isfinite(min(sums)):
        assert (least, nodes) == (-np.inf, ())
        return
    assert least == pytest.approx(min(sums))
    assert cost[list(nodes)].sum() + paths[list(nodes)].max() == pytest.approx(least)
    assert (np.bincount(nodes, minlength=6) <= slots).all()
    assert swept(cost, paths, slots, 3, below=least + 1e-6)[1] == nodes
    assert swept(cost, paths, slots, 3, below=least - 1e-6)[1] == ()
