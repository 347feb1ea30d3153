"""`penstock place` and `penstock solvers`: what they print, and what they refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.placement import SOLVERS
from penstock.placement.problem_file import parse_problem, problem_document
from penstock.testing.problems import ProblemKind, random_problem
from penstock.workloads.placements import EXAMPLES

Penstock = Callable[..., Any]

KEYS = [
    "solver",
    "status",
    "objective",
    "bound",
    "gap",
    "runtime_s",
    "placement",
    "response_time_ms",
    "availability",
    "network",
    "cost",
    "downtime_s",
]


@pytest.fixture
def problem_file(tmp_path: Path) -> Path:
    problem = random_problem(1, ProblemKind(5, 4, "chain", alike=True))
    (tmp_path / "problem.json").write_text(json.dumps(problem_document(problem)))
    return tmp_path / "problem.json"


def test_a_placement_as_json(penstock: Penstock, problem_file: Path) -> None:
    done = penstock("place", str(problem_file), "--json")
    assert done.code == 0
    answer = json.loads(done.out)
    assert list(answer) == KEYS
    assert answer["status"] == "optimal"
    assert list(answer["placement"]) == ["o0", "o1", "o2", "o3", "o4"]
    assert answer["gap"] <= 1e-6
    assert answer["downtime_s"] is None


def test_a_placement_as_tables(penstock: Penstock, problem_file: Path) -> None:
    done = penstock("place", str(problem_file), "--solver", "local-search")
    assert done.code == 0
    assert done.out.startswith("feasible: a better placement may exist")
    assert "response time" in done.out
    assert "Placing 5 operators on 4 nodes with 'local-search'" in done.err


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture(penstock: Penstock, problem_file: Path, tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"placement.{ending}"
    assert penstock("place", str(problem_file), "--plot", str(picture)).code == 0
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_a_problem_file(penstock: Penstock, name: str) -> None:
    done = penstock("place", "--example", name)
    assert done.code == 0
    problem = parse_problem(done.out)
    assert problem.operators[0].name == "source"
    assert (problem.current is not None) == name.endswith("change")


def test_what_cannot_be_solved_is_said(penstock: Penstock, problem_file: Path, tmp_path: Path) -> None:
    document = json.loads(problem_file.read_text())
    document["bounds"] = {"response_time_ms": 1.0}
    problem_file.write_text(json.dumps(document))
    done = penstock("place", str(problem_file), "--json")
    assert (done.code, json.loads(done.out)["status"]) == (0, "infeasible")
    done = penstock("place", str(problem_file), "--plot", str(tmp_path / "none.png"))
    assert (done.code, "no placement to draw" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "No problem file is named; "),
        (["nowhere.json"], "The problem file nowhere.json cannot be read: "),
        (["--example", "debs"], "There is no example 'debs'; did you mean 'debs2015'?"),
        (["FILE", "--solver", "exakt"], "There is no solver 'exakt'; did you mean 'exact'?"),
        (["FILE", "--solver", "redrp"], "Solver 'redrp' changes a current deployment; "),
        (["FILE", "--time-limit", "0"], "A time limit of 0 s is no time; "),
        (["FILE", "--time-limit", "nan"], "A time limit of nan s is no time; "),
        (["FILE", "--seed", "-1"], "The seed must be at least 0"),
        (["FILE", "--plot", "picture.txt"], "A picture is a .png, .svg or .pdf file, not 'picture.txt'."),
        (["FILE", "--plot", "nowhere/picture.png"], "cannot be written: "),
    ],
)
def test_mistakes_are_one_sentence(penstock: Penstock, problem_file: Path, arguments: list[str], said: str) -> None:
    done = penstock("place", *(str(problem_file) if part == "FILE" else part for part in arguments))
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_the_solvers_are_listed(penstock: Penstock) -> None:
    rows = json.loads(penstock("solvers", "--json").out)
    assert [row["name"] for row in rows] == list(SOLVERS)
    assert next(row for row in rows if row["name"] == "redrp")["current_deployment"] == "needed"
    assert "exact" in penstock("solvers").out
