"""Real Spark for the tests of this folder: one session per module, always stopped again.

There is one session per process at a time, so a module uses either `spark` or `cluster_session`.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.spark.cluster import EmbeddedCluster, LocalCluster
from penstock.spark.session import start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 180.0


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """A session with two slots in one process."""
    with LocalCluster(2) as cluster:
        session = start_session(cluster, "tests", tmp_path_factory.mktemp("driver"))
        try:
            yield session
        finally:
            stop_session(session)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """A private cluster with room for three executors of one core."""
    with EmbeddedCluster(tmp_path_factory.mktemp("cluster"), executors=3) as embedded:
        yield embedded


@pytest.fixture(scope="module")
def cluster_session(cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """A session on `cluster` that begins with two executors."""
    session = start_session(cluster, "tests", tmp_path_factory.mktemp("driver"), executors=2)
    try:
        yield session
    finally:
        stop_session(session)


@pytest.fixture(scope="session")
def eventually() -> Callable[[Callable[[], bool]], bool]:
    """A function that returns True as soon as a condition holds, or False if it does not within a generous while."""

    def poll(condition: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    return poll


@pytest.fixture(scope="session")
def processes_naming() -> Callable[[str], list[int]]:
    """A function that finds the living processes with a text in their command line or first environment."""

    def find(text: str) -> list[int]:
        return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if text.encode() in _described(entry)]

    return find


def _described(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
    except OSError:
        return b""
