"""Iterated local search, beyond the thesis: descend, disturb the best placement a little, descend again.

A descent makes the best single move as long as one helps, on tables that are kept up to date from move to move, and
puts interchangeable operators, all at once, where that is best while the others stay. Then it looks for operators that
should change places, nodes that should be replaced and rows that should be reordered.
"""

from dataclasses import replace

import numpy as np

from penstock.placement.evaluator import TOLERANCE
from penstock.placement.heuristics.greedy import first_fit, greedy_start, nodes_by_penalty
from penstock.placement.heuristics.judge import Judge, judged
from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.local_search import IMPROVEMENT, descend, is_better
from penstock.placement.heuristics.lower_bound import outlook_of
from penstock.placement.heuristics.penalty import link_penalty
from penstock.placement.heuristics.regroupings import Found, Regroupings
from penstock.placement.heuristics.responses import pairs_of, response
from penstock.placement.heuristics.terrain import Terrain, terrain_of
from penstock.placement.instance import Floats, Instance, Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer

_METHOD = "iterated local search"

_PATIENCE, _OPERATORS_PER_DESCENT = 1, 20
"""Descents in a row without a better placement after which the search ends: so many, or more for many operators."""

_MOST_DESCENTS = 200

_DIGITS = 12
"""To how many digits values must be equal for placements to be taken for the same."""

_CENTRES, _STARTS = 4, 3
"""Around how many nodes a first placement is tried, and from how many of all first placements the search starts."""

_WHOLE_NODES, _TO_CHEAPER, _CHEAPER = 0.5, 0.8, 16
"""How often a disturbance moves all operators of a node, how often to a cheaper node, and how many of these it is."""


def solve_iterated_local_search(problem: Problem, budget: Budget) -> Answer:
    """Repeat local search from disturbed placements until that has not helped for a while.

    Ends at once when a cheap lower bound shows that nothing is better; the bound is part of the answer.
    """
    judge = judged(problem)
    if judge is None:
        return Answer(infeasible=True)
    outlook = outlook_of(problem)
    if outlook is None:
        return judge.answer(_plain(judge, greedy_start(problem), budget), _METHOD)
    terrain = terrain_of(problem)
    afar = _from_afar(terrain, outlook.nodes)
    if afar is not None and terrain.costs.objective(afar) <= outlook.bound + TOLERANCE:
        return Answer(judge.instance.named(afar), outlook.bound, method=_METHOD)
    start = greedy_start(problem)
    if not terrain.costs.fits(start):
        start = descend(judge, start, budget)
        if not terrain.costs.fits(start):
            return replace(judge.answer(_plain(judge, start, budget), _METHOD), bound=outlook.bound)
    found = _Search(terrain, budget).run(_best_of(terrain, _starts(terrain, start, afar)), outlook.bound)
    return Answer(judge.instance.named(found), outlook.bound, method=_METHOD)


def _from_afar(terrain: Terrain, nodes: tuple[int, ...]) -> Ints | None:
    """The placement of the operators, in their order, on the nodes that look best from afar, if it is one."""
    if len(nodes) != len(terrain.free):
        return None
    place = np.array([candidates[0] for candidates in terrain.instance.candidates], dtype=np.int64)
    place[terrain.free] = nodes
    return place if terrain.keep(place[None, :])[0] else None


def _starts(terrain: Terrain, start: Ints, afar: Ints | None) -> Ints:
    """Placements that keep the constraints, one in a row.

    Besides those that are known there are some that fill nodes by their distance to one near the pinned operators.
    """
    instance = terrain.instance
    penalty = link_penalty(instance.problem)
    both = penalty + penalty.T
    centres = nodes_by_penalty(instance)[:_CENTRES].tolist()
    rows = np.array([first_fit(instance, np.argsort(both[centre], kind="stable")) for centre in centres])
    known = [start] if afar is None else [start, afar]
    return np.concatenate([known, rows[terrain.keep(rows)]])


