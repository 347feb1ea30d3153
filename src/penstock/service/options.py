"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path, typer.Option(help="Folder for journals and reports.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]
Load = Annotated[
    str,
    typer.Option(
        help="Load curve, such as 'sine' or 'sine:low=100,high=800' (see 'penstock loads'); "
        "several applications may have one each, joined with '+'."
    ),
]
Duration = Annotated[float, typer.Option(help="Length of the run in seconds.")]
Seed = Annotated[int, typer.Option(help="Decides everything random in a simulation.")]
Execution = Annotated[str, typer.Option(help="'fused' (operators take turns in one query) or 'pipelined' (one each).")]
Trigger = Annotated[float, typer.Option(help="Least seconds between the starts of two batches; longer ones cost less.")]
