"""Local Search (thesis, algorithm 4): the best neighbour by each strategy in turn, as long as that helps."""

from collections.abc import Container

from penstock.placement.heuristics.greedy import greedy_start
from penstock.placement.heuristics.judge import Judge, Score, judged
from penstock.placement.heuristics.neighbours import STRATEGIES, Strategy
from penstock.placement.instance import Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer

IMPROVEMENT = 1e-9
"""By how much an objective must be lower to count as lower, so that rounding cannot keep a search going."""


def solve_local_search(problem: Problem, budget: Budget) -> Answer:
    """Start with Greedy First-fit; co-locate, swap and move until nothing improves."""
    judge = judged(problem)
    if judge is None:
        return Answer(infeasible=True)
    return judge.answer(descend(judge, greedy_start(problem), budget), "local search")


def descend(judge: Judge, start: Ints, budget: Budget, forbidden: Container[bytes] = ()) -> Ints:
    """The local optimum that is reached from `start` without visiting `forbidden` placements (by their bytes)."""
    current, score, before = start, judge.score(start), None
    while before is None or is_better(score, before):
        before = score
        for strategy in STRATEGIES:
            if budget.is_over:
                return current
            found = best_neighbour(judge, current, strategy, forbidden)
            if found is not None and is_better(found[1], score):
                current, score = found
    return current


def best_neighbour(
    judge: Judge, assignment: Ints, strategy: Strategy, forbidden: Container[bytes] = ()
) -> tuple[Ints, Score] | None:
    """The best placement that `strategy` can reach and that is not forbidden, with its score."""
    rows = strategy(judge.instance, assignment)
    if not len(rows):
        return None
    for index, score in judge.scores(rows).best_first():
        if rows[index].tobytes() not in forbidden:
            return rows[index].copy(), score
    return None


def is_better(score: Score, than: Score) -> bool:
    """Whether a score is lower by more than rounding."""
    return score[0] < than[0] - IMPROVEMENT or (score[0] <= than[0] + IMPROVEMENT and score[1] < than[1] - IMPROVEMENT)
