"""Finding a Java that Spark can run on."""

from pathlib import Path

import pytest

from penstock.errors import EnvironmentMissing
from penstock.spark.java import parse_java_version, require_java


def java_home(folder: Path, version: str) -> Path:
    """A made-up JAVA_HOME whose java says it is `version`."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_292"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21-ea" 2023-09-19', 21),
    ],
)
def test_versions_are_read_as_java_writes_them(text: str, version: int) -> None:
    assert parse_java_version(text) == version


@pytest.mark.parametrize("text", ["", "command not found"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(EnvironmentMissing, match="No Java version"):
        parse_java_version(text)


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = java_home(tmp_path / "chosen", "21.0.1")
    other = java_home(tmp_path / "other", "1.8.0")
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    monkeypatch.setenv("PATH", f"{other / 'bin'}:/usr/bin:/bin")
    assert require_java() == chosen / "bin" / "java"


def test_java_on_the_path_serves_without_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = java_home(tmp_path, "17.0.1")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    assert require_java() == home / "bin" / "java"


def test_an_old_java_is_refused_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, "11.0.2")))
    with pytest.raises(EnvironmentMissing, match="is version 11; install a JDK 17"):
        require_java()


def test_no_java_at_all_is_refused_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentMissing, match="none on PATH; install a JDK 17"):
        require_java()


def test_a_wrong_java_home_is_refused_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentMissing, match=r"JAVA_HOME is .*; install a JDK 17"):
        require_java()
