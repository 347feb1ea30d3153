"""Small problems of any shape."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from penstock.placement import (
    AvailabilityModel,
    Bounds,
    Network,
    NetworkMetric,
    Node,
    Operator,
    Problem,
    Stream,
    Weights,
)


@pytest.fixture(scope="session")
def make_problem() -> Callable[..., Problem]:
    """A function that makes a random problem: mixed speeds, demands, capacities, rates, pins and directed links."""
    return _random_problem


def _random_problem(seed: int, operators: int = 5, nodes: int = 4, features: str = "") -> Problem:
    """`features` may name `bandwidth`, `bounds` and `nodes` (the availability model) to be added."""
    rng = np.random.default_rng(seed)
    names = tuple(f"n{index}" for index in range(nodes))
    placed = tuple(_operator(f"o{index}", names, rng) for index in range(operators))
    streams = tuple(
        Stream(f"o{i}", f"o{j}", float(rng.integers(0, 50)), bytes_per_tuple=None if rng.random() < 0.5 else 3.0)
        for i in range(operators)
        for j in range(i + 1, operators)
        if rng.random() < 0.5
    )
    weights = rng.dirichlet(np.ones(4)) if rng.random() < 0.6 else rng.permutation([1.0, 0.0, 0.0, 0.0])
    problem = Problem(
        placed,
        streams,
        tuple(
            Node(name, float(rng.integers(1, 4)), float(rng.choice([0.5, 1.0, 2.0])), float(rng.uniform(0.9, 1.0)))
            for name in names
        ),
        _network(rng, nodes, "bandwidth" in features),
        Weights(*(float(weight) for weight in weights)),
        network_metric=list(NetworkMetric)[int(rng.integers(3))],
    )
    if "bounds" in features:
        problem = replace(problem, bounds=Bounds(response_time_ms=float(rng.uniform(20, 90)), cost=60.0))
    if "nodes" in features:
        problem = replace(problem, availability_model=AvailabilityModel.NODES)
    return problem


def _operator(name: str, nodes: tuple[str, ...], rng: np.random.Generator) -> Operator:
    some = tuple(str(node) for node in rng.choice(nodes, int(rng.integers(1, len(nodes))), replace=False))
    resources, time_ms = float(rng.choice([0.5, 1.0, 1.5])), float(rng.integers(1, 9))
    return Operator(name, resources, time_ms, some if rng.random() < 0.3 else None)


def _network(rng: np.random.Generator, nodes: int, limited: bool) -> Network:
    def links(low: float, high: float, diagonal: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        matrix = rng.uniform(low, high, size=(nodes, nodes))
        np.fill_diagonal(matrix, diagonal)
        return matrix

    return Network(
        links(1.0, 40.0, 0.0),
        links(0.95, 1.0, 1.0) if rng.random() < 0.5 else None,
        links(20.0, 120.0, 1.0) if limited else None,
        links(0.0, 0.1, 0.0) if rng.random() < 0.5 else None,
    )
