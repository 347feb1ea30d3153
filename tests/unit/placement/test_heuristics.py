from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.evaluation.papers.thesis_cases import OBJECTIVES, TOPOLOGIES, chapter_5
from penstock.placement import Network, Node, Operator, Problem, Status, Stream, Weights, evaluate, solver
from penstock.placement.heuristics import HEURISTICS
from penstock.placement.heuristics.greedy import breadth_first, greedy_start
from penstock.placement.heuristics.hierarchical import clusters, hierarchy
from penstock.placement.heuristics.penalty import link_penalty
from penstock.placement.heuristics.pruned_space import nested_sets
from penstock.placement.heuristics.subproblem import restricted
from penstock.placement.instance import instance_of
from penstock.testing.solvers import brute_force

NAMES = [info.name for info in HEURISTICS]
BY_ILP = "ilp-timeout"
"""Starts a process for every problem, so it gets fewer of them."""
FAST = [name for name in NAMES if name != BY_ILP]
FEATURES = ("", "bandwidth", "bounds", "nodes")


@pytest.fixture(scope="module")
def best_of() -> Callable[[Problem], float | None]:
    known: dict[Problem, float | None] = {}

    def best(problem: Problem) -> float | None:
        if problem not in known:
            known[problem] = brute_force(problem)
        return known[problem]

    return best


@pytest.fixture(scope="module")
def small(make_problem: Callable[..., Problem]) -> list[Problem]:
    return [make_problem(seed, 4, 4, features) for features in FEATURES for seed in range(5)]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_better_than_the_best(
    name: str, small: list[Problem], best_of: Callable[[Problem], float | None]
) -> None:
    found = 0
    for problem in small if name != BY_ILP else small[::7]:
        result, best = solver(name).solve(problem), best_of(problem)
        if best is None:
            assert result.placement is None
            continue
        assert result.status is not Status.INFEASIBLE
        assert result.bound is None or result.bound <= best + 1e-6
        if result.objective is not None:
            found += 1
            assert result.objective >= best - 1e-6
            assert result.placement is not None
            assert evaluate(problem, result.placement).is_feasible
    assert found > 0


@pytest.mark.parametrize("name", ["relax-expand-solve", "iterated-local-search"])
def test_small_problems_are_nearly_always_solved_to_the_end(
    name: str, small: list[Problem], best_of: Callable[[Problem], float | None]
) -> None:
    solvable = [problem for problem in small if best_of(problem) is not None]
    results = [(solver(name).solve(problem).objective, best_of(problem)) for problem in solvable]
    exact = sum(found is not None and best is not None and found <= best + 1e-6 for found, best in results)
    assert exact >= 0.8 * len(results)


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_equal_seeds_give_equal_answers(name: str, topology: str) -> None:
    problem = chapter_5(topology, "all", 16, seed=1, operators=11)
    one, other = (solver(name).solve(problem, seed=5) for _ in range(2))
    assert one.placement == other.placement
    assert one.placement is not None


@pytest.mark.parametrize("name", NAMES)
def test_replication_and_current_deployments_are_refused_in_one_sentence(name: str) -> None:
    problem = chapter_5("diamond", "all", 9, seed=1, operators=5)
    replicated = replace(problem, operators=tuple(replace(o, max_replicas=2) for o in problem.operators))
    current = replace(problem, current={o.name: (problem.nodes[0].name,) for o in problem.operators})
    for refused, reason in ((replicated, "one replica"), (current, "current deployment")):
        with pytest.raises(UsageError, match=f"'{name}'.*{reason}") as error:
            solver(name).solve(refused)
        assert str(error.value).count(".") == 1


@pytest.mark.parametrize("name", FAST)
def test_what_cannot_fit_is_said_to_be_infeasible(name: str) -> None:
    nodes = (Node("a"), Node("b"))
    network = Network(np.zeros((2, 2)))
    too_many = Problem(tuple(Operator(f"o{i}") for i in range(3)), (), nodes, network)
    too_large = Problem((Operator("o", 1.5),), (), nodes, network)
    assert solver(name).solve(too_many).status is Status.INFEASIBLE
    assert solver(name).solve(too_large).status is Status.INFEASIBLE


@pytest.mark.parametrize("name", FAST)
def test_what_leaves_no_choice_is_found(name: str) -> None:
    network = Network(np.array([[0.0, 5.0], [5.0, 0.0]]))
    nodes = (Node("a"), Node("b"))
    operators = (Operator("o", candidates=("b",)), Operator("p", candidates=("a",)))
    result = solver(name).solve(Problem(operators, (Stream("o", "p", 1.0),), nodes, network))
    assert result.placement == {"o": ("b",), "p": ("a",)}
    alone = Problem((Operator("o"),), (), (Node("a"),), Network(np.zeros((1, 1))))
    assert solver(name).solve(alone).placement == {"o": ("a",)}


