"""Small worlds, and ways to look at them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from penstock.model import Cluster, Configuration, Observation, Operator, Role, Stream, Topology
from penstock.simulation import World, WorldSettings
from penstock.workloads import Application, Constant, Curve, OperatorCost

LOTS = Cluster.homogeneous(8, 16)


def chain(
    costs: Mapping[str, OperatorCost],
    *,
    name: str = "app",
    fused: bool = False,
    stateful: Sequence[str] = (),
    segments: tuple[tuple[str, ...], ...] = (),
) -> Application:
    """Operators in a row, the first one the source."""
    names = list(costs)
    operators = tuple(
        Operator(n, Role.SOURCE if i == 0 else Role.TRANSFORM, max_parallelism=64, stateful=n in stateful)
        for i, n in enumerate(names)
    )
    streams = tuple(Stream(*ends) for ends in pairwise(names))
    topology = Topology(name, operators, streams, (tuple(names),) if fused else segments)
    return Application(topology, dict(costs), "a chain", "made up", 0.0, 1000.0, LOTS)


def start(
    app: Application,
    load: float | Curve,
    instances: Mapping[str, int] | None = None,
    cluster: Cluster = LOTS,
    workers: int | None = None,
    placement: Any = None,
    **settings: Any,
) -> World:
    """A world with one application in it; every operator has one instance where nothing else is given."""
    curve = Constant(load) if isinstance(load, int | float) else load
    parallelism = {app.name: {n: (instances or {}).get(n, 1) for n in app.topology.names}}
    initial = Configuration(parallelism, workers or len(cluster.workers), placement)
    return World([(app, curve)], cluster, initial, WorldSettings(**settings))


def watch(world: World, until_s: float, every_s: float = 10.0) -> list[Observation]:
    """Everything that is observed on the way."""
    seen = []
    while world.now_s() < until_s - 1e-9:
        world.sleep_until(min(until_s, world.now_s() + every_s))
        seen.append(world.observe())
    return seen


@pytest.fixture
def make_app() -> Callable[..., Application]:
    return chain


@pytest.fixture
def make_world() -> Callable[..., World]:
    return start


@pytest.fixture
def observe() -> Callable[..., list[Observation]]:
    return watch