def _best_of(terrain: Terrain, rows: Ints) -> list[Ints]:
    """From which of these placements the search starts, the best first, none twice."""
    rows = np.unique(rows, axis=0)
    return list(rows[np.argsort(terrain.values(rows), kind="stable")[:_STARTS]])


class _Search:
    """The search proper: goes from placement to placement, all of which keep the constraints."""

    def __init__(self, terrain: Terrain, budget: Budget) -> None:
        self._terrain, self._budget = terrain, budget
        self._rng = np.random.default_rng(budget.seed)
        ways = self._regroupings = Regroupings(terrain, self._rng)
        self._pairs = pairs_of(terrain, ways.twins)
        # Where every operator has twins, reassignments find what moves could, and responses what relocations could.
        self._moves = sum(len(one.members) for one in ways.twins) < len(terrain.free)
        relocations = () if self._pairs and not self._moves else (ways.relocations,)
        self._neighbourhoods = (self._responses, ways.exchanges, *relocations, ways.reorderings)
        self._least, self._current_value = np.inf, np.inf
        self._seen: set[float] = set()

    def run(self, starts: list[Ints], bound: float) -> Ints:
        """The best placement that is found; no other is looked for once it is as good as the bound."""
        self._landscape = Landscape(self._terrain, starts[0])
        enough = bound + TOLERANCE
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
        """Go to a placement that no move and no regrouping improves, or to one from where that was done before."""
        self._improve_by_parts()
        while self._is_new() and self._regroup() and not self._budget.is_over:
            self._improve_by_parts()

    def _regroup(self) -> bool:
        """Go to a better placement in the first of the larger neighbourhoods that has one; whether any has."""
        for neighbourhood in self._neighbourhoods:
            found = neighbourhood(self._landscape)
            if found is not None:
                self._landscape.reset(found.assignment)
                return True
        return False

    def _is_new(self) -> bool:
        """Whether no placement like this one has been left by way of larger neighbourhoods before."""
        value = round(self._landscape.value, _DIGITS)
        new = value not in self._seen
        self._seen.add(value)
        return new

    def _responses(self, landscape: Landscape) -> Found | None:
        """The best of what comes of replacing a node of one layer while another one responds."""
        found = [response(landscape, pair) for pair in self._pairs]
        return min((one for one in found if one is not None), key=lambda one: one.value, default=None)

    def _improve_by_parts(self) -> None:
        """Go to a placement that no move of one operator and no reassignment of one class improves."""
        landscape, twins = self._landscape, self._regroupings.twins
        if self._moves:
            landscape.descend(self._budget)
        settled, turn = 0, 0
        while settled < len(twins) and not self._budget.is_over:
            found = self._regroupings.reassignment(landscape, twins[turn % len(twins)])
            settled, turn = settled + 1, turn + 1
            if found is not None:
                landscape.reset(found.assignment)
                if self._moves:
                    landscape.descend(self._budget)
                settled = 0 if self._moves else 1


def _patience(instance: Instance) -> int:
    return max(_PATIENCE, instance.operators // _OPERATORS_PER_DESCENT)


def _plain(judge: Judge, start: Ints, budget: Budget) -> Ints:
    """The same idea with full evaluation, for objectives that do not fall into parts and for starts that do not fit."""
    rng = np.random.default_rng(budget.seed)
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
        groups = [free[place[free] == place[one]] for one in free[rng.integers(len(free), size=rng.integers(1, 3))]]
    else:
        groups = [free[[one]] for one in rng.integers(len(free), size=rng.integers(2, 5))]
    for group in groups:
        demand, before = instance.demand[group].sum(), place[group[0]]
        cost = np.where(room >= demand, table[group].sum(axis=0), np.inf)
        cost[before] = np.inf
        nodes = np.argsort(cost, kind="stable")[: int(np.isfinite(cost).sum())]
        if len(nodes) and (place[group] == before).all():
            offered = nodes[:_CHEAPER] if rng.random() < _TO_CHEAPER else nodes
            node = offered[rng.integers(len(offered))]
            place[group] = node
            room[before] += demand
            room[node] -= demand
    return place
