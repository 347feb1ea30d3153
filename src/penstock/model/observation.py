"""What was measured in one window of time. What is not known is None; never NaN, never 0."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.model.configuration import Configuration


@dataclass(frozen=True, slots=True)
class OperatorObservation:
    """One operator in one window.

    `input_per_s` counts arrivals, `processed_per_s` what was taken from the queue, `output_per_s` what went
    out on each stream (by downstream operator). `busy_s` sums the useful seconds of all instances.
    `time_share` is the operator's part of its segment's busy time (1 when it does not take turns). `skew` is
    the busiest instance's load over the mean. `parallel_share` is the part of a segment's time that more
    instances can shorten; the rest is fixed overhead of its batches, of which `batches_per_s` ended (None where it does
    not work in batches).
    """

    instances: int
    input_per_s: float | None = None
    processed_per_s: float | None = None
    output_per_s: Mapping[str, float] = field(default_factory=dict)
    busy_s: float | None = None
    time_share: float | None = None
    queue: float | None = None
    true_rate_per_s: float | None = None
    effective_rate_per_s: float | None = None
    skew: float | None = None
    parallel_share: float | None = None
    batches_per_s: float | None = None
    state_rows: int | None = None
    state_bytes: int | None = None

    def usage(self, window_s: float) -> float | None:
        """Mean share of its time that an instance was busy."""
        return None if self.busy_s is None else self.busy_s / (self.instances * window_s)


@dataclass(frozen=True, slots=True)
class WorkerObservation:
    """One worker in one window: share of its slots in use, and what it hosts.

    `operators` counts the instances on it by their full name, `application/operator`.
    """

    usage: float | None = None
    instances: int | None = None
    state_bytes: int | None = None
    operators: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Latency:
    """End-to-end latency of the events that left in a window."""

    mean_s: float
    p50_s: float
    p95_s: float
    p99_s: float


@dataclass(frozen=True, slots=True)
class ApplicationObservation:
    """One application in one window.

    `arrived`, `completed`, `lost` and `duplicated` count source events in this window; the rates are those
    counts over the window. `backlog` is what has arrived and is neither completed nor lost.
    `paused_s` is the part of the window in which a reconfiguration kept it from working.
    """

    operators: Mapping[str, OperatorObservation]
    arrived: float | None = None
    completed: float | None = None
    lost: float = 0.0
    duplicated: float = 0.0
    input_per_s: float | None = None
    throughput_per_s: float | None = None
    backlog: float | None = None
    latency: Latency | None = None
    paused_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything measured in the `window_s` seconds before `at_s`."""

    at_s: float
    window_s: float
    applications: Mapping[str, ApplicationObservation]
    workers: Mapping[str, WorkerObservation]

    def configuration(self) -> Configuration:
        """The configuration that was seen to run (not the one that was asked for)."""
        parallelism = {
            name: {operator: seen.instances for operator, seen in application.operators.items()}
            for name, application in self.applications.items()
        }
        return Configuration(parallelism, max(1, len(self.workers)))

    def loads(self) -> dict[str, float]:
        """The input rate of every application whose rate is known, in source events per second."""
        return {
            name: application.input_per_s
            for name, application in self.applications.items()
            if application.input_per_s is not None
        }
