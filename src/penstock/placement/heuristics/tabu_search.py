"""Tabu Search (thesis, algorithm 5): on from a local optimum by way of its best neighbour, though that be worse."""

from collections import deque

from penstock.placement.heuristics.greedy import greedy_start
from penstock.placement.heuristics.judge import WORST, Judge, Score, judged
from penstock.placement.heuristics.local_search import best_neighbour, descend, is_better
from penstock.placement.heuristics.neighbours import STRATEGIES
from penstock.placement.instance import Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer

_TABU_LENGTH = 1000


def solve_tabu_search(problem: Problem, budget: Budget) -> Answer:
    """Visit local optima one after the other, none twice, as long as each is better than all after the first."""
    judge = judged(problem)
    if judge is None:
        return Answer(infeasible=True)
    first = descend(judge, greedy_start(problem), budget)
    tabu = deque([first.tobytes()], maxlen=_TABU_LENGTH)
    best, best_score, current = first, judge.score(first), first
    score = WORST
    while not budget.is_over:
        step = _best_step(judge, current, tabu)
        if step is None:
            break
        current = descend(judge, step, budget, tabu)
        tabu.append(current.tobytes())
        reached = judge.score(current)
        if not is_better(reached, score):
            break
        score = reached
        if is_better(score, best_score):
            best, best_score = current, score
    return judge.answer(best, "tabu search")


def _best_step(judge: Judge, assignment: Ints, tabu: deque[bytes]) -> Ints | None:
    """The best neighbour by any strategy that is not tabu, whether or not it is an improvement."""
    best: tuple[Ints, Score] | None = None
    for strategy in STRATEGIES:
        found = best_neighbour(judge, assignment, strategy, tabu)
        if found is not None and (best is None or found[1] < best[1]):
            best = found
    return None if best is None else best[0]
