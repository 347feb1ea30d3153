"""A small application, and ports that a test can script."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from penstock.control import Action, Entry, Level
from penstock.errors import ActionFailed, BadObservation
from penstock.model import (
    ApplicationObservation,
    Cluster,
    Configuration,
    Observation,
    Operator,
    OperatorObservation,
    Role,
    Stream,
    Topology,
    WorkerObservation,
)


def words(segments: tuple[tuple[str, ...], ...] = ()) -> Topology:
    operators = (
        Operator("source", Role.SOURCE, max_parallelism=2),
        Operator("split", max_parallelism=8),
        Operator("count", min_parallelism=2, max_parallelism=6, stateful=True, key="word"),
        Operator("sink", Role.SINK),
    )
    streams = (Stream("source", "split"), Stream("split", "count"), Stream("count", "sink"))
    return Topology("words", operators, streams, segments)


def setting(split: int = 2, count: int = 2, workers: int = 2, placement: Any = None, source: int = 1) -> Configuration:
    return Configuration({"words": {"source": source, "split": split, "count": count, "sink": 1}}, workers, placement)


def seen(
    at_s: float,
    running: Configuration,
    input_per_s: float = 100.0,
    throughput_per_s: float = 100.0,
    backlog: float = 0.0,
) -> Observation:
    """A window of 10 s that ends at `at_s`."""
    operators = {name: OperatorObservation(count) for name, count in running.parallelism["words"].items()}
    application = ApplicationObservation(
        operators,
        10 * input_per_s,
        10 * throughput_per_s,
        input_per_s=input_per_s,
        throughput_per_s=throughput_per_s,
        backlog=backlog,
    )
    workers = {f"w{i + 1}": WorkerObservation(0.5) for i in range(running.workers)}
    return Observation(at_s, 10.0, {"words": application}, workers)


class Plain:
    """All four ports in one. `sights` says what is seen at a time; without it all is well."""

    def __init__(self, initial: Configuration) -> None:
        self.now = 0.0
        self.running = initial
        self.written: list[Entry] = []
        self.applied: list[tuple[float, Configuration, tuple[str, ...]]] = []
        self.fails: set[float] = set()
        self.takes_s = 0.0
        self.sights: Callable[[float, Configuration], Observation | str] = seen

    def now_s(self) -> float:
        return self.now

    def sleep_until(self, at_s: float) -> None:
        self.now = max(self.now, at_s)

    def observe(self) -> Observation:
        sight = self.sights(self.now, self.running)
        if isinstance(sight, str):
            raise BadObservation(sight)
        return sight

    def requested(self) -> Configuration:
        return self.running

    def apply(self, target: Configuration, release: Sequence[str] = ()) -> tuple[Action, ...]:
        self.applied.append((self.now, target, tuple(release)))
        if self.now in self.fails:
            raise ActionFailed("the cluster said no")
        self.running = target
        return (Action("changed", Level.HOT, None, self.takes_s, 0.0),)

    def append(self, entry: Entry) -> None:
        self.written.append(entry)

    def entries(self) -> Iterable[Entry]:
        return self.written


@pytest.fixture
def topology() -> Callable[..., Topology]:
    return words


@pytest.fixture
def configuration() -> Callable[..., Configuration]:
    return setting


@pytest.fixture
def observation() -> Callable[..., Observation]:
    return seen


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.homogeneous(6, 2)


@pytest.fixture
def ports() -> Plain:
    return Plain(setting())
