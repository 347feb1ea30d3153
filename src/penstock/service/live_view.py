"""A run in the terminal while it goes on: load, throughput, backlog, latency, parallelism, workers, last decision."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from penstock.control import Acted, Decided, Entry, Judged, Observed, Refused, Started
from penstock.model import ApplicationObservation, Reconfigure
from penstock.service import show
from penstock.service.live import EXECUTORS, LivePlace, Watcher, run_live
from penstock.service.requests import RunRequest
from penstock.service.runs import run_folder
from penstock.service.signals import first_interrupt
from penstock.spark.cluster import SparkCluster

_BARS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 48
_EVENTS = 4


class RunView:
    """What is known of a run so far, as something rich can draw; fed with the entries of its journal."""

    def __init__(self, title: str, duration_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began_s = clock, clock()
        self._title = title
        self._duration_s = duration_s
        self._series: dict[str, deque[float | None]] = {}
        self._facts: dict[str, str] = {}
        self._parallelism = ""
        self._target_s = 0.0
        self._at_s = 0.0
        self._lately: deque[str] = deque(maxlen=_EVENTS)

    def add(self, entry: Entry) -> None:
        """Take in one entry."""
        self._at_s = max(self._at_s, entry.at_s)
        if isinstance(entry, Started):
            self._target_s = entry.objectives.latency_target_s
        elif isinstance(entry, Observed):
            self._observe(entry)
        elif isinstance(entry, Refused):
            self._lately.append(f"{entry.at_s:5.0f} s  measurement refused: {entry.because}")
        elif isinstance(entry, Decided) and isinstance(entry.decision, Reconfigure):
            held = f" (held by {entry.held_by})" if entry.held_by else ""
            self._lately.append(f"{entry.at_s:5.0f} s  {entry.decision.because}{held}")
        elif isinstance(entry, Acted):
            self._lately.append(f"{entry.at_s:5.0f} s  {_done(entry)}")
        elif isinstance(entry, Judged) and entry.verdict == "worse":
            self._lately.append(f"{entry.at_s:5.0f} s  rolled back: {entry.because}")

    def _observe(self, entry: Observed) -> None:
        seen = entry.observation
        apps = list(seen.applications.values())
        self._push("load", _total(apps, lambda a: a.input_per_s), "/s")
        self._push("throughput", _total(apps, lambda a: a.throughput_per_s), "/s")
        self._push("backlog", _total(apps, lambda a: a.backlog), " events")
        p95 = [a.latency.p95_s for a in apps if a.latency is not None]
        self._push("latency p95", max(p95, default=None), f" s (target {self._target_s:g} s)", digits=1)
        self._push("executors", float(len(seen.workers)), "")
        self._parallelism = "   ".join(
            f"{operator} {one.instances}" for app in apps for operator, one in app.operators.items()
        )

    def _push(self, name: str, value: float | None, unit: str, digits: int = 0) -> None:
        self._series.setdefault(name, deque(maxlen=_COLUMNS)).append(value)
        self._facts[name] = "unknown" if value is None else f"{value:,.{digits}f}{unit}"

    def __rich__(self) -> Panel:
        grid = Table.grid(padding=(0, 2))
        for name, series in self._series.items():
            grid.add_row(name, Text(_sparkline(series), style="cyan"), Text(self._facts[name], style="bold"))
        lately = "\n".join(self._lately) or "waiting for the first decision"
        body = Group(grid, Text(), Text(f"parallelism  {self._parallelism}"), Text(), Text(lately, overflow="fold"))
        left_s = max(0.0, self._duration_s - self._at_s)
        when = f"{self._at_s:.0f} s, {left_s:.0f} s to go"
        if not self._series:
            when = f"starting for {self._clock() - self._began_s:.0f} s, which may take a minute"
        return Panel(body, title=self._title, subtitle=f"{when}; Ctrl-C ends it")


def _done(entry: Acted) -> str:
    if entry.error is not None:
        return f"failed: {entry.error}"
    return "; ".join(f"{a.what} ({a.level.value}, paused {a.pause_s:.1f} s)" for a in entry.actions) or "nothing to do"


def _total(apps: list[ApplicationObservation], value: Callable[[ApplicationObservation], float | None]) -> float | None:
    known = [one for one in map(value, apps) if one is not None]
    return sum(known) if known else None


def _sparkline(series: deque[float | None]) -> str:
    known = [value for value in series if value is not None]
    top = max(known, default=0.0) or 1.0
    return "".join("·" if v is None else _BARS[max(1, round(v / top * (len(_BARS) - 1)))] for v in series)


@contextmanager
def live_view(title: str, duration_s: float, console: Console) -> Iterator[Callable[[Entry], None]]:
    """A view that is redrawn as entries come in; in a file or pipe, one line per decision instead."""
    view = RunView(title, duration_s)
    if not console.is_terminal:
        yield lambda entry: _log(entry, console)
        return
    with Live(view, console=console, refresh_per_second=2, transient=False):
        yield view.add


def _log(entry: Entry, console: Console) -> None:
    if isinstance(entry, Acted):
        console.print(f"{entry.at_s:6.0f} s  {_done(entry)}", markup=False)


def run_in_view(request: RunRequest, out: Path, master: str | None = None, shared: SparkCluster | None = None) -> Path:
    """Run on Spark and show it in the terminal; Ctrl-C ends it early. Returns the folder of the run."""
    folder = run_folder(out, request).absolute()
    place = LivePlace(folder, master, request.workers or EXECUTORS, shared=shared)
    title = f"{request.application} with {request.policy} under {request.load}"
    interrupted = threading.Event()
    with first_interrupt(interrupted), live_view(title, request.duration_s, show.err) as follow:
        run_live(request, place, Watcher(follow, show.say, interrupted))
    return folder
