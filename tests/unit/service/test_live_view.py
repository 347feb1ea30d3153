"""What a person sees while a live run goes on; fed here with the entries of a simulated one."""

import io

from rich.console import Console

from penstock.control import Acted, Entry
from penstock.service.live_view import RunView, live_view
from penstock.service.requests import RunRequest
from penstock.service.simulated import simulate
from penstock.stores import MemoryJournal


def entries() -> list[Entry]:
    journal = MemoryJournal()
    simulate(RunRequest("top-words", "ds2", "step", 300.0), journal, lambda entry: None)
    return list(journal.entries())


def drawn(view: RunView) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(view)
    return console.export_text()


def test_before_the_first_measurement_the_time_shows_that_something_happens() -> None:
    now_s = [100.0]
    view = RunView("words", 300.0, clock=lambda: now_s[0])
    now_s[0] += 37.0
    assert "starting for 37 s" in drawn(view)
    assert "Ctrl-C ends it" in drawn(view)


def test_everything_that_matters_is_on_the_screen() -> None:
    view, acted = RunView("words under a step", 300.0), []
    for entry in entries():
        view.add(entry)
        acted += [entry] if isinstance(entry, Acted) else []
    text = drawn(view)
    assert acted
    for word in ("words under a step", "load", "throughput", "backlog", "latency p95", "executors", "splitter"):
        assert word in text
    assert "300 s, 0 s to go" in text
    assert acted[-1].actions[0].what in text


def test_in_a_file_every_change_is_a_line() -> None:
    console = Console(width=1000, file=io.StringIO(), record=True)
    with live_view("words", 300.0, console) as follow:
        for entry in entries():
            follow(entry)
    lines = console.export_text().splitlines()
    changes = [entry for entry in entries() if isinstance(entry, Acted)]
    assert [line.split(" s ")[0].strip() for line in lines] == [f"{change.at_s:.0f}" for change in changes]
    assert changes
