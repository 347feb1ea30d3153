"""Pictures of what was learned: estimate against measurement (ELYSIUM's Figures 7 and 8)."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from penstock.analysis import weighted_mean
from penstock.evaluation.canvas import BLUE, ORANGE, from_zero, head, line, stack, styled, svg, time_axis, time_scale
from penstock.evaluation.page import cell, page, table
from penstock.evaluation.series import Series
from penstock.model import Cluster, Observation, Topology
from penstock.profiling import ApplicationProfile, overhead_samples, percentage_error, usage_samples

_SHOWN = 4
_LEAST = 0.01
"""Usages below this share of a slot are too small for a percentage to mean anything."""


@dataclass(frozen=True, slots=True)
class UsageFit:
    """The slots that an operator keeps busy, or a segment whose operators take turns, real and estimated."""

    of: str
    measured: Series
    estimated: Series

    @classmethod
    def over(cls, of: str, points: Sequence[tuple[float, float, float]]) -> "UsageFit":
        """From (time, real, estimated)."""
        at_s = tuple(one_s for one_s, _, _ in points)
        return cls(of, Series(at_s, tuple(real for _, real, _ in points)), Series(at_s, tuple(e for _, _, e in points)))

    @property
    def error(self) -> float | None:
        """The mean percentage error; None where usage was always too small for one."""
        return percentage_error(self.estimated.known(), self.measured.known(), _LEAST) if self.peak > _LEAST else None

    @property
    def peak(self) -> float:
        """The highest usage that was measured."""
        return max(self.measured.known(), default=0.0)


def usage_fits(
    topology: Topology, profile: ApplicationProfile, observations: Sequence[Observation]
) -> tuple[UsageFit, ...]:
    """How well usage is estimated by what every operator takes in, the busiest first.

    Of operators it is what they do themselves, of segments in which several take turns the time for which slots are
    taken, estimated as what its operators do.
    """
    fits = []
    for segment in topology.all_segments:
        points: dict[str, list[tuple[float, float, float]]] = {name: [] for name in segment}
        together = []
        for observation in observations:
            now = {name: _point(topology.name, segment, name, profile, observation) for name in segment}
            known = {name: point for name, point in now.items() if point is not None}
            for name, (_, real, estimated) in known.items():
                points[name].append((observation.at_s, real, estimated))
            if len(known) == len(segment):
                slots_taken, _, _ = known[segment[0]]
                together.append((observation.at_s, slots_taken, math.fsum(e for _, _, e in known.values())))
        fits += [UsageFit.over(name, found) for name, found in points.items() if name in profile.usage.operators]
        if len(segment) > 1 and together:
            fits.append(UsageFit.over(f"{segment[0]} to {segment[-1]}", together))
    return tuple(sorted(fits, key=lambda fit: -fit.peak))


def usage_error(fits: Sequence[UsageFit], operators: Collection[str]) -> float | None:
    """The mean error of some operators, each weighted by what it does itself."""
    return weighted_mean((fit.error, math.fsum(fit.measured.known())) for fit in fits if fit.of in operators)


def _point(
    application: str, segment: Sequence[str], name: str, profile: ApplicationProfile, observation: Observation
) -> tuple[float, float, float] | None:
    """The slots that an operator's segment kept busy, those that it kept busy itself, and what is estimated for these;
    None where that is not known."""
    learned = profile.usage.operators.get(name)
    samples = usage_samples(application, segment, name, [observation])
    if learned is None or not samples:
        return None
    ((rate, usage, share),) = samples
    if share is None:
        return None
    instances = observation.applications[application].operators[name].instances
    return usage * instances, usage * share * instances, learned.own_usage(rate) * instances


def usage_plot(fits: Sequence[UsageFit]) -> str:
    """Real and estimated usage of the busiest over time, as SVG."""
    shown = [fit for fit in fits if fit.measured.at_s][:_SHOWN]
    begin_s = min((fit.measured.at_s[0] for fit in shown), default=0.0)
    end_s = max((fit.measured.at_s[-1] for fit in shown), default=1.0)
    with styled("usage"):
        figure, axes = stack([1.2] * max(1, len(shown)))
        scale, unit = time_scale(end_s)
        for panel, fit in zip(axes, shown, strict=False):
            line(panel, fit.measured, scale, color=BLUE, label="measured")
            line(panel, fit.estimated, scale, color=ORANGE, linestyle="--", label="estimated")
            head(panel, f"{fit.of}: slots in use", legend=fit is shown[0])
            from_zero(panel)
        time_axis(axes, (begin_s * scale, end_s * scale), unit)
        return svg(figure)


def overhead_plot(profile: ApplicationProfile, cluster: Cluster, observations: Sequence[Observation]) -> str:
    """Usage of workers by what their instances use, as it was measured and as it was learned, as SVG."""
    samples = [pair for observation in observations for pair in overhead_samples(cluster, observation)]
    with styled("overhead"):
        figure, (axes,) = stack([2.6])
        axes.plot([x for x, _ in samples], [y for _, y in samples], ".", color=BLUE, alpha=0.5, label="measured")
        xs = np.linspace(0.0, max([x for x, _ in samples], default=1.0), 50)
        axes.plot(xs, profile.overhead.worker_usages(xs), color=ORANGE, label="learned")
        head(axes, "Usage of a worker, by the sum of its instances' usages")
        from_zero(axes)
        axes.set_xlim(left=0)
        axes.set_xlabel("sum of instances' usages (share of the worker's slots)")
        return svg(figure)


def write_profile_report(
    topology: Topology,
    cluster: Cluster,
    profile: ApplicationProfile,
    observations: Sequence[Observation],
    path: Path,
) -> Path:
    """Write a page with what was learned, judged by `observations` of another run, and return its path."""
    fits = usage_fits(topology, profile, observations)
    body = [
        f'<header><p class="eyebrow">Penstock profile</p><h1>{escape(topology.name)}</h1></header>',
        "<h2>Usage of operators</h2>",
        f"<figure>{usage_plot(fits)}</figure>",
        _operators(fits, profile),
        "<h2>Selectivity of streams</h2>",
        _streams(profile),
        "<h2>Overhead of workers</h2>",
        f"<figure>{overhead_plot(profile, cluster, observations)}</figure>",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(f"Profile of {topology.name}", "\n".join(body)), encoding="utf-8")
    return path


def _operators(fits: Sequence[UsageFit], profile: ApplicationProfile) -> str:
    rows = []
    for fit in fits:
        learned = profile.usage.operators.get(fit.of)
        function, held_out = (learned.chosen, percent(learned.error)) if learned else ("sum", "")
        rows.append(_row(fit.of, function, held_out, percent(fit.error)))
    overall = percent(profile.usage.error), percent(usage_error(fits, profile.usage.operators))
    rows.append(_row("all operators", "weighted by their work", *overall))
    headings = [("operator", ""), ("function", "number"), ("held-out error", "number"), ("error in this run", "number")]
    return table(headings, rows)


def _row(name: str, *texts: str) -> str:
    return f"<tr>{cell(name, 'name')}{''.join(cell(text, 'number') for text in texts)}</tr>"


def percent(error: float | None) -> str:
    """An error for a table, with a dash where there is none."""
    return "-" if error is None else f"{error:.1%}"


def _streams(profile: ApplicationProfile) -> str:
    ratios: Mapping[tuple[str, str], tuple[float, float]] = {
        stream: (ratio.mean, ratio.deviation) for stream, ratio in profile.selectivity.ratios.items()
    }
    rows = [_row(f"{up} → {down}", f"{mean:.3g}", f"{dev:.2g}") for (up, down), (mean, dev) in ratios.items()]
    return table([("stream", ""), ("selectivity", "number"), ("deviation", "number")], rows)
