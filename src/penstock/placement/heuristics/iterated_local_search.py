"""Iterated local search, beyond the thesis: descend, disturb the best placement a little, descend again.

A descent makes the best single move as long as one helps, on tables that are kept up to date from move to move; then
it looks for operators that should change places, nodes that should be replaced and rows that should be reordered.
"""

from dataclasses import replace

import numpy as np

from penstock.placement.costs import is_separable
from penstock.placement.evaluator import TOLERANCE
from penstock.placement.heuristics.greedy import greedy_start
from penstock.placement.heuristics.judge import Judge, judged
from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.local_search import IMPROVEMENT, descend, is_better
from penstock.placement.heuristics.lower_bound import outlook_of
from penstock.placement.heuristics.regroupings import Regroupings
from penstock.placement.heuristics.terrain import terrain_of
from penstock.placement.instance import Floats, Instance, Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer

_METHOD = "iterated local search"

_PATIENCE = 8
"""Descents in a row without a better placement after which the search ends."""

_MOST_DESCENTS = 60

_WHOLE_NODES, _TO_CHEAPER, _CHEAPER = 0.5, 0.8, 16
"""How often a disturbance moves all operators of a node, how often to a cheaper node, and how many of these it is."""


def solve_iterated_local_search(problem: Problem, budget: Budget) -> Answer:
    """Repeat local search from disturbed placements until that has not helped for a while.

    Ends at once when a cheap lower bound shows that nothing is better; the bound is part of the answer.
    """
    judge = judged(problem)
    if judge is None:
        return Answer(infeasible=True)
    start = greedy_start(problem)
    if judge.score(start)[0] > 0:
        start = descend(judge, start, budget)
    rng = np.random.default_rng(budget.seed)
    if not is_separable(problem) or judge.score(start)[0] > 0:
        return judge.answer(_plain(judge, start, budget, rng), _METHOD)
    outlook = outlook_of(problem)
    start = start if outlook is None else _better_start(judge, start, outlook.nodes)
    bound = None if outlook is None else outlook.bound
    enough = -np.inf if bound is None else bound + TOLERANCE
    return replace(judge.answer(_incremental(judge, start, enough, budget), _METHOD), bound=bound)


def _better_start(judge: Judge, start: Ints, nodes: tuple[int, ...]) -> Ints:
    """`start`, or the operators in their order on the nodes that look best from afar, whichever is better."""
    free = terrain_of(judge.instance.problem).free
    if len(nodes) != len(free):
        return start
    other = start.copy()
    other[free] = nodes
    return other if is_better(judge.score(other), judge.score(start)) else start


def _incremental(judge: Judge, start: Ints, enough: float, budget: Budget) -> Ints:
    """The search proper; `start` keeps all constraints, and so does everything after it."""
    terrain, rng = terrain_of(judge.instance.problem), np.random.default_rng(budget.seed)
    landscape, regroupings = Landscape(terrain, start), Regroupings(terrain, rng)
    current_value = _settle(landscape, regroupings, budget)
    current = best = landscape.assignment.copy()
    table = landscape.table.copy()
    least, idle, descents = terrain.costs.objective(best), 0, 0
    while least > enough and idle < _PATIENCE and descents < _MOST_DESCENTS and not budget.is_over:
        landscape.reset(disturbed(terrain.instance, table, current, rng))
        value = _settle(landscape, regroupings, budget)
        objective = terrain.costs.objective(landscape.assignment)
        idle, descents = idle + 1, descents + 1
        if objective < least - IMPROVEMENT:
            least, best, idle = objective, landscape.assignment.copy(), 0
        if value <= current_value + IMPROVEMENT:
            current, current_value, table = landscape.assignment.copy(), value, landscape.table.copy()
    return best


def _settle(landscape: Landscape, regroupings: Regroupings, budget: Budget) -> float:
    """Go to a placement that no single move and no regrouping improves; what it is worth to the terrain."""
    terrain = landscape.terrain
    neighbourhoods = (regroupings.exchanges, regroupings.relocations, regroupings.reorderings)
    landscape.descend(budget)
    unhelpful, turn = 0, 0
    while unhelpful < len(neighbourhoods) and not budget.is_over:
        rows = neighbourhoods[turn % len(neighbourhoods)](landscape)
        values = terrain.values(rows) if len(rows) else np.array([np.inf])
        first = int(np.argmin(values))
        if values[first] < landscape.value - IMPROVEMENT:
            landscape.reset(rows[first])
            landscape.descend(budget)
            unhelpful = 0
        else:
            unhelpful, turn = unhelpful + 1, turn + 1
    return landscape.value


def _plain(judge: Judge, start: Ints, budget: Budget, rng: np.random.Generator) -> Ints:
    """The same idea with full evaluation, for objectives that do not fall into parts and for starts that do not fit."""
    best = descend(judge, start, budget)
    least, idle = judge.score(best), 0
    while idle < _PATIENCE and not budget.is_over:
        found = descend(judge, disturbed(judge.instance, judge.costs.node, best, rng), budget)
        score, idle = judge.score(found), idle + 1
        if is_better(score, least):
            best, least, idle = found, score, 0
    return best


def disturbed(instance: Instance, table: Floats, assignment: Ints, rng: np.random.Generator) -> Ints:
    """A placement that differs from `assignment` in a few operators, chosen at random, and that fits if that does.

    `table[i, u]` is what operator i would cost on node u, infinite where it may not run. Most of the time it goes to
    one of the cheaper nodes.
    """
    place = assignment.copy()
    free = np.flatnonzero(np.isfinite(table).sum(axis=1) > 1)
    if not len(free):
        return place
    room = instance.capacity - np.bincount(place, weights=instance.demand, minlength=instance.nodes)
    if rng.random() < _WHOLE_NODES:
        groups = [free[place[free] == place[one]] for one in rng.choice(free, int(rng.integers(1, 3)))]
    else:
        groups = [np.array([one]) for one in rng.choice(free, int(rng.integers(2, 5)))]
    for group in groups:
        demand, before = instance.demand[group].sum(), place[group[0]]
        cost = np.where(room >= demand, table[group].sum(axis=0), np.inf)
        cost[before] = np.inf
        nodes = np.argsort(cost, kind="stable")[: int(np.isfinite(cost).sum())]
        if len(nodes) and (place[group] == before).all():
            node = rng.choice(nodes[:_CHEAPER] if rng.random() < _TO_CHEAPER else nodes)
            place[group] = node
            room[before] += demand
            room[node] -= demand
    return place
