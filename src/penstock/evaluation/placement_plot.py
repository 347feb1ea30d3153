"""A picture of a placement: nodes as far apart as their delays, operators on them, streams between them, and why."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.evaluation.canvas import BLUE, ORANGE, RED
from penstock.placement import Evaluation, Placement, Problem, Result
from penstock.placement.objective import normalisation_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points = NDArray[np.float64]

_NEIGHBOURS = 3
_NAMED_NODES = 40
_LABELLED_FLOWS = 30
_LEAST_APART = 0.09
_BEND = 0.16
# Sizes of text on the map, whose longer side is 1.
_CHARACTER, _LINE = 0.0125, 0.028


@dataclass(frozen=True, slots=True)
class _Flow:
    """What flows from one node to another: all streams together."""

    tail: int
    head: int
    rate_per_s: float
    is_critical: bool


@dataclass(frozen=True, slots=True)
class _Box:
    """A part of the map: its middle and half its size."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: "_Box") -> float:
        """The area that both cover."""
        wide = self.width + other.width - abs(self.x - other.x)
        high = self.height + other.height - abs(self.y - other.y)
        return max(0.0, wide) * max(0.0, high)


def draw_placement(problem: Problem, result: Result, path: Path) -> None:
    """Draw a placement that was found into a file whose ending says the format."""
    from matplotlib.figure import Figure

    placement, found = result.placement, result.evaluation
    assert placement is not None
    assert found is not None
    figure = Figure(figsize=(13.0, 7.5), dpi=110)
    grid = figure.add_gridspec(2, 2, width_ratios=(2.5, 1.0), height_ratios=(1.0, 1.25))
    grid.update(left=0.02, right=0.975, top=0.91, bottom=0.09, wspace=0.24, hspace=0.4)
    heading = f"{result.solver}: {result.status}, objective {found.objective:.4g}"
    figure.suptitle(heading, x=0.02, ha="left", fontweight="bold")
    _draw_map(figure.add_subplot(grid[:, 0]), problem, placement, found)
    _draw_metrics(figure.add_subplot(grid[0, 1]), problem, found)
    _draw_critical_path(figure.add_subplot(grid[1, 1]), problem, placement, found)
    figure.savefig(path)


def node_positions(delay_ms: Points) -> Points:
    """Places on a plane, within 0 and 1, that are apart as delays are (classical scaling), and never too close."""
    number = len(delay_ms)
    squared = ((delay_ms + delay_ms.T) / 2.0) ** 2
    centring = np.eye(number) - 1.0 / number
    values, vectors = np.linalg.eigh(-0.5 * centring @ squared @ centring)
    largest = np.argsort(values)[::-1][:2]
    places = np.zeros((number, 2))
    places[:, : len(largest)] = vectors[:, largest] * np.sqrt(np.maximum(values[largest], 0.0))
    width = float(np.ptp(places, axis=0).max())
    angles = 2.0 * np.pi * np.arange(number) / number
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    places = places / width if width > 1e-9 else ring / 2.0
    # Nodes that are at the same place get one each, on a tiny ring, before they are pushed apart.
    places = _pushed_apart(places + 1e-3 * ring, min(_LEAST_APART, 0.8 / np.sqrt(number)))
    low, width = places.min(axis=0), float(np.ptp(places, axis=0).max())
    return np.asarray((places - low) / (width if width > 0 else 1.0))


def _pushed_apart(places: Points, least: float) -> Points:
    for _ in range(60):
        gaps = places[:, None, :] - places[None, :, :]
        distance = np.hypot(gaps[..., 0], gaps[..., 1]) + np.eye(len(places))
        push = np.maximum(0.0, least - distance)
        np.fill_diagonal(push, 0.0)
        places = places + (0.5 * (push / np.maximum(distance, 1e-9))[..., None] * gaps).sum(axis=1)
    return places


def _flows(problem: Problem, placement: Placement, critical: tuple[str, ...]) -> list[_Flow]:
    """What leaves nodes, summed over streams; what stays on a node is free and not drawn."""
    steps = set(pairwise(critical))
    rates: dict[tuple[int, int], float] = {}
    marked: set[tuple[int, int]] = set()
    for stream in problem.streams:
        tails, heads = placement[stream.source], placement[stream.target]
        for tail in tails:
            for head in heads:
                link = problem.node_index[tail], problem.node_index[head]
                if tail == head:
                    continue
                rates[link] = rates.get(link, 0.0) + stream.rate_per_s / (len(tails) * len(heads))
                if (stream.source, stream.target) in steps:
                    marked.add(link)
    return [_Flow(*link, rate, link in marked) for link, rate in rates.items()]


