"""Iterated local search, beyond the thesis: descend, disturb the best placement a little, descend again.

A descent makes the best single move as long as one helps, on tables that are kept up to date from move to move; then
it looks for operators that should change places, nodes that should be replaced and rows that should be reordered.
"""

import numpy as np

from penstock.placement.costs import is_separable
from penstock.placement.heuristics.greedy import greedy_start
from penstock.placement.heuristics.judge import Judge, judged
from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.local_search import IMPROVEMENT, descend, is_better
from penstock.placement.heuristics.regroupings import Regroupings
from penstock.placement.heuristics.terrain import terrain_of
from penstock.placement.instance import Instance, Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer

_PATIENCE = 12
"""Descents in a row without a better placement after which the search ends."""

_MOST_DESCENTS = 60


def solve_iterated_local_search(problem: Problem, budget: Budget) -> Answer:
    """Repeat local search from disturbed placements until that has not helped for a while."""
    judge = judged(problem)
    if judge is None:
        return Answer(infeasible=True)
    start = greedy_start(problem)
    if judge.score(start)[0] > 0:
        start = descend(judge, start, budget)
    rng = np.random.default_rng(budget.seed)
    search = _incremental if is_separable(problem) and judge.score(start)[0] <= 0 else _plain
    return judge.answer(search(judge, start, budget, rng), "iterated local search")


def _incremental(judge: Judge, start: Ints, budget: Budget, rng: np.random.Generator) -> Ints:
    """The search proper; `start` keeps all constraints, and so does everything after it."""
    terrain = terrain_of(judge.instance.problem)
    landscape, regroupings = Landscape(terrain, start), Regroupings(terrain, rng)
    current_value = _settle(landscape, regroupings, budget)
    current = best = landscape.assignment.copy()
    least, idle = terrain.costs.objective(best), 0
    for _ in range(_MOST_DESCENTS):
        if idle >= _PATIENCE or budget.is_over:
            break
        landscape.reset(disturbed(terrain.instance, terrain.free, current, rng))
        value = _settle(landscape, regroupings, budget)
        objective = terrain.costs.objective(landscape.assignment)
        idle += 1
        if objective < least - IMPROVEMENT:
            least, best, idle = objective, landscape.assignment.copy(), 0
        if value <= current_value + IMPROVEMENT:
            current, current_value = landscape.assignment.copy(), value
    return best


def _settle(landscape: Landscape, regroupings: Regroupings, budget: Budget) -> float:
    """Go to a placement that no single move and no regrouping improves; what it is worth to the terrain."""
    terrain = landscape.terrain
    neighbourhoods = (regroupings.exchanges, regroupings.relocations, regroupings.reorderings)
    landscape.descend(budget)
    value, unhelpful, turn = float(terrain.values(landscape.assignment[None, :])[0]), 0, 0
    while unhelpful < len(neighbourhoods) and not budget.is_over:
        rows = neighbourhoods[turn % len(neighbourhoods)](landscape)
        values = terrain.values(rows) if len(rows) else np.array([np.inf])
        first = int(np.argmin(values))
        if values[first] < value - IMPROVEMENT:
            landscape.reset(rows[first])
            landscape.descend(budget)
            value, unhelpful = float(terrain.values(landscape.assignment[None, :])[0]), 0
        else:
            unhelpful, turn = unhelpful + 1, turn + 1
    return value


def _plain(judge: Judge, start: Ints, budget: Budget, rng: np.random.Generator) -> Ints:
    """The same idea with full evaluation, for objectives that do not fall into parts and for starts that do not fit."""
    free = np.array([o for o in judge.instance.problem.order if judge.instance.pinned(o) is None], dtype=np.int64)
    best = descend(judge, start, budget)
    least, idle = judge.score(best), 0
    while idle < _PATIENCE and not budget.is_over:
        found = descend(judge, disturbed(judge.instance, free, best, rng), budget)
        score, idle = judge.score(found), idle + 1
        if is_better(score, least):
            best, least, idle = found, score, 0
    return best


def disturbed(instance: Instance, free: Ints, assignment: Ints, rng: np.random.Generator) -> Ints:
    """A placement that differs from `assignment` in a few operators, chosen at random, and that fits if that does."""
    place = assignment.copy()
    if not len(free):
        return place
    room = instance.capacity - np.bincount(place, weights=instance.demand, minlength=instance.nodes)
    if rng.random() < 0.5:
        used = np.unique(place[free])
        for node in rng.choice(used, min(len(used), int(rng.integers(1, 3))), replace=False).tolist():
            _relocate(instance, place, room, free[place[free] == node], rng)
    else:
        for operator in rng.choice(free, min(len(free), int(rng.integers(2, 5))), replace=False).tolist():
            _relocate(instance, place, room, np.array([operator]), rng)
    return place


def _relocate(instance: Instance, place: Ints, room: Ints, movers: Ints, rng: np.random.Generator) -> None:
    """Put `movers`, all on one node, on another that has room for them, if there is one."""
    demand, before = instance.demand[movers].sum(), place[movers[0]]
    possible = np.flatnonzero(room >= demand)
    for mover in movers:
        possible = np.intersect1d(possible, instance.candidates[mover], assume_unique=True)
    possible = possible[possible != before]
    if not len(possible):
        return
    node = rng.choice(possible)
    place[movers] = node
    room[before] += demand
    room[node] -= demand
