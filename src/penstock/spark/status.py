"""What Spark knows of executors, stages and batches, read in-process. Like `internals` this uses what is not public."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.spark.internals import batches_of, execution_of
from penstock.spark.progress import (
    BatchProgress,
    ExecutorRecord,
    HeaviestTask,
    PlanNode,
    StageRecord,
    parse_codegens,
    parse_executors,
    parse_filters,
    parse_heaviest,
    parse_progress,
    parse_stage_executors,
    parse_stages,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_STATUS = "org.apache.spark.status"
_LONG_STAGE_FIELDS = ("details", "name", "peakExecutorMetrics", "killedTasksSummary", "accumulatorUpdates")
_LONG_EXECUTOR_FIELDS = ("executorLogs", "attributes", "resources", "peakMemoryMetrics", "memoryMetrics")


@dataclass(frozen=True, slots=True)
class MarkedRows:
    """The rows that passed the filters of the last finished batch of a query, and that batch."""

    batch: int
    filters: tuple[tuple[PlanNode, int], ...]


class StatusReader:
    """Reads what Spark's status store knows, as JSON made by the JVM: one round trip for many records.

    Nothing is copied that is not asked for, so a look costs a few milliseconds of the driver's time.
    """

    def __init__(self, spark: "SparkSession") -> None:
        session: Any = spark
        jvm = session._jvm
        self._classes = jvm.java.lang.Class
        self._accumulators = jvm.org.apache.spark.util.AccumulatorContext
        self._plans = getattr(getattr(jvm, "org.apache.spark.sql.execution.SparkPlanInfo$"), "MODULE$")
        self._jobs = session.sparkContext.statusTracker()
        self._status = session._jsc.sc().statusStore()
        self._records = self._status.store()
        self._quantiles = session.sparkContext._gateway.new_array(jvm.double, 1)
        self._quantiles[0] = 1.0
        self._mapper = jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
        self._mapper.configure(jvm.com.fasterxml.jackson.databind.SerializationFeature.INDENT_OUTPUT, False)
        self._leave_out(jvm, f"{_STATUS}.api.v1.StageData", _LONG_STAGE_FIELDS)
        self._leave_out(jvm, f"{_STATUS}.api.v1.ExecutorSummary", _LONG_EXECUTOR_FIELDS)

    def executors(self) -> tuple[ExecutorRecord, ...]:
        """The executors that are there now."""
        return parse_executors(self._json(self._status.executorList(True)))

    def stages(self, since_s: float) -> tuple[StageRecord, ...]:
        """The stages that have finished since `since_s` (epoch), as far back as the store keeps them."""
        view = self._records.view(self._classes.forName(f"{_STATUS}.StageDataWrapper"))
        # Numbers below this arrive in the JVM as another type, and no stage has ended before 1970-01-26.
        since_ms = max(int(since_s * 1000), 2**31)
        return parse_stages(self._json(view.index("completionTime").first(since_ms)))

    def codegens(self, first_stage: int) -> dict[int, frozenset[int]]:
        """For every stage from `first_stage` on, the numbers of the plan's generated stages that run in it."""
        view = self._records.view(self._classes.forName(f"{_STATUS}.RDDOperationGraphWrapper"))
        return parse_codegens(self._json(view.first(first_stage)))

    def heaviest_task(self, stage: StageRecord) -> HeaviestTask | None:
        """The heaviest task of a finished stage; None if its tasks are no longer kept."""
        summary = self._status.taskSummary(stage.stage, stage.attempt, self._quantiles)
        return parse_heaviest(self._json(summary.get())) if summary.isDefined() else None

    def tasks_by_executor(self, stage: StageRecord) -> dict[str, int]:
        """How many tasks of a finished stage each executor has run; empty if that is no longer kept."""
        return self._tasks_by_executor(stage.stage, stage.attempt)

    def ran_on(self, group: str) -> frozenset[str] | None:
        """The executors on which the first stage of the newest job of a group ran; None until that is known."""
        job = self._jobs.getJobInfo(max(self._jobs.getJobIdsForGroup(group), default=-1))
        if job is None or job.status == "RUNNING":
            return None
        return frozenset(self._tasks_by_executor(min(job.stageIds), 0))

    def marked_rows(self, query: "StreamingQuery") -> MarkedRows | None:
        """How many rows passed each filter of the last finished batch of this run; None before the first."""
        context = _last_finished(execution_of(query))
        if context is None:
            return None
        plan = parse_filters(self._json(self._plans.fromSparkPlan(context.executionPlan().executedPlan())))
        rows = [(node, self._accumulators.get(node.rows_accumulator)) for node in plan]
        return MarkedRows(
            int(context.batchId()), tuple((node, int(value.get().value())) for node, value in rows if value.isDefined())
        )

    def _tasks_by_executor(self, stage: int, attempt: int) -> dict[str, int]:
        return parse_stage_executors(self._json(self._status.executorSummary(stage, attempt)))

    def _json(self, records: Any) -> str:
        return str(self._mapper.writeValueAsString(records))

    def _leave_out(self, jvm: Any, owner: str, fields: Sequence[str]) -> None:
        names = jvm.java.util.HashSet()
        for name in fields:
            names.add(name)
        ignored = getattr(jvm.com.fasterxml.jackson.annotation, "JsonIgnoreProperties$Value")
        self._mapper.configOverride(self._classes.forName(owner)).setIgnorals(ignored.forIgnoredProperties(names))


def _last_finished(execution: Any) -> Any:
    """The context of the last finished batch: while a batch runs that of the one before it, else the current one."""
    context = execution.getLatestExecutionContext()
    previous = context.previousContext()
    if previous.isDefined():
        context = previous.get()
    else:
        _, committed = batches_of(execution)
        if committed is None or int(context.batchId()) > committed:
            return None
    return None if context.executionPlan() is None else context


def reports_after(query: "StreamingQuery", started_s: float) -> tuple[BatchProgress, ...]:
    """What a query, running or ended, reported of triggers that started after `started_s` (epoch), oldest first.

    Spark keeps a limited number of reports (`spark.sql.streaming.numRecentProgressUpdates`); older ones are gone.
    """
    handle: Any = query
    reports = handle._jsq.recentProgress()
    found: list[BatchProgress] = []
    for index in reversed(range(len(reports))):
        progress = parse_progress(reports[index].json())
        if progress.started_at_s <= started_s:
            break
        found.append(progress)
    return tuple(reversed(found))


def batches_of_run(query: "StreamingQuery") -> tuple[BatchProgress, ...]:
    """The batches that a query, running or ended, has finished since it was started, oldest first."""
    return tuple(report for report in reports_after(query, float("-inf")) if not report.idle)
