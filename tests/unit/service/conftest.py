"""The command line, called in this process or in one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import pytest

from penstock.service.cli import main


@dataclass(frozen=True)
class Outcome:
    """What a call came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def penstock(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Outcome]:
    """Call the command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["penstock", *arguments])
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
        caught = capsys.readouterr()
        return Outcome(code, caught.out, caught.err)

    return call


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment for processes of their own, with a home that is empty."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {**kept, "HOME": str(home), "MPLCONFIGDIR": mpl.get_cachedir(), "COLUMNS": "200"}


@pytest.fixture
def spawn(tmp_path: Path, environment: dict[str, str]) -> Callable[..., "subprocess.Popen[str]"]:
    """Start the command line in a process of its own; `before` is run in it first."""
    folder = tmp_path / "cwd"
    folder.mkdir()

    def start(*arguments: str, before: str = "") -> "subprocess.Popen[str]":
        program = f"{before}\nfrom penstock.service.cli import main\nmain()"
        return subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )

    return start
