"""Journals made up from a few figures, and one that a small fluid model writes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from penstock.control import Acted, Action, Decided, Ended, Entry, Judged, Level, Observed, Started
from penstock.model import (
    ApplicationObservation,
    Cluster,
    Configuration,
    Keep,
    Latency,
    Objectives,
    Observation,
    Operator,
    OperatorObservation,
    Reconfigure,
    Role,
    Stream,
    Topology,
    WorkerObservation,
)

RUN = {"application": "wordcount", "policy": "ds2", "load": "step", "duration_s": "600", "seed": "7", "live": "false"}


def topology(name: str = "wordcount") -> Topology:
    return Topology(
        name,
        (
            Operator("source", Role.SOURCE),
            Operator("split", max_parallelism=8),
            Operator("count", max_parallelism=8, stateful=True, key="word"),
            Operator("sink", Role.SINK),
        ),
        (Stream("source", "split"), Stream("split", "count"), Stream("count", "sink")),
    )


def configuration(split: int = 1, workers: int = 1, names: tuple[str, ...] = ("wordcount",)) -> Configuration:
    return Configuration({name: {"source": 1, "split": split, "count": 1, "sink": 1} for name in names}, workers)


def latency(p95_s: float) -> Latency:
    return Latency(mean_s=p95_s / 2, p50_s=p95_s / 2, p95_s=p95_s, p99_s=2 * p95_s)


@pytest.fixture
def started() -> Callable[..., Started]:
    def make(**changes: Any) -> Started:
        base = Started(0.0, RUN, (topology(),), Cluster.homogeneous(4, 4), Objectives(), configuration())
        return replace(base, **changes)

    return make


@pytest.fixture
def config() -> Callable[..., Configuration]:
    return configuration


@pytest.fixture
def app() -> Callable[..., ApplicationObservation]:
    """One application in a window of 10 s: rates in, rates out, and whatever else is given."""

    def make(came_per_s: float | None = 100.0, went_per_s: float | None = 100.0, **more: Any) -> ApplicationObservation:
        values: dict[str, Any] = {
            "operators": {name: OperatorObservation(1) for name in topology().names},
            "arrived": None if came_per_s is None else 10 * came_per_s,
            "completed": None if went_per_s is None else 10 * went_per_s,
            "input_per_s": came_per_s,
            "throughput_per_s": went_per_s,
            "backlog": 0.0,
            "latency": latency(1.0),
        }
        return ApplicationObservation(**{**values, **more})

    return make


@pytest.fixture
def seen() -> Callable[..., Observed]:
    """A window of 10 s that ends at `at_s`."""

    def make(at_s: float, workers: int = 2, window_s: float = 10.0, **applications: ApplicationObservation) -> Observed:
        hosts = {f"w{i + 1}": WorkerObservation() for i in range(workers)}
        return Observed(at_s, Observation(at_s, window_s, applications, hosts))

    return make


@dataclass
class Fluid:
    """A fluid model of one application under a policy that sizes by rate, enough to write a believable journal."""

    load_per_s: Callable[[float], float]
    run: Mapping[str, str]
    rate_per_s: float = 60.0
    headroom: float = 1.2
    elastic: bool = True
    now: Configuration = field(default_factory=lambda: configuration(2, 2))
    backlog: float = 0.0
    paused_s: float = 0.0
    acted_s: float = -1e9

    def entries(self, until_s: float) -> Iterator[Entry]:
        start = Started(0.0, self.run, (topology(),), Cluster.homogeneous(4, 2), Objectives(), self.now)
        yield start
        at_s = 10.0
        while at_s <= until_s:
            yield self._observed(at_s)
            yield from self._decided(at_s)
            at_s += 10.0
        yield Ended(until_s, "the time was up")

    def _observed(self, at_s: float) -> Observed:
        came = 10 * self.load_per_s(at_s - 5)
        split = self.now.parallelism["wordcount"]["split"]
        able = self.rate_per_s * split * (10 - self.paused_s)
        went = min(able, came + self.backlog)
        self.backlog += came - went
        wait_s = 0.2 + self.backlog / (self.rate_per_s * split) + self.paused_s / 2
        operators = {n: OperatorObservation(k) for n, k in self.now.parallelism["wordcount"].items()}
        app = ApplicationObservation(
            operators, came, went, 0.0, 0.0, came / 10, went / 10, self.backlog, latency(wait_s * 1.4), self.paused_s
        )
        self.paused_s = 0.0
        hosts = {f"w{i + 1}": WorkerObservation() for i in range(self.now.workers)}
        return Observed(at_s, Observation(at_s, 10.0, {"wordcount": app}, hosts))

    def _decided(self, at_s: float) -> Iterator[Entry]:
        load = self.load_per_s(at_s - 5) + self.backlog / 60
        split = min(8, max(1, -int(-load * self.headroom // self.rate_per_s)))
        target = configuration(split, min(4, (split + 1) // 2))
        if not self.elastic or target == self.now:
            yield Decided(at_s, Keep("all operators are within their capacity"), None)
            return
        was = self.now.parallelism["wordcount"]["split"]
        because = f"split needs {load / self.rate_per_s:.2f} instances for {load:.0f} events/s, has {was}"
        if at_s - self.acted_s < 60:
            held = f"cool-down: the last action was at {self.acted_s:.0f} s"
            yield Decided(at_s, Reconfigure(target, because), None, held)
            return
        yield Decided(at_s, Reconfigure(target, because), target)
        yield Acted(at_s, target, (Action("split repartitioned", Level.RESTART, "wordcount", 2.4, 2.0),))
        if at_s > 1500 and self.acted_s < 1500:
            yield Judged(at_s, "worse", "wordcount completes 80 of 300 events/s, before it completed 240", self.now)
            yield Acted(at_s, self.now, (Action("split repartitioned", Level.RESTART, "wordcount", 2.1, 1.8),))
            self.paused_s += 1.8
            self.acted_s = at_s
            return
        yield Judged(at_s, "met", f"wordcount completes {load:.0f} of {load:.0f} events/s")
        self.now, self.acted_s, self.paused_s = target, at_s, 2.0


@pytest.fixture
def fluid() -> Callable[..., list[Entry]]:
    """A journal of a policy's run over `until_s` seconds of the given load."""

    def write(
        load_per_s: Callable[[float], float], policy: str = "ds2", until_s: float = 600, **how: Any
    ) -> list[Entry]:
        run = {**RUN, "policy": policy, "duration_s": f"{until_s:g}"}
        return list(Fluid(load_per_s, run, **how).entries(until_s))

    return write
