"""What README and CONTRIBUTING show is run as it stands there."""

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import typer

from penstock.policies import POLICIES
from penstock.service.cli import app
from penstock.spark.applications.registry import load_user_pipeline
from penstock.testing import PolicyContract

ROOT = Path(__file__).parents[2]


def python_blocks(document: str) -> list[str]:
    found = re.findall(r"^( *)```python\n(.*?)^ *```", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


def test_the_application_of_the_readme_is_a_pipeline(tmp_path: Path) -> None:
    (block,) = python_blocks("README.md")
    (tmp_path / "counts.py").write_text(block)
    pipeline = load_user_pipeline(f"{tmp_path / 'counts.py'}:pipeline")
    topology = pipeline.topology("fused")
    assert topology.names == ("sentences", "split", "count")
    assert topology.segments == (("sentences", "split", "count"),)
    assert len(pipeline.topology("pipelined").segments) == 2


def test_the_recipe_of_contributing_gives_a_policy_that_fulfils_the_contract() -> None:
    (block,) = python_blocks("CONTRIBUTING.md")
    names: dict[str, Any] = {"__name__": "recipe"}
    exec(block, names)

    class RecipeContract(PolicyContract):
        def make_policy(self) -> Any:
            return names["OneMore"]()

    suite = RecipeContract()
    tests = [
        method
        for name, method in inspect.getmembers(suite, inspect.ismethod)
        if name.startswith("test_") and not inspect.signature(method).parameters
    ]
    assert tests
    for test in tests:
        test()


def test_every_command_of_the_readme_exists() -> None:
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"`penstock (\w+)", (ROOT / "README.md").read_text()))
    assert named <= commands, f"README names {named - commands}"
    for name in re.findall(r"--policies ([\w,-]+)", (ROOT / "README.md").read_text()):
        assert set(name.split(",")) <= {*POLICIES, "a", "b", "c"}
