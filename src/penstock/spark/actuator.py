"""Carries out changes on the live cluster, each at the cheapest level, and never loses anything."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from penstock.control.actions import Action, Level
from penstock.control.ports import Clock
from penstock.errors import ActionFailed
from penstock.model import Configuration
from penstock.spark import internals
from penstock.spark.changes import (
    ExecutorsChange,
    Pause,
    Planned,
    SegmentChange,
    choose_victims,
    overlap_s,
    plan_actions,
)
from penstock.spark.checkpoints import state_partitions, unfinished_rewrite
from penstock.spark.cluster import SparkCluster
from penstock.spark.intents import Intent, IntentLog, Step
from penstock.spark.priming import prime_executors
from penstock.spark.progress import ExecutorRecord
from penstock.spark.segments import RunningPipeline, RunningSegment
from penstock.spark.status import StatusReader, batches_of_run
from penstock.spark.workers import WorkerNames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.spark.priming import Blank

_POLL_S, _EXECUTORS_POLL_S = 0.02, 0.05
_RHYTHM_BATCHES = 6


@dataclass(frozen=True, slots=True)
class ActuatorSettings:
    """How long the actuator waits: for the first batch after a restart, for executors to come and to become warm, and
    for a moment between two batches in which executors can be removed without repeating work."""

    commit_timeout_s: float = 120.0
    executors_timeout_s: float = 30.0
    priming_timeout_s: float = 30.0
    boundary_timeout_s: float = 5.0


class SparkActuator:
    """Changes running pipelines and their executors. All calls must come from one thread.

    `initial` is the configuration with which the pipelines were started. Executors change hot, stateless operators
    change hot, the partitions of a source need a restart of its segment, and those of a stateful operator a rewrite of
    its state; only the affected segment pauses. Instances for which there are no slots yet begin to work when the
    executors that were asked for have come and are warm. A segment whose change fails is brought back as it was, or,
    if that is what works, as it should have become; then `ActionFailed` says what went wrong. `state_held`, which the
    monitor can tell, are the bytes of state on every executor: those that hold least are given up first.
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
        self._doomed: set[str] = set()
        self._warm = {executor.name for executor in self._status.executors()}
        self._keepers = set(self._warm)
        self._pauses: list[Pause] = []
        # Counts what was asked for, so that what comes late can tell whether it is still wanted.
        self._turn = 0
        self._turns, self._receiving = threading.Lock(), threading.Lock()
        self.state_held: Callable[[], Mapping[str, float]] = dict

    def requested(self) -> Configuration:
        """The configuration last asked for; after a failure, what the cluster was left with."""
        return self._requested

    def paused_s(self, application: str, start_s: float, end_s: float) -> float:
        """How long reconfigurations kept an application from working between two times of the clock."""
        return overlap_s((pause for pause in self._pauses if pause.application == application), start_s, end_s)

    def apply(self, target: Configuration, release: Sequence[str] = ()) -> tuple[Action, ...]:
        """Ask for `target` and return what was done."""
        self._check(target)
        plans = {name: [s.plan for s in pipeline.segments.values()] for name, pipeline in self._pipelines.items()}
        with self._turns:
            self._turn += 1
        actions: list[Action] = []
        try:
            planned = plan_actions(self._deployed(), target, plans)
            short = self._cluster.elastic and len(self._warm_executors()) < target.workers
            slots = self._warm_slots() if short else None
            for change in planned:
                if isinstance(change, SegmentChange):
                    actions.append(self._change_segment(change, slots))
                elif change.after < change.before:
                    actions.append(self._remove_executors(change, release))
                else:
                    actions.append(self._add_executors(change))
                    if change is not planned[-1]:
                        # What pauses a segment would wait for them anyway.
                        self._receive_executors(target.workers, planned, self._turn)
            if short:
                arguments = (target.workers, planned, self._turn)
                threading.Thread(target=self._receive_executors, args=arguments, name="executors", daemon=True).start()
        except Exception as error:
            self._requested = self._deployed()
            if isinstance(error, ActionFailed):
                raise
            raise ActionFailed(f"Spark failed while it was changed: {error}") from error
        self._requested = target
        return tuple(actions)

    def recover(self) -> tuple[Action, ...]:
        """Complete what a crash has cut off; call it once, before the pipelines are started.

        A segment whose change was begun is started in its new form, with its state rewritten as far as that was still
        to be done; if that fails it is started in its old form.
        """
        actions = [action for intent in self._intents.unfinished() for action in self._complete(intent)]
        self._requested = self._deployed()
        return tuple(actions)

    def _check(self, target: Configuration) -> None:
        unknown = set(self._pipelines) - set(target.parallelism)
        if unknown:
            raise ActionFailed(f"The configuration asked for says nothing of application '{min(unknown)}'.")
        if target.workers == self._executors:
            return
        if not self._cluster.elastic:
            raise ActionFailed(f"This cluster cannot have {target.workers} workers: it neither grows nor shrinks.")
        most = self._cluster.max_executors
        if most is not None and target.workers > most:
            raise ActionFailed(f"This cluster cannot have {target.workers} workers: it has room for {most} at most.")

    def _deployed(self) -> Configuration:
        """What the segments and the cluster were last made to be."""
        parallelism = {
            name: {**self._requested.parallelism[name], **pipeline.parallelism}
            for name, pipeline in self._pipelines.items()
        }
        return Configuration(parallelism, self._executors)

    # Executors

    def _add_executors(self, change: ExecutorsChange) -> Action:
        """Ask for executors; everything goes on meanwhile. When they have come is for the monitor to say."""
        begin_s = self._clock.now_s()
        self._ask_for(change.after, self._turn)
        self._executors = change.after
        return Action(str(change), Level.HOT, None, self._clock.now_s() - begin_s, 0.0)

    def _ask_for(self, count: int, turn: int, all_at_once: bool = False) -> None:
        """Ask for `count` executors, if that is still wanted.

        Where all of them must start on this machine, it is for one more than are warm, unless it is `all_at_once`.
        """
        with self._turns:
            if turn == self._turn:
                if self._cluster.private and not all_at_once:
                    count = max(len(self._present()), min(count, len(self._warm_executors()) + 1))
                internals.set_total_executors(self._spark, count)

    def _receive_executors(self, count: int, planned: Sequence[Planned], turn: int) -> None:
        """Wait until `count` executors are there and warm, and let what was planned to grow have their slots.

        When one takes too long to come, none is waited for any more. When something else is asked for, this comes to
        its end.
        """
        deadline = time.monotonic() + self._settings.executors_timeout_s
        with self._receiving, suppress(Exception):  # the session may end meanwhile
            # What was asked for before may have been less, and what it was for has become warm only now.
            self._grow(planned, turn, self._warm_slots())
            self._ask_for(count, turn)
            while time.monotonic() < deadline and turn == self._turn:
                present = self._present()
                cold = [executor for executor in present if executor.name not in self._warm]
                if cold:
                    prime_executors(self._spark, cold, self._work, self._settings.priming_timeout_s)
                    self._warm.update(executor.name for executor in cold)
                    self._grow(planned, turn, self._warm_slots())
                    self._ask_for(count, turn)
                    deadline = time.monotonic() + self._settings.executors_timeout_s
                elif len(present) >= count:
                    break
                else:
                    time.sleep(_EXECUTORS_POLL_S)
            self._ask_for(count, turn, all_at_once=True)
            self._grow(planned, turn)

    def _work(self, blank: "Blank") -> "list[DataFrame]":
        """What executors have to do, as far as it keeps no state."""
        return [frame for pipeline in self._pipelines.values() for frame in pipeline.stateless_frames(blank)]

    def _prime_state(self, segment: RunningSegment, application: str) -> None:
        """Have executors that may never have kept state do so once, before some of it is moved to them."""
        present = self._present()
        new = [executor for executor in present if executor.name not in self._keepers]

        def work(blank: "Blank") -> "list[DataFrame]":
            from penstock.spark.touch import touched_state

            slots = sum(executor.cores for executor in present)
            return [touched_state(self._spark, slots), self._pipelines[application].whole_frame(segment, blank)]

        if new:
            prime_executors(self._spark, new, work, self._settings.priming_timeout_s)
            self._keepers.update(executor.name for executor in present)

    def _grow(self, planned: Sequence[Planned], turn: int, slots: int | None = None) -> None:
        """Give segments the instances that they were to have, as far as there are slots for them, if still wanted."""
        with self._turns:
            for change in planned if turn == self._turn and self._abilities.hot_partitions else ():
                if isinstance(change, SegmentChange) and change.level is Level.HOT:
                    self._change_segment(change, slots)

    def _remove_executors(self, change: ExecutorsChange, release: Sequence[str]) -> Action:
        """Remove executors, between two batches if there is such a moment; batches held back meanwhile are a pause."""
        begin_s = self._clock.now_s()
        queries = [s.query for p in self._pipelines.values() for s in p.segments.values() if s.query is not None]
        with internals.between_batches(queries, self._settings.boundary_timeout_s) as calm:
            # With several queries the first are held while the last still work.
            held_s = begin_s if len(queries) > 1 else self._clock.now_s()
            present = self._present()
            names = self._workers.of(executor.name for executor in self._status.executors())
            order = {name: release.index(worker) for name, worker in names.items() if worker in release}
            victims = choose_victims(present, len(present) - change.after, order, self.state_held())
            self._doomed.update(victims)
            internals.kill_executors(self._spark, victims)
            # Ending executors lowers the total by their number; this holds when fewer were there than asked for.
            internals.set_total_executors(self._spark, change.after)
            self._executors = change.after
            end_s = self._clock.now_s()
        for application in self._pipelines if calm else ():
            self._pauses.append(Pause(application, held_s, end_s))
        return Action(str(change), Level.HOT, None, end_s - begin_s, end_s - held_s if calm else 0.0)

    def _present(self) -> list[ExecutorRecord]:
        """The executors that are there to stay: those that were ended are reported for a while yet."""
        return [executor for executor in self._status.executors() if executor.name not in self._doomed]

    def _warm_executors(self) -> list[ExecutorRecord]:
        return [executor for executor in self._present() if executor.name in self._warm]

    def _warm_slots(self) -> int:
        return sum(executor.cores for executor in self._warm_executors())

    # Segments

    def _change_segment(self, change: SegmentChange, slots: int | None = None) -> Action:
        """Carry out one change; one that is hot for now only as far as there are `slots`, if their number is given."""
        segment = self._pipelines[change.application].segments[change.segment]
        begin_s = self._clock.now_s()
        if change.level is Level.HOT and self._abilities.hot_partitions:
            before, after = (segment.plan.hot_number(instances) for instances in (change.before, change.after))
            segment.set_parallelism_hot(after if slots is None else min(after, max(before, slots)))
            return Action(str(change), Level.HOT, change.application, self._clock.now_s() - begin_s, 0.0)
        level = Level.RESTART if change.level is Level.HOT else change.level
        if level is Level.STATE and not self._abilities.rewrite_state:
            raise ActionFailed(f"'{change.segment}' keeps its state: {self._abilities.reasons['rewrite_state']}")
        pause_s = self._rebuild(segment, change, level)
        return Action(str(change), level, change.application, self._clock.now_s() - begin_s, pause_s)

    def _rebuild(self, segment: RunningSegment, change: SegmentChange, level: Level) -> float:
        """Stop, rewrite if need be, start, and wait for the first batch; return the pause."""
        # What can be done while the old query still runs does not count as a pause.
        segment.prepare(change.after)
        if level is Level.STATE:
            self._prime_state(segment, change.application)
        intent = self._intents.open(change.application, change.segment, level, change.before, change.after)
        query = segment.query
        stop_s = time.time()
        try:
            segment.stop()
            intent = self._intents.advance(intent, Step.STOPPED)
            self._restart(segment, intent)
        except Exception as error:
            self._bring_back(segment, intent, error)
            raise ActionFailed(f"Segment '{segment.name}' could not be changed ({change}): {error}") from error
        pause_s = _pause_s(query, segment.query, stop_s)
        end_s = self._clock.now_s()
        self._pauses.append(Pause(change.application, end_s - pause_s, end_s))
        return pause_s

    def _restart(self, segment: RunningSegment, intent: Intent) -> None:
        """Bring a stopped segment into the form that `intent` is for; returns when it works."""
        self._finish_rewrite(segment)
        state = segment.plan.state_number(intent.after)
        if state is not None and state_partitions(segment.checkpoint) not in (None, state):
            segment.repartition_state(state)
        intent = self._intents.advance(intent, Step.REPARTITIONED)
        segment.start(intent.after)
        intent = self._intents.advance(intent, Step.STARTED)
        self._await_commit(segment)
        intent = self._intents.advance(intent, Step.COMMITTED)
        self._intents.close(intent)

    def _finish_rewrite(self, segment: RunningSegment) -> None:
        """Complete a rewrite of the state that was cut off: nothing else can be done with such a checkpoint."""
        number = unfinished_rewrite(segment.checkpoint)
        if number is not None:
            internals.repartition_state(self._spark, segment.checkpoint, number)

    def _await_commit(self, segment: RunningSegment) -> None:
        """Return when the segment has finished a batch or found nothing to do, or when it takes too long for either."""
        deadline = time.monotonic() + self._settings.commit_timeout_s
        query = segment.query
        assert query is not None
        while time.monotonic() < deadline and not query.recentProgress:
            if not query.isActive:
                raise ActionFailed(internals.failure(query) or "the query ended by itself")
            if query.status["message"] == "Waiting for data to arrive":
                return
            time.sleep(_POLL_S)

    def _bring_back(self, segment: RunningSegment, intent: Intent, error: Exception) -> None:
        """Start a segment again in its old form or, if that fails, in its new one."""
        for form, outcome in ((intent.before, "undone"), (intent.after, "done")):
            try:
                if segment.query is not None:
                    segment.query.stop()
                    segment.query = None
                self._finish_rewrite(segment)
                segment.finish_last_batch()
                segment.start(form)
                self._await_commit(segment)
            except Exception:
                continue
            self._intents.close(intent, f"{outcome} after: {error}")
            return
        raise ActionFailed(
            f"Segment '{segment.name}' could not be changed and is down: {error}; "
            f"its checkpoint {segment.checkpoint} is kept, and the change will be completed at the next start."
        ) from error

    def _complete(self, intent: Intent) -> Iterator[Action]:
        pipeline = self._pipelines.get(intent.application)
        segment = pipeline.segments.get(intent.segment) if pipeline is not None else None
        if segment is None or segment.running:
            self._intents.close(intent, "undone: not known to this run" if segment is None else "done")
            return
        begin_s = self._clock.now_s()
        try:
            self._restart(segment, intent)
        except Exception as error:
            self._bring_back(segment, intent, error)
        duration_s = self._clock.now_s() - begin_s
        yield Action(f"recovered segment {segment.name}", intent.level, intent.application, duration_s, duration_s)


def _pause_s(before: "StreamingQuery | None", after: "StreamingQuery | None", stop_s: float) -> float:
    """From the last commit before a stop to the first after it, less the usual time between two commits.

    A query that was idle when it was stopped paused no earlier than then.
    """
    earlier = [batch.committed_at_s for batch in batches_of_run(before)] if before is not None else []
    later = [batch.committed_at_s for batch in batches_of_run(after)[:1]] if after is not None else []
    gaps = [second_s - first_s for first_s, second_s in pairwise(earlier[-_RHYTHM_BATCHES:])]
    usual_s = sum(gaps) / len(gaps) if gaps else 0.0
    begin_s = max([*earlier[-1:], stop_s - usual_s])
    end_s = later[0] if later else time.time()
    return max(0.0, end_s - begin_s - usual_s)
