"""What a policy decides, and on the basis of what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.errors import InvalidModel
from penstock.model.cluster import Cluster
from penstock.model.configuration import Configuration
from penstock.model.observation import Observation
from penstock.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Expected:
    """What a change promises, written down before acting so that it can be judged afterwards.

    Throughput is per application in source events per second; usage is the mean usage of its instances.
    """

    throughput_per_s: Mapping[str, float] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    latency_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing needs to change."""

    because: str


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """Go to `target`. `release` names workers to give up when the target has fewer of them.

    What the user asked for (`on_request`) is not rolled back, whatever comes of it.
    """

    target: Configuration
    because: str
    expected: Expected | None = None
    release: tuple[str, ...] = ()
    on_request: bool = False


Decision: TypeAlias = Keep | Reconfigure


@dataclass(frozen=True, slots=True)
class Objectives:
    """What the user wants.

    The thresholds are ELYSIUM's: an instance should be busy between `core_min` and `core_max` of its time,
    a worker at most `cpu_max`.
    """

    latency_target_s: float = 5.0
    core_min: float = 0.25
    core_max: float = 0.65
    cpu_max: float = 0.80
    max_workers: int | None = None
    min_workers: int = 1

    def __post_init__(self) -> None:
        if self.min_workers < 1 or (self.max_workers is not None and self.max_workers < self.min_workers):
            raise InvalidModel(
                f"A quota of {self.min_workers} to {self.max_workers} workers allows nothing; "
                "at least 1 worker is needed, and the most must not be below the least."
            )


@dataclass(frozen=True, slots=True)
class ScaleRequest:
    """At that time of the run the user asked for so many workers more (positive) or fewer (negative)."""

    at_s: float
    workers: int

    def __post_init__(self) -> None:
        if self.workers == 0:
            raise InvalidModel("A request for 0 workers asks for nothing; ask for at least 1 more or 1 fewer.")


@dataclass(frozen=True, slots=True)
class View:
    """All that a policy gets to see.

    `desired` is the last target that was decided, `requested` what the cluster was last asked for and
    `observed` what was last seen to run; they are never inferred from one another. `requests` are all that the
    user made in this run so far, oldest first; a policy that serves them remembers which it has served.
    """

    now_s: float
    topologies: Mapping[str, Topology]
    cluster: Cluster
    objectives: Objectives
    desired: Configuration
    requested: Configuration
    observed: Configuration | None = None
    observations: tuple[Observation, ...] = ()
    requests: tuple[ScaleRequest, ...] = ()

    @property
    def latest(self) -> Observation | None:
        """The newest observation, if there is one."""
        return self.observations[-1] if self.observations else None

    @property
    def max_workers(self) -> int:
        """The most workers that pool and quota allow."""
        pool = len(self.cluster.workers)
        quota = self.objectives.max_workers
        return pool if quota is None else min(pool, quota)