def _draw_map(axes: "Axes", problem: Problem, placement: Placement, found: Evaluation) -> None:
    delay_ms, names = problem.network.delay_ms, [node.name for node in problem.nodes]
    at = node_positions(delay_ms)
    flows = _flows(problem, placement, found.critical_path)
    _draw_links(axes, delay_ms, at)
    labels = _label_boxes(at, flows)
    _draw_flows(axes, delay_ms, at, list(zip(flows, labels, strict=True)))
    hosted = _hosted(problem, placement)
    for position, place in enumerate(at):
        used = position in hosted
        axes.plot(*place, "o", color=BLUE if used else "0.65", markersize=9 if used else 5, zorder=4)
        if not used and len(names) <= _NAMED_NODES:
            axes.annotate(names[position], tuple(place), (5, 4), textcoords="offset points", fontsize=7, color="0.5")
    taken = [*(_Box(x, y, 0.02, 0.02) for x, y in at.tolist()), *labels]
    for position, operators in hosted.items():
        taken.append(_draw_host(axes, at[position], [names[position], *operators], taken))
    sides = np.array([(box.x + side * box.width, box.y + side * box.height) for box in taken for side in (-1, 1)])
    low, high = sides.min(axis=0) - 0.03, sides.max(axis=0) + 0.03
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.set_axis_off()
    note = "distance and shade of links: delay;  arrows: streams, red on the critical path;  grey dots: unused nodes"
    axes.set_title(note, loc="left", fontsize=8.5, color="0.35")


def _hosted(problem: Problem, placement: Placement) -> dict[int, list[str]]:
    """What runs on every node that is used."""
    hosted: dict[int, list[str]] = {}
    for operator, nodes in placement.items():
        for name in dict.fromkeys(nodes):
            number = nodes.count(name)
            hosted.setdefault(problem.node_index[name], []).append(operator if number == 1 else f"{operator} x{number}")
    return hosted


def _along(at: Points, flow: _Flow, share: float) -> Points:
    """A point of a flow's arc, which bends to the right of the way from tail to head."""
    tail, head = at[flow.tail], at[flow.head]
    way = head - tail
    bend = (tail + head) / 2.0 + _BEND * np.array([way[1], -way[0]])
    return np.asarray((1.0 - share) ** 2 * tail + 2.0 * share * (1.0 - share) * bend + share**2 * head)


def _label_boxes(at: Points, flows: list[_Flow]) -> list[_Box]:
    """Where the delay of every flow is written: on its arc, near its middle, where it covers the others least."""
    taken: list[_Box] = []
    for flow in flows:
        points = [_along(at, flow, share) for share in (0.5, 0.4, 0.6, 0.3, 0.7)]
        tried = [_Box(float(x), float(y), 0.05, 0.02) for x, y in points]
        taken.append(min(tried, key=lambda one: sum(one.overlap(other) for other in taken)))
    return taken


def _draw_links(axes: "Axes", delay_ms: Points, at: Points) -> None:
    """From every node to the nearest few; the darker the nearer."""
    both_ms = (delay_ms + delay_ms.T) / 2.0
    longest = max(float(both_ms.max()), 1e-9)
    drawn: set[tuple[int, int]] = set()
    for node, row in enumerate(both_ms):
        for other in [int(n) for n in np.argsort(row, kind="stable") if n != node][:_NEIGHBOURS]:
            pair = min(node, other), max(node, other)
            if pair not in drawn:
                drawn.add(pair)
                shade = f"{min(0.92, 0.45 + 1.2 * float(row[other]) / longest):.3f}"
                axes.plot(*at[list(pair)].T, color=shade, linewidth=1.0, zorder=1)


def _draw_flows(axes: "Axes", delay_ms: Points, at: Points, flows: list[tuple[_Flow, _Box]]) -> None:
    most = max((flow.rate_per_s for flow, _ in flows), default=1.0) or 1.0
    for flow, label in flows:
        colour = RED if flow.is_critical else ORANGE
        tail, head = at[flow.tail], at[flow.head]
        style = {
            "arrowstyle": "-|>",
            "connectionstyle": f"arc3,rad={_BEND}",
            "color": colour,
            "linewidth": 1.0 + 2.5 * float(np.sqrt(flow.rate_per_s / most)),
            "shrinkA": 6,
            "shrinkB": 6,
        }
        axes.annotate("", tuple(head), tuple(tail), arrowprops=style, zorder=3 + flow.is_critical)
        if len(flows) <= _LABELLED_FLOWS:
            text = f"{delay_ms[flow.tail, flow.head]:.3g} ms"
            back = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
            axes.text(label.x, label.y, text, fontsize=7, color=colour, ha="center", va="center", zorder=6, bbox=back)


