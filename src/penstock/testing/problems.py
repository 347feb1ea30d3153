"""Small random placement problems of any kind, for holding solvers against one another."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.placement import (
    AvailabilityModel,
    Bounds,
    DowntimeModel,
    Network,
    NetworkMetric,
    Node,
    Normalisation,
    Operator,
    Problem,
    Reconfiguration,
    Stream,
    Weights,
)

SHAPES = ("any", "chain", "diamond", "layers", "tree")


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """What a random problem looks like.

    `replicas` is the most replicas of an operator; `alike` makes operators, streams and nodes equal, which the methods
    for special shapes ask for; `changing` adds a current deployment, `limited` bounds and bandwidths.
    """

    operators: int = 4
    nodes: int = 3
    shape: str = "any"
    replicas: int = 1
    alike: bool = False
    changing: DowntimeModel | None = None
    limited: bool = False


def random_problem(seed: int, kind: ProblemKind | None = None) -> Problem:
    """A problem with mixed speeds, demands, capacities, rates, pins and directed links; equal seeds give equal ones."""
    kind = kind or ProblemKind()
    rng = np.random.default_rng(seed)
    names = tuple(f"n{index}" for index in range(kind.nodes))
    streams = _streams(rng, kind)
    problem = Problem(
        _operators(rng, kind, names),
        streams,
        tuple(_node(rng, name, kind.alike) for name in names),
        _network(rng, kind),
        network_metric=list(NetworkMetric)[int(rng.integers(3))],
        availability_model=list(AvailabilityModel)[int(rng.integers(2))] if rng.random() < 0.3 else None,
    )
    if kind.changing is not None:
        problem = _with_current(rng, problem, kind.changing)
    if kind.limited:
        problem = replace(problem, bounds=_bounds(rng, kind))
    if rng.random() < 0.3:
        problem = replace(problem, normalisation=Normalisation((0.0, 100.0), (0.5, 1.0), (0.0, 10.0), (0.0, 20.0)))
    return replace(problem, weights=_weights(rng, kind.changing is not None))


def _edges(rng: np.random.Generator, kind: ProblemKind) -> list[tuple[int, int]]:
    last = kind.operators - 1
    if kind.shape == "chain":
        return [(one, one + 1) for one in range(last)]
    if kind.shape == "tree":
        return [(int(rng.integers(one)), one) for one in range(1, kind.operators)]
    if kind.shape == "diamond" and last > 1:
        return [edge for one in range(1, last) for edge in ((0, one), (one, last))]
    if kind.shape == "layers" and last > 2:
        cut = int(rng.integers(2, last))
        first, second = range(1, cut), range(cut, last)
        between = [(one, other) for one in first for other in second]
        return [*((0, one) for one in first), *between, *((other, last) for other in second)]
    pairs = [(one, other) for one in range(kind.operators) for other in range(one + 1, kind.operators)]
    return [pair for pair in pairs if rng.random() < 0.5]


def _streams(rng: np.random.Generator, kind: ProblemKind) -> tuple[Stream, ...]:
    sized = rng.random() < 0.3
    return tuple(
        Stream(
            f"o{one}",
            f"o{other}",
            20.0 if kind.alike else float(rng.integers(0, 50)),
            bytes_per_tuple=float(rng.integers(1, 4)) if sized and not kind.alike else None,
        )
        for one, other in _edges(rng, kind)
    )


def _operators(rng: np.random.Generator, kind: ProblemKind, names: tuple[str, ...]) -> tuple[Operator, ...]:
    made = []
    ends = rng.choice(names, 2).tolist()
    for index in range(kind.operators):
        end = index in (0, kind.operators - 1)
        pinned = rng.random() < 0.3 if not kind.alike else end and kind.shape != "any"
        number = 1 if kind.alike else int(rng.integers(1, len(names) + 1))
        some = (ends[index > 0],) if kind.alike else tuple(str(n) for n in rng.choice(names, number, replace=False))
        made.append(_operator(rng, f"o{index}", some if pinned else None, kind))
    return tuple(made)


def _operator(rng: np.random.Generator, name: str, candidates: tuple[str, ...] | None, kind: ProblemKind) -> Operator:
    operator = Operator(name, 1.0, 3.0, candidates, kind.replicas, cost=1.0)
    if not kind.alike:
        operator = replace(
            operator,
            resources=float(rng.choice([0.0, 0.5, 1.0, 1.5])),
            execution_time_ms=float(rng.integers(0, 9)),
            cost=float(rng.integers(0, 3)),
            max_replicas=int(rng.integers(1, kind.replicas + 1)),
        )
    if kind.replicas > 1 and rng.random() < 0.7:
        operator = replace(operator, service_rate_per_s=float(rng.integers(15, 120)))
    elif kind.replicas > 1 and rng.random() < 0.3:
        operator = replace(operator, latency_profile=((0.0, 1.0), (20.0, 4.0), (60.0, 30.0)))
    if kind.changing is None:
        return operator
    return replace(operator, state_bytes=float(rng.integers(0, 5)) * 1e6, code_bytes=float(rng.integers(0, 3)) * 1e6)


def _node(rng: np.random.Generator, name: str, alike: bool) -> Node:
    available = float(rng.uniform(0.9, 1.0))
    if alike:
        return Node(name, 2.0, 1.0, available)
    speed = float(rng.choice([0.5, 1.0, 2.0]))
    return Node(name, float(rng.integers(1, 5)), speed, available, float(rng.choice([0.0, 0.2, 1.0])))


def _network(rng: np.random.Generator, kind: ProblemKind) -> Network:
    def links(low: float, high: float, diagonal: float) -> NDArray[np.float64]:
        matrix = rng.uniform(low, high, size=(kind.nodes, kind.nodes))
        np.fill_diagonal(matrix, diagonal)
        return matrix

    delay_ms = links(0.0, 40.0, 0.0)
    # Ties are what a solver is most likely to get wrong.
    step_ms = float(rng.choice([0.0, 0.0, 10.0, 20.0]))
    if step_ms:
        delay_ms = np.round(delay_ms / step_ms) * step_ms
    if kind.alike and rng.random() < 0.7:
        delay_ms = np.minimum(delay_ms, delay_ms.T)
        for via in range(kind.nodes):
            delay_ms = np.minimum(delay_ms, delay_ms[:, [via]] + delay_ms[[via], :])
    return Network(
        delay_ms,
        links(0.95, 1.0, 1.0) if rng.random() < 0.4 else None,
        np.round(links(5.0, 120.0, 1.0)) if kind.limited and rng.random() < 0.7 else None,
        links(0.0, 0.1, 0.0) if rng.random() < 0.4 else None,
    )


def _with_current(rng: np.random.Generator, problem: Problem, model: DowntimeModel) -> Problem:
    names = [node.name for node in problem.nodes]
    current = {
        operator.name: tuple(str(name) for name in rng.choice(names, int(rng.integers(1, operator.max_replicas + 1))))
        for operator in problem.operators
    }
    settings = Reconfiguration(
        float(rng.choice([0.0, 0.25])),
        float(rng.choice([0.0, 5.0])),
        float(rng.choice([1e6, 12.5e6])),
        model,
        float(rng.choice([1e6, 1e8])) if rng.random() < 0.5 else None,
    )
    return replace(problem, current=current, reconfiguration=settings)


def _bounds(rng: np.random.Generator, kind: ProblemKind) -> Bounds:
    return Bounds(
        float(rng.integers(20, 120)) if rng.random() < 0.6 else None,
        float(rng.integers(3, 20)) if rng.random() < 0.4 else None,
        float(rng.uniform(0.5, 6.0)) if kind.changing is not None and rng.random() < 0.4 else None,
    )


def _weights(rng: np.random.Generator, changing: bool) -> Weights:
    number = 5 if changing else 4
    chosen = rng.permutation([1.0, *([0.0] * (number - 1))]) if rng.random() < 0.4 else rng.dirichlet(np.ones(number))
    return Weights(*(float(weight) for weight in chosen))
