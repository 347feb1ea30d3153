"""A page that shows published figures and ours side by side."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from penstock.evaluation.canvas import BLUE, GRID, ORANGE, head, stack, styled, svg
from penstock.evaluation.figures import plain
from penstock.evaluation.page import cell, page, table
from penstock.evaluation.papers.experiment import Experiment, Row

_ROW_IN = 0.24
_LABELS_IN = 4.2
_SHOWN = 58
"""Letters of a case that fit beside its picture."""


def write_comparison(experiment: Experiment, rows: Sequence[Row], path: Path) -> Path:
    """Write a page about an experiment and return its path."""
    body = [
        f'<header><p class="eyebrow">Penstock reproduction</p><h1>{escape(experiment.name)}</h1>'
        f'<p class="facts">{escape(experiment.summary)}</p></header>'
    ]
    body += [f"<figure>{comparison_plot(what, found)}</figure>" for what, found in by_measure(rows).items()]
    body.append(_table(rows))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(experiment.name, "\n".join(body)), encoding="utf-8")
    return path


def by_measure(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows that measure the same thing, by what stands behind the last colon of their case."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        _, colon, measure = row.case.rpartition(": ")
        found.setdefault(measure if colon else "", []).append(row)
    return found


def comparison_plot(title: str, rows: Sequence[Row]) -> str:
    """One line per case, with the published figure and ours as dots on it, as SVG."""
    with styled(f"comparison {title}"):
        figure, (axes,) = stack([_ROW_IN * (len(rows) + 1)], left=_LABELS_IN)
        for position, row in enumerate(rows):
            known = [value for value in (row.published, row.ours) if value is not None]
            if known:
                axes.plot([min(known), max(known)], [position, position], color=GRID, linewidth=3.0, zorder=1)
        _dots(axes, [row.published for row in rows], color=ORANGE, marker="D", label="published")
        _dots(axes, [row.ours for row in rows], color=BLUE, marker="o", label="ours")
        axes.set_yticks(range(len(rows)), [_short(row.case, title) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        left, right = axes.get_xlim()
        axes.set_xlim(min(0.0, left), right)
        head(axes, title or "published and ours")
        return svg(figure)


def _dots(axes: object, values: Sequence[float | None], **style: str) -> None:
    points = [(value, position) for position, value in enumerate(values) if value is not None]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    axes.plot(xs, ys, linestyle="none", markersize=5.5, zorder=2, **style)  # type: ignore[attr-defined]


def _short(case: str, measure: str) -> str:
    text = case.removesuffix(f": {measure}") if measure else case
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _table(rows: Sequence[Row]) -> str:
    headings = [("case", ""), ("published", "number"), ("ours", "number"), ("note", "")]
    lines = [
        f"<tr>{cell(row.case, 'name')}{cell(plain(row.published), 'number')}{cell(plain(row.ours), 'number')}"
        f"{cell(row.note)}</tr>"
        for row in rows
    ]
    return table(headings, lines)
