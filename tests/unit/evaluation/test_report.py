"""A report is one file that needs nothing else, says everything, and cannot be broken by what names contain."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from penstock.control import Acted, Action, Decided, Ended, Entry, Level
from penstock.errors import UsageError
from penstock.evaluation import write_report
from penstock.evaluation.plots import overlay_plot, run_plot
from penstock.evaluation.series import Series
from penstock.evaluation.timeline import Timeline
from penstock.model import Reconfigure

Make = Callable[..., Any]


class Page(HTMLParser):
    """Collects tags and checks that they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def load(at_s: float) -> float:
    return 350.0 if 200 <= at_s < 400 else 80.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


def test_a_comparison_is_one_self_contained_page(fluid: Make, config: Make, folder: Path) -> None:
    runs = {"ds2": fluid(load), "static": fluid(load, "static", elastic=False, now=config(8, 4))}
    path = write_report(runs, folder / "deep" / "compare.html")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert page.seen.count("svg") == 3
    assert path.stat().st_size < 2_000_000
    assert not re.search(r'(src|href)="(?!#)', text.replace("xlink:href", "href"))
    assert not re.search(r"@import|<script|<link|url\((?!#)", text)
    words = " ".join(page.words)
    assert "did best" in words or "kept the latency target best" in words
    for expected in (
        "Side by side",
        "worker-s",
        "Load and throughput (events/s)",
        "Latency (s)",
        "Parallelism",
        "held by",
    ):
        assert expected in words
    assert "split needs" in words
    assert "cool-down: the last action was at" in words


def test_a_report_of_one_run_needs_no_scoreboard(fluid: Make, folder: Path) -> None:
    text = write_report({"ds2": fluid(load)}, folder / "one.html", title="My run").read_text(encoding="utf-8")
    assert "<title>My run</title>" in text
    assert text.count("<svg") == 1
    assert "Side by side" not in text
    assert "ds2 kept the latency target" in text


def test_the_same_runs_give_the_same_report(fluid: Make, folder: Path) -> None:
    first = write_report({"ds2": fluid(load)}, folder / "first.html").read_bytes()
    assert write_report({"ds2": fluid(load)}, folder / "second.html").read_bytes() == first


def test_names_and_reasons_are_escaped(started: Make, seen: Make, app: Make, config: Make, folder: Path) -> None:
    evil = '<script>alert("1")</script>&'
    target = config(split=2)
    entries = [
        started(run={"application": evil, "policy": evil, "load": evil}),
        seen(10.0, wordcount=app()),
        Decided(10.0, Reconfigure(target, evil), target),
        Acted(10.0, target, (), evil),
        Decided(20.0, Reconfigure(target, evil), None, evil),
        seen(20.0, wordcount=app()),
    ]
    text = write_report({evil: entries, "b": entries}, folder / "evil.html", title=evil).read_text(encoding="utf-8")
    assert "<script" not in text
    assert "".join(Page(text).words).count(evil) >= 8


def test_runs_of_which_nothing_was_seen_are_reported_all_the_same(started: Make, fluid: Make, folder: Path) -> None:
    text = write_report({"empty": [started()], "ds2": fluid(load)}, folder / "empty.html").read_text(encoding="utf-8")
    assert "Nothing was observed in this run" in text
    assert "was cut off" in text


def test_no_runs_are_a_usage_error(folder: Path) -> None:
    with pytest.raises(UsageError):
        write_report({}, folder / "none.html")


def test_several_applications_have_a_panel_and_a_row_each(
    started: Make, seen: Make, app: Make, config: Make, folder: Path
) -> None:
    both = ("wordcount", "other")
    entries: list[Entry] = [started(initial=config(names=both))]
    entries += [seen(10.0 * i, wordcount=app(), other=app(50.0, 40.0, backlog=10.0 * i)) for i in range(1, 8)]
    entries.append(Ended(70.0, "done"))
    text = write_report({"ds2": entries}, folder / "both.html").read_text(encoding="utf-8")
    assert "Parallelism of wordcount (instances)" in text
    assert "Parallelism of other (instances)" in text
    assert '<td class="name">other</td>' in text


def test_plots_are_well_formed_follow_the_theme_and_share_no_ids(fluid: Make) -> None:
    timeline = Timeline.of(fluid(load))
    plots = [run_plot("a", timeline), run_plot("b", timeline), overlay_plot({"a": timeline, "b": timeline})]
    ids: list[str] = []
    for plot in plots:
        ElementTree.fromstring(plot)
        assert "currentColor" in plot
        assert "var(--grid)" in plot
        assert "#123456" not in plot
        ids += re.findall(r' id="([^"]+)"', plot)
    assert ids
    assert len(ids) == len(set(ids))


def test_odd_journals_can_be_plotted(started: Make, seen: Make, app: Make) -> None:
    blank = app(None, None, latency=None, backlog=None)
    unknown = Timeline.of([started(), seen(10.0, workers=0, wordcount=blank)])
    missing = Timeline.of([started(), seen(10.0), seen(20.0, wordcount=app())])
    late = Timeline.of([started(), seen(10.0, wordcount=app(latency=None, went_per_s=0.0, backlog=9.0))])
    for timeline in (unknown, missing, late):
        ElementTree.fromstring(run_plot("$x$", timeline))
    ElementTree.fromstring(overlay_plot({"do$l_lar$": unknown, "b": missing, "c": late}))


def test_rollbacks_are_marked(fluid: Make, folder: Path) -> None:
    entries = fluid(lambda at_s: 60.0 if at_s < 1600 else 300.0, until_s=2000)
    text = write_report({"ds2": entries}, folder / "rollback.html").read_text(encoding="utf-8")
    assert 'class="back"' in text
    assert "1 rollback" in text
    assert "restart, paused 2 s" in text
    assert '<span class="bad">worse</span>' in text


def test_long_decision_tables_are_folded(fluid: Make, folder: Path) -> None:
    jumpy = fluid(lambda at_s: 60.0 + 240.0 * (int(at_s) // 60 % 2))
    text = write_report({"jumpy": jumpy}, folder / "jumpy.html").read_text(encoding="utf-8")
    assert "<details><summary>" in text
    assert "<details open>" not in text


def test_a_long_run_stays_small(fluid: Make, folder: Path) -> None:
    path = write_report({"ds2": fluid(load, until_s=30_000)}, folder / "long.html")
    assert path.stat().st_size < 300_000


def test_thinning_keeps_peaks_and_means() -> None:
    series = Series(tuple(range(1000)), (*(float(i % 10) for i in range(999)), None))
    peaks = series.thinned(max, points=100)
    assert len(peaks.at_s) == 100
    assert set(peaks.values[:-1]) == {9.0}
    assert peaks.values[-1] == 8.0
    assert series.thinned(max, points=1000) is series


def test_hot_changes_say_that_nothing_paused(started: Make, seen: Make, app: Make, config: Make, folder: Path) -> None:
    target = config(workers=2)
    entries = [
        started(),
        seen(10.0, wordcount=app()),
        Decided(10.0, Reconfigure(target, "busy"), target),
        Acted(10.0, target, (Action("workers", Level.HOT, None, 3.0, 0.0),)),
        seen(20.0, wordcount=app()),
    ]
    assert "hot, no pause" in write_report({"a": entries}, folder / "hot.html").read_text(encoding="utf-8")
