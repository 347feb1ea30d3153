"""Carries out changes on the live cluster, each at the cheapest level, and never loses anything."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from penstock.control.actions import Action, Level
from penstock.control.ports import Clock
from penstock.errors import ActionFailed
from penstock.model import Configuration
from penstock.spark import internals
from penstock.spark.checkpoints import last_committed, state_partitions, unfinished_rewrite
from penstock.spark.cluster import SparkCluster
from penstock.spark.compiler import SegmentPlan
from penstock.spark.intents import Intent, IntentLog, Step
from penstock.spark.progress import BatchProgress, ExecutorRecord
from penstock.spark.segments import RunningPipeline, RunningSegment
from penstock.spark.status import StatusReader, batches_after
from penstock.spark.workers import WorkerNames

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class ExecutorsChange:
    """The cluster goes from `before` to `after` executors."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class SegmentChange:
    """One segment goes from one parallelism to another, all its changes at once, at the deepest level any needs."""

    application: str
    segment: str
    level: Level
    before: Mapping[str, int]
    after: Mapping[str, int]

    def __str__(self) -> str:
        changed = (f"{name} {self.before[name]} -> {n}" for name, n in self.after.items() if self.before[name] != n)
        return ", ".join(changed)


Planned: TypeAlias = ExecutorsChange | SegmentChange


def plan_actions(
    current: Configuration, target: Configuration, plans: Mapping[str, Sequence[SegmentPlan]]
) -> tuple[Planned, ...]:
    """What leads from one configuration to the other, in the order in which it should be done.

    Executors are added first, because they take seconds to come, and removed last, when fewer tasks want them. What
    changes hot goes before what pauses a segment. Operators that share one number get the largest asked for (see
    `SegmentPlan.resolve`), so a target may ask for differences that make no change. Placement is Spark's own affair.
    """
    changes = [
        SegmentChange(application, plan.name, level, before, after)
        for application, segments in plans.items()
        for plan in segments
        for before in [plan.resolve(current.parallelism[application])]
        for after in [plan.resolve(target.parallelism[application])]
        for level in [plan.level(before, after)]
        if level is not None
    ]
    changes.sort(key=lambda change: list(Level).index(change.level))
    executors = ExecutorsChange(current.workers, target.workers)
    if executors.after > executors.before:
        return (executors, *changes)
    if executors.after < executors.before:
        return (*changes, executors)
    return tuple(changes)


def choose_victims(
    executors: Sequence[ExecutorRecord], count: int, names: Mapping[str, str], release: Sequence[str]
) -> tuple[str, ...]:
    """The executors to give up: those whose worker is named in `release`, then those that do least, then the newest."""
    order = {name: position for position, name in enumerate(release)}
    ranked = sorted(
        executors,
        key=lambda e: (order.get(names.get(e.name, ""), len(order)), e.running_tasks, e.busy_s, -e.added_at_s),
    )
    return tuple(executor.name for executor in ranked[: max(count, 0)])


@dataclass(frozen=True, slots=True)
class ActuatorSettings:
    """How long the actuator waits: for the first batch after a restart, for executors to come, and for a moment between
    two batches in which executors can be removed without repeating work."""

    commit_timeout_s: float = 120.0
    executors_timeout_s: float = 30.0
    boundary_timeout_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Pause:
    """A time in which a reconfiguration kept an application from working."""

    application: str
    start_s: float
    end_s: float


