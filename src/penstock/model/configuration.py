"""What is, or shall be, deployed, and how two deployments differ."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from penstock.errors import InvalidModel
from penstock.model.cluster import Cluster
from penstock.model.topology import Topology

Parallelism: TypeAlias = Mapping[str, Mapping[str, int]]
"""Instances of each operator of each application."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Parallelism of every operator of every application, and the number of workers in use.

    `placement` (application -> operator -> one worker name per instance) is given only where it was decided;
    without it the scheduler spreads instances over the workers.
    """

    parallelism: Parallelism
    workers: int
    placement: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InvalidModel(f"A configuration with {self.workers} workers cannot run anything.")
        for application, operators in self.parallelism.items():
            for name, instances in operators.items():
                if instances < 1:
                    raise InvalidModel(f"Operator '{name}' of '{application}' cannot have {instances} instances.")
        for application, placed in (self.placement or {}).items():
            for name, workers in placed.items():
                expected = self.parallelism.get(application, {}).get(name)
                if len(workers) != expected:
                    raise InvalidModel(
                        f"Operator '{name}' of '{application}' has {expected} instances "
                        f"but is placed on {len(workers)} workers."
                    )

    def with_parallelism(self, application: str, operator: str, instances: int) -> "Configuration":
        """The same configuration with one operator at another parallelism; a placement is given up."""
        operators = {**self.parallelism[application], operator: instances}
        return replace(self, parallelism={**self.parallelism, application: operators}, placement=None)

    def with_workers(self, workers: int) -> "Configuration":
        """The same configuration on another number of workers; a placement is given up."""
        return replace(self, workers=workers, placement=None)

    def slots(self, topologies: Mapping[str, Topology]) -> int:
        """Slots needed to run every instance of every application at once."""
        return sum(topologies[name].slots(operators) for name, operators in self.parallelism.items())

    def fitted(self, topologies: Mapping[str, Topology], cluster: Cluster) -> "Configuration":
        """The same parallelism on the fewest workers that have a slot for every instance."""
        return self.with_workers(cluster.workers_for(self.slots(topologies)))


def smallest(topologies: Mapping[str, Topology], cluster: Cluster) -> Configuration:
    """Every operator at its least parallelism, on the fewest workers that hold it."""
    parallelism = {t.name: {o.name: o.min_parallelism for o in t.operators} for t in topologies.values()}
    return Configuration(parallelism, 1).fitted(topologies, cluster)


def largest(topologies: Mapping[str, Topology], cluster: Cluster) -> Configuration:
    """Every operator at its greatest parallelism, on every worker."""
    parallelism = {t.name: {o.name: o.max_parallelism for o in t.operators} for t in topologies.values()}
    return Configuration(parallelism, len(cluster.workers))


@dataclass(frozen=True, slots=True)
class ParallelismChange:
    """One operator goes from `before` to `after` instances."""

    application: str
    operator: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class WorkersChange:
    """The cluster goes from `before` to `after` workers."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PlacementChange:
    """One operator moves to other workers."""

    application: str
    operator: str
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None


Change: TypeAlias = ParallelismChange | WorkersChange | PlacementChange


def diff(before: Configuration, after: Configuration) -> tuple[Change, ...]:
    """The elementary changes that lead from one configuration to the other, in a fixed order."""
    changes: list[Change] = []
    for application, operators in after.parallelism.items():
        for name, instances in operators.items():
            was = before.parallelism[application][name]
            if was != instances:
                changes.append(ParallelismChange(application, name, was, instances))
            at_before = (before.placement or {}).get(application, {}).get(name)
            at_after = (after.placement or {}).get(application, {}).get(name)
            if at_before != at_after and at_after is not None:
                changes.append(PlacementChange(application, name, at_before, at_after))
    if before.workers != after.workers:
        changes.append(WorkersChange(before.workers, after.workers))
    return tuple(changes)
