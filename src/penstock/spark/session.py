"""Starting and stopping Spark sessions that Penstock controls."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import ActionFailed, UsageError
from penstock.spark.cluster import LOOPBACK, SMALL_JVM, SparkCluster
from penstock.spark.home import spark_home, unpacked_home
from penstock.spark.processes import GuardedProcesses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXECUTORS_TIMEOUT_S = 180.0
_SURPLUS_TIMEOUT_S = 20.0
_JVM_END_TIMEOUT_S = 30.0
_POLL_S = 0.1

_DRIVER_LOGGING = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ${sys:penstock.log}
appender.file.filePattern = ${sys:penstock.log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""

_SETTINGS = {
    # Parallelism is decided by Penstock, not by Spark: adaptive execution would merge small but costly partitions,
    # and dynamic allocation would refuse that executors are removed by name.
    "spark.sql.adaptive.enabled": "false",
    "spark.dynamicAllocation.enabled": "false",
    # Only the RocksDB state store can be split anew over another number of partitions.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Queries that run in pools of their own share the executors; without pools this is first in, first out.
    "spark.scheduler.mode": "FAIR",
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
    # What the monitor reads must be there, but not for ever.
    "spark.sql.streaming.metricsEnabled": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "200",
    "spark.ui.retainedJobs": "500",
    "spark.ui.retainedStages": "500",
    "spark.ui.retainedTasks": "20000",
    "spark.ui.retainedDeadExecutors": "50",
    "spark.sql.ui.retainedExecutions": "200",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_FOREIGN_VARIABLES = (
    "PYSPARK_SUBMIT_ARGS",
    "PYSPARK_GATEWAY_PORT",
    "SPARK_REMOTE",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LOCAL_DIRS",
)

_guards: dict[int, GuardedProcesses] = {}
"""What watches the driver's JVM, by its process number."""


def start_session(
    cluster: SparkCluster,
    app_name: str,
    folder: Path,
    conf: Mapping[str, str] | None = None,
    executors: int | None = None,
) -> "SparkSession":
    """A new session on `cluster`, which must have been started, with `executors` executors (default: all it can have).

    Returns when these executors are there. Everything the driver writes lies below `folder`, its log in
    `folder/driver.log`; nothing is printed. `conf` adds to and overrides the settings. There is one session per process
    at a time: `stop_session` it before starting another. Its JVM ends with this process, however that ends.
    Raises `ActionFailed` or `UsageError`.
    """
    from pyspark import SparkContext

    if SparkContext._gateway is not None:
        raise UsageError("A Spark session runs in this process already; stop it with stop_session first.")
    limit = _limit(cluster, executors)
    folder = Path(folder).absolute()
    settings = _settings(cluster, app_name, folder) | dict(conf or {})
    cluster.hold_executors()
    with _spark_environment(cluster, folder), _own_interrupt_handler():
        spark = _launch(settings, folder, cluster.private)
    try:
        if cluster.elastic:
            _bring_executors(spark, cluster, limit)
    except BaseException:
        stop_session(spark)
        raise
    return spark


def dynamic_allocation(initial: int, most: int) -> dict[str, str]:
    """Settings with which Spark allocates executors itself, all else as Spark has it; Penstock then changes none."""
    prefix = "spark.dynamicAllocation"
    return {
        f"{prefix}.enabled": "true",
        f"{prefix}.shuffleTracking.enabled": "true",
        f"{prefix}.minExecutors": "1",
        f"{prefix}.initialExecutors": str(initial),
        f"{prefix}.maxExecutors": str(most),
    }


def stop_session(spark: "SparkSession") -> None:
    """End the session, its queries and its JVM; afterwards another session can be started in this process.

    May be called more than once, and on a session whose JVM has died. Columns and user functions made with the old
    session cannot be used in the next one: make them where they are used.
    """
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for query in spark.streams.active:
            query.stop()
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark.stop()
    if gateway is not None:
        _end_gateway(gateway)


def wait_for_executors(spark: "SparkSession", count: int, timeout_s: float = _EXECUTORS_TIMEOUT_S) -> None:
    """Return when at least `count` executors have registered; raises `ActionFailed` after `timeout_s`."""
    from penstock.spark.status import StatusReader

    # What the scheduler says: block managers of executors that were ended while they started may stay listed for ever.
    status = StatusReader(spark)
    deadline = time.monotonic() + timeout_s
    while (seen := len(status.executors())) < count:
        if time.monotonic() > deadline:
            raise ActionFailed(
                f"Only {seen} of {count} executors came up within {timeout_s:g} s; "
                "see whether the cluster has the cores and the memory for them."
            )
        time.sleep(_POLL_S)


def _limit(cluster: SparkCluster, executors: int | None) -> int | None:
    most = cluster.max_executors
    if executors is None or not cluster.elastic:
        return most
    if executors < 1:
        raise UsageError(f"A session cannot start with {executors} executors; it needs at least 1.")
    if most is not None and executors > most:
        raise UsageError(f"A session with {executors} executors does not fit: the cluster has room for {most}.")
    return executors