class SparkActuator:
    """Changes running pipelines and their executors. All calls must come from one thread.

    `initial` is the configuration with which the pipelines were started. Executors change hot, stateless operators
    change hot, the partitions of a source need a restart of its segment, and those of a stateful operator a rewrite of
    its state; only the affected segment pauses. A segment whose change fails is brought back as it was, or, if that is
    what works, as it should have become; then `ActionFailed` says what went wrong.
    """

    def __init__(
        self,
        pipelines: Sequence[RunningPipeline],
        cluster: SparkCluster,
        initial: Configuration,
        clock: Clock,
        intents: IntentLog,
        workers: WorkerNames,
        settings: ActuatorSettings | None = None,
    ) -> None:
        self._pipelines = {pipeline.name: pipeline for pipeline in pipelines}
        self._spark = pipelines[0].spark
        self._cluster = cluster
        self._clock = clock
        self._intents = intents
        self._workers = workers
        self._settings = settings or ActuatorSettings()
        self._status = StatusReader(self._spark)
        self._abilities = internals.abilities(self._spark)
        self._requested = initial
        self._executors = initial.workers
        self._pauses: list[Pause] = []

    def requested(self) -> Configuration:
        """The configuration last asked for; after a failure, what the cluster was left with."""
        return self._requested

    def paused_s(self, application: str, start_s: float, end_s: float) -> float:
        """How long reconfigurations kept an application from working between two times of the clock."""
        own = sorted((p.start_s, p.end_s) for p in self._pauses if p.application == application)
        total, reached = 0.0, start_s
        for begin, end in own:
            total += max(0.0, min(end, end_s) - max(begin, reached))
            reached = max(reached, end)
        return total

    def apply(self, target: Configuration, release: Sequence[str] = ()) -> tuple[Action, ...]:
        """Ask for `target` and return what was done."""
        self._check(target)
        plans = {name: [s.plan for s in pipeline.segments.values()] for name, pipeline in self._pipelines.items()}
        planned = plan_actions(self._deployed(), target, plans)
        actions: list[Action] = []
        try:
            for change in planned:
                if isinstance(change, ExecutorsChange):
                    actions.append(self._change_executors(change, release))
                else:
                    actions.append(self._change_segment(change))
        except ActionFailed:
            self._requested = self._deployed()
            raise
        except Exception as error:
            self._requested = self._deployed()
            raise ActionFailed(f"Spark failed while it was changed: {error}") from error
        self._await_executors(planned)
        self._requested = target
        return tuple(actions)

    def recover(self) -> tuple[Action, ...]:
        """Complete what a crash has cut off; call it once, before the pipelines are started.

        A segment whose change was begun is started in its new form, with its state rewritten as far as that was still
        to be done; if that fails it is started in its old form.
        """
        return tuple(self._complete(intent) for intent in self._intents.unfinished())

    def _check(self, target: Configuration) -> None:
        most = self._cluster.max_executors
        if target.workers == self._executors:
            return
        if not self._cluster.elastic:
            raise ActionFailed(f"This cluster cannot have {target.workers} workers: it neither grows nor shrinks.")
        if most is not None and target.workers > most:
            raise ActionFailed(f"This cluster cannot have {target.workers} workers; {most} is the most it has room for.")

    def _deployed(self) -> Configuration:
        """What the segments and the cluster were last made to be."""
        parallelism = {
            name: {**self._requested.parallelism[name], **pipeline.parallelism}
            for name, pipeline in self._pipelines.items()
        }
        return Configuration(parallelism, self._executors)

    # Executors

    def _change_executors(self, change: ExecutorsChange, release: Sequence[str]) -> Action:
        begin_s = self._clock.now_s()
        pause_s = 0.0
        if change.after > change.before:
            internals.set_total_executors(self._spark, change.after)
        else:
            pause_s = self._remove_executors(change, release)
        self._executors = change.after
        what = f"executors {change.before} -> {change.after}"
        return Action(what, Level.HOT, None, self._clock.now_s() - begin_s, pause_s)

    def _remove_executors(self, change: ExecutorsChange, release: Sequence[str]) -> float:
        """Remove executors between two batches if there is such a moment; return how long batches were held back."""
        queries = [query for pipeline in self._pipelines.values() for query in _queries(pipeline)]
        with internals.between_batches(queries, self._settings.boundary_timeout_s) as calm:
            begin_s = time.monotonic()
            present = self._status.executors()
            names = self._workers.of(executor.name for executor in present)
            victims = choose_victims(present, len(present) - change.after, names, release)
            # The total goes first, lest the cluster replaces what is removed.
            internals.set_total_executors(self._spark, change.after)
            internals.kill_executors(self._spark, victims)
            return time.monotonic() - begin_s if calm else 0.0

    def _await_executors(self, planned: Sequence[Planned]) -> None:
        """Wait a while for executors that were asked for; that they are there is for the monitor to say."""
        if not any(isinstance(change, ExecutorsChange) and change.after > change.before for change in planned):
            return
        deadline = time.monotonic() + self._settings.executors_timeout_s
        while time.monotonic() < deadline and len(self._status.executors()) < self._executors:
            time.sleep(5 * _POLL_S)

    # Segments

    def _change_segment(self, change: SegmentChange) -> Action:
        segment = self._pipelines[change.application].segments[change.segment]
        begin_s = self._clock.now_s()
        if change.level is Level.HOT and self._abilities.hot_partitions:
            segment.set_parallelism_hot(segment.plan.hot_number(change.after))
            return Action(str(change), Level.HOT, change.application, self._clock.now_s() - begin_s, 0.0)
        level = Level.RESTART if change.level is Level.HOT else change.level
        if level is Level.STATE and not self._abilities.rewrite_state:
            raise ActionFailed(f"State cannot be rewritten: {self._abilities.reasons['rewrite_state']}")
        pause_s = self._rebuild(segment, change, level)
        return Action(str(change), level, change.application, self._clock.now_s() - begin_s, pause_s)

    def _rebuild(self, segment: RunningSegment, change: SegmentChange, level: Level) -> float:
        """Stop, rewrite if need be, start, and wait for the first batch; return the pause."""
        segment.prepare(change.after)
        intent = self._intents.open(change.application, change.segment, level, change.before, change.after)
        before = _rhythm(segment)
        try:
            segment.stop()
            stopped_s = self._clock.now_s()
            intent = self._intents.advance(intent, Step.STOPPED)
            state = segment.plan.state_number(change.after)
            if state is not None:
                segment.repartition_state(state)
                intent = self._intents.advance(intent, Step.REPARTITIONED)
            segment.start(change.after)
            intent = self._intents.advance(intent, Step.STARTED)
            first = self._await_commit(segment)
            intent = self._intents.advance(intent, Step.COMMITTED)
        except Exception as error:
            self._bring_back(segment, intent, error)
            raise ActionFailed(f"Segment '{segment.name}' could not be changed ({change}): {error}") from error
        self._intents.close(intent)
        return self._paused(change.application, stopped_s, before, first)
