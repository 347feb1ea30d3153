"""Tells what happened on Spark since it was last asked: rates, busy times, queues, state and latency.

What is counted comes from Spark's own records, all batches of them, over restarts of queries as well. Sampled are only
the rows at the marks of a plan (one batch per window), the skew, and the tasks by executor (newest stage). An
observation costs some milliseconds of the driver per segment, and less than one more per batch.

Rates and busy times of operators belong to the batches that ended in the window and are spread over the time from the
end of the batch before them, so that a batch longer than a window is neither missed nor counted in one lump.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.control.ports import Clock
from penstock.errors import BadObservation
from penstock.model import ApplicationObservation, Observation, OperatorObservation, WorkerObservation
from penstock.spark.attribution import Work
from penstock.spark.backlog import Backlogs
from penstock.spark.completion import Completed, Completions, SourceLoad
from penstock.spark.progress import ExecutorRecord, StageRecord
from penstock.spark.segments import RunningPipeline
from penstock.spark.status import StatusReader
from penstock.spark.watch import SegmentWatch, SegmentWindow, StagePool
from penstock.spark.workers import WorkerNames

Paused = Callable[[str, float, float], float]
"""How long an application was paused between two times of the clock."""


@dataclass
class _Application:
    """What is kept of one application between two observations."""

    pipeline: RunningPipeline
    watches: Mapping[str, SegmentWatch]
    completions: Completions
    backlogs: Backlogs


@dataclass(frozen=True, slots=True)
class _Hosted:
    """What executors host: tasks by application/operator, and a share of the state."""

    tasks: dict[str, dict[str, int]] = field(default_factory=dict)
    state_bytes: dict[str, float] = field(default_factory=dict)

    def add(self, operator: str, tasks: Mapping[str, int], state_bytes: int | None) -> None:
        total = sum(tasks.values())
        for executor, count in tasks.items():
            self.tasks.setdefault(executor, {})[operator] = count
            if state_bytes is not None and total:
                held = self.state_bytes.get(executor, 0.0)
                self.state_bytes[executor] = held + state_bytes * count / total


class SparkMonitor:
    """Observes running pipelines. All calls must come from one thread.

    `loads` holds the timetable of each source of each application; without it arrivals, backlog and latency of that
    application are not known. `paused` is the actuator's `paused_s`. `counted` are the events of each application that
    an earlier monitor of the same run has seen arrive and be completed. Raises `BadObservation`, with the query's own
    message, when a query has died or Spark does not answer.
    """

    def __init__(
        self,
        pipelines: Sequence[RunningPipeline],
        loads: Mapping[str, Mapping[str, SourceLoad]],
        clock: Clock,
        workers: WorkerNames,
        paused: Paused | None = None,
        counted: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        now_s = time.time()
        self._clock = clock
        self._workers = workers
        self._paused = paused
        self._reader = StatusReader(pipelines[0].spark)
        self._pool = StagePool(self._reader, now_s)
        self._applications = {
            pipeline.name: _Application(
                pipeline,
                {name: SegmentWatch(s, pipeline.topology, now_s) for name, s in pipeline.segments.items()},
                Completions(pipeline, loads.get(pipeline.name, {}), (counted or {}).get(pipeline.name)),
                Backlogs(pipeline),
            )
            for pipeline in pipelines
        }
        self._executors: dict[str, ExecutorRecord] = {e.name: e for e in self._reader.executors()}
        self._last_s = clock.now_s()
        self._state_held: Mapping[str, float] = {}

    def state_held(self) -> Mapping[str, float]:
        """The bytes of state on every executor when it was last looked at; those without any are not in it."""
        return self._state_held

    def observe(self) -> Observation:
        """What was measured since the previous call (since the start, for the first)."""
        try:
            return self._observe()
        except BadObservation:
            raise
        except Exception as error:
            text = str(error).splitlines()
            raise BadObservation(f"Spark did not answer: {text[0] if text else type(error).__name__}") from error

    def _observe(self) -> Observation:
        finished = {
            name: {segment: watch.finished() for segment, watch in application.watches.items()}
            for name, application in self._applications.items()
        }
        self._pool.refresh(time.time())
        at_s, now_s = self._clock.now_s(), time.time()
        window_s, start_s, self._last_s = max(at_s - self._last_s, 1e-3), self._last_s, at_s
        hosted = _Hosted()
        applications: dict[str, ApplicationObservation] = {}
        for name, application in self._applications.items():
            windows = {
                segment: watch.measure(finished[name][segment], self._pool, self._reader)
                for segment, watch in application.watches.items()
            }
            completed = application.completions.look(now_s, finished[name])
            operators = self._operators(application, windows, completed, window_s, hosted)
            paused_s = self._paused(name, start_s, at_s) if self._paused is not None else 0.0
            applications[name] = _application(operators, completed, window_s, min(paused_s, window_s))
        # An executor without a task in this window may still hold the state of the one before.
        self._state_held = hosted.state_bytes or self._state_held
        return Observation(at_s, window_s, applications, self._observed_workers(window_s, hosted))

    def _operators(
        self,
        application: _Application,
        windows: Mapping[str, SegmentWindow],
        completed: Completed,
        window_s: float,
        hosted: _Hosted,
    ) -> dict[str, OperatorObservation]:
        application.backlogs.look(windows)
        found: dict[str, OperatorObservation] = {}
        for name, window in windows.items():
            view = _SegmentView(application, name, window, completed, window_s)
            for operator in view.plan.operators:
                work = window.work.get(operator)
                stage = None if work is None else work.last
                found[operator] = view.operator(operator, self._skew(stage))
                if stage is not None:
                    hosted.add(
                        f"{application.pipeline.name}/{operator}",
                        self._reader.tasks_by_executor(stage),
                        found[operator].state_bytes,
                    )
        return found

    def _skew(self, stage: StageRecord | None) -> float | None:
        """The heaviest task's load over the mean, in rows where rows are exchanged and in time otherwise."""
        if stage is None or stage.tasks < 1:
            return None
        if stage.tasks == 1:
            return 1.0
        heaviest = self._reader.heaviest_task(stage)
        if heaviest is None:
            return None
        if stage.read_rows > 0:
            return heaviest.read_rows * stage.tasks / stage.read_rows
        return max(1.0, heaviest.run_s * stage.tasks / stage.run_s) if stage.run_s > 0 else None

    def _observed_workers(self, window_s: float, hosted: _Hosted) -> dict[str, WorkerObservation]:
        present = {executor.name: executor for executor in self._reader.executors()}
        names = self._workers.of(present)
        seen = {names[name]: self._worker(executor, window_s, hosted) for name, executor in present.items()}
        self._executors = present
        return seen

    def _worker(self, executor: ExecutorRecord, window_s: float, hosted: _Hosted) -> WorkerObservation:
        before = self._executors.get(executor.name)
        busy_s = executor.busy_s - (before.busy_s if before is not None else 0.0)
        tasks = hosted.tasks.get(executor.name, {})
        state_bytes = hosted.state_bytes.get(executor.name)
        return WorkerObservation(
            usage=min(1.0, max(0.0, busy_s) / (max(executor.cores, 1) * window_s)),
            instances=sum(tasks.values()) if hosted.tasks else None,
            state_bytes=None if state_bytes is None else round(state_bytes),
            operators=dict(tasks),
        )


