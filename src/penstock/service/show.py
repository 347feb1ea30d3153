"""What a person sees in the terminal. Results go to stdout, everything else to stderr."""

import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
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


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None, right: Sequence[int] = ()
) -> None:
    """A plain table; the columns in `right`, counted from 0, are numbers and stand to the right, unbroken."""
    table = Table(title=title, box=None, header_style="bold", title_justify="left", pad_edge=False)
    for position, heading in enumerate(headings):
        number = position in right
        table.add_column(heading, justify="right" if number else "left", no_wrap=number)
    for row in rows:
        table.add_row(*map(escape, row))
    out.print(table)


def print_described(rows: Sequence[tuple[str, str, Mapping[str, str]]]) -> None:
    """Names with a line about each and, below it, the parameters: values on one line, explanations on one each."""
    width = max((len(name) for name, _, _ in rows), default=0) + 2
    room = max(40, out.width - width)
    for name, summary, parameters in rows:
        body = textwrap.wrap(summary, room) + _parameters(parameters, room)
        for left, line in zip_longest((name,), body, fillvalue=""):
            out.print(f"{left:<{width}}{line}", markup=False, soft_wrap=True)


def _parameters(parameters: Mapping[str, str], room: int) -> list[str]:
    if not any(" " in text for text in parameters.values()):
        joined = ", ".join(f"{key}={text}" for key, text in parameters.items())
        return textwrap.wrap(joined, room, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    lines = (
        textwrap.wrap(f"{key}: {text}", room, initial_indent="  ", subsequent_indent="    ")
        for key, text in parameters.items()
    )
    return [line for wrapped in lines for line in wrapped]


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


@contextmanager
def working(title: str) -> Iterator[Callable[[str], None]]:
    """Says on stderr what is going on and, in a terminal, for how long; gives a way to say how far it has come."""
    if not err.is_terminal:
        say(f"{title} ...")
        yield say
        return
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=err) as bar:
        task = bar.add_task(escape(title), total=None)
        yield lambda text: bar.update(task, description=escape(f"{title}: {text}"))
