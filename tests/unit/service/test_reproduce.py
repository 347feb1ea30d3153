"""The command that sets published figures beside ours."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.evaluation.papers import EXPERIMENTS, Row
from penstock.evaluation.papers.comparison_page import by_measure, write_comparison
from penstock.evaluation.papers.elysium_comparison import PROACTIVE
from penstock.service import live_experiments
from penstock.service.live_experiments import reproduce_live, usage_rows
from penstock.service.profile import ProfileRequest, Watched, profile, simulated_source
from penstock.service.requests import RunRequest
from penstock.service.runs import JOURNAL, open_folder, run_folder
from penstock.service.simulated import simulate
from penstock.stores import SqliteJournal

Penstock = Callable[..., Any]


@pytest.mark.parametrize("arguments", [["--list"], []])
def test_all_experiments_are_listed(penstock: Penstock, arguments: list[str]) -> None:
    done = penstock("reproduce", *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    assert [row["name"] for row in json.loads(done.out)] == list(EXPERIMENTS)
    listed = penstock("reproduce", *arguments).out
    assert all(name in listed for name in EXPERIMENTS)


def test_rows_are_one_json_document(penstock: Penstock, tmp_path: Path) -> None:
    done = penstock("reproduce", "stela-example", "--json")
    assert done.code == 0
    rows = json.loads(done.out)
    assert [list(row) for row in rows] == [["case", "published", "ours", "note"]] * 4
    assert rows[0]["ours"] == pytest.approx(44.4, abs=0.1)
    assert done.err == "Reproducing stela-example: the worked example of Figure 2 ...\n"
    assert list(tmp_path.iterdir()) == []


def test_a_person_gets_a_table_and_pictures_if_asked_for(penstock: Penstock, tmp_path: Path) -> None:
    done = penstock("reproduce", "stela-example", "--quick", "--plot", "--out", "pictures")
    assert done.code == 0
    assert done.out.splitlines()[1].split() == ["case", "published", "ours", "note"]
    assert "pictures/stela-example.html" in done.err
    page = (tmp_path / "pictures" / "stela-example.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "ETP of operator 6 in %" in page


def test_an_unknown_experiment_is_refused_with_the_list(penstock: Penstock, tmp_path: Path) -> None:
    done = penstock("reproduce", "elysium-figure-99", "--json")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("penstock: There is no experiment 'elysium-figure-99'; choose one of: elysium-table-1, ")
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_measures_the_same_is_in_one_picture(tmp_path: Path) -> None:
    rows = [
        Row("T1: degradation", 0.5, 0.25),
        Row("T1: nodes saved %", 40.0, None),
        Row("T2 with <a name> that is longer than fits beside a picture: degradation", None, 0.75, "why & how"),
        Row("best", 0.8, 0.8),
    ]
    assert {name: len(found) for name, found in by_measure(rows).items()} == {
        "degradation": 2,
        "nodes saved %": 1,
        "": 1,
    }
    page = write_comparison(EXPERIMENTS["stela-example"], rows, tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "why &amp; how" in page
    assert "<a name>" not in page


def test_what_is_not_run_live_is_refused(penstock: Penstock, tmp_path: Path) -> None:
    done = penstock("reproduce", "stela-example", "--live")
    assert done.code == 2
    assert "'stela-example' is not run live; leave out --live, or choose one of: elysium-table-2, " in done.err
    assert list(tmp_path.iterdir()) == []


def test_errors_of_usage_are_told_for_operators_segments_and_all(tmp_path: Path) -> None:
    request = ProfileRequest("top-words", "sine:period=300", 600.0, execution="fused")
    found = profile(request, simulated_source(request), tmp_path)
    rows = {row.case: row for row in usage_rows(found)}
    assert rows["live: splitter: mean error %"].ours == pytest.approx(100.0 * found.usage_errors["splitter"])
    assert "live: source to total-ranker: mean error %" in rows
    assert found.usage_error is not None
    assert rows["live: weighted average over operators: mean error %"].ours == pytest.approx(100.0 * found.usage_error)
    plain = [error for name, error in found.usage_errors.items() if name != "source to total-ranker"]
    average = rows["live: average over operators: mean error %"]
    assert average.ours == pytest.approx(100.0 * sum(plain) / len(plain))
    assert [row for row in rows.values() if row.published is not None] == [average]


def test_selectivities_are_learned_from_one_live_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def watch(load: str, seed: int) -> Watched:
        asked.append(load)
        return simulated_source(ProfileRequest("top-words", duration_s=600.0))("stair", seed)

    monkeypatch.setattr(live_experiments, "live_source", lambda *_, **__: watch)
    rows = {row.case: row for row in reproduce_live("elysium-table-2", True, tmp_path)}
    assert asked == ["stair:low=5,high=40"]
    assert rows["live: splitter -> stop-word-filter: average"].published == 17.86
    assert rows["live: splitter -> stop-word-filter: average"].ours == pytest.approx(17.86, rel=0.02)


def test_only_proactive_scaling_knows_the_load_from_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request of every run is as it would be on Spark; in its place the application is simulated."""
    asked: list[RunRequest] = []

    def run(request: RunRequest, out: Path) -> Path:
        asked.append(request)
        folder = open_folder(run_folder(out, request))
        with SqliteJournal(folder / JOURNAL) as journal:
            simulate(RunRequest("top-words", "static", "constant", 60.0), journal)
        return folder

    monkeypatch.setattr(live_experiments, "run_in_view", run)
    rows = reproduce_live("elysium-figure-13", True, tmp_path)
    assert [one.models for one in asked] == [None, None, tmp_path / "models"]
    assert [path.parent.name for path in (tmp_path / "models").rglob("*.json")] == ["input-load"]
    proactive = asked[-1]
    assert "mode=proactive" in proactive.policy
    assert len(rows) == 6
    assert rows[-1].case == f"live: T1 square, {PROACTIVE}: nodes saved %"