@pytest.mark.parametrize("name", ["local-search", "tabu-search", "iterated-local-search"])
def test_searches_stop_when_the_time_is_up(name: str) -> None:
    result = solver(name).solve(chapter_5("replicated", "all", 100, seed=1), time_limit_s=1e-6)
    assert result.placement is not None


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_integer_programme_is_no_worse_than_its_start_however_short_the_time(topology: str) -> None:
    problem = chapter_5(topology, "all", 9, seed=1, operators=8)
    start, hurried = solver("greedy").solve(problem).objective, solver(BY_ILP).solve(problem, 0.01).objective
    assert start is not None
    assert hurried is not None
    assert hurried <= start + 1e-9


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("objective", ["response time", "network usage", "all"])
def test_searches_improve_on_one_another(topology: str, objective: str) -> None:
    names = ("greedy", "local-search", "tabu-search", "iterated-local-search")
    found: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(1, 9):
        problem = chapter_5(topology, objective, 36, seed)
        for name in names:
            objective_value = solver(name).solve(problem).objective
            assert objective_value is not None
            found[name].append(objective_value)
    for greedy, local, tabu in zip(found["greedy"], found["local-search"], found["tabu-search"], strict=True):
        assert tabu <= local + 1e-9 <= greedy + 2e-9
    assert sum(found["iterated-local-search"]) <= sum(found["tabu-search"]) + 1e-9


def test_iterated_local_search_is_within_half_a_percent_on_average() -> None:
    losses = []
    for topology, objective, seed in product(TOPOLOGIES, OBJECTIVES, (1, 2, 3)):
        problem = chapter_5(topology, objective, 36, seed)
        best, found = (solver(name).solve(problem) for name in ("exact", "iterated-local-search"))
        assert best.status is Status.OPTIMAL
        assert best.objective is not None
        assert found.objective is not None
        losses.append((found.objective - best.objective) / (1 - best.objective))
        assert losses[-1] > -1e-6
    assert sum(losses) / len(losses) < 0.005


def test_greedy_goes_breadth_first_to_the_nearest_node_with_room() -> None:
    delay = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    nodes = tuple(Node(f"n{i}", 1.0) for i in range(4))
    operators = (Operator("s", candidates=("n2",)), Operator("x"), Operator("y"), Operator("z"))
    streams = (Stream("s", "z", 1.0), Stream("s", "x", 1.0), Stream("x", "y", 1.0))
    problem = Problem(operators, streams, nodes, Network(delay), Weights(network=1.0))
    instance = instance_of(problem)
    assert [operators[i].name for i in breadth_first(instance)] == ["s", "z", "x", "y"]
    # n1 and n3 are equally near to n2: the first of them comes first.
    assert instance.named(greedy_start(problem)) == {"s": ("n2",), "z": ("n1",), "x": ("n3",), "y": ("n0",)}
    listed = solver("greedy-no-penalty").solve(problem)
    assert listed.placement == {"s": ("n2",), "z": ("n0",), "x": ("n1",), "y": ("n3",)}


def test_searches_repair_a_start_that_does_not_fit() -> None:
    # First fit puts both small ones on the first of the two nodes that the large ones need.
    nodes = (Node("a", 2.0), Node("b", 2.0), Node("c", 1.0), Node("d", 1.0))
    operators = (Operator("x"), Operator("y"), Operator("z", 2.0), Operator("w", 2.0))
    problem = Problem(operators, (), nodes, Network(np.zeros((4, 4))))
    assert solver("greedy").solve(problem).status is Status.TIMEOUT
    for name in ("local-search", "tabu-search", "iterated-local-search"):
        assert solver(name).solve(problem).placement is not None, name


def test_nested_sets_grow_from_the_pinned_nodes_to_all() -> None:
    problem = chapter_5("sequential", "response time", 36, seed=4)
    inside = np.array([5, 20])
    sets = [set(nodes.tolist()) for nodes in nested_sets(link_penalty(problem), inside)]
    assert all({5, 20} <= nodes for nodes in sets)
    assert all(one < other for one, other in pairwise(sets))
    assert len(sets[-1]) == 36
    assert len(sets) < 8


def test_a_hierarchy_halves_from_nodes_to_two_data_centres() -> None:
    problem = chapter_5("sequential", "all", 36, seed=4)
    levels = hierarchy(problem, np.random.default_rng(0))
    assert [len(level.problem.nodes) for level in levels] == [2, 4, 8, 16, 36]
    for above, below in pairwise(levels):
        assert below.group is not None
        resources = np.bincount(below.group, weights=[node.resources for node in below.problem.nodes])
        assert resources.tolist() == [node.resources for node in above.problem.nodes]


@pytest.mark.parametrize("nodes", [36, 49, 64, 81])
def test_data_centres_are_never_more_available_than_always(nodes: int) -> None:
    problem = chapter_5("sequential", "availability", nodes, seed=1)
    for level in hierarchy(problem, np.random.default_rng(0)):
        availability = level.problem.network.availability
        assert availability is not None
        assert availability.max() <= 1.0


def test_clusters_keep_together_what_is_near() -> None:
    place = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 9.0])
    group = clusters(np.abs(np.subtract.outer(place, place)), 3, np.random.default_rng(1))
    assert len(set(group.tolist())) == 3
    assert group[0] == group[1] == group[2] != group[3] == group[4] != group[5]


def test_a_part_of_a_problem_has_its_objectives(make_problem: Callable[..., Problem]) -> None:
    compared = 0
    for seed in range(20):
        problem = make_problem(seed, 4, 5, "bandwidth")
        part = restricted(problem, np.array([0, 2, 3]))
        if part is None:
            continue
        placement = {o.name: ((o.candidates or ("n0", "n2", "n3"))[0],) for o in part.operators}
        compared += 1
        assert evaluate(part, placement).objective == pytest.approx(evaluate(problem, placement).objective)
    assert compared > 3
