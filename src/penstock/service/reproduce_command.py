"""The command `penstock reproduce`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from penstock.service.options import Json


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Experiment (see 'penstock reproduce --list').")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    quick: Annotated[bool, typer.Option(help="A short version with fewer cases and seeds.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="On Spark, at a smaller scale, where there is such a version.")
    ] = False,
    plot: Annotated[bool, typer.Option(help="Also write a page with pictures into the output folder.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for pages with pictures and for the journals of live runs.")] = Path(
        "runs/reproduce"
    ),
    as_json: Json = False,
) -> None:
    """Run the experiment behind a published table or figure: published figures and ours, side by side."""
    from penstock.service import reproduce as experiments
    from penstock.service import show

    if listed or name is None:
        rows = experiments.experiment_rows()
        if as_json:
            show.print_json(rows)
        else:
            show.print_table(("name", "summary"), [[row["name"], row["summary"]] for row in rows])
        return
    found = experiments.reproduce(name, quick, out if live else None)
    if plot:
        os.environ.setdefault("MPLCONFIGDIR", str(out / ".cache"))
        show.say(f"Pictures: {experiments.write_page(name, found, out)}")
    if as_json:
        show.print_json([row.as_json() for row in found])
    else:
        experiments.print_rows(name, found)
