"""Averages over observations, and the load that each operator must carry.

Everything here takes what is unknown (None, or a missing entry) for what it is: it is left out of averages, and what
depends on it is unknown in turn.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.model import ApplicationObservation, Observation, OperatorObservation, Topology


@dataclass(frozen=True, slots=True)
class OperatorRates:
    """One operator over several windows.

    `true_rate_per_s` is what an instance handles per second of its own useful time, `effective_rate_per_s` per second
    of useful time of its whole segment (the same when it does not take turns). `usage` is the share of its instances'
    time that its segment was busy.
    """

    input_per_s: float | None = None
    processed_per_s: float | None = None
    true_rate_per_s: float | None = None
    effective_rate_per_s: float | None = None
    time_share: float | None = None
    usage: float | None = None
    skew: float | None = None

    @property
    def rate_per_s(self) -> float | None:
        """The rate of one instance that policies reckon with: the effective rate, else the true one."""
        return self.true_rate_per_s if self.effective_rate_per_s is None else self.effective_rate_per_s

    @property
    def share(self) -> float | None:
        """The operator's part of its segment's busy time, measured or from the two rates."""
        if self.time_share is not None:
            return self.time_share
        if not self.true_rate_per_s or self.effective_rate_per_s is None:
            return None
        return self.effective_rate_per_s / self.true_rate_per_s


@dataclass(frozen=True, slots=True)
class ApplicationRates:
    """One application over several windows; `backlog` is the newest one known, all else are averages."""

    input_per_s: float | None
    throughput_per_s: float | None
    backlog: float | None
    operators: Mapping[str, OperatorRates]


def recent(observations: Iterable[Observation], since_s: float | None) -> tuple[Observation, ...]:
    """The observations whose whole window lies at or after `since_s` (None: all of them)."""
    # Window edges are sums of floats; a millisecond of slack keeps the window that starts exactly there.
    return tuple(o for o in observations if since_s is None or o.at_s - o.window_s >= since_s - 1e-3)


def newest(observations: Sequence[Observation], window_s: float) -> tuple[Observation, ...]:
    """The newest observation, and those that ended less than `window_s` before it did."""
    # By their ends, not their starts: windows of a live cluster are never exactly as long as they should be.
    return tuple(o for o in observations if o.at_s > observations[-1].at_s - window_s)


def weighted_mean(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """The mean of (value, weight) pairs in which both are known; None when no weight is left."""
    total = weighed = 0.0
    for value, weight in pairs:
        if value is not None and weight is not None:
            total += weight
            weighed += value * weight
    return weighed / total if total > 0 else None


def application_rates(topology: Topology, observations: Sequence[Observation]) -> ApplicationRates:
    """Averages for one application: load and throughput by time, rates of instances by their busy seconds.

    An application or operator that was not observed has None throughout.
    """
    seen = [(o.applications[topology.name], o.window_s) for o in observations if topology.name in o.applications]
    segment_of = {name: segment for segment in topology.all_segments for name in segment}
    return ApplicationRates(
        input_per_s=weighted_mean((a.input_per_s, window_s) for a, window_s in seen),
        throughput_per_s=weighted_mean((a.throughput_per_s, window_s) for a, window_s in seen),
        backlog=next((a.backlog for a, _ in reversed(seen) if a.backlog is not None), None),
        operators={name: _operator_rates(name, segment_of[name], seen) for name in topology.names},
    )


def _operator_rates(
    name: str, segment: Sequence[str], seen: Sequence[tuple[ApplicationObservation, float]]
) -> OperatorRates:
    windows = [(a.operators[name], segment_busy_s(a, segment), w) for a, w in seen if name in a.operators]
    return OperatorRates(
        input_per_s=weighted_mean((o.input_per_s, w) for o, _, w in windows),
        processed_per_s=weighted_mean((o.processed_per_s, w) for o, _, w in windows),
        true_rate_per_s=_by_busy([(o.true_rate_per_s, o.busy_s, w) for o, _, w in windows]),
        effective_rate_per_s=_by_busy([(o.effective_rate_per_s, busy, w) for o, busy, w in windows]),
        time_share=_by_busy([(o.time_share, busy, w) for o, busy, w in windows]),
        usage=weighted_mean((_usage(a, segment, a.operators[name], w), w) for a, w in seen if name in a.operators),
        skew=weighted_mean((o.skew, w) for o, _, w in windows),
    )


def _usage(
    application: ApplicationObservation, segment: Sequence[str], operator: OperatorObservation, window_s: float
) -> float | None:
    """Share of its instances' time that an operator's segment was busy in one window, at most 1.

    A micro-batch longer than the window shows as nothing at all, then as more than fits. So a window in which nothing
    was handled although something was there to handle tells nothing; and what is above 1 was spread over earlier ones.
    """
    busy_s = segment_busy_s(application, segment)
    if busy_s is None or (busy_s == 0 and _has_work(application, segment)):
        return None
    return min(1.0, busy_s / (operator.instances * window_s))


def _has_work(application: ApplicationObservation, segment: Sequence[str]) -> bool:
    members = [application.operators[name] for name in segment if name in application.operators]
    return (len(segment) > 1 and bool(application.backlog)) or any(o.input_per_s or o.queue for o in members)


def _by_busy(values: Sequence[tuple[float | None, float | None, float]]) -> float | None:
    """The mean of (value, busy seconds, window seconds) by busy seconds, or by time where those are not all known.

    Weighted by busy seconds, the mean of rates is all rows over all busy seconds, as it should be.
    """
    known = [(value, busy, window) for value, busy, window in values if value is not None]
    if any(busy is None for _, busy, _ in known):
        return weighted_mean((value, window) for value, _, window in known)
    return weighted_mean((value, busy) for value, busy, _ in known)


def segment_busy_s(application: ApplicationObservation, segment: Sequence[str]) -> float | None:
    """Useful seconds of all members of a segment in one window.

    Taken from a member's busy seconds and its share of the whole where both are known (a member that is chained to
    another has no time of its own), else summed over the members, all of which must then be known.
    """
    members = [application.operators[name] for name in segment if name in application.operators]
    if len(segment) > 1:
        scaled = [o.busy_s / o.time_share for o in members if o.busy_s is not None and o.time_share]
        if scaled:
            return max(scaled)
    busy = [o.busy_s for o in members if o.busy_s is not None]
    return sum(busy) if len(busy) == len(segment) else None


def selectivities(topology: Topology, observations: Sequence[Observation]) -> dict[tuple[str, str], float]:
    """Events sent on each stream per event processed upstream, over all windows together.

    A stream is missing when its upstream operator processed nothing, or nothing is known of it.
    """
    seen = [(o.applications[topology.name], o.window_s) for o in observations if topology.name in o.applications]
    result = {}
    for stream in topology.streams:
        windows = [(a.operators[stream.upstream], w) for a, w in seen if stream.upstream in a.operators]
        measured = _selectivity(stream.downstream, windows)
        if measured is not None:
            result[stream.upstream, stream.downstream] = measured
    return result


def _selectivity(downstream: str, windows: Iterable[tuple[OperatorObservation, float]]) -> float | None:
    # Weighted by processed events, the mean of ratios is all output over all input.
    return weighted_mean(
        (o.output_per_s[downstream] / o.processed_per_s, o.processed_per_s * window_s)
        for o, window_s in windows
        if o.processed_per_s and downstream in o.output_per_s
    )


def source_inputs(topology: Topology, rates: ApplicationRates) -> dict[str, float | None]:
    """What arrives at each source per second: the application's input where there is one source, else their own."""
    if len(topology.sources) == 1:
        (source,) = topology.sources
        own = rates.operators[source].input_per_s
        return {source: own if rates.input_per_s is None else rates.input_per_s}
    return {source: rates.operators[source].input_per_s for source in topology.sources}


