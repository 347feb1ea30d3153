"""The pictures of a report, as SVG text to be put into a page. Colours of text and grid follow the page's theme."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

from penstock.evaluation import series
from penstock.evaluation.canvas import (
    BLUE,
    CYCLE,
    DASHES,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    RED,
    from_zero,
    head,
    line,
    plain_ticks,
    stack,
    styled,
    svg,
    time_axis,
    time_scale,
)
from penstock.evaluation.measures import violating
from penstock.evaluation.series import Series
from penstock.evaluation.timeline import Episode, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def run_plot(name: str, timeline: Timeline) -> str:
    """One run: decisions, load and throughput, backlog, workers, parallelism and latency on one time axis."""
    operators = [(application, _operators(timeline, application)) for application in timeline.applications]
    strips = [0.30 * len(shown) for _, shown in operators]
    longest = max((len(_short(operator)) for _, shown in operators for operator in shown), default=0)
    with styled(f"run {name} {timeline.started.run}"):
        decided = 0.42 if timeline.episodes else 0.02
        figure, axes = stack([decided, 1.5, 1.0, 1.0, *strips, 1.4], left=max(0.75, 0.2 + 0.078 * longest))
        scale, unit = time_scale(timeline.end_s)
        _decisions(axes[0], timeline, scale)
        _rates(axes[1], timeline, scale)
        _backlogs(axes[2], timeline, scale)
        _workers(axes[3], timeline, scale)
        for panel, rows in zip(axes[4:-1], operators, strict=True):
            _parallelism(panel, timeline, rows, scale)
        _latencies(axes[-1], timeline, scale)
        _mark_changes(axes[1:], timeline.episodes, scale)
        time_axis(axes, (timeline.started.at_s * scale, timeline.end_s * scale), unit)
        return svg(figure)


_KEYS = 3
"""Names of runs side by side in the key of an overlay."""


def overlay_plot(timelines: Mapping[str, Timeline]) -> str:
    """Several runs over one another: load, workers, backlog and latency, one colour for each run."""
    end_s = max(timeline.end_s for timeline in timelines.values())
    target_s = min(timeline.started.objectives.latency_target_s for timeline in timelines.values())
    scale, unit = time_scale(end_s)
    with styled(f"overlay {list(timelines)}"):
        figure, (key, *axes) = stack([0.22 * math.ceil(len(timelines) / _KEYS), 0.8, 1.1, 1.1, 1.4])
        _overlaid_load(axes[0], timelines, scale)
        for i, ((name, timeline), (colour, dash)) in enumerate(zip(timelines.items(), _styles(), strict=False)):
            shown = {"color": colour, "linestyle": dash, "label": name, "linewidth": 1.4}
            # Runs with as many workers would hide each other: draw them a hair's breadth apart.
            beside = 0.07 * (i - (len(timelines) - 1) / 2)
            line(axes[1], series.workers(timeline).raised(beside), scale, drawstyle="steps-pre", **shown)
            line(axes[2], _summed(timeline, series.backlog), scale, **shown)
            line(axes[3], _worst_p95(timeline), scale, **shown)
        key.axis("off")
        key.legend(*axes[1].get_legend_handles_labels(), loc="center left", borderaxespad=0.0, ncol=_KEYS)
        head(axes[1], "Workers in use", legend=False)
        head(axes[2], "Backlog (events)", legend=False)
        head(axes[3], f"95th percentile of latency (s), target {target_s:g} s dashed", legend=False)
        _target(axes[3], target_s)
        _latency_scale(axes[3], [v for t in timelines.values() for v in _worst_p95(t).known()], target_s)
        from_zero(axes[1], whole=True)
        from_zero(axes[2])
        time_axis(axes, (0.0, end_s * scale), unit)
        return svg(figure)


def _styles() -> "cycle[tuple[str, str]]":
    return cycle([(colour, dash) for dash in DASHES for colour in CYCLE])


def _operators(timeline: Timeline, application: str) -> list[str]:
    topology = next((t for t in timeline.started.topologies if t.name == application), None)
    if topology is not None:
        return list(topology.order)
    return list(dict.fromkeys(o for w in timeline.windows if (s := w.application(application)) for o in s.operators))


def _colours(timeline: Timeline) -> list[tuple[str, str]]:
    """Applications, each with the colour it has in all panels."""
    return list(zip(timeline.applications, cycle(CYCLE), strict=False))


def _rates(axes: "Axes", timeline: Timeline, scale: float) -> None:
    several = len(timeline.applications) > 1
    for name, colour in _colours(timeline):
        came, went = series.load(timeline, name), series.throughput(timeline, name)
        dashed = {"color": colour if several else INK, "linestyle": "--", "linewidth": 1.2}
        line(axes, came, scale, label=None if several else "load", **dashed)
        line(axes, went, scale, color=colour, label=name if several else "throughput")
        if not several:
            _fill(axes, came, scale, INK, 0.08)
    head(axes, "Load (dashed) and throughput (events/s)" if several else "Load and throughput (events/s)")
    from_zero(axes)


def _fill(axes: "Axes", of: Series, scale: float, colour: str, alpha: float) -> None:
    values = [float("nan") if value is None else value for value in of.values]
    axes.fill_between([at_s * scale for at_s in of.at_s], 0, values, color=colour, alpha=alpha, linewidth=0)


def _backlogs(axes: "Axes", timeline: Timeline, scale: float) -> None:
    several = len(timeline.applications) > 1
    for name, own in _colours(timeline):
        waiting = series.backlog(timeline, name)
        colour = own if several else ORANGE
        line(axes, waiting, scale, color=colour, label=name)
        _fill(axes, waiting, scale, colour, 0.18)
    head(axes, "Backlog (events)", legend=several)
    axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
    from_zero(axes)


def _workers(axes: "Axes", timeline: Timeline, scale: float) -> None:
    pool = len(timeline.started.cluster.workers)
    axes.axhline(pool, color=INK, linewidth=1, linestyle=":", label="pool")
    line(axes, series.workers(timeline), scale, color=BLUE, drawstyle="steps-pre", linewidth=2.0, label="observed")
    asked = series.requested_workers(timeline)
    line(axes, asked, scale, color=ORANGE, drawstyle="steps-post", linestyle="--", linewidth=1.4, label="requested")
    head(axes, "Workers")
    from_zero(axes, whole=True)
    axes.set_ylim(0, max([pool, *asked.known(), *series.workers(timeline).known()]) * 1.15)


def _parallelism(axes: "Axes", timeline: Timeline, shown: tuple[str, list[str]], scale: float) -> None:
    """One row for each operator, darker where it has more instances, with their number written in."""
    from matplotlib import colormaps

    application, operators = shown
    rows = [series.parallelism(timeline, application, operator) for operator in operators]
    most = max((stretch.instances for row in rows for stretch in row), default=1)
    length = max(timeline.end_s - timeline.started.at_s, 1e-9)
    for y, row in enumerate(rows):
        spans = [(stretch.start_s * scale, (stretch.end_s - stretch.start_s) * scale) for stretch in row]
        shares = [(stretch.instances - 1) / max(most - 1, 1) for stretch in row]
        colours = [colormaps["Blues"](0.15 + 0.75 * share) for share in shares]
        axes.broken_barh(spans, (y - 0.41, 0.82), facecolors=colours)
        for stretch, share in zip(row, shares, strict=True):
            if stretch.end_s - stretch.start_s > 0.012 * length * len(str(stretch.instances)):
                middle = (stretch.start_s + stretch.end_s) / 2 * scale
                colour = "white" if share > 0.5 else "#222222"
                axes.text(middle, y, str(stretch.instances), color=colour, ha="center", va="center_baseline", size=8.5)
    axes.set_ylim(len(operators) - 0.45, -0.55)
    axes.set_yticks(range(len(operators)), [_short(operator) for operator in operators])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    several = len(timeline.applications) > 1
    head(axes, f"Parallelism of {application} (instances)" if several else "Parallelism (instances)", legend=False)


def _short(name: str, most: int = 20) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _latencies(axes: "Axes", timeline: Timeline, scale: float) -> None:
    target_s = timeline.started.objectives.latency_target_s
    several = len(timeline.applications) > 1
    known: list[float] = []
    for name, colour in _colours(timeline):
        p95, mean = series.latency(timeline, name, "p95_s"), series.latency(timeline, name, "mean_s")
        line(axes, p95, scale, color=colour if several else PURPLE, label=name if several else "95th percentile")
        style = {"color": colour, "linestyle": "--" if several else "-", "linewidth": 1.2}
        line(axes, mean, scale, label=None if several else "mean", **style)
        known += [*p95.known(), *mean.known()]
    _shade_late(axes, timeline, scale)
    _target(axes, target_s)
    head(axes, "Latency: 95th percentile and mean (dashed) (s)" if several else "Latency (s)")
    _latency_scale(axes, known, target_s)


def _shade_late(axes: "Axes", timeline: Timeline, scale: float) -> None:
    """Time over target or standing still, on a coloured ground."""
    target_s = timeline.started.objectives.latency_target_s
    late = violating(timeline.windows, timeline.applications, target_s)
    spans: list[tuple[float, float]] = []
    for window in late:
        if spans and window.start_s <= spans[-1][1] + 1e-6:
            spans[-1] = (spans[-1][0], window.end_s)
        else:
            spans.append((window.start_s, window.end_s))
    for i, (start_s, end_s) in enumerate(spans):
        label = "over target" if i == 0 else None
        axes.axvspan(start_s * scale, end_s * scale, color=RED, alpha=0.16, linewidth=0, label=label)


def _target(axes: "Axes", target_s: float) -> None:
    axes.axhline(target_s, color=RED, linewidth=1.2, linestyle="--", label="target")


def _latency_scale(axes: "Axes", known: Sequence[float], target_s: float) -> None:
    """Linear from 0, or logarithmic when the worst latency would flatten everything else."""
    from matplotlib.ticker import NullFormatter

    top = max([target_s, *known])
    if top <= 12 * target_s:
        from_zero(axes)
        axes.set_ylim(0, top * 1.1)
        return
    axes.set_yscale("log")
    axes.set_ylim(max(min([target_s, *(value for value in known if value > 0)]) * 0.7, target_s * 1e-3), top * 1.5)
    plain_ticks(axes)
    axes.yaxis.set_minor_formatter(NullFormatter())


_MARKS: dict[str, dict[str, Any]] = {
    "more": {"marker": "^", "color": GREEN},
    "less": {"marker": "v", "color": BLUE},
    "both ways": {"marker": "D", "color": PURPLE, "markersize": 5},
    "rolled back": {"marker": "X", "color": RED},
    "held back or failed": {"marker": "o", "color": INK, "markersize": 2.6, "alpha": 0.55},
}


def _decisions(axes: "Axes", timeline: Timeline, scale: float) -> None:
    """A strip with one mark for each decision; those carried out bear the number they have in the table."""
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    for kind, mark in _MARKS.items():
        at = [episode.at_s * scale for episode in timeline.episodes if _kind(episode) == kind]
        if at:
            height = 0.3 if kind != "held back or failed" else 0.05
            size = 6.5 if len(timeline.episodes) <= 120 else 4.0
            axes.plot(at, [height] * len(at), linestyle="none", label=kind, **{"markersize": size, **mark})
    last_at_s = float("-inf")
    length = max(timeline.end_s - timeline.started.at_s, 1e-9)
    carried_out = [episode for episode in timeline.episodes if episode.carried_out]
    for number, episode in enumerate(carried_out, start=1):
        if episode.at_s - last_at_s > (0.008 + 0.0085 * len(str(number))) * length:
            axes.text(episode.at_s * scale, 0.64, str(number), ha="center", size=8.5, color=INK)
            last_at_s = episode.at_s
    head(axes, "Decisions" if timeline.episodes else "Decisions: none to change anything")


def _kind(episode: Episode) -> str:
    if not episode.carried_out:
        return "held back or failed"
    return "rolled back" if episode.rollback else _DIRECTIONS[episode.direction]


_DIRECTIONS = {"more": "more", "less": "less", "other": "both ways"}


def _mark_changes(axes: "Sequence[Axes]", episodes: Sequence[Episode], scale: float) -> None:
    faint = 0.3 * min(1.0, 80 / max(len(episodes), 1))
    for rollback, colour in ((False, INK), (True, RED)):
        at = [e.at_s * scale for e in episodes if e.carried_out and e.rollback is rollback]
        # One path with gaps instead of a line each: a long run has hundreds of them in every panel.
        x, y = [v for t in at for v in (t, t, float("nan"))], [0.0, 1.0, float("nan")] * len(at)
        style: dict[str, Any] = {"color": colour, "linewidth": 0.6, "alpha": 0.6 if rollback else faint, "zorder": 0.9}
        for panel in axes:
            panel.plot(x, y, transform=panel.get_xaxis_transform(), **style)


def _overlaid_load(axes: "Axes", timelines: Mapping[str, Timeline], scale: float) -> None:
    longest = max(timelines.values(), key=lambda timeline: timeline.end_s)
    line(axes, _summed(longest, series.load), scale, color=INK, linewidth=1.4)
    head(axes, "Load (events/s)", legend=False)
    from_zero(axes)


def _summed(timeline: Timeline, of: "series.OfApplication") -> Series:
    """The sum over all applications, where all are known."""
    lines = [of(timeline, name) for name in timeline.applications]
    together = zip(*(line.values for line in lines), strict=True)
    values = tuple(None if None in row else sum(v for v in row if v is not None) for row in together)
    return Series(lines[0].at_s, values)


def _worst_p95(timeline: Timeline) -> Series:
    lines = [series.latency(timeline, name, "p95_s") for name in timeline.applications]
    together = zip(*(line.values for line in lines), strict=True)
    return Series(lines[0].at_s, tuple(max((v for v in row if v is not None), default=None) for row in together))
