"""No event is lost or counted twice, whatever is changed and whoever is killed meanwhile."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_S = 500


def trial(out: Path, *arguments: str) -> dict[str, Any]:
    """Run the benchmark in a process of its own, and return what it has found."""
    command = [sys.executable, "-m", "benchmarks.live.exactly_once", "--rate", "200", "--out", str(out), *arguments]
    # The benchmark starts processes of its own: in a session they can all be ended together.
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    results = list(out.glob("*.json"))
    assert results, f"{output}\n{errors}"
    found: dict[str, Any] = json.loads(results[0].read_text())
    return found


def assert_exact(found: dict[str, Any]) -> None:
    assert found["events"] == found["counted"] > 500
    assert (found["lost"], found["twice"], found["wrong_sums"]) == (0, 0, 0)


@pytest.mark.parametrize("execution", ["fused", "pipelined"])
def test_random_changes_of_operators_and_executors_lose_nothing(tmp_path: Path, execution: str) -> None:
    found = trial(tmp_path, "--execution", execution, "--changes", "6", "--duration", "20", "--seed", "3")

    assert_exact(found)
    assert found["changes"] >= 6
    assert found["failed_changes"] == []
    assert found["levels"].keys() >= {"hot", "state"}


def test_a_driver_killed_while_state_is_rewritten_goes_on_where_it_was(tmp_path: Path) -> None:
    found = trial(tmp_path, "--changes", "3", "--duration", "10", "--kill-driver", "1", "--seed", "3")

    assert_exact(found)
    assert found["driver_killed_after"] == ["stopped"]
