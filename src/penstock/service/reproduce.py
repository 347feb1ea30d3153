"""Reproductions of published tables and figures, as the command line asks for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.errors import UnknownName
from penstock.evaluation.figures import plain
from penstock.evaluation.papers import EXPERIMENTS, Experiment, Row
from penstock.service import show
from penstock.service.runs import open_folder


def experiment_named(name: str) -> Experiment:
    """The experiment of that name; raises `UnknownName` with all there are."""
    if name not in EXPERIMENTS:
        raise UnknownName(f"There is no experiment '{name}'; choose one of: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def experiment_rows() -> list[dict[str, Any]]:
    """What there is to reproduce, one row each."""
    return [{"name": one.name, "summary": one.summary} for one in EXPERIMENTS.values()]


def reproduce(name: str, quick: bool, live: Path | None = None) -> list[Row]:
    """Run an experiment, on Spark if a folder for `live` runs is given; a person sees that it is going on."""
    experiment = experiment_named(name)
    if live is not None:
        from penstock.service.live_experiments import reproduce_live

        return reproduce_live(name, quick, live)
    with show.working(f"Reproducing {name}: {experiment.summary}{' (quick)' if quick else ''}"):
        return experiment.run(quick)


def print_rows(name: str, rows: Sequence[Row]) -> None:
    """Published figures and ours in a table; notes only where there are any."""
    headings = ["case", "published", "ours"]
    noted = any(row.note for row in rows)
    lines = [[row.case, plain(row.published), plain(row.ours), *([row.note] if noted else [])] for row in rows]
    show.print_table([*headings, "note"] if noted else headings, lines, name, right=(1, 2))


def write_page(name: str, rows: Sequence[Row], out: Path) -> Path:
    """Write the page with pictures of an experiment below `out`."""
    from penstock.evaluation.papers.comparison_page import write_comparison

    return write_comparison(experiment_named(name), rows, open_folder(out) / f"{name}.html")
