"""What all pictures of a report share: colours, stacked panels, axes, and how a figure becomes part of a page."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.evaluation.series import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito: told apart by people with any of the common colour vision deficiencies.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
DASHES = ("-", "--", "-.", ":")

# Stand-ins that the finished SVG replaces by the page's own colours.
INK, GRID = "#123456", "#123457"

WIDTH_IN = 10.0
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "path.simplify_threshold": 0.3,
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.4,
    "legend.borderaxespad": 0.1,
    "legend.borderpad": 0.1,
}


@contextmanager
def styled(salt: str) -> Iterator[None]:
    """Draw in the report's style; equal salt and equal data give equal SVG, unequal salt unequal ids."""
    import matplotlib as mpl

    with mpl.rc_context({**_STYLE, "svg.hashsalt": salt}):
        yield


def stack(heights: Sequence[float], left: float = 0.75) -> "tuple[Figure, list[Axes]]":
    """Panels of the given heights, one below the other, sharing the time axis; `left` is the margin for labels.

    All lengths are in inches.
    """
    from matplotlib.figure import Figure

    gap, bottom, top, right = 0.36, 0.5, 0.3, 0.12
    height = sum(heights) + gap * (len(heights) - 1) + bottom + top
    figure = Figure(figsize=(WIDTH_IN, height))
    axes: list[Axes] = []
    upper = height - top
    for panel in heights:
        box = (left / WIDTH_IN, (upper - panel) / height, (WIDTH_IN - left - right) / WIDTH_IN, panel / height)
        axes.append(figure.add_axes(box, sharex=axes[0] if axes else None))
        upper -= panel + gap
    return figure, axes


def time_scale(end_s: float) -> tuple[float, str]:
    """Units per second, and the label, of a time axis that reaches to `end_s`."""
    if end_s <= 600:
        return 1.0, "time (s)"
    return (1 / 60, "time (min)") if end_s <= 4 * 3600 else (1 / 3600, "time (h)")


def time_axis(axes: "Sequence[Axes]", limits: tuple[float, float], unit: str) -> None:
    """Label the time axis below the last panel only."""
    for panel in axes[:-1]:
        panel.tick_params(labelbottom=False, bottom=False)
    axes[-1].set_xlabel(unit)
    axes[-1].set_xlim(limits[0], max(limits[1], limits[0] + 1e-9))


def line(axes: "Axes", of: Series, scale: float, **style: Any) -> None:
    """Draw a series; what is not known leaves a gap."""
    values = [float("nan") if value is None else value for value in of.values]
    axes.plot([at_s * scale for at_s in of.at_s], values, **style)


def head(axes: "Axes", title: str, legend: bool = True) -> None:
    """Title to the left above a panel, its legend to the right, so that neither covers data."""
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", pad=5)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.01), ncol=8)


def from_zero(axes: "Axes", whole: bool = False) -> None:
    """A linear axis from 0 with a few round tick labels; `whole` allows whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=whole, min_n_ticks=2))
    plain_ticks(axes)


def plain_ticks(axes: "Axes") -> None:
    """Tick labels as people write numbers: 0.5, 20, 18,000."""
    from matplotlib.ticker import FuncFormatter

    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def svg(figure: "Figure") -> str:
    """The figure as an SVG element that scales with the page, takes its colours, and shares no ids with others."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    used = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(r' id="([^"]+)"', lambda found: found.group(0) if found.group(1) in used else "", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = text.replace(INK, "currentColor").replace(GRID, "var(--grid)").replace(BLUE, "var(--blue)")
    return re.sub(r"\n\s*", "\n", text).strip()
