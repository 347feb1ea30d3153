"""What Spark reports, parsed into values. Nothing past this module sees Spark's JSON.

Times are seconds since the epoch, durations seconds, sizes bytes. What Spark leaves out is None.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from penstock.errors import BadObservation

_BATCH = re.compile(r"runId = (?P<run>[0-9a-f-]+)\s+batch = (?P<batch>\d+)")
_CODEGEN = re.compile(r"^WholeStageCodegen \((\d+)\)$")
_ROWS = "number of output rows"


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """One source in one batch. Offsets are JSON text, as the source wrote them."""

    description: str
    start_offset: str | None
    end_offset: str | None
    latest_offset: str | None
    input_rows: int
    metrics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateProgress:
    """One stateful operator of a query after one batch."""

    name: str
    rows: int
    updated_rows: int
    memory_bytes: int
    partitions: int | None
    commit_s: float


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One batch of a query, or (`idle`) one look at its sources that found nothing to do."""

    run_id: str
    batch: int
    started_at_s: float
    duration_s: float
    durations_s: Mapping[str, float]
    input_rows: int
    sources: tuple[SourceProgress, ...]
    states: tuple[StateProgress, ...] = ()
    output_rows: int | None = None
    event_times_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def committed_at_s(self) -> float:
        """When the batch was finished."""
        return self.started_at_s + self.duration_s

    @property
    def idle(self) -> bool:
        """Whether nothing was run."""
        return "addBatch" not in self.durations_s


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One finished attempt of a stage, and the batch it belonged to."""

    stage: int
    attempt: int
    run_id: str | None
    batch: int | None
    tasks: int
    failed_tasks: int
    read_rows: int
    written_rows: int
    input_rows: int
    run_s: float
    submitted_at_s: float | None
    completed_at_s: float | None


@dataclass(frozen=True, slots=True)
class ExecutorRecord:
    """One executor as the driver knows it. `busy_s` sums the time of all tasks it has finished."""

    name: str
    host: str
    cores: int
    running_tasks: int
    finished_tasks: int
    busy_s: float
    memory_bytes: int
    added_at_s: float
    active: bool = True
    removed_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A filter of a plan: its text, the generated stage it lies in, and the accumulator that counts its rows."""

    text: str
    codegen: int | None
    rows_accumulator: int


@dataclass(frozen=True, slots=True)
class HeaviestTask:
    """The longest run time and the most rows read among the tasks of one stage (not always of the same task)."""

    run_s: float
    read_rows: float


def parse_progress(text: str) -> BatchProgress:
    """One progress report of a streaming query."""
    report = _loads(text)
    durations = {name: value / 1000 for name, value in (report.get("durationMs") or {}).items()}
    output = (report.get("sink") or {}).get("numOutputRows")
    return BatchProgress(
        run_id=report["runId"],
        batch=report["batchId"],
        started_at_s=_time_s(report["timestamp"]),
        duration_s=durations.get("triggerExecution", report.get("batchDuration", 0) / 1000),
        durations_s=durations,
        input_rows=sum(source.get("numInputRows") or 0 for source in report.get("sources", [])),
        sources=tuple(_source(source) for source in report.get("sources", [])),
        states=tuple(_state(state) for state in report.get("stateOperators", [])),
        output_rows=None if output is None or output < 0 else output,
        event_times_s={name: _time_s(value) for name, value in (report.get("eventTime") or {}).items()},
    )


def _source(report: Mapping[str, Any]) -> SourceProgress:
    return SourceProgress(
        description=report.get("description", ""),
        start_offset=_offset(report.get("startOffset")),
        end_offset=_offset(report.get("endOffset")),
        latest_offset=_offset(report.get("latestOffset")),
        input_rows=report.get("numInputRows") or 0,
        metrics={str(name): str(value) for name, value in (report.get("metrics") or {}).items()},
    )


def _state(report: Mapping[str, Any]) -> StateProgress:
    return StateProgress(
        name=report.get("operatorName", ""),
        rows=report.get("numRowsTotal", 0),
        updated_rows=report.get("numRowsUpdated", 0),
        memory_bytes=_state_bytes(report),
        partitions=report.get("numShufflePartitions"),
        commit_s=report.get("commitTimeMs", 0) / 1000,
    )


def _state_bytes(report: Mapping[str, Any]) -> int:
    """What the state weighs when it is moved: the files RocksDB keeps of it, or else its memory."""
    files = (report.get("customMetrics") or {}).get("rocksdbSstFileSize")
    return int(files) if files else int(report.get("memoryUsedBytes") or 0)


