"""The command that sets published figures beside ours."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.evaluation.papers import EXPERIMENTS, Row
from penstock.evaluation.papers.comparison_page import by_measure, write_comparison

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
    assert "'stela-example' is not run live; leave out --live, or choose one of: elysium-figure-9" in done.err
    assert list(tmp_path.iterdir()) == []
