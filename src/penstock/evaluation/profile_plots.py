"""Pictures of what was learned: estimate against measurement (ELYSIUM's Figures 7 and 8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from penstock.evaluation.canvas import BLUE, ORANGE, from_zero, head, line, stack, styled, svg, time_axis, time_scale
from penstock.evaluation.page import cell, page, table
from penstock.evaluation.series import Series
from penstock.model import Cluster, Observation, Topology
from penstock.profiling import ApplicationProfile, overhead_samples, percentage_error, usage_samples

_SHOWN = 4
_LEAST = 0.01
"""Usages below this share of a slot are too small for a percentage to mean anything."""


@dataclass(frozen=True, slots=True)
class OperatorFit:
    """One operator over a run it was not learned from: its instances' total usage in slots, real and estimated."""

    operator: str
    measured: Series
    estimated: Series
    error: float

    @property
    def peak(self) -> float:
        """The highest usage that was measured."""
        return max(self.measured.known(), default=0.0)


def operator_fits(
    topology: Topology, profile: ApplicationProfile, observations: Sequence[Observation]
) -> tuple[OperatorFit, ...]:
    """How well the usage of every operator is estimated from its input rate alone, the busiest operators first."""
    fits = []
    for segment in topology.all_segments:
        for name in segment:
            learned = profile.usage.operators.get(name)
            if learned is None:
                continue
            at_s, real, guess = [], [], []
            for observation in observations:
                for rate, usage, _ in usage_samples(topology.name, segment, name, [observation]):
                    instances = observation.applications[topology.name].operators[name].instances
                    at_s.append(observation.at_s)
                    real.append(usage * instances)
                    guess.append(learned.usage(rate) * instances)
            error = percentage_error(guess, real, _LEAST)
            fits.append(OperatorFit(name, Series(tuple(at_s), tuple(real)), Series(tuple(at_s), tuple(guess)), error))
    return tuple(sorted(fits, key=lambda fit: -fit.peak))


def usage_plot(fits: Sequence[OperatorFit]) -> str:
    """Real and estimated usage of the busiest operators over time, as SVG."""
    shown = [fit for fit in fits if fit.measured.at_s][:_SHOWN]
    end_s = max((fit.measured.at_s[-1] for fit in shown), default=1.0)
    with styled("usage"):
        figure, axes = stack([1.2] * max(1, len(shown)))
        scale, unit = time_scale(end_s)
        for panel, fit in zip(axes, shown, strict=False):
            line(panel, fit.measured, scale, color=BLUE, label="measured")
            line(panel, fit.estimated, scale, color=ORANGE, linestyle="--", label="estimated")
            head(panel, f"{fit.operator}: slots in use", legend=fit is shown[0])
            from_zero(panel)
        time_axis(axes, (0.0, end_s * scale), unit)
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
    fits = operator_fits(topology, profile, observations)
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


def _operators(fits: Sequence[OperatorFit], profile: ApplicationProfile) -> str:
    rows = []
    for fit in fits:
        learned = profile.usage.operators[fit.operator]
        texts = (learned.chosen, f"{learned.error:.1%}", f"{fit.error:.1%}")
        rows.append(f"<tr>{cell(fit.operator, 'name')}{''.join(cell(text, 'number') for text in texts)}</tr>")
    headings = [("operator", ""), ("function", "number"), ("held-out error", "number"), ("error in this run", "number")]
    return table(headings, rows)


def _streams(profile: ApplicationProfile) -> str:
    ratios: Mapping[tuple[str, str], tuple[float, float]] = {
        stream: (ratio.mean, ratio.deviation) for stream, ratio in profile.selectivity.ratios.items()
    }
    rows = [
        f"<tr>{cell(f'{up} → {down}', 'name')}{cell(f'{mean:.3g}', 'number')}{cell(f'{deviation:.2g}', 'number')}</tr>"
        for (up, down), (mean, deviation) in ratios.items()
    ]
    return table([("stream", ""), ("selectivity", "number"), ("deviation", "number")], rows)
