"""Where Spark runs: in this machine's driver, on a private cluster started here, or on somebody's cluster."""

import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from penstock.errors import ActionFailed, UsageError
from penstock.spark.home import unpacked_home
from penstock.spark.java import require_java
from penstock.spark.processes import GuardedProcesses

SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
"""Options for many small JVMs on few cores: start-up counts for more than peak speed."""

LOOPBACK = "127.0.0.1"

_START_TIMEOUT_S = 180.0
_POLL_S = 0.1
_TAIL_LINES = 15

_DAEMON_LOGGING = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.deploy.name = org.apache.spark.deploy
logger.deploy.level = info
"""


class SparkCluster(Protocol):
    """A place to run Spark applications; usable between `start` and `stop`."""

    @property
    def master(self) -> str:
        """The master's address as Spark wants it."""
        ...

    @property
    def slots_per_executor(self) -> int:
        """Tasks that one executor runs at a time."""
        ...

    @property
    def max_executors(self) -> int | None:
        """The most executors an application can have; None if the cluster does not say."""
        ...

    @property
    def elastic(self) -> bool:
        """Whether executors can be added and removed while an application runs."""
        ...

    @property
    def private(self) -> bool:
        """Whether it was made for this process: settings meant for other clusters must then not reach it."""
        ...

    @property
    def driver_options(self) -> str:
        """Java options for the driver of an application on this cluster."""
        ...

    def start(self) -> None:
        """Bring the cluster up; returns when it takes applications. Raises `ActionFailed` or `EnvironmentMissing`."""
        ...

    def stop(self) -> None:
        """Take down what `start` brought up; returns when it is gone. May be called more than once."""
        ...

    def settings(self) -> Mapping[str, str]:
        """Spark settings that an application on this cluster needs."""
        ...

    def hold_executors(self) -> None:
        """See that the next application starts without executors, if the cluster can do that."""
        ...

    def release_executors(self) -> None:
        """Let the application have the executors it has asked for."""
        ...


class _Lifecycle:
    """A cluster as a context manager, and nothing to do by default."""

    def start(self) -> None:
        """Nothing to bring up."""

    def stop(self) -> None:
        """Nothing to take down."""

    def hold_executors(self) -> None:
        """Nothing to hold."""

    def release_executors(self) -> None:
        """Nothing to release."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


@dataclass(frozen=True)
class LocalCluster(_Lifecycle):
    """Everything in the driver's process, `slots` tasks at a time. It cannot grow or shrink."""

    slots: int = 2
    max_executors: int = field(default=1, init=False)
    elastic: bool = field(default=False, init=False)
    private: bool = field(default=True, init=False)
    driver_options: str = field(default=SMALL_JVM, init=False)

    def __post_init__(self) -> None:
        _require_positive("slots", self.slots)

    @property
    def master(self) -> str:
        """`local[k]`."""
        return f"local[{self.slots}]"

    @property
    def slots_per_executor(self) -> int:
        """All slots belong to the one process."""
        return self.slots

    def start(self) -> None:
        """Check that Java is there."""
        require_java()

    def settings(self) -> Mapping[str, str]:
        """What holds for all that runs on this machine."""
        return _settings_here()


@dataclass(frozen=True)
class ExternalCluster(_Lifecycle):
    """A cluster that exists already, at `url`. Its network, memory and logging settings are left alone.

    A standalone master gives an application at once all it may have, at most `max_executors` executors; what is more
    than the session asked for is given back after the start.
    """

    url: str
    slots_per_executor: int = 1
    max_executors: int | None = None
    elastic: bool = field(default=True, init=False)
    private: bool = field(default=False, init=False)
    driver_options: str = field(default="", init=False)

    def __post_init__(self) -> None:
        _require_positive("slots_per_executor", self.slots_per_executor)
        if self.max_executors is not None:
            _require_positive("max_executors", self.max_executors)

    @property
    def master(self) -> str:
        """The address as given."""
        return self.url

    def start(self) -> None:
        """Check that Java is there for the driver."""
        require_java()

    def settings(self) -> Mapping[str, str]:
        """One executor has `slots_per_executor` cores, and there are `max_executors` at most."""
        settings = {"spark.executor.cores": str(self.slots_per_executor)}
        if self.max_executors is not None:
            settings["spark.cores.max"] = str(self.max_executors * self.slots_per_executor)
        return settings


