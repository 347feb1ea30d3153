"""What a run was worth, computed from its journal alone. `docs/measures.md` defines every measure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Any

from penstock.control.entries import Entry
from penstock.evaluation.convergence import Sample, convergence_times_s
from penstock.evaluation.percentiles import WeightedLatency, mean_s, percentile_s
from penstock.evaluation.timeline import Episode, Timeline, Window
from penstock.model import ApplicationObservation
from penstock.policies import SPARK_DYNAMIC_ALLOCATION


@dataclass(frozen=True, slots=True)
class ApplicationMeasures:
    """What one application got out of a run; None where nothing is known."""

    throughput_degradation: float | None
    mean_latency_s: float | None
    p95_latency_s: float | None
    p99_latency_s: float | None
    slo_violation_s: float
    peak_backlog: float | None
    events_in: int | None
    events_out: int | None
    events_lost: int
    events_duplicated: int
    reconfigurations: int
    downtime_s: float
    convergence_s: float | None
    converged: int
    backlog_at_end: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """Something the policy wanted to change, or the loop changed back, with the reason for it."""

    at_s: float
    action: str
    reason: str


@dataclass(frozen=True, slots=True)
class Measures:
    """One run in figures: those of all applications together, then a breakdown by application.

    None means unknown; a run of which nothing was observed has 0 events and None for what is an average.
    """

    application: str
    policy: str
    load: str
    duration_s: float
    seed: int | None
    live: bool
    throughput_degradation: float | None
    nodes_saved: float | None
    mean_workers: float | None
    worker_seconds: float
    mean_latency_s: float | None
    p95_latency_s: float | None
    p99_latency_s: float | None
    slo_violation_s: float
    peak_backlog: float | None
    events_in: int | None
    events_out: int | None
    events_lost: int
    events_duplicated: int
    reconfigurations: int
    downtime_s: float
    convergence_s: float | None
    decisions: tuple[Choice, ...]
    execution: str | None
    pool: int
    latency_target_s: float
    observed_s: float
    complete: bool
    converged: int
    rollbacks: int
    failed: int
    refused: int
    backlog_at_end: float | None
    by_application: Mapping[str, ApplicationMeasures]

    def as_json(self) -> dict[str, Any]:
        """Plain values in a fixed order; fractions are rounded to six digits."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["decisions"] = [asdict(choice) for choice in self.decisions]
        values["by_application"] = {name: asdict(measures) for name, measures in self.by_application.items()}
        rounded: dict[str, Any] = _rounded(values)
        return rounded


def measure(entries: Iterable[Entry]) -> Measures:
    """The measures of the run that wrote `entries`; raises `UsageError` when they hold no start of a run."""
    return measured(Timeline.of(entries))


def measured(timeline: Timeline) -> Measures:
    """The measures of a run whose journal has been read already."""
    started, windows = timeline.started, timeline.windows
    run = started.run
    observed_s = sum(window.seconds for window in windows)
    together = _of_applications(timeline, timeline.applications)
    return Measures(
        application=run.get("application", "+".join(timeline.applications)),
        policy=run.get("policy", ""),
        load=run.get("load", ""),
        duration_s=_number(run.get("duration_s")) or timeline.end_s - started.at_s,
        seed=_whole_number(run.get("seed")),
        live=run.get("live", "").strip().lower() in ("true", "1", "yes"),
        throughput_degradation=together.throughput_degradation,
        nodes_saved=_nodes_saved(timeline, run.get("policy", "")),
        mean_workers=_mean_workers(windows),
        worker_seconds=_worker_seconds(windows),
        mean_latency_s=together.mean_latency_s,
        p95_latency_s=together.p95_latency_s,
        p99_latency_s=together.p99_latency_s,
        slo_violation_s=together.slo_violation_s,
        peak_backlog=together.peak_backlog,
        events_in=together.events_in,
        events_out=together.events_out,
        events_lost=together.events_lost,
        events_duplicated=together.events_duplicated,
        reconfigurations=sum(episode.carried_out for episode in timeline.episodes),
        downtime_s=together.downtime_s,
        convergence_s=together.convergence_s,
        decisions=tuple(_choice(episode) for episode in timeline.episodes),
        execution=run.get("execution"),
        pool=len(started.cluster.workers),
        latency_target_s=started.objectives.latency_target_s,
        observed_s=observed_s,
        complete=timeline.ended is not None,
        converged=together.converged,
        rollbacks=sum(episode.rollback and episode.carried_out for episode in timeline.episodes),
        failed=sum(episode.error is not None for episode in timeline.episodes),
        refused=timeline.refused,
        backlog_at_end=together.backlog_at_end,
        by_application={name: _of_applications(timeline, (name,)) for name in timeline.applications},
    )


def violating(windows: Sequence[Window], names: Iterable[str], target_s: float) -> list[Window]:
    """The windows in which any of the applications was later than the target, or had work waiting at their end and had
    completed nothing for longer than the target."""
    found: set[int] = set()
    for name in names:
        still_s = 0.0
        for index, window in enumerate(windows):
            seen = window.application(name)
            stuck = seen is not None and _is_zero(seen.completed, seen.throughput_per_s) and (seen.backlog or 0.0) > 0
            still_s = still_s + window.seconds if stuck else 0.0
            late = seen is not None and seen.latency is not None and seen.latency.p95_s > target_s
            if late or still_s > target_s:
                found.add(index)
    return [windows[index] for index in sorted(found)]


def _is_zero(count: float | None, rate_per_s: float | None) -> bool:
    return count == 0 or (count is None and rate_per_s == 0)


