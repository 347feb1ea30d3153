from collections.abc import Callable

import numpy as np
import pytest

from penstock.placement import Problem, evaluate
from penstock.placement.heuristics.judge import judge_of
from penstock.placement.instance import instance_of

FEATURES = ("", "bandwidth", "bounds", "nodes", "bandwidth bounds nodes")


@pytest.mark.parametrize("features", FEATURES)
def test_scores_are_what_the_evaluator_says(make_problem: Callable[..., Problem], features: str) -> None:
    broken = 0
    for seed in range(30):
        problem = make_problem(seed, features=features)
        instance, rng = instance_of(problem), np.random.default_rng(seed)
        rows = rng.integers(instance.nodes, size=(20, instance.operators))
        scores = judge_of(problem).scores(rows)
        for row, violation, objective in zip(rows, scores.violation, scores.objective, strict=True):
            evaluation = evaluate(problem, instance.named(row))
            assert (violation == 0) == evaluation.is_feasible
            if all(node in instance.candidates[operator] for operator, node in enumerate(row)):
                assert objective == pytest.approx(evaluation.objective, abs=1e-9)
            broken += not evaluation.is_feasible
    assert broken > 0


def test_best_first_is_by_violation_then_by_objective(make_problem: Callable[..., Problem]) -> None:
    problem = make_problem(3)
    rows = np.random.default_rng(0).integers(4, size=(50, 5))
    scores = judge_of(problem).scores(rows)
    ordered = [score for _, score in scores.best_first()]
    assert ordered == sorted(ordered)
    assert scores.best()[1] == ordered[0]


def test_large_batches_are_scored_in_parts(
    make_problem: Callable[..., Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, rows = judge_of(make_problem(4)), np.random.default_rng(0).integers(4, size=(50, 5))
    whole = judge.scores(rows)
    monkeypatch.setattr("penstock.placement.heuristics.judge._BATCH_NUMBERS", 30)
    parts = judge.scores(rows)
    assert (parts.objective == whole.objective).all()
    assert (parts.violation == whole.violation).all()
