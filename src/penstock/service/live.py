"""Wiring of live runs: pipelines on a real Spark cluster under the control loop."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.control import ControlLoop, Entry, Monitor, Observed, Plant, Ports, Requested, Started, rewound
from penstock.errors import ActionFailed, JournalMismatch, PenstockError, UsageError
from penstock.model import Cluster, Configuration, Observation
from penstock.service.requests import RunRequest
from penstock.service.runs import JOURNAL, METRICS, discard, open_folder
from penstock.spark.actuator import SparkActuator
from penstock.spark.applications.registry import SPARK_APPLICATIONS, spark_pipeline
from penstock.spark.clock import WallClock
from penstock.spark.cluster import EmbeddedCluster, ExternalCluster, LocalCluster, SparkCluster
from penstock.spark.completion import SourceLoad
from penstock.spark.intents import IntentLog
from penstock.spark.java import require_java
from penstock.spark.monitor import SparkMonitor
from penstock.spark.pipeline import Pipeline
from penstock.spark.segments import RunningPipeline, RunOptions
from penstock.spark.session import dynamic_allocation, start_session, stop_session
from penstock.spark.sinks import is_shared
from penstock.spark.source import load_source
from penstock.spark.supervision import Supervisor
from penstock.spark.workers import WorkerNames
from penstock.stores import MetricStore, SqliteJournal, SqliteMetricStore, summary
from penstock.workloads import Constant, Curve, Schedule, parse_load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.spark.graph import SourceNode

_RANGE_PER_S = (100.0, 1_000.0)
"""The range of a load for a pipeline of the user's own, where none is given."""

EXECUTORS = 4
"""The most executors a live run has, where nothing else is asked for."""
_TARGET_S = 5.0
_LEAD_S = 10.0
"""How long queries have to start, and to plan and finish an empty batch, before the first event comes."""
_WARM_UP_EVENTS = (50, 500)
"""The least and the most events that are used to warm up; between them it is what comes in a second at the peak."""
BATCH_S = 5.0
"""A batch need hold no more than what falls due in so many seconds when the load is highest: a backlog in one batch
would keep everything from being changed for as long as it takes."""
_DRAIN_S = 120.0
"""How long a run may go on after its load has ended, to finish what has arrived."""
_KEEP_S = 86_400.0


