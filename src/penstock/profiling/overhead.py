"""The Overhead Profiler (OP) of ELYSIUM: how busy a worker is, by what its instances do.

On both axes usage is a share of the worker's slots. What a worker does beside its instances (passing events on, writing
logs, collecting garbage) is the difference.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.model import Cluster, Observation, WorkerObservation
from penstock.profiling.base import enough, field_of
from penstock.profiling.functions import Floats, Function, Line, choose, function_from_json

_SATURATED = 0.97
"""Above this a worker's usage says nothing more about what its instances would like to do."""


@dataclass(frozen=True, slots=True)
class OverheadProfile:
    """The usage of a worker as a function of the sum of its instances' usages; never below that sum."""

    application: str
    function: Function = field(default_factory=lambda: Line(1.0))
    error: float = 0.0
    errors: Mapping[str, float] | None = None
    samples: int = 0

    @property
    def kind(self) -> str:
        """What was learned."""
        return "overhead"

    def worker_usages(self, instances: Floats) -> Floats:
        """The usage of workers whose instances take these shares of their slots."""
        return np.maximum(instances, self.function(instances))

    @classmethod
    def train(
        cls, application: str, cluster: Cluster, observations: Sequence[Observation], seed: int = 0
    ) -> "OverheadProfile":
        """Learn from all workers together; the function is the best one on held-out samples."""
        samples = [
            pair for o in observations for pair in overhead_samples(cluster, o) if pair[0] > 0 and pair[1] < _SATURATED
        ]
        enough("overhead", application, samples)
        fitted = choose([x for x, _ in samples], [y for _, y in samples], seed=seed)
        return cls(application, fitted.function, fitted.error, fitted.errors, len(samples))

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        return {
            "application": self.application,
            "function": self.function.to_json(),
            "error": self.error,
            "errors": dict(self.errors or {}),
            "samples": self.samples,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "OverheadProfile":
        """The profile that was saved, or `UsageError`."""
        names = ("application", "function", "error", "errors", "samples")
        application, function, error, errors, samples = (field_of(body, name, "overhead") for name in names)
        return cls(application, function_from_json(function), float(error), dict(errors), int(samples))


def overhead_samples(cluster: Cluster, observation: Observation) -> Iterator[tuple[float, float]]:
    """(sum of its instances' usages, usage) of every worker of which both are known, as shares of its slots.

    Where it is not known what a worker hosts, all work is taken to be spread evenly.
    """
    busy = {
        f"{application}/{name}": (operator.busy_s / observation.window_s, operator.instances)
        for application, seen in observation.applications.items()
        for name, operator in seen.operators.items()
        if operator.busy_s is not None
    }
    slots = {worker.name: worker.slots for worker in cluster.workers}
    usual = cluster.workers[0].slots
    even = sum(total for total, _ in busy.values()) / max(1, len(observation.workers))
    for name, worker in observation.workers.items():
        if worker.usage is not None and busy:
            yield _hosted(worker, busy, even) / slots.get(name, usual), worker.usage


def _hosted(worker: WorkerObservation, busy: Mapping[str, tuple[float, int]], even: float) -> float:
    if not worker.operators:
        return even
    known = ((count, *busy[key]) for key, count in worker.operators.items() if key in busy)
    return sum(count * total / instances for count, total, instances in known)
