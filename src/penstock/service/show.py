"""What a person sees in the terminal. Results go to stdout, everything else to stderr."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from penstock.control import Entry

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A line for the person at the terminal; never on stdout."""
    err.print(text, markup=False)


def print_json(value: Any) -> None:
    """One JSON document on stdout, and nothing else."""
    json.dump(value, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """A plain table."""
    table = Table(*headings, title=title, box=None, header_style="bold", title_justify="left", pad_edge=False)
    for row in rows:
        table.add_row(*row)
    out.print(table)


def print_facts(facts: Mapping[str, str]) -> None:
    """Names and values, one a line."""
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        out.print(f"{name:<{width}}  {value}", markup=False)


@contextmanager
def progress(title: str, until_s: float) -> Iterator[Callable[[Entry], None]]:
    """A progress bar on stderr that follows the entries of a run; it shows only in a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(title, total=until_s)
        yield lambda entry: bar.update(task, completed=entry.at_s)