def _bring_executors(spark: "SparkSession", cluster: SparkCluster, limit: int | None) -> None:
    from penstock.spark.internals import kill_executors, set_total_executors
    from penstock.spark.status import StatusReader

    if limit is not None:
        set_total_executors(spark, limit)
    cluster.release_executors()
    wait_for_executors(spark, limit or 1)
    if limit is None or cluster.private:
        return
    if cluster.max_executors is not None and cluster.master.startswith("spark://"):
        # Such a master has started as many as may be; those that are still on their way must be seen to be ended.
        with suppress(ActionFailed):
            wait_for_executors(spark, cluster.max_executors, _SURPLUS_TIMEOUT_S)
    youngest_last = sorted(StatusReader(spark).executors(), key=lambda executor: executor.added_at_s)
    kill_executors(spark, [executor.name for executor in youngest_last[limit:]])
    # Ending executors lowers the total by their number: without this, nobody would replace one that dies.
    set_total_executors(spark, limit)


def _settings(cluster: SparkCluster, app_name: str, folder: Path) -> dict[str, str]:
    slots = (cluster.max_executors or 1) * cluster.slots_per_executor
    options = [
        f'"-Dpenstock.log={folder / "driver.log"}"',
        f'"-Dlog4j2.configurationFile={(folder / "log4j2.properties").as_uri()}"',
        f'"-Dderby.system.home={folder / "derby"}"',
        f'"-Djava.io.tmpdir={folder / "tmp"}"',
    ]
    options.append(cluster.driver_options)
    return {
        **_SETTINGS,
        **cluster.settings(),
        "spark.master": cluster.master,
        "spark.app.name": app_name,
        "spark.sql.shuffle.partitions": str(slots),
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.jars.ivy": str(folder / "ivy"),
    }


@contextmanager
def _spark_environment(cluster: SparkCluster, folder: Path) -> Iterator[None]:
    """The environment in which the driver starts; this process gets its own back afterwards."""
    changes: dict[str, str | None] = dict.fromkeys(_FOREIGN_VARIABLES)
    changes["SPARK_HOME"] = str(unpacked_home(folder) if cluster.private else spark_home())
    changes["PYSPARK_PYTHON"] = changes["PYSPARK_DRIVER_PYTHON"] = sys.executable
    changes["SPARK_LAUNCHER_OPTS"] = SMALL_JVM
    if cluster.private:
        # A configuration meant for another Spark on this machine must not reach the private one.
        changes["SPARK_CONF_DIR"] = str(folder / "conf")
        changes["SPARK_LOCAL_IP"] = LOOPBACK
    before = {name: os.environ.get(name) for name in changes}
    _set_variables(changes)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _own_interrupt_handler() -> Iterator[None]:
    """Undo that Spark handles Ctrl-C: its handler would outlive the session and fail without it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)


def _python_sockets(guard: GuardedProcesses) -> dict[str, str]:
    """Settings with which Spark and its Python processes talk through files: see decision 25."""
    if guard.alias is None:
        return {}
    prefix = "spark.python.unix.domain.socket"
    return {f"{prefix}.enabled": "true", f"{prefix}.dir": str(guard.alias)}


def _launch(settings: Mapping[str, str], folder: Path, private: bool) -> "SparkSession":
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    for name in ("conf", "local", "tmp", "warehouse"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "log4j2.properties").write_text(_DRIVER_LOGGING)
    guard = GuardedProcesses(folder / "tmp")
    sockets = _python_sockets(guard) if private else {}
    conf = SparkConf(loadDefaults=False).setAll(list((sockets | dict(settings)).items()))
    output = folder / "driver.out"
    launch: Any = launch_gateway
    gateway: Any = None
    try:
        with output.open("ab") as stream:
            gateway = launch(conf, {"stdout": stream, "stderr": subprocess.STDOUT})
        _guards[gateway.proc.pid] = guard
        guard.watch(gateway.proc.pid)
        context = SparkContext(conf=conf, gateway=gateway)
        return SparkSession(context)
    except BaseException as error:
        if gateway is not None:
            _end_gateway(gateway)
        guard.close()
        if not isinstance(error, Exception):
            raise
        lines = output.read_text(errors="replace").splitlines()[-10:]
        raise ActionFailed("\n".join([f"Spark could not be started: {error}", *lines])) from error


def _end_gateway(gateway: Any) -> None:
    """End the JVM behind `gateway` and make pyspark forget it."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with suppress(Exception):
        gateway.shutdown()
    process = gateway.proc
    if process is not None:
        with suppress(OSError):
            # The end of its input is what asks the JVM to end.
            process.stdin.close()
        try:
            process.wait(timeout=_JVM_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        guard = _guards.pop(process.pid, None)
        if guard is not None:
            guard.close()
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