def _draw_host(axes: "Axes", place: Points, lines: list[str], taken: list[_Box]) -> _Box:
    """The node's name and what runs on it, in a box where it covers least, tied to its node."""
    width, height = _CHARACTER * max(map(len, lines)) / 2.0 + 0.01, _LINE * len(lines) / 2.0 + 0.01
    angles = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    tried = [
        _Box(
            float(place[0] + np.cos(angle) * (width + gap)),
            float(place[1] + np.sin(angle) * (height + gap)),
            width,
            height,
        )
        for gap in (0.03, 0.08, 0.14, 0.22)
        for angle in angles
    ]
    # The nearest of those that cover least: min keeps the first.
    box = min(tried, key=lambda one: sum(one.overlap(other) for other in taken))
    axes.annotate(
        "\n".join([lines[0], *(f"  {operator}" for operator in lines[1:])]),
        tuple(place),
        (box.x, box.y),
        ha="center",
        va="center",
        multialignment="left",
        fontsize=8,
        zorder=7,
        arrowprops={"arrowstyle": "-", "color": BLUE, "linewidth": 0.8},
        bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": BLUE, "alpha": 0.9},
    )
    return box


def _draw_metrics(axes: "Axes", problem: Problem, found: Evaluation) -> None:
    """Where every metric lies between the best (left) and the worst (right) that the objective reckons with."""
    weights, ranges = problem.weights, normalisation_of(problem)
    rows = [
        ("response time", found.response_time_ms, " ms", weights.response_time, ranges.response_time_ms),
        ("availability", found.availability, "", weights.availability, ranges.availability),
        (problem.network_metric.replace("_", " "), found.network, "", weights.network, ranges.network),
        ("cost", found.cost, "", weights.cost, ranges.cost),
        ("downtime", found.downtime_s, " s", weights.downtime, ranges.downtime_s),
    ]
    labels: list[str] = []
    for name, value, unit, weight, ends in rows:
        if value is None or ends is None:
            continue
        share = _share(name, value, ends)
        colour = BLUE if weight > 0 else "0.8"
        axes.barh(len(labels), share, color=colour, height=0.5)
        axes.text(share + 0.02, len(labels), f"{value:.4g}{unit}", va="center", fontsize=8)
        labels.append(f"{name}\nweight {weight:g}")
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_xticks([0.0, 1.0], ["best", "worst"], fontsize=8)
    axes.set(xlim=(0.0, 1.3), ylim=(len(labels) - 0.5, -0.5))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("What it is worth", loc="left", fontsize=10, fontweight="bold")


def _share(name: str, value: float, ends: tuple[float, float]) -> float:
    if name == "availability":
        value, ends = -np.log(value), (-np.log(ends[1]), -np.log(ends[0]))
    return float(np.clip((value - ends[0]) / (ends[1] - ends[0]), 0.0, 1.0))


def _draw_critical_path(axes: "Axes", problem: Problem, placement: Placement, found: Evaluation) -> None:
    """Where the response time goes: delays along the path in red, what the operators take together in blue."""
    path = found.critical_path
    delays = [_farthest_ms(problem, placement[one], placement[other]) for one, other in pairwise(path)]
    processing_ms = max(0.0, found.response_time_ms - sum(delays))
    labels = ["processing", *(f"{one} > {other}" for one, other in pairwise(path))]
    values = [processing_ms, *delays]
    axes.barh(range(len(values)), values, color=[BLUE, *[RED] * len(delays)], height=0.6)
    for row, value in enumerate(values):
        axes.text(value, row, f" {value:.3g}", va="center", fontsize=8)
    axes.set_yticks(range(len(labels)), labels, fontsize=7.5)
    axes.set(ylim=(len(labels) - 0.5, -0.5), xlim=(0.0, 1.2 * max(*values, 1e-9)))
    axes.set_xlabel("ms", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("Where the response time goes", loc="left", fontsize=10, fontweight="bold")


def _farthest_ms(problem: Problem, tails: tuple[str, ...], heads: tuple[str, ...]) -> float:
    index, delay_ms = problem.node_index, problem.network.delay_ms
    return max(float(delay_ms[index[tail], index[head]]) for tail in tails for head in heads)