def _application(
    operators: Mapping[str, OperatorObservation], completed: Completed, window_s: float, paused_s: float
) -> ApplicationObservation:
    return ApplicationObservation(
        operators=operators,
        arrived=completed.arrived,
        completed=completed.completed,
        input_per_s=None if completed.arrived is None else completed.arrived / window_s,
        throughput_per_s=None if completed.completed is None else completed.completed / window_s,
        backlog=completed.backlog,
        latency=completed.latency,
        paused_s=paused_s,
    )


class _SegmentView:
    """The operators of one segment in one window."""

    def __init__(
        self, application: _Application, name: str, window: SegmentWindow, completed: Completed, window_s: float
    ) -> None:
        self.segment = application.pipeline.segments[name]
        self.plan = self.segment.plan
        self.topology = application.pipeline.topology
        self.application = application
        self.window = window
        self.completed = completed
        self.window_s = window_s
        self.busy_s = sum(work.busy_s for work in window.work.values())
        self.rows_in: dict[str, float | None] = {}
        for operator in self.plan.operators:
            self.rows_in[operator] = self._rows_in(operator)

    def operator(self, name: str, skew: float | None) -> OperatorObservation:
        """One operator of the segment."""
        window, work, rows = self.window, self.window.work.get(name), self.rows_in[name]
        span_s = window.span_s
        processed = rows / span_s if rows is not None and span_s else (0.0 if window.idle else None)
        busy_s = work.busy_s * self.window_s / span_s if work is not None and span_s else None
        state_rows, state_bytes = self._state(name)
        return OperatorObservation(
            instances=self._instances(name, work),
            input_per_s=self._input_per_s(name, processed),
            processed_per_s=processed,
            output_per_s=self._output_per_s(name),
            busy_s=0.0 if window.idle else busy_s,
            time_share=work.busy_s / self.busy_s if work is not None and self.busy_s > 0 else None,
            queue=self._queue(name),
            true_rate_per_s=rows / work.busy_s if rows and work is not None and work.busy_s > 0 else None,
            effective_rate_per_s=rows / self.busy_s if rows and work is not None and self.busy_s > 0 else None,
            skew=skew,
            parallel_share=window.parallel_share,
            batches_per_s=len(window.measured) / span_s if span_s else None,
            state_rows=state_rows,
            state_bytes=state_bytes,
        )

    def _instances(self, name: str, work: Work | None) -> int:
        """As many as its last stage had tasks; before the first, as many as were asked for."""
        if work is not None and work.last is not None:
            return max(1, work.last.tasks)
        return self.segment.parallelism.get(name, self.plan.bounds[name].least)

    def _rows_in(self, name: str) -> float | None:
        """Rows handed to an operator: taken from the source, read across its exchange, or as given by what feeds it."""
        if not self.window.measured:
            return None
        if name in self.plan.sources:
            return self.window.rows.get(name)
        work = self.window.work.get(name)
        if name not in self.plan.stateful and (work is None or work.alone):
            return None if work is None else work.read_rows
        # What a stateful operator reads may have been aggregated in part already, and what a shared stage reads is for
        # all who share it; what feeds it tells how much it was.
        fed = [
            self.window.rows.get(self._channel(upstream)) if self._outside(upstream) else self._rows_out(upstream, name)
            for upstream in self.topology.upstream(name)
        ]
        known = [rows for rows in fed if rows is not None]
        return sum(known) if len(known) == len(fed) else None

    def _rows_out(self, name: str, downstream: str) -> float | None:
        """Rows that an operator returns, for an operator of the same segment."""
        work = self.window.work.get(name)
        counted = downstream not in self.plan.stateful or name in self.window.whole
        if counted and work is not None and work.alone:
            return work.written_rows
        rows, ratio = self.rows_in.get(name), self.window.selectivity.get(name)
        return None if rows is None or ratio is None else rows * ratio

    def _output_per_s(self, name: str) -> dict[str, float]:
        span_s = self.window.span_s
        found: dict[str, float] = {}
        for downstream in self.topology.downstream(name):
            if self.window.idle:
                found[downstream] = 0.0
            elif span_s and self.window.measured:
                rows = self._rows_sent(name, downstream)
                if rows is not None:
                    found[downstream] = rows / span_s
        return found

    def _rows_sent(self, name: str, downstream: str) -> float | None:
        if downstream in self.plan.operators:
            return self._rows_out(name, downstream)
        rows, ratio = self.rows_in.get(name), self.window.selectivity.get(name)
        return None if rows is None or ratio is None else rows * ratio

    def _input_per_s(self, name: str, processed_per_s: float | None) -> float | None:
        """What arrives: by timetable at a source, by what was written to its channel, else what is handed over."""
        if name in self.completed.arrived_at:
            return self.completed.arrived_at[name] / self.window_s
        channels = self._channels(name)
        if not channels:
            return processed_per_s
        arrived = [self.application.backlogs.arrived(self.segment.name, channel) for channel in channels]
        return sum(rows for rows in arrived if rows is not None) / self.window_s if None not in arrived else None

    def _queue(self, name: str) -> float | None:
        if name in self.plan.sources:
            taken = self.application.backlogs.taken(name)
            waiting = self.application.completions.waiting(name, taken)
            return None if waiting is None else float(waiting)
        unread = [self.application.backlogs.unread(self.segment.name, channel) for channel in self._channels(name)]
        return float(sum(unread))

    def _channels(self, name: str) -> tuple[str, ...]:
        """The channels that feed an operator."""
        return tuple(dict.fromkeys(self._channel(up) for up in self.topology.upstream(name) if self._outside(up)))

    def _outside(self, operator: str) -> bool:
        return operator not in self.plan.operators

    def _channel(self, operator: str) -> str:
        """The channel in which the segment of another operator ends."""
        return self.application.pipeline.segment_of(operator).plan.writes or ""

    def _state(self, name: str) -> tuple[int | None, int | None]:
        """Rows and bytes of an operator's state. Spark lists states against the flow, the last operator first."""
        states, stateful = self.window.states, self.plan.stateful
        if name not in stateful or not states:
            return None, None
        if len(stateful) == 1:
            return sum(state.rows for state in states), sum(state.memory_bytes for state in states)
        if len(states) != len(stateful):
            return None, None
        own = states[len(stateful) - 1 - stateful.index(name)]
        return own.rows, own.memory_bytes