@dataclass
class EmbeddedCluster(_Lifecycle):
    """A private standalone cluster on loopback: one master, `workers` worker daemons, up to `executors` executors.

    All its files lie below `folder`, all its ports are free ones, and all its processes, executors included, end on
    `stop` and with this process. `cores` and `memory` are those of one executor. An application gets its executors only
    after `release_executors`, so that it can say first how many it wants: a standalone master starts as many as fit.
    """

    folder: Path
    executors: int = 2
    cores: int = 1
    memory: str = "512m"
    workers: int = 1
    elastic: bool = field(default=True, init=False)
    private: bool = field(default=True, init=False)
    marker: str = field(default_factory=lambda: f"-Dpenstock.cluster={uuid.uuid4().hex[:12]}", init=False)
    _processes: GuardedProcesses | None = field(default=None, init=False, repr=False)
    _master: str | None = field(default=None, init=False, repr=False)
    _daemons: list[int] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("executors", "cores", "workers"):
            _require_positive(name, getattr(self, name))
        _megabytes(self.memory)
        self.folder = Path(self.folder).absolute()

    @property
    def master(self) -> str:
        """The master's address; known once the cluster has started."""
        if self._master is None:
            raise ActionFailed("The embedded cluster is not running; start it first.")
        return self._master

    @property
    def slots_per_executor(self) -> int:
        """The cores of one executor."""
        return self.cores

    @property
    def max_executors(self) -> int:
        """As many as fit on the workers."""
        return self.executors

    @property
    def driver_options(self) -> str:
        """The marker by which all JVMs of this cluster can be told."""
        return f"{SMALL_JVM} {self.marker}"

    def settings(self) -> Mapping[str, str]:
        """The size and the Java options of an executor."""
        return {
            **_settings_here(),
            "spark.executor.cores": str(self.cores),
            "spark.executor.memory": self.memory,
            "spark.executor.extraJavaOptions": self._java_options(),
            # What executors print is kept, but never grows without limit.
            "spark.executor.logs.rolling.strategy": "size",
            "spark.executor.logs.rolling.maxSize": "10000000",
            "spark.executor.logs.rolling.maxRetainedFiles": "2",
        }

    def start(self) -> None:
        """Start the master; the workers follow with `release_executors`."""
        if self._processes is not None:
            return
        require_java()
        for name in ("conf", "logs", "work", "local", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "conf" / "log4j2.properties").write_text(_DAEMON_LOGGING)
        self._processes = GuardedProcesses()
        try:
            self._start_master()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End all processes and remove their scratch files; logs stay, those of executors in `folder/work`."""
        processes, self._processes = self._processes, None
        self._master = None
        self._daemons = []
        if processes is None:
            return
        processes.close()
        for name in ("local", "tmp"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def hold_executors(self) -> None:
        """Take the workers away from the master."""
        while self._daemons:
            self._running().end(self._daemons.pop())

    def release_executors(self) -> None:
        """Start the workers; returns when the master knows them."""
        if self._daemons:
            return
        shares = [len(range(index, self.executors, self.workers)) for index in range(self.workers)]
        launched = [(index, *self._start_worker(index, share)) for index, share in enumerate(shares) if share]
        for index, pid, log, begin in launched:
            self._await(f"Worker {index}", pid, log, begin, lambda text: "Successfully registered with master" in text)

    def _start_master(self) -> None:
        log = self.folder / "logs" / "master.log"
        begin = _size(log)
        pid = self._spawn("master.Master", ["--port", "0", "--webui-port", "0"], log)
        self._await("The master", pid, log, begin, lambda text: "New state: ALIVE" in text)
        address = re.search(r"Starting Spark master at (spark://\S+)", _read(log, begin))
        if address is None:
            raise ActionFailed(f"The master of the embedded cluster does not tell its address:\n{_tail(log)}")
        self._master = address[1]

    def _start_worker(self, index: int, executors: int) -> tuple[int, Path, int]:
        log = self.folder / "logs" / f"worker-{index}.log"
        begin = _size(log)
        cores, memory = executors * self.cores, executors * _megabytes(self.memory)
        size = ["--cores", str(cores), "--memory", f"{memory}m", "--port", "0", "--webui-port", "0"]
        pid = self._spawn("worker.Worker", [*size, "--work-dir", str(self.folder / "work"), self.master], log)
        self._daemons.append(pid)
        return pid, log, begin

    def _spawn(self, daemon: str, arguments: list[str], log: Path) -> int:
        home = unpacked_home(self.folder)
        program = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{daemon}", "--host", LOOPBACK]
        return self._running().run([*program, *arguments], self._environment(home), log)

    def _running(self) -> GuardedProcesses:
        if self._processes is None:
            raise ActionFailed("The embedded cluster is not running; start it first.")
        return self._processes

    def _java_options(self) -> str:
        # Quoted as Spark understands it: a folder's name may hold spaces.
        scratch = self.folder / "tmp"
        return f'{SMALL_JVM} {self.marker} "-Djava.io.tmpdir={scratch}"'

    def _environment(self, home: Path) -> dict[str, str]:
        # Settings meant for another Spark on this machine must not reach the private one.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        daemon_options = "-Dspark.master.rest.enabled=false -Dspark.worker.cleanup.enabled=true"
        return kept | {
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{self._java_options()} {daemon_options}",
            "SPARK_LAUNCHER_OPTS": SMALL_JVM,
        }

    def _await(self, what: str, pid: int, log: Path, begin: int, ready: Callable[[str], bool]) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not ready(_read(log, begin)):
            if not GuardedProcesses.lives(pid):
                raise ActionFailed(f"{what} of the embedded cluster ended while starting:\n{_tail(log)}")
            if time.monotonic() > deadline:
                raise ActionFailed(
                    f"{what} of the embedded cluster was not ready after {_START_TIMEOUT_S:g} s:\n{_tail(log)}"
                )
            time.sleep(_POLL_S)


def _settings_here() -> dict[str, str]:
    """What holds where all of a cluster is on this machine: nobody else is reached, and Python is this one."""
    return {
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.python.daemon.module": "penstock.spark.worker_daemon",
    }


def _require_positive(name: str, value: int) -> None:
    if value < 1:
        raise UsageError(f"A cluster cannot have {name} = {value}; it must be at least 1.")


def _megabytes(memory: str) -> int:
    match = re.fullmatch(r"(\d+)([mg])", memory.strip().lower())
    if match is None:
        raise UsageError(f"'{memory}' is no size of memory; write it as 512m or 2g.")
    megabytes = int(match[1]) * (1024 if match[2] == "g" else 1)
    if megabytes < 480:
        raise UsageError(f"{memory} is too little for a Spark executor; give it at least 480m.")
    return megabytes


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _read(log: Path, begin: int) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as stream:
        stream.seek(begin)
        return stream.read().decode(errors="replace")


def _tail(log: Path) -> str:
    lines = _read(log, 0).splitlines()[-_TAIL_LINES:]
    return "\n".join(lines) or "(nothing in its log)"
