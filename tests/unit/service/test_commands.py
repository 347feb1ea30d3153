"""What the commands print, and where they write."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from penstock.errors import ActionFailed
from penstock.model import ScaleRequest
from penstock.policies import POLICIES
from penstock.service import show, simulated
from penstock.service.cli import app
from penstock.service.policy_list import split_policies
from penstock.service.requests import RunRequest
from penstock.spark.applications.registry import SPARK_APPLICATIONS
from penstock.workloads import APPLICATIONS, LOADS

Penstock = Callable[..., Any]

KEYS = [
    "application",
    "policy",
    "load",
    "duration_s",
    "seed",
    "live",
    "throughput_degradation",
    "nodes_saved",
    "mean_workers",
    "worker_seconds",
    "mean_latency_s",
    "p95_latency_s",
    "p99_latency_s",
    "slo_violation_s",
    "peak_backlog",
    "events_in",
    "events_out",
    "events_lost",
    "events_duplicated",
    "reconfigurations",
    "downtime_s",
    "convergence_s",
    "decisions",
]


def command_names() -> list[str]:
    group = typer.main.get_command(app)
    return sorted(getattr(group, "commands", {}))


def test_the_commands_of_the_design_are_there() -> None:
    assert {
        "demo",
        "run",
        "simulate",
        "compare",
        "apps",
        "policies",
        "loads",
        "doctor",
        "profile",
        "tune",
        "reproduce",
    } <= set(command_names())


@pytest.mark.parametrize("name", command_names())
def test_every_command_has_help(penstock: Penstock, name: str) -> None:
    done = penstock(name, "--help")
    assert (done.code, done.err) == (0, "")
    assert f"penstock {name}" in done.out


def test_the_whole_has_help_that_names_every_command(penstock: Penstock) -> None:
    done = penstock("--help")
    assert done.code == 0
    for name in command_names():
        assert re.search(rf"^\s*{name}\s+\S", done.out, re.MULTILINE), name


def test_simulate_prints_one_json_document_with_stable_keys(penstock: Penstock, tmp_path: Path) -> None:
    done = penstock("simulate", "top-words", "--load", "step", "--duration", "400", "--seed", "7", "--json")
    assert done.code == 0
    result = json.loads(done.out)
    assert list(result)[: len(KEYS)] == KEYS
    assert result["application"] == "top-words"
    assert (result["policy"], result["load"], result["duration_s"], result["seed"]) == ("ds2", "step", 400.0, 7)
    assert result["live"] is False
    assert result["events_in"] > 0
    assert result["events_lost"] == 0
    assert result["decisions"]
    assert all(list(decision) == ["at_s", "action", "reason"] for decision in result["decisions"])
    assert (tmp_path / "runs" / "report.html").is_file()
    assert "report.html" in done.err


def test_the_same_command_gives_the_same_result(penstock: Penstock) -> None:
    arguments = ("simulate", "top-words", "--load", "step", "--duration", "120", "--json")
    first, again, other = (json.loads(penstock(*arguments, "--seed", seed).out) for seed in ("3", "3", "4"))
    assert first == again
    assert {**first, "seed": 4} != other


def test_several_applications_run_at_once(penstock: Penstock) -> None:
    done = penstock("simulate", "top-words+sentiment", "--duration", "120", "--execution", "fused", "--json")
    result = json.loads(done.out)
    assert result["application"] == "top-words+sentiment"
    assert sorted(result["by_application"]) == ["sentiment", "top-words"]


def test_every_application_may_have_its_own_load(penstock: Penstock) -> None:
    arguments = ("simulate", "top-words+sentiment", "--policy", "elysium", "--duration", "600", "--json")
    load = "constant:rate=100+stair:low=250,high=1000,noise=0.05"
    result = json.loads(penstock(*arguments, "--load", load).out)
    assert result["load"] == load
    first, second = (result["by_application"][name] for name in ("top-words", "sentiment"))
    assert first["events_in"] == pytest.approx(60_000)
    assert 250 * 600 < second["events_in"] < 1000 * 600
    assert result["events_in"] == pytest.approx(first["events_in"] + second["events_in"])
    assert result["mean_workers"] < 4
    assert any("sentiment/" in decision["reason"] for decision in result["decisions"])


def test_workers_come_and_go_when_the_user_asks(penstock: Penstock, tmp_path: Path) -> None:
    arguments = ("simulate", "linear", "--policy", "stela", "--load", "constant", "--duration", "300", "--json")
    start = ("--workers", "6", "--initial", "smallest")
    asked = ("--request", "180:in:1", "--request", "60:out:2")
    result = json.loads(penstock(*arguments, *start, *asked).out)
    decisions = [(decision["at_s"], decision["action"]) for decision in result["decisions"]]
    assert [at_s for at_s, _ in decisions] == [60.0, 180.0]
    assert result["reconfigurations"] == 2
    undisturbed = json.loads(penstock(*arguments, *start).out)
    assert undisturbed["reconfigurations"] == 0
    assert result["mean_workers"] > undisturbed["mean_workers"]
    assert len(list(tmp_path.glob("runs/*/journal.sqlite"))) == 2


def test_compare_prints_one_row_per_policy(penstock: Penstock, tmp_path: Path) -> None:
    arguments = ("compare", "top-words", "--policies", "static,threshold,ds2", "--duration", "300", "--load", "sine")
    rows = json.loads(penstock(*arguments, "--json").out)
    assert [row["policy"] for row in rows] == ["static", "threshold", "ds2"]
    assert all(list(row)[: len(KEYS)] == KEYS for row in rows)
    static, _, ds2 = rows
    assert static["reconfigurations"] == 0
    assert ds2["worker_seconds"] < static["worker_seconds"]
    assert len(list(tmp_path.glob("runs/*/journal.sqlite"))) == 3


def test_in_several_rounds_policies_take_turns(penstock: Penstock, tmp_path: Path) -> None:
    arguments = ("compare", "top-words", "--policies", "static,ds2", "--duration", "60", "--rounds", "2")
    assert [row["policy"] for row in json.loads(penstock(*arguments, "--json").out)] == ["static", "ds2"] * 2
    assert len(list(tmp_path.glob("runs/round-?/*/journal.sqlite"))) == 4
    said = penstock(*arguments).out
    assert "ds2 #2" in said
    assert "static, 2 rounds: worker-s" in said


def test_a_run_that_fails_does_not_take_the_others_with_it(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = simulated.simulate

    def simulate(request: RunRequest, *others: Any) -> None:
        if request.policy == "ds2":
            raise ActionFailed("the cluster burns")
        whole(request, *others)

    monkeypatch.setattr(simulated, "simulate", simulate)
    done = penstock("compare", "top-words", "--policies", "static,ds2,threshold", "--duration", "60", "--json")
    assert done.code == 1
    assert [row["policy"] for row in json.loads(done.out)] == ["static"]
    assert "the cluster burns" in done.err
    assert (tmp_path / "runs" / "report.html").exists()


def test_without_json_a_table_goes_to_stdout_and_all_else_to_stderr(penstock: Penstock) -> None:
    done = penstock("compare", "top-words", "--policies", "static,ds2", "--duration", "60")
    assert done.code == 0
    assert re.search(r"\bds2\b", done.out)
    assert re.search(r"\bstatic\b", done.out)
    assert done.err.startswith("Report: ")


def test_a_dry_run_decides_and_does_not_act(penstock: Penstock) -> None:
    done = penstock("simulate", "top-words", "--load", "step", "--duration", "300", "--dry-run", "--json")
    result = json.loads(done.out)
    assert result["reconfigurations"] == 0
    assert result["decisions"]
    assert all("dry run" in decision["reason"] for decision in result["decisions"])


ALL_APPLICATIONS = dict.fromkeys((*APPLICATIONS, *SPARK_APPLICATIONS))


def test_applications_on_spark_are_listed_with_their_parameters(penstock: Penstock) -> None:
    rows = {row["name"]: row for row in json.loads(penstock("apps", "--json").out)}
    yahoo = rows["yahoo-streaming"]
    assert 0 < yahoo["live_low_per_s"] < yahoo["live_high_per_s"] < yahoo["high_per_s"]
    assert "store_per_s" in yahoo["live_summary"]
    assert rows["star"]["live_high_per_s"] is None
    assert rows["synthetic"]["high_per_s"] is None


@pytest.mark.parametrize(("command", "known"), [("apps", ALL_APPLICATIONS), ("policies", POLICIES), ("loads", LOADS)])
def test_lists_name_everything_there_is(penstock: Penstock, command: str, known: dict[str, object]) -> None:
    done = penstock(command, "--json")
    assert (done.code, done.err) == (0, "")
    rows = json.loads(done.out)
    assert [row["name"] for row in rows] == list(known)
    assert all(row["summary"] for row in rows)
    listed = penstock(command).out
    assert all(name in listed for name in known)


@pytest.mark.parametrize(("command", "word"), [("policies", "assessment_period_s=60.0"), ("loads", "noise: deviation")])
def test_lists_are_readable_at_100_columns(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, command: str, word: str
) -> None:
    monkeypatch.setattr(show.out, "width", 100)
    lines = penstock(command).out.splitlines()
    assert max(map(len, lines)) <= 100
    assert any(word in line for line in lines)
    for row in json.loads(penstock(command, "--json").out):
        # Name, summary and parameters stand in this order; nothing is squeezed into a narrow column.
        (first,) = [line for line in lines if line.startswith(f"{row['name']} ")]
        assert row["summary"].startswith(first.removeprefix(row["name"]).strip())


def test_nothing_is_written_outside_the_output_folder(
    spawn: Callable[..., "subprocess.Popen[str]"], environment: dict[str, str], tmp_path: Path
) -> None:
    target = tmp_path / "results"
    process = spawn("simulate", "top-words", "--policy", "static", "--duration", "60", "--json", "--out", str(target))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["policy"] == "static"
    assert list((tmp_path / "cwd").iterdir()) == []
    assert list(Path(environment["HOME"]).iterdir()) == []
    assert {path.name for path in target.rglob("*") if path.is_file()} == {"journal.sqlite", "report.html"}


@pytest.mark.parametrize(
    ("text", "policies"),
    [
        ("ds2", ["ds2"]),
        ("static, threshold ,ds2", ["static", "threshold", "ds2"]),
        (
            "static,threshold:upper=0.8,window_s=30,ds2",
            ["static", "threshold:upper=0.8,window_s=30", "ds2"],
        ),
        ("static:largest,static:smallest", ["static:largest", "static:smallest"]),
        ("ds2:utilisation=0.7,treshold", ["ds2:utilisation=0.7", "treshold"]),
        ("static:largest,workers=2", ["static:largest,workers=2"]),
        ("static,,ds2,", ["static", "ds2"]),
    ],
)
def test_lists_of_policies_are_split_before_policies(text: str, policies: list[str]) -> None:
    assert split_policies(text) == policies


def test_different_runs_have_different_folders_that_any_system_can_name() -> None:
    base = ("top-words", "ds2", "sine", 60.0)
    requests = [
        RunRequest(*base),
        RunRequest(*base, seed=1),
        RunRequest(*base, execution="fused"),
        RunRequest("top-words", "ds2:utilisation=0.7", "sine", 60.0),
        RunRequest("top-words", "ds2", "sine:low=1,high=2", 60.0),
        RunRequest("top-words", "ds2", "sine", 90.0),
        RunRequest("sentiment", "ds2", "sine", 60.0),
        RunRequest("top-words", "ds2", "sine", 60.0, live=True),
        RunRequest("top-words", "elysium", "sine", 60.0, live=True),
        RunRequest("top-words", "elysium", "sine", 60.0, live=True, models=Path("learned/models")),
        RunRequest("top-words", "stela", "sine", 60.0),
        RunRequest("top-words", "stela", "sine", 60.0, requests=(ScaleRequest(30.0, 1),)),
        RunRequest("top-words", "stela", "sine", 60.0, requests=(ScaleRequest(30.0, -1),)),
    ]
    slugs = {request.slug for request in requests}
    assert len(slugs) == len(requests)
    assert all(re.fullmatch(r"[A-Za-z0-9._=+-]{1,180}", slug) for slug in slugs)
    assert RunRequest(*base).with_policy("static").policy == "static"


def test_workers_and_start_are_as_asked_for() -> None:
    from penstock.control import Started
    from penstock.service.simulated import simulate
    from penstock.stores import MemoryJournal

    journal = MemoryJournal()
    simulate(RunRequest("top-words", "static", "constant", 20.0, workers=2, initial="smallest"), journal)
    started = next(iter(journal.entries()))
    assert isinstance(started, Started)
    assert [worker.name for worker in started.cluster.workers] == ["w1", "w2"]
    assert set(started.initial.parallelism["top-words"].values()) == {1}
    assert started.run["execution"] == "pipelined"
