"""What the user gets wrong is one sentence on stderr and exit code 2, and nothing is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Penstock = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "There is no application 'nonsense'; choose one of: "),
        (["top-word"], "There is no application 'top-word'; did you mean 'top-words'?"),
        (["top-words+top-words"], "'top-words+top-words' names an application twice; name each once."),
        (["top-words+"], "There is no application ''; "),
        (["top-words", "--policy", "treshold"], "There is no policy 'treshold'; did you mean 'threshold'?"),
        (["top-words", "--policy", "ds2:speed=1"], "There is no parameter of policy 'ds2' called 'speed'; "),
        (["top-words", "--policy", "ds2:utilisation=2"], "DS2 needs a utilisation above 0 and at most 1, not 2."),
        (["top-words", "--policy", "ds2:utilisation=x"], "must be a number, not 'x'."),
        (["top-words", "--policy", "spark-dynamic-allocation"], "is Spark's own doing and cannot be simulated; "),
        (["top-words", "--load", "sinus"], "There is no load 'sinus'; did you mean 'sine'?"),
        (["top-words", "--load", "sine:high=nan"], "high=nan"),
        (["top-words", "--load", "sine:slope=3"], "There is no parameter of load 'sine' called 'slope'; "),
        (["top-words", "--load", "sine:low=9,high=1"], "low=9"),
        (["top-words", "--load", "trace:nowhere.csv"], "nowhere.csv"),
        (["top-words", "--execution", "parallel"], "The execution is 'fused' or 'pipelined', not 'parallel'."),
        (["top-words", "--initial", "some"], "A run starts with 'largest' or 'smallest', not 'some'."),
        (["top-words", "--duration", "-5"], "The duration must be longer than 0 s and have an end, not -5."),
        (["top-words", "--duration", "nan"], "The duration must be longer than 0 s and have an end, not nan."),
        (["top-words", "--duration", "inf"], "The duration must be longer than 0 s and have an end, not inf."),
        (["top-words", "--duration", "5"], "A run of 5 s ends before its first observation; "),
        (["top-words", "--period", "0"], "The periods of the control loop must be longer than 0 s."),
        (["top-words", "--period", "nan"], "The periods of the control loop must be longer than 0 s."),
        (["top-words", "--workers", "0"], "At least 1 worker is needed, not 0."),
        (["top-words", "--target", "0"], "The latency target must be longer than 0 s, not 0."),
        (["top-words", "--target", "nan"], "The latency target must be longer than 0 s, not nan."),
        (["top-words", "--seed", "-1"], "The seed must be at least 0, not -1."),
        (["top-words+sentiment", "--load", "sine+step+sine"], "'sine+step+sine' are 3 loads for 2 applications; "),
        (["top-words+sentiment", "--load", "sine+sinus"], "There is no load 'sinus'; did you mean 'sine'?"),
        (["top-words", "--policy", "stela", "--request", "60:up:1"], "'60:up:1' is no request; write it as 60:out:1"),
        (["top-words", "--policy", "stela", "--request", "9000:in:1"], "A request at 9000 s comes after a run of "),
        (["top-words", "--request", "60:out:1"], "The policy 'ds2' serves no requests; choose stela, or leave out "),
    ],
)
def test_mistakes_of_simulate(penstock: Penstock, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = penstock("simulate", *arguments, "--json")
    assert done.code == 2
    assert done.out == ""
    assert said in done.err
    assert done.err.startswith("penstock: ")
    assert done.err.endswith("\n")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ("static,treshold", "There is no policy 'treshold'; did you mean 'threshold'?"),
        ("static,static", "names a policy twice"),
        (" , ", "No policy is named"),
    ],
)
def test_mistakes_of_compare_are_found_before_anything_runs(
    penstock: Penstock, tmp_path: Path, policies: str, said: str
) -> None:
    done = penstock("compare", "top-words", "--policies", policies)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["simulate"], ["simulate", "top-words", "--duration", "soon"], ["simulat"]])
def test_a_command_that_cannot_be_read_is_explained(penstock: Penstock, arguments: list[str]) -> None:
    done = penstock(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Usage: penstock" in done.err
    assert "Traceback" not in done.err


def test_a_folder_that_cannot_be_written_to(penstock: Penstock, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = penstock("simulate", "top-words", "--duration", "60", "--out", str(tmp_path / "file" / "runs"))
    assert (done.code, done.out) == (2, "")
    assert "cannot be written to (Not a directory); choose another." in done.err
    assert done.err.count("\n") == 1


def test_a_journal_that_is_something_else_is_left_alone(penstock: Penstock, tmp_path: Path) -> None:
    from penstock.service.requests import RunRequest

    folder = tmp_path / "runs" / RunRequest("top-words", "static", "constant", 60.0).slug
    folder.mkdir(parents=True)
    journal = folder / "journal.sqlite"
    journal.write_text("dear diary" * 200)
    done = penstock("simulate", "top-words", "--policy", "static", "--load", "constant", "--duration", "60")
    assert (done.code, done.out) == (2, "")
    assert "journal.sqlite" in done.err
    assert "Traceback" not in done.err
    assert journal.read_text().startswith("dear diary")


def test_a_mistake_does_not_cost_the_results_of_an_earlier_run(penstock: Penstock, tmp_path: Path) -> None:
    arguments = ("simulate", "top-words", "--policy", "static", "--load", "constant", "--duration", "60")
    assert penstock(*arguments).code == 0
    (journal,) = tmp_path.glob("runs/*/journal.sqlite")
    before = journal.read_bytes()
    assert penstock(*arguments, "--seed", "0", "--target", "-1").code == 2
    assert journal.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["synthetic", "--trigger", "0"], "The time between two batches must be longer than 0 s, not 0."),
        (["synthetic", "--trigger", "nan"], "The time between two batches must be longer than 0 s, not nan."),
        (["synthetic", "--master", "moon"], "'moon' is no master; "),
        (["synthetic", "--load", "sinus"], "There is no load 'sinus'; did you mean 'sine'?"),
        (["top-words:service_ms=-1"], "'service_ms=-1' is no service time; "),
    ],
)
def test_mistakes_of_run(penstock: Penstock, arguments: list[str], said: str) -> None:
    done = penstock("run", *arguments, "--json")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err