@dataclass(frozen=True, slots=True)
class LivePlace:
    """Where a live run happens: on a private cluster, unless `master` names another or `shared` runs already."""

    folder: Path
    master: str | None = None
    executors: int = EXECUTORS
    cores: int = 1
    shared: SparkCluster | None = None

    def opened(self) -> AbstractContextManager[SparkCluster]:
        """The cluster while it runs: one that is shared goes on afterwards."""
        return self.cluster() if self.shared is None else nullcontext(self.shared)

    def cluster(self) -> EmbeddedCluster | LocalCluster | ExternalCluster:
        """A cluster of its own, not yet started."""
        if self.master is None:
            return EmbeddedCluster(self.folder / "cluster", executors=self.executors, cores=self.cores)
        if self.master.startswith("local["):
            slots = self.master.removeprefix("local[").removesuffix("]")
            if not slots.isdigit() or int(slots) < 1:
                raise UsageError(f"'{self.master}' is no master; write local[2] for two slots.")
            return LocalCluster(int(slots))
        if "://" not in self.master:
            raise UsageError(f"'{self.master}' is no master; give a URL such as spark://host:7077, or local[2].")
        return ExternalCluster(self.master, self.cores, self.executors)


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who follows a run: `on_entry` gets every entry, `say` a sentence now and then; `interrupted` ends it."""

    on_entry: Callable[[Entry], None]
    say: Callable[[str], None]
    interrupted: threading.Event


def run_live(request: RunRequest, place: LivePlace, watcher: Watcher) -> None:
    """Run `request` on Spark; the journal in the place's folder then holds all there is to know about it.

    A run that was cut off in this folder is taken up again from its checkpoints; a finished one is replaced.
    """
    require_java()
    pipelines = [spark_pipeline(name) for name in request.names]
    if len({pipeline.name for pipeline in pipelines}) < len(pipelines):
        raise UsageError(f"'{request.application}' names an application twice; name each once.")
    for pipeline, load in zip(pipelines, request.loads, strict=True):
        load_curve(pipeline, load, request.duration_s)
    # Models that do not fit are refused before anything starts.
    request.make_policy({pipeline.name: pipeline.topology(request.execution) for pipeline in pipelines})
    kept = _kept(request, place.folder, watcher.say)
    watcher.say("Starting Spark ...")
    with place.opened() as cluster:
        run = _LiveRun(request, place, pipelines, cluster, kept)
        name = f"penstock {request.application}"
        settings = dynamic_allocation(run.start.workers, place.executors) if request.left_to_spark else {}
        spark = start_session(cluster, name, place.folder / "session", settings, executors=run.start.workers)
        try:
            run.warm_up(spark, watcher)
            run.control(spark, watcher)
        except PenstockError:
            raise
        except Exception as error:
            first_line = next(iter(str(error).splitlines()), type(error).__name__)
            raise ActionFailed(
                f"Spark failed ({first_line}); the same command goes on from the checkpoints, and the log is in "
                f"{place.folder / 'session' / 'driver.log'}."
            ) from error
        finally:
            stop_session(spark)


def _kept(request: RunRequest, folder: Path, say: Callable[[str], None]) -> list[Entry]:
    """The entries of a run that was cut off in this folder; what a finished run left is removed."""
    path = open_folder(folder) / JOURNAL
    if path.exists():
        with SqliteJournal(path) as journal:
            found, entries = summary(journal), list(journal.entries())
        if found.cut_off:
            _check_same(request, entries, folder)
            say(f"Found {found} in {folder}; going on from its checkpoints.")
            return entries
    discard(folder)
    for name in (
        "pipelines",
        METRICS,
        f"{METRICS}-wal",
        f"{METRICS}-shm",
        "intents.jsonl",
        "epoch.json",
    ):
        left = folder / name
        shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    return []


def _check_same(request: RunRequest, entries: Sequence[Entry], folder: Path) -> None:
    first = entries[0]
    if isinstance(first, Started) and first.run != request.identity:
        raise JournalMismatch(
            f"The folder {folder} holds a different run that was cut off; choose another or remove it."
        )


def _counted(entries: Sequence[Entry]) -> dict[str, tuple[float, float]]:
    """The events of every application that were seen to arrive and to be completed."""
    counted: dict[str, tuple[float, float]] = {}
    for entry in entries:
        for name, seen in entry.observation.applications.items() if isinstance(entry, Observed) else ():
            arrived, completed = counted.get(name, (0.0, 0.0))
            counted[name] = arrived + (seen.arrived or 0.0), completed + (seen.completed or 0.0)
    return counted


def longest_batch_s(trigger_s: float) -> float:
    """In how many seconds of the highest load as much falls due as a batch may hold: always more than comes between two
    batches, so that what waits gets less."""
    return max(BATCH_S, 1.5 * trigger_s)


def load_curve(pipeline: Pipeline, load: str, duration_s: float) -> Curve:
    """The load, within the range in which the application is interesting where the user gave none."""
    known = SPARK_APPLICATIONS.get(pipeline.name)
    low_per_s, high_per_s = (known.low_per_s, known.high_per_s) if known else _RANGE_PER_S
    return parse_load(load, low_per_s, high_per_s, duration_s)


class _Recorded:
    """A monitor whose observations are also kept in a metric store; what has died is started again first."""

    def __init__(self, monitor: Monitor, store: MetricStore, supervisor: Supervisor) -> None:
        self._monitor = monitor
        self._store = store
        self._supervisor = supervisor

    def observe(self) -> Observation:
        """What the monitor observes."""
        self._supervisor.look()
        observation = self._monitor.observe()
        self._store.add(observation)
        return observation


class _LiveRun:
    """One live run, from the first query to the last entry."""

    def __init__(
        self,
        request: RunRequest,
        place: LivePlace,
        pipelines: Sequence[Pipeline],
        cluster: SparkCluster,
        kept: list[Entry],
    ) -> None:
        self._request = request
        self._folder = place.folder
        self._pipelines = pipelines
        self._cluster = cluster
        self._pool = Cluster.homogeneous(cluster.max_executors or place.executors, cluster.slots_per_executor)
        self._topologies = {pipeline.name: pipeline.topology(request.execution) for pipeline in pipelines}
        # A run that is taken up has made some of the user's requests already.
        made = sum(isinstance(entry, Requested) for entry in kept)
        self._planned = request.requests[made:]
        self._policy = request.make_policy(self._topologies)
        self._counted = _counted(kept)
        self._rewound: ControlLoop[object] | None = rewound(kept, self._policy)[0] if kept else None
        self.start: Configuration = (
            self._rewound.ports.actuator.requested() if self._rewound else request.start(self._topologies, self._pool)
        )

    def warm_up(self, spark: "SparkSession", watcher: Watcher) -> None:
        """Run the built-in applications over a few events, so that what is measured later is not their start.

        All slots take part, as far as the operators' bounds allow: an executor, too, is slow the first time. A user's
        pipeline is not run: its sinks may be real ones. Nor is one that stores in a user's database.
        """
        if self._rewound is not None:
            return
        folder = self._folder / "warm-up"
        slots = self.start.workers * self._cluster.slots_per_executor
        least, most = _WARM_UP_EVENTS
        for pipeline in self._pipelines:
            if watcher.interrupted.is_set():
                break
            if pipeline.name in SPARK_APPLICATIONS and not any(map(is_shared, pipeline.graph().sinks)):
                watcher.say(f"Warming up {pipeline.name} ...")
                past = {
                    name: SourceLoad(Schedule(Constant(max(least, min(most, due)))), time.time() - 60.0, 1.0)
                    for name, load in self._loads(pipeline, time.time()).items()
                    for due in [load.most_due(1.0, self._request.duration_s)]
                }
                spread = {o.name: o.clip(slots) for o in self._topologies[pipeline.name].operators}
                running = self._running(spark, pipeline, past, folder, spread)
                running.rehearse(watcher.interrupted.is_set)
        shutil.rmtree(folder, ignore_errors=True)

    def control(self, spark: "SparkSession", watcher: Watcher) -> None:
        """Start the pipelines, run the loop, and stop the pipelines whatever happens."""
        epoch_s = self._epoch_s()
        loads = {pipeline.name: self._loads(pipeline, epoch_s) for pipeline in self._pipelines}
        folder = self._folder / "pipelines"
        running = [
            self._running(spark, pipeline, loads[pipeline.name], folder, self.start.parallelism[pipeline.name])
            for pipeline in self._pipelines
        ]
        clock = WallClock(epoch_s, watcher.interrupted)
        names = WorkerNames(self._pool)
        intents = IntentLog(self._folder / "intents.jsonl")
        actuator = SparkActuator(running, self._cluster, self.start, clock, intents, names)
        try:
            for action in actuator.recover():
                watcher.say(f"Completed after the crash: {action.what}.")
            for pipeline in running:
                pipeline.start()
            clock.sleep_until(0.0)  # What arrives is measured from when it begins to.
            monitor = SparkMonitor(running, loads, clock, names, actuator.paused_s, self._counted)
            actuator.state_held = monitor.state_held
            with (
                SqliteJournal(self._folder / JOURNAL) as journal,
                SqliteMetricStore(self._folder / METRICS, keep_s=_KEEP_S) as metrics,
            ):
                self._run(
                    Ports(_Recorded(monitor, metrics, Supervisor(running, watcher.say)), actuator, clock, journal),
                    watcher,
                )
        finally:
            for pipeline in running:
                pipeline.stop()

    def _run(self, ports: Ports, watcher: Watcher) -> None:
        loop = self._rewound
        if loop is None:
            plant = Plant(self._topologies, self._pool, self._request.objectives(_TARGET_S))
            loop = ControlLoop(plant, self._policy, ports, self._request.settings)
        loop.ports, loop.on_entry = ports, watcher.on_entry
        loop.begin(self._request.identity, resumed=self._rewound is not None)
        until_s = self._request.duration_s
        last_s = max(until_s, ports.clock.now_s()) + _DRAIN_S

        def behind() -> bool:
            seen = loop.latest.applications.values() if loop.latest else ()
            return ports.clock.now_s() < last_s and any(application.backlog for application in seen)

        loop.run(until_s, watcher.interrupted.is_set, behind, self._planned)
        self._request.keep_learned(loop.memory, self._topologies)

    def _epoch_s(self) -> float:
        """When the load begins, in seconds since 1970; a run that is taken up keeps its own."""
        path = self._folder / "epoch.json"
        if path.exists():
            return float(json.loads(path.read_text())["epoch_s"])
        epoch_s = time.time() + _LEAD_S
        path.write_text(json.dumps({"epoch_s": epoch_s}))
        return epoch_s

    def _loads(self, pipeline: Pipeline, epoch_s: float) -> dict[str, SourceLoad]:
        """The timetable of every generated source; several sources share the load evenly."""
        position = self._pipelines.index(pipeline)
        curve = load_curve(pipeline, self._request.loads[position], self._request.duration_s)
        sources = [source.name for source in pipeline.graph().sources if isinstance(source.load, str)]
        schedule = Schedule(curve, 1.0 / max(1, len(sources)))
        return {name: SourceLoad(schedule, epoch_s, self._request.duration_s) for name in sources}

    def _running(
        self,
        spark: "SparkSession",
        pipeline: Pipeline,
        loads: Mapping[str, SourceLoad],
        folder: Path,
        parallelism: Mapping[str, int],
    ) -> RunningPipeline:
        longest_s = longest_batch_s(self._request.trigger_s)

        def open_load(session: "SparkSession", source: "SourceNode", partitions: int) -> "DataFrame":
            load = loads[source.name]
            opened = load_source(
                load.schedule,
                str(source.load),
                self._request.seed,
                load.epoch_s,
                partitions=partitions,
                max_rows_per_batch=max(1, load.most_due(longest_s, self._request.duration_s)),
                duration_s=load.duration_s,
            )
            return opened(session)

        options = RunOptions(trigger_s=self._request.trigger_s, open_load=open_load)
        return RunningPipeline(spark, pipeline, self._request.execution, folder / pipeline.name, parallelism, options)
