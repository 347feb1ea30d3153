"""Sliding averages over observations, as ELYSIUM takes them: a minute of samples of ten seconds each.

Rates and usages are means over the samples that know them, each weighted by how long it lasted; what no sample knows is
None. What describes a state (instances, queues, backlog, state sizes) is taken from the newest sample that knows it.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from penstock.model import ApplicationObservation, Latency, Observation, OperatorObservation, WorkerObservation

T = TypeVar("T")
V = TypeVar("V")
Samples: TypeAlias = Sequence[tuple[float, T]]
"""A part of each observation, oldest first, and how many seconds that observation covers."""


def average(observations: Sequence[Observation], at_s: float, window_s: float) -> Observation | None:
    """One observation of the `window_s` seconds before `at_s`; None if there is nothing to average.

    It names the applications, operators and workers of the newest observation. Counts of events are those of the
    samples, summed, even where the samples do not fill the window; `busy_s` is scaled to the whole window, so that
    `usage` gives the mean. Percentiles of latency are means of percentiles, hence approximate.
    """
    if not observations:
        return None
    newest = observations[-1]
    # Clocks are not exact: a sample that ends just inside the window belongs to the time before it.
    inside = [o for o in observations if o is newest or o.at_s - o.window_s / 2 > at_s - window_s]
    applications = {
        name: _application([(o.window_s, o.applications[name]) for o in inside if name in o.applications], window_s)
        for name in newest.applications
    }
    workers = {
        name: _worker([(o.window_s, o.workers[name]) for o in inside if name in o.workers]) for name in newest.workers
    }
    return Observation(at_s, window_s, applications, workers)


def _application(samples: Samples[ApplicationObservation], window_s: float) -> ApplicationObservation:
    parts = [part for _, part in samples]
    operators = {
        name: _operator([(s, part.operators[name]) for s, part in samples if name in part.operators], window_s)
        for name in parts[-1].operators
    }
    return ApplicationObservation(
        operators,
        arrived=_sum([part.arrived for part in parts]),
        completed=_sum([part.completed for part in parts]),
        lost=sum(part.lost for part in parts),
        duplicated=sum(part.duplicated for part in parts),
        input_per_s=_mean(samples, lambda part: part.input_per_s),
        throughput_per_s=_mean(samples, lambda part: part.throughput_per_s),
        backlog=_newest(samples, lambda part: part.backlog),
        latency=_latency(samples),
        paused_s=sum(part.paused_s for part in parts),
    )


def _operator(samples: Samples[OperatorObservation], window_s: float) -> OperatorObservation:
    busy_share = _busy_share(samples)
    # A rate per second of useful time is a mean over useful time, not over all time: the operator's, or its segment's.
    useful = [(part.busy_s or 0.0, part) for _, part in samples]
    useful_to_segment = [(_segment_busy_s(part), part) for _, part in samples]
    return OperatorObservation(
        instances=samples[-1][1].instances,
        input_per_s=_mean(samples, lambda part: part.input_per_s),
        processed_per_s=_mean(samples, lambda part: part.processed_per_s),
        output_per_s=_outputs(samples),
        busy_s=None if busy_share is None else busy_share * window_s,
        time_share=_mean(useful_to_segment, lambda part: part.time_share),
        queue=_newest(samples, lambda part: part.queue),
        true_rate_per_s=_mean(useful, lambda part: part.true_rate_per_s),
        effective_rate_per_s=_mean(useful_to_segment, lambda part: part.effective_rate_per_s),
        skew=_mean(samples, lambda part: part.skew),
        parallel_share=_mean(samples, lambda part: part.parallel_share),
        batches_per_s=_mean(samples, lambda part: part.batches_per_s),
        state_rows=_newest(samples, lambda part: part.state_rows),
        state_bytes=_newest(samples, lambda part: part.state_bytes),
    )


def _worker(samples: Samples[WorkerObservation]) -> WorkerObservation:
    return WorkerObservation(
        usage=_mean(samples, lambda part: part.usage),
        instances=_newest(samples, lambda part: part.instances),
        state_bytes=_newest(samples, lambda part: part.state_bytes),
        operators=samples[-1][1].operators,
    )


def _outputs(samples: Samples[OperatorObservation]) -> dict[str, float]:
    """The rate of every stream that some sample knows."""
    rates: dict[str, list[tuple[float, float]]] = {}
    for seconds, part in samples:
        for stream, rate in part.output_per_s.items():
            rates.setdefault(stream, []).append((seconds, rate))
    means = {stream: _mean(known, lambda rate: rate) for stream, known in rates.items()}
    return {stream: mean for stream, mean in means.items() if mean is not None}


def _busy_share(samples: Samples[OperatorObservation]) -> float | None:
    """Useful seconds of all instances per second."""
    known = [(seconds, part.busy_s) for seconds, part in samples if part.busy_s is not None]
    total_s = sum(seconds for seconds, _ in known)
    return sum(busy_s for _, busy_s in known) / total_s if total_s > 0 else None


def _segment_busy_s(part: OperatorObservation) -> float:
    """Useful seconds of all that take turns with the operator, as far as it can tell."""
    busy_s = part.busy_s or 0.0
    return busy_s / part.time_share if part.time_share else busy_s


def _latency(samples: Samples[ApplicationObservation]) -> Latency | None:
    """The mean over events where their numbers are known, else over time."""
    known = [(seconds, part.completed, part.latency) for seconds, part in samples if part.latency is not None]
    by_events = [(completed, latency) for _, completed, latency in known if completed is not None and completed > 0]
    weighted = by_events if len(by_events) == len(known) else [(seconds, latency) for seconds, _, latency in known]
    mean_s, p50_s = _mean(weighted, lambda part: part.mean_s), _mean(weighted, lambda part: part.p50_s)
    p95_s, p99_s = _mean(weighted, lambda part: part.p95_s), _mean(weighted, lambda part: part.p99_s)
    if mean_s is None or p50_s is None or p95_s is None or p99_s is None:
        return None
    return Latency(mean_s, p50_s, p95_s, p99_s)


def _mean(samples: Samples[T], read: Callable[[T], float | None]) -> float | None:
    """The weighted mean over the samples that know the value."""
    known = [(weight, value) for weight, part in samples if (value := read(part)) is not None]
    total = sum(weight for weight, _ in known)
    return sum(weight * value for weight, value in known) / total if total > 0 else None


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum, or None if a part of it is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _newest(samples: Samples[T], read: Callable[[T], V | None]) -> V | None:
    """The newest value that is known."""
    return next((value for _, part in reversed(samples) if (value := read(part)) is not None), None)
