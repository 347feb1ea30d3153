"""Iterated local search, beyond the thesis: descend, disturb the best placement a little, descend again.

A descent makes the best single move as long as one helps, on tables that are kept up to date from move to move; then
it looks for operators that should change places, nodes that should be replaced and rows that should be reordered.
"""

from dataclasses import replace
from itertools import islice

import numpy as np

from penstock.placement.costs import is_separable
from penstock.placement.evaluator import TOLERANCE
from penstock.placement.heuristics.greedy import first_fit, greedy_start, nodes_by_penalty
from penstock.placement.heuristics.judge import Judge, judged
from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.local_search import IMPROVEMENT, descend, is_better
from penstock.placement.heuristics.lower_bound import outlook_of
from penstock.placement.heuristics.penalty import link_penalty
from penstock.placement.heuristics.regroupings import Regroupings
from penstock.placement.heuristics.terrain import terrain_of
from penstock.placement.instance import Floats, Instance, Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer

_METHOD = "iterated local search"

_PATIENCE, _OPERATORS_PER_DESCENT = 3, 10
"""Descents in a row without a better placement after which the search ends: so many, or more for many operators."""

_MOST_DESCENTS = 200

_CENTRES, _STARTS = 4, 2
"""Around how many nodes a first placement is tried, and from how many of these the search starts."""

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
    search = _Search(problem, budget)
    outlook = outlook_of(problem)
    bound = None if outlook is None else outlook.bound
    starts = [start, *_around_centres(judge)]
    if outlook is not None:
        starts = [*_from_afar(judge, start, outlook.nodes), *starts]
    return replace(judge.answer(search.run(starts, bound), _METHOD), bound=bound)


def _from_afar(judge: Judge, start: Ints, nodes: tuple[int, ...]) -> list[Ints]:
    """The placement of the operators, in their order, on the nodes that look best from afar, if it is one."""
    free = terrain_of(judge.instance.problem).free
    if len(nodes) != len(free):
        return []
    place = start.copy()
    place[free] = nodes
    return [place] if judge.score(place)[0] <= 0 else []


def _around_centres(judge: Judge) -> list[Ints]:
    """The best of the placements that fill nodes by their distance to one of the nodes near the pinned operators."""
    instance = judge.instance
    penalty = link_penalty(instance.problem)
    both = penalty + penalty.T
    centres = nodes_by_penalty(instance)[:_CENTRES].tolist()
    rows = np.array([first_fit(instance, np.argsort(both[centre], kind="stable")) for centre in centres])
    ordered = judge.scores(rows).best_first()
    return [rows[index] for index, (violation, _) in islice(ordered, _STARTS) if violation <= 0]


class _Search:
    """The search proper: goes from placement to placement, all of which keep the constraints."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self._terrain, self._budget = terrain_of(problem), budget
        self._rng = np.random.default_rng(budget.seed)
        self._regroupings = Regroupings(self._terrain, self._rng)
        self._least, self._current_value = np.inf, np.inf

    def run(self, starts: list[Ints], bound: float | None) -> Ints:
        """The best placement that is found; no other is looked for once it is as good as the bound."""
        self._landscape = Landscape(self._terrain, starts[0])
        enough = -np.inf if bound is None else bound + TOLERANCE
        for start in starts:
            if self._least > enough:
                self._visit(start)
        idle = descents = 0
        patience = _patience(self._terrain.instance)
        while self._least > enough and idle < patience and descents < _MOST_DESCENTS and not self._budget.is_over:
            improved = self._visit(disturbed(self._terrain.instance, self._table, self._current, self._rng))
            idle, descents = 0 if improved else idle + 1, descents + 1
        return self._best

    def _visit(self, assignment: Ints) -> bool:
        """Descend from a placement; whether that led to one that is better than all before."""
        landscape = self._landscape
        landscape.reset(assignment)
        self._settle()
        if landscape.value <= self._current_value + IMPROVEMENT:
            self._current, self._current_value = landscape.assignment.copy(), landscape.value
            self._table = landscape.table.copy()
        objective = self._terrain.costs.objective(landscape.assignment)
        if objective >= self._least - IMPROVEMENT:
            return False
        self._least, self._best = objective, landscape.assignment.copy()
        return True

    def _settle(self) -> None:
        """Go to a placement that no single move and no regrouping improves."""
        landscape, ways = self._landscape, self._regroupings
        neighbourhoods = (ways.exchanges, ways.relocations, ways.reorderings)
        landscape.descend(self._budget)
        unhelpful, turn = 0, 0
        while unhelpful < len(neighbourhoods) and not self._budget.is_over:
            rows = neighbourhoods[turn % len(neighbourhoods)](landscape)
            values = self._terrain.values(rows) if len(rows) else np.array([np.inf])
            first = int(np.argmin(values))
            if values[first] < landscape.value - IMPROVEMENT:
                landscape.reset(rows[first])
                landscape.descend(self._budget)
                unhelpful = 0
            else:
                unhelpful, turn = unhelpful + 1, turn + 1


def _patience(instance: Instance) -> int:
    return max(_PATIENCE, instance.operators // _OPERATORS_PER_DESCENT)


def _plain(judge: Judge, start: Ints, budget: Budget, rng: np.random.Generator) -> Ints:
    """The same idea with full evaluation, for objectives that do not fall into parts and for starts that do not fit."""
    best = descend(judge, start, budget)
    least, idle = judge.score(best), 0
    while idle < _patience(judge.instance) and not budget.is_over:
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