def _of_applications(timeline: Timeline, names: Sequence[str]) -> ApplicationMeasures:
    """Measures of several applications taken together."""
    windows = timeline.windows
    latencies = _latencies(windows, names)
    backlogs = [backlog for window in windows if (backlog := _backlog(window, names)) is not None]
    concerning = [e for e in timeline.episodes if e.carried_out and any(e.concerns(name) for name in names)]
    settled = [s for s in convergence_times_s([e.at_s for e in concerning], _samples(windows, names)) if s is not None]
    target_s = timeline.started.objectives.latency_target_s
    return ApplicationMeasures(
        throughput_degradation=_degradation(windows, names),
        mean_latency_s=mean_s(latencies),
        p95_latency_s=percentile_s(latencies, 0.95),
        p99_latency_s=percentile_s(latencies, 0.99),
        slo_violation_s=float(sum(w.seconds for w in violating(windows, names, target_s))),
        peak_backlog=max(backlogs, default=None),
        events_in=_events(windows, names, arrived),
        events_out=_events(windows, names, completed),
        events_lost=_events(windows, names, lambda seen, _: seen.lost) or 0,
        events_duplicated=_events(windows, names, lambda seen, _: seen.duplicated) or 0,
        reconfigurations=len(concerning),
        downtime_s=float(sum(_downtime_s(timeline, name) for name in names)),
        convergence_s=sum(settled) / len(settled) if settled else None,
        converged=len(settled),
        backlog_at_end=backlogs[-1] if backlogs else None,
    )


def arrived(seen: ApplicationObservation, seconds: float) -> float | None:
    """Source events that arrived in a window."""
    if seen.arrived is not None or seen.input_per_s is None:
        return seen.arrived
    return seen.input_per_s * seconds


def completed(seen: ApplicationObservation, seconds: float) -> float | None:
    """Source events that were completed in a window."""
    if seen.completed is not None or seen.throughput_per_s is None:
        return seen.completed
    return seen.throughput_per_s * seconds


def _seen(windows: Iterable[Window], names: Sequence[str]) -> Iterable[tuple[Window, ApplicationObservation]]:
    for window in windows:
        for name in names:
            if (seen := window.application(name)) is not None:
                yield window, seen


def _events(
    windows: Sequence[Window],
    names: Sequence[str],
    count: Callable[[ApplicationObservation, float], float | None],
) -> int | None:
    if not windows:
        return 0
    counts = [n for window, seen in _seen(windows, names) if (n := count(seen, window.seconds)) is not None]
    return round(sum(counts)) if counts else None


def _in_and_out(window: Window, names: Sequence[str]) -> list[tuple[float, float]]:
    """Events that arrived and were completed, of each application of which both are known."""
    pairs = ((arrived(seen, w.seconds), completed(seen, w.seconds)) for w, seen in _seen([window], names))
    return [(came, went) for came, went in pairs if came is not None and went is not None]


def _degradation(windows: Iterable[Window], names: Sequence[str]) -> float | None:
    total = weight_s = 0.0
    for window in windows:
        pairs = _in_and_out(window, names)
        load = sum(came for came, _ in pairs)
        if load > 0:
            total += window.seconds * sum(abs(came - went) for came, went in pairs) / load
            weight_s += window.seconds
    return total / weight_s if weight_s > 0 else None


def _samples(windows: Iterable[Window], names: Sequence[str]) -> list[Sample]:
    samples = []
    for window in windows:
        pairs = _in_and_out(window, names)
        load = sum(came for came, _ in pairs)
        if load > 0:
            samples.append(Sample(window.end_s, window.seconds, sum(went for _, went in pairs) / load))
    return samples


def _latencies(windows: Iterable[Window], names: Sequence[str]) -> list[WeightedLatency]:
    return [
        WeightedLatency(seen.latency, completed(seen, window.seconds) or 0.0)
        for window, seen in _seen(windows, names)
        if seen.latency is not None
    ]


def _backlog(window: Window, names: Sequence[str]) -> float | None:
    known = [seen.backlog for _, seen in _seen([window], names) if seen.backlog is not None]
    return sum(known) if known else None


def _downtime_s(timeline: Timeline, name: str) -> float:
    """The greater of two accounts of the same pauses: what was observed, and what the actions say they took."""
    observed_s = sum(seen.paused_s for _, seen in _seen(timeline.windows, (name,)))
    acted_s = sum(_pause_s(episode, name) for episode in timeline.episodes)
    return max(observed_s, acted_s)


def _pause_s(episode: Episode, name: str) -> float:
    return max((a.pause_s for a in episode.done if a.application in (name, None)), default=0.0)


def _nodes_saved(timeline: Timeline, policy: str) -> float | None:
    """By what was chosen; where Spark itself decides nobody else chooses anything, so by what was running."""
    chosen = fmean(timeline.chosen) if timeline.chosen else None
    used = _mean_workers(timeline.windows) if policy == SPARK_DYNAMIC_ALLOCATION else chosen
    return None if used is None else 100.0 * (1.0 - used / len(timeline.started.cluster.workers))


def _worker_seconds(windows: Sequence[Window]) -> float:
    return float(sum(window.workers * (window.end_s - window.since_s) for window in windows))


def _mean_workers(windows: Sequence[Window]) -> float | None:
    seconds = sum(window.end_s - window.since_s for window in windows)
    return _worker_seconds(windows) / seconds if seconds > 0 else None


def _choice(episode: Episode) -> Choice:
    if episode.rollback:
        return Choice(episode.at_s, f"rolled back: {episode.action}", episode.because)
    if episode.held_by is not None:
        return Choice(episode.at_s, f"held back: {episode.action}", f"{episode.because}; {episode.held_by}")
    if episode.error is not None:
        return Choice(episode.at_s, f"failed: {episode.action}", f"{episode.because}; {episode.error}")
    return Choice(episode.at_s, episode.action, episode.because)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _whole_number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value