def offered_inputs(
    topology: Topology, rates: ApplicationRates, selectivity: Mapping[tuple[str, str], float]
) -> dict[str, float | None]:
    """What arrives at each operator per second, and in a segment what would if a batch took in all that waits for it.

    Members of a segment get no more from one another than their batch has taken in, however much arrives before it.
    """
    segment_of = {name: segment for segment in topology.all_segments for name in segment}
    offered: dict[str, float | None] = {}
    left: dict[str, float] = {}
    for name in topology.order:
        arriving, handled = rates.operators[name].input_per_s, rates.operators[name].processed_per_s
        if arriving is not None:
            above = (upstream for upstream in topology.upstream(name) if upstream in segment_of[name])
            arriving += sum(left[upstream] * selectivity.get((upstream, name), 0.0) for upstream in above)
        offered[name] = arriving
        left[name] = 0.0 if arriving is None or handled is None else max(0.0, arriving - handled)
    return offered


def desired_inputs(
    topology: Topology,
    source_rates: Mapping[str, float | None],
    selectivity: Mapping[tuple[str, str], float],
) -> dict[str, float | None]:
    """What each operator must take in per second so that nothing queues anywhere, given what arrives at the sources.

    One pass in topological order, as in DS2. An operator behind a stream of unknown selectivity, or behind a source of
    unknown rate, is None, unless nothing flows there anyway.
    """
    desired: dict[str, float | None] = {}
    for name in topology.order:
        upstream = topology.upstream(name)
        if not upstream:
            desired[name] = source_rates.get(name)
            continue
        parts = [_flow(desired[up], selectivity.get((up, name))) for up in upstream]
        known = [part for part in parts if part is not None]
        desired[name] = sum(known) if len(known) == len(parts) else None
    return desired


def _flow(rate_per_s: float | None, selectivity: float | None) -> float | None:
    if rate_per_s == 0:
        return 0.0
    return None if rate_per_s is None or selectivity is None else rate_per_s * selectivity
