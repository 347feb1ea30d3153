"""The command `penstock place`."""

from pathlib import Path
from typing import Annotated

import typer

from penstock.service.options import Json


def place(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Problem file (JSON), or '-' for standard input.")
    ] = None,
    solver: Annotated[str, typer.Option(help="Solver (see 'penstock solvers').")] = "exact",
    time_limit: Annotated[float, typer.Option(help="Seconds that the solver may take.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Decides what a solver leaves to chance.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw the placement into this .png, .svg or .pdf file.")] = None,
    example: Annotated[
        str | None, typer.Option(help="Print an example problem file: debs2015 or debs2015-change.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say where operators should run and with how many replicas, given a problem file."""
    from penstock.service import place as placing
    from penstock.service import show

    if example is not None:
        show.print_json(placing.example_document(example))
        return
    problem = placing.problem_at(file)
    result = placing.place(problem, solver, time_limit, seed, show.say)
    if as_json:
        show.print_json(placing.as_json(result))
    else:
        show.out.print(placing.verdict(result), markup=False)
        if result.placement is not None:
            show.print_table(("operator", "nodes"), placing.placement_rows(result))
            show.print_table(("metric", "value", "weight", "range"), placing.metric_rows(problem, result))
    if plot is not None:
        placing.draw(problem, result, plot)
        show.say(f"Picture: {plot}")