def _offset(value: Any) -> str | None:
    """Sources write offsets as JSON; Spark embeds them in its report, as values if they are that and as text if not."""
    if value is None or value == "null":
        return None
    return value if isinstance(value, str) else json.dumps(value)


def parse_stages(text: str) -> tuple[StageRecord, ...]:
    """Stages of the status store, in the order of their numbers."""
    records = [_stage(entry["info"]) for entry in _loads(text)]
    return tuple(sorted(records, key=lambda record: (record.stage, record.attempt)))


def _stage(info: Mapping[str, Any]) -> StageRecord:
    batch = _BATCH.search(info.get("description") or "")
    return StageRecord(
        stage=info["stageId"],
        attempt=info["attemptId"],
        run_id=batch["run"] if batch else None,
        batch=int(batch["batch"]) if batch else None,
        tasks=info["numTasks"],
        failed_tasks=info["numFailedTasks"],
        read_rows=info["shuffleReadRecords"],
        written_rows=info["shuffleWriteRecords"],
        input_rows=info["inputRecords"],
        run_s=info["executorRunTime"] / 1000,
        submitted_at_s=_optional_time_s(info.get("submissionTime")),
        completed_at_s=_optional_time_s(info.get("completionTime")),
    )


def parse_codegens(text: str) -> dict[int, frozenset[int]]:
    """For every stage the numbers of the generated stages of the plan that run in it."""
    return {entry["stageId"]: frozenset(_codegens(entry["rootCluster"])) for entry in _loads(text)}


def _codegens(cluster: Mapping[str, Any]) -> Iterator[int]:
    found = _CODEGEN.match(cluster["name"])
    if found:
        yield int(found[1])
    for child in cluster["childClusters"]:
        yield from _codegens(child)


def parse_filters(text: str) -> tuple[PlanNode, ...]:
    """The filters of a physical plan."""
    return tuple(_filters(_loads(text), None))


def _filters(node: Mapping[str, Any], codegen: int | None) -> Iterator[PlanNode]:
    found = _CODEGEN.match(node["nodeName"])
    inside = int(found[1]) if found else codegen
    if node["nodeName"] == "Filter":
        rows = next((metric["accumulatorId"] for metric in node["metrics"] if metric["name"] == _ROWS), None)
        if rows is not None:
            yield PlanNode(node["simpleString"], inside, rows)
    # Past an exchange or an adapter a new generated stage must begin before anything counts as inside one.
    below = None if node["nodeName"] in ("Exchange", "InputAdapter") else inside
    for child in node["children"]:
        yield from _filters(child, below)


def parse_executors(text: str) -> tuple[ExecutorRecord, ...]:
    """Executors of the status store, without the driver unless there is nothing else (local mode)."""
    records = [_executor(entry) for entry in _loads(text)]
    others = tuple(record for record in records if record.name != "driver")
    return others or tuple(record for record in records if record.cores > 0)


def _executor(entry: Mapping[str, Any]) -> ExecutorRecord:
    return ExecutorRecord(
        name=entry["id"],
        host=entry["hostPort"].rpartition(":")[0],
        cores=entry["totalCores"],
        running_tasks=entry["activeTasks"],
        finished_tasks=entry["completedTasks"] + entry["failedTasks"],
        busy_s=entry["totalDuration"] / 1000,
        memory_bytes=entry["maxMemory"],
        added_at_s=_time_s(entry["addTime"]),
        active=entry["isActive"],
        removed_at_s=_optional_time_s(entry.get("removeTime")),
    )


def parse_stage_executors(text: str) -> dict[str, int]:
    """Tasks that each executor has finished, from the summary of one stage by executor."""
    return {str(name): int(entry["succeededTasks"]) for name, entry in _loads(text).items()}


def parse_heaviest(text: str) -> HeaviestTask:
    """The heaviest task of a stage from a summary of its tasks that holds only the highest quantile."""
    summary = _loads(text)
    return HeaviestTask(summary["executorRunTime"][-1] / 1000, summary["shuffleReadMetrics"]["readRecords"][-1])


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadObservation(f"Spark's report is not JSON: {text[:80]!r}.") from error


def _time_s(text: str) -> float:
    """Spark writes `2026-01-31T12:00:00.000Z` in progress and `...GMT` in the status store."""
    return datetime.fromisoformat(text.removesuffix("GMT").removesuffix("Z")).replace(tzinfo=UTC).timestamp()


def _optional_time_s(text: str | None) -> float | None:
    return None if text is None else _time_s(text)
