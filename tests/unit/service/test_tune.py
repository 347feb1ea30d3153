"""Thresholds learned from simulated runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.service.tune import TuneRequest, as_json, table_rows, tune

Penstock = Callable[..., Any]


def test_thresholds_are_learned_from_simulated_runs() -> None:
    request = TuneRequest("top-words", duration_s=300.0, steps=10, seeds=1, costs="restart")
    heard: list[str] = []
    learned = tune(request, heard.append)
    assert len(heard) == len(learned.table) == 7
    rows = table_rows(request, learned)
    assert [row[0].endswith("*") for row in rows].count(True) == 1
    assert as_json(request, learned)["best"] == learned.best
    assert tune(request).table == learned.table


@pytest.mark.parametrize(
    "wrong", [{"threshold": "memory_max"}, {"costs": "free"}, {"seeds": 0}, {"steps": 0}, {"load": "sinus"}]
)
def test_what_cannot_be_tuned_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        TuneRequest("top-words", **wrong)  # type: ignore[arg-type]


def test_the_command_prints_rewards_and_draws_them(penstock: Penstock, tmp_path: Path) -> None:
    arguments = ("tune", "top-words", "--duration", "120", "--steps", "3", "--seeds", "1", "--threshold", "core_max")
    done = penstock(*arguments, "--json")
    assert done.code == 0, done.err
    body = json.loads(done.out)
    assert (body["application"], body["threshold"]) == ("top-words", "core_max")
    assert [row["threshold"] for row in body["rewards"]] == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85]
    assert f"--policy elysium:core_max={body['best']:g}" in done.err
    page = (tmp_path / "runs" / "tune-top-words-core_max.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    shown = penstock(*arguments).out
    assert f"{body['best']:.2f} *" in shown


def test_mistakes_are_found_before_anything_runs(penstock: Penstock, tmp_path: Path) -> None:
    done = penstock("tune", "top-words", "--costs", "free")
    assert (done.code, done.out) == (2, "")
    assert done.err == "penstock: The costs of a change are hot or restart, not 'free'.\n"
    assert list(tmp_path.iterdir()) == []
