"""Refuses measurements that must not be acted upon."""

import math
from collections.abc import Iterator, Mapping

from penstock.errors import BadObservation
from penstock.model import ApplicationObservation, Observation, OperatorObservation, Topology


def inspect(observation: Observation, topologies: Mapping[str, Topology], previous_s: float | None) -> None:
    """Raise `BadObservation` for a gap, a negative or infinite value, or a clock that does not move forward."""
    if not (math.isfinite(observation.at_s) and 0 < observation.window_s < math.inf):
        raise BadObservation(f"the window of {observation.window_s} s at {observation.at_s} s is no window")
    if previous_s is not None and observation.at_s <= previous_s:
        raise BadObservation(f"the clock went from {previous_s:g} to {observation.at_s:g} s")
    for name, topology in topologies.items():
        seen = observation.applications.get(name)
        if seen is None:
            raise BadObservation(f"application '{name}' is missing")
        missing = [operator for operator in topology.names if operator not in seen.operators]
        if missing:
            raise BadObservation(f"operator '{missing[0]}' of '{name}' is missing")
    for name, seen in observation.applications.items():
        _inspect_application(name, seen)
    for name, worker in observation.workers.items():
        _inspect_value(f"usage of worker '{name}'", worker.usage)
        _inspect_value(f"state of worker '{name}'", worker.state_bytes)


def _inspect_application(name: str, seen: ApplicationObservation) -> None:
    for what in (
        "arrived",
        "completed",
        "lost",
        "duplicated",
        "input_per_s",
        "throughput_per_s",
        "backlog",
        "paused_s",
    ):
        _inspect_value(f"{what} of '{name}'", getattr(seen, what))
    if seen.latency is not None:
        for what in ("mean_s", "p50_s", "p95_s", "p99_s"):
            _inspect_value(f"latency {what} of '{name}'", getattr(seen.latency, what))
    for operator, observed in seen.operators.items():
        for what, value in _values(observed):
            _inspect_value(f"{what} of operator '{operator}' of '{name}'", value)
        if observed.instances < 1:
            raise BadObservation(f"operator '{operator}' of '{name}' has no instance")


def _values(seen: OperatorObservation) -> Iterator[tuple[str, float | None]]:
    yield "input rate", seen.input_per_s
    yield "processing rate", seen.processed_per_s
    yield "busy time", seen.busy_s
    yield "time share", seen.time_share
    yield "queue", seen.queue
    yield "true rate", seen.true_rate_per_s
    yield "effective rate", seen.effective_rate_per_s
    yield "skew", seen.skew
    yield "parallel share", seen.parallel_share
    yield "rate of batches", seen.batches_per_s
    yield "state", seen.state_bytes
    for downstream, rate in seen.output_per_s.items():
        yield f"output rate to '{downstream}'", rate


def _inspect_value(what: str, value: float | None) -> None:
    if value is not None and not (value >= 0 and math.isfinite(value)):
        raise BadObservation(f"{what} is {value}")
