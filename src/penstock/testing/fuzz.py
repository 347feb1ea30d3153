"""Problem files that are good, odd, wrong or broken, and what becomes of them: a result or a one-sentence refusal."""

import json
import math
from typing import Any

import numpy as np

from penstock.errors import UsageError
from penstock.placement import (
    SOLVERS,
    DowntimeModel,
    Problem,
    SolverInfo,
    Status,
    solver,
)
from penstock.placement.problem_file import parse_problem, problem_document
from penstock.testing.problems import SHAPES, ProblemKind, random_problem

_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 0.5, 1e-9, 1e-6, 1e-300, 1e9, 1e12, 1e13, 1e300, -0.0, 10**30),
    *(math.nan, math.inf, -math.inf, "", "n0", "n1", "o0", "o1", "x", "1", "ü\n\u0000", "n" * 300),
    *([], {}, [0, 1], [1, 0], [[0, 1], [1, 2]], ["n0"], ["n0", "n0"], ["n0", "n1"], {"name": "n0"}),
    *("traffic", "elastic_energy", "nodes", "restart"),
)
_SMALL_CHANCES = {"ilp": 0.02, "ilp-timeout": 0.02}
"""Solvers that start a process are tried less often."""

Path = tuple[str | int, ...]


def fuzzed_file(seed: int) -> bytes:
    """A problem file of few operators and nodes, spoiled in up to three places; equal seeds give equal files."""
    rng = np.random.default_rng(seed)
    changing = (None, None, None, *DowntimeModel)[int(rng.integers(5))]
    kind = ProblemKind(
        int(rng.integers(1, 7)),
        int(rng.integers(1, 6)),
        SHAPES[int(rng.integers(len(SHAPES)))],
        int(rng.choice([1, 1, 2, 3])),
        bool(rng.random() < 0.3),
        changing,
        bool(rng.random() < 0.4),
    )
    document = problem_document(random_problem(int(rng.integers(2**32)), kind))
    for _ in range(int(rng.choice([0, 0, 0, 1, 1, 1, 2, 3]))):
        _spoil(document, rng)
    content = json.dumps(document, ensure_ascii=bool(rng.random() < 0.5)).encode()
    return _broken(content, rng) if rng.random() < 0.05 else content


def fuzzed_outcome(seed: int, time_limit_s: float = 0.3) -> str:
    """What becomes of the file: `refused`, `not for this solver`, or the status of a solver's result.

    Raises whatever is not a refusal in one sentence.
    """
    try:
        problem = parse_problem(fuzzed_file(seed))
    except UsageError as refusal:
        _check_sentence(refusal)
        return "refused"
    return _solved(problem, np.random.default_rng(seed + 1), time_limit_s)


def _solved(problem: Problem, rng: np.random.Generator, time_limit_s: float) -> str:
    chances = np.array([_chance(info, problem) for info in SOLVERS.values()])
    name = str(rng.choice(list(SOLVERS), p=chances / chances.sum()))
    try:
        result = solver(name).solve(problem, time_limit_s, seed=1)
    except UsageError as refusal:
        _check_sentence(refusal)
        return "not for this solver"
    if result.evaluation is not None and not math.isfinite(result.evaluation.objective):
        raise AssertionError(f"Solver '{name}' calls an objective of {result.evaluation.objective} {result.status}.")
    if result.status is Status.OPTIMAL and (result.gap is None or result.gap > 1.0):
        raise AssertionError(f"Solver '{name}' calls a gap of {result.gap} optimal.")
    return str(result.status)


def _chance(info: SolverInfo, problem: Problem) -> float:
    """How often a solver is tried; one that cannot deal with the problem less, one that starts a process less."""
    beyond = (problem.replicates and not info.replication) or (problem.current is not None and not info.current)
    needed = info.needs_current and problem.current is None
    return _SMALL_CHANCES.get(info.name, 1.0) * (0.02 if beyond or needed else 1.0)


def _check_sentence(refusal: UsageError) -> None:
    sentence = str(refusal)
    if not sentence or "\n" in sentence or len(sentence) > 2000 or not sentence.endswith((".", "?")):
        raise AssertionError(f"This is not a sentence: {sentence!r}") from refusal


def _paths(value: Any, path: Path = ()) -> list[Path]:
    """The ways to all entries."""
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    else:
        return [path]
    return [path, *(deeper for key, child in children for deeper in _paths(child, (*path, key)))]


def _spoil(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one entry: something odd, nothing, another number, twice, or one that nobody asked for."""
    paths = [path for path in _paths(document) if path]
    if not paths:
        return
    # Entries of the top come first in importance: links, of which there are many, would get all the attention.
    heads = sorted({str(path[0]) for path in paths})
    head = heads[int(rng.integers(len(heads)))]
    paths = [path for path in paths if path[0] == head]
    path = paths[int(rng.integers(len(paths)))]
    parent: Any = document
    for step in path[:-1]:
        parent = parent[step]
    key, way = path[-1], rng.random()
    old = parent[key]
    if way < 0.6 and isinstance(old, int | float) and not isinstance(old, bool):
        parent[key] = float(old) * float(10.0 ** rng.integers(-9, 10)) * float(rng.choice([-1.0, 1.0, 1.0, 1.0, 1.0]))
    elif way < 0.75:
        parent[key] = _ODD[int(rng.integers(len(_ODD)))]
    elif way < 0.85:
        del parent[key]
    elif isinstance(parent, list):
        parent.append(old)
    else:
        parent[f"{key}_{rng.integers(9)}"] = old


def _broken(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut off, or with some bytes changed."""
    if rng.random() < 0.5:
        return content[: int(rng.integers(len(content)))]
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)
