"""A private cluster: it gives what is asked for, keeps to its folder, and leaves nothing running."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import ActionFailed, UsageError
from penstock.spark.cluster import EmbeddedCluster, ExternalCluster
from penstock.spark.internals import set_total_executors
from penstock.spark.session import start_session, stop_session, wait_for_executors
from penstock.spark.status import StatusReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Find = Callable[[str], list[int]]
Eventually = Callable[[Callable[[], bool]], bool]

CLUSTER_WITH_BUSY_SESSION = """
import sys, threading, time
from pathlib import Path
from penstock.spark.cluster import EmbeddedCluster
from penstock.spark.session import start_session

folder = Path(sys.argv[1])

def dawdle(rows):
    (folder / "busy").touch()
    time.sleep(600)
    return rows

cluster = EmbeddedCluster(folder / "cluster", executors=1)
cluster.start()
spark = start_session(cluster, "to be killed", folder / "driver")
job = threading.Thread(target=lambda: spark.sparkContext.range(1).mapPartitions(dawdle).count(), daemon=True)
job.start()
while not (folder / "busy").exists():
    time.sleep(0.1)
print("ready", flush=True)
job.join()
"""

CLUSTER_ALONE = """
import signal, sys, time
from pathlib import Path
from penstock.spark.cluster import EmbeddedCluster

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored by what runs in the background
with EmbeddedCluster(Path(sys.argv[1])):
    print("ready", flush=True)
    time.sleep(600)
"""


def registered(spark: "SparkSession") -> int:
    """The number of executors, without the driver."""
    return len(StatusReader(spark).executors())


def seen_by_tasks(spark: "SparkSession", tasks: int) -> set[tuple[str, str, str]]:
    """What the executors that run `tasks` tasks are bound to, where they have PySpark from, and whether they and their
    Python workers talk through files."""

    def seen(_: Any) -> list[tuple[str, str, str]]:
        import pyspark

        return [(os.environ["SPARK_LOCAL_IP"], pyspark.__file__, os.environ["PYTHON_UNIX_DOMAIN_ENABLED"])]

    return set(spark.sparkContext.range(tasks, numSlices=tasks).mapPartitions(seen).collect())


@contextmanager
def child(code: str, folder: Path) -> "Iterator[subprocess.Popen[str]]":
    """Another Python process in a process group of its own that has said it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    with process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if said != "ready\n":
                process.kill()
                pytest.fail(f"The child said {said!r} and {process.communicate()[1]}")
            yield process
        finally:
            process.kill()


def test_sessions_follow_one_another_and_nothing_is_left(tmp_path: Path, processes_naming: Find) -> None:
    # Longer than the path of a socket may be.
    folder = tmp_path / "with a space" / ("long" * 25)
    with EmbeddedCluster(folder / "cluster", executors=3) as cluster:
        for executors in (1, 2):
            check_session(cluster, folder / f"driver{executors}", executors)
        assert processes_naming(cluster.marker)
        with pytest.raises(UsageError, match="room for 3"):
            start_session(cluster, "too many", folder / "driver", executors=4)
    assert not processes_naming(cluster.marker)
    assert not processes_naming(str(folder))
    assert not list(folder.rglob("*.sock"))
    cluster.stop()
    with pytest.raises(ActionFailed, match="not running"):
        _ = cluster.master


def check_session(cluster: EmbeddedCluster, folder: Path, executors: int) -> None:
    """Start a session, let it grow by one executor, stop it."""
    import pyspark
    from pyspark import SparkContext

    handler, variables = signal.getsignal(signal.SIGINT), dict(os.environ)
    spark = start_session(cluster, "one of two", folder, executors=executors)
    try:
        # There is room for three, and a standalone master would give all of them at once.
        assert registered(spark) == executors
        assert signal.getsignal(signal.SIGINT) is handler
        assert os.environ.keys() - variables.keys() <= {"SPARK_BUFFER_SIZE", "SPARK_AUTH_SOCKET_TIMEOUT"}
        # Not from an archive: nothing in there can be kept compiled.
        assert seen_by_tasks(spark, 4) == {("127.0.0.1", pyspark.__file__, "True")}
        with pytest.raises(UsageError, match="stop_session first"):
            start_session(cluster, "at the same time", folder)
        set_total_executors(spark, executors + 1)
        wait_for_executors(spark, executors + 1)
        assert registered(spark) == executors + 1
    finally:
        stop_session(spark)
    stop_session(spark)
    assert SparkContext._gateway is None


def test_a_session_on_a_foreign_cluster_gives_back_what_it_did_not_ask_for(
    tmp_path: Path, eventually: Eventually
) -> None:
    with EmbeddedCluster(tmp_path / "cluster", executors=2, workers=2) as foreign:
        foreign.release_executors()
        with ExternalCluster(foreign.master, max_executors=2) as cluster:
            settings = {"spark.executor.memory": foreign.memory, "spark.driver.host": "127.0.0.1"}
            spark = start_session(cluster, "visitor", tmp_path / "driver", settings, executors=1)
            try:
                assert eventually(lambda: registered(spark) == 1)
                assert spark.range(100).count() == 100
            finally:
                stop_session(spark)


def test_no_process_outlives_a_killed_parent(tmp_path: Path, processes_naming: Find, eventually: Eventually) -> None:
    with child(CLUSTER_WITH_BUSY_SESSION, tmp_path) as process:
        # Master, worker, executor, driver, and the Python that keeps the executor busy.
        assert len(processes_naming(str(tmp_path))) >= 5
        process.kill()
        assert eventually(lambda: not processes_naming(str(tmp_path)))
        _, noise = process.communicate()
    assert noise == ""


def test_an_interrupt_from_the_terminal_ends_everything(
    tmp_path: Path, processes_naming: Find, eventually: Eventually
) -> None:
    with child(CLUSTER_ALONE, tmp_path) as process:
        assert processes_naming(str(tmp_path))
        # A terminal sends it to the whole process group.
        os.killpg(process.pid, signal.SIGINT)
        _, noise = process.communicate()
    assert "KeyboardInterrupt" in noise
    assert eventually(lambda: not processes_naming(str(tmp_path)))


def test_a_cluster_that_does_not_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes_naming: Find
) -> None:
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        '#!/bin/sh\necho \'openjdk version "17.0.1"\' >&2\n[ "$1" = -version ] || { echo no luck >&2; exit 3; }\n'
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
    cluster = EmbeddedCluster(tmp_path / "cluster")
    with pytest.raises(ActionFailed, match=r"(?s)ended while starting.*no luck"):
        cluster.start()
    cluster.stop()
    assert not processes_naming(str(tmp_path / "cluster"))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"executors": 0}, "executors = 0"), ({"memory": "lots"}, "512m or 2g"), ({"memory": "100m"}, "too little")],
)
def test_impossible_clusters_are_refused(tmp_path: Path, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        EmbeddedCluster(tmp_path, **settings)
