"""Every call to Spark that is not public, each behind a plain name; only `status`, which reads, makes others.

`abilities` says which of them this Spark has. Where one is missing the public way serves instead: `finish_and_stop`
stops between batches as well as it can see them, and the actuator restarts a query it cannot change while it runs.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import ActionFailed
from penstock.spark.checkpoints import is_clean, state_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from penstock.spark.progress import ExecutorRecord

_RUNTIME = "org.apache.spark.sql.execution.streaming.runtime"
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_POLL_S = 0.005
_STOP_GRACE_S = 30.0


@dataclass(frozen=True, slots=True)
class Abilities:
    """What this Spark can do beyond its public interface; `reasons` says why something is missing."""

    scale_executors: bool
    hot_partitions: bool
    finish_batch: bool
    rewrite_state: bool
    stage_metrics: bool
    reasons: Mapping[str, str] = field(default_factory=dict)


def abilities(spark: "SparkSession") -> Abilities:
    """Probe, without changing anything, which of the functions of this module will work on `spark`."""
    probes: dict[str, Callable[[Any], None]] = {
        "scale_executors": _probe_executors,
        "hot_partitions": _probe_partitions,
        "finish_batch": _probe_finish,
        "rewrite_state": _probe_state,
        "stage_metrics": _probe_metrics,
    }
    reasons: dict[str, str] = {}
    for name, probe in probes.items():
        try:
            probe(spark)
        except Exception as error:
            reasons[name] = _first_line(error)
    return Abilities(**{name: name not in reasons for name in probes}, reasons=reasons)


def _probe_executors(spark: Any) -> None:
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        raise ActionFailed("Dynamic allocation is on, so Spark refuses to remove executors by name.")
    master = spark.sparkContext.master
    if master == "local" or master.startswith("local["):
        raise ActionFailed("A local master has no executors to add or remove.")
    _method(spark, "org.apache.spark.SparkContext", "killExecutors", "scala.collection.immutable.Seq")


def _probe_partitions(spark: Any) -> None:
    _method(spark, f"{_RUNTIME}.StreamExecution", "sparkSessionForStream")
    if spark.conf.get("spark.sql.adaptive.enabled", "true") == "true":
        raise ActionFailed(
            "Adaptive execution is on, so Spark chooses the partitions; set spark.sql.adaptive.enabled=false."
        )


def _probe_finish(spark: Any) -> None:
    for name in ("state", "awaitProgressLock", "queryExecutionThread", "offsetLog", "commitLog"):
        _method(spark, f"{_RUNTIME}.StreamExecution", name)
    _terminated(spark._jvm)
    _require_tied_threads()


def _probe_state(spark: Any) -> None:
    provider = spark.conf.get("spark.sql.streaming.stateStore.providerClass", "")
    if not provider.endswith("RocksDBStateStoreProvider"):
        raise ActionFailed("State is not kept in RocksDB, so it cannot be split anew.")
    if not hasattr(spark._streamingCheckpointManager, "repartition"):
        raise ActionFailed("This Spark cannot rewrite the state of a query.")


def _probe_metrics(spark: Any) -> None:
    spark._jsc.sc().statusStore().executorList(True)
    _method(spark, "org.apache.spark.status.api.v1.JacksonMessageWriter", "mapper")


def _method(spark: Any, owner: str, name: str, *parameters: str) -> None:
    """Raise unless the JVM's class `owner` has a public method `name`."""
    classes = spark._jvm.java.lang.Class
    array = spark.sparkContext._gateway.new_array(classes, len(parameters))
    for index, parameter in enumerate(parameters):
        array[index] = classes.forName(parameter)
    classes.forName(owner).getMethod(name, array)


def _first_line(error: Exception) -> str:
    text = str(getattr(error, "java_exception", None) or error)
    return text.splitlines()[0] if text else type(error).__name__


# Executors


def set_total_executors(spark: "SparkSession", count: int) -> None:
    """Ask the cluster for `count` executors in all. It starts missing ones but ends none; returns at once."""
    session: Any = spark
    nowhere = session._jvm.PythonUtils.toScalaMap({})
    try:
        accepted = session._jsc.sc().requestTotalExecutors(count, 0, nowhere)
    except Exception as error:
        raise ActionFailed(f"The cluster refused {count} executors: {_first_line(error)}") from error
    if not accepted:
        raise ActionFailed(f"The cluster did not accept a total of {count} executors.")


def kill_executors(spark: "SparkSession", ids: Sequence[str]) -> None:
    """End the executors called `ids` and ask for that many fewer; their running tasks are repeated elsewhere."""
    if not ids:
        return
    session: Any = spark
    try:
        names = session._jvm.PythonUtils.toSeq(list(ids))
        accepted = session._jsc.sc().killExecutors(names)
    except Exception as error:
        raise ActionFailed(
            f"The cluster refused to end the executors {', '.join(ids)}: {_first_line(error)}"
        ) from error
    if not accepted:
        raise ActionFailed(f"The cluster did not end the executors {', '.join(ids)}.")


def frame_on(spark: "SparkSession", schema: "StructType", slots: "Sequence[ExecutorRecord]") -> "DataFrame":
    """A frame with one row of nulls for each of `slots`, read by the executor that the slot belongs to."""
    from pyspark.sql import DataFrame

    session: Any = spark
    jvm = session._jvm
    nothing = session.sparkContext._gateway.new_array(jvm.Object, len(schema.fields))
    row = jvm.org.apache.spark.sql.RowFactory.create(nothing)
    places = [jvm.PythonUtils.toSeq([f"executor_{slot.host}_{slot.name}"]) for slot in slots]
    placed = jvm.PythonUtils.toSeq([jvm.scala.Tuple2(row, place) for place in places])
    anything = getattr(getattr(jvm, "scala.reflect.ClassTag$"), "MODULE$").Any()
    rows = session._jsc.sc().makeRDD(placed, anything).toJavaRDD()
    nullable = session._jsparkSession.parseDataType(schema.json()).asNullable()
    return DataFrame(session._jsparkSession.createDataFrame(rows, nullable), spark)


# Queries


def set_shuffle_partitions(query: "StreamingQuery", partitions: int) -> None:
    """Give every exchange of a running query that has no number of its own `partitions` tasks from the next batch on.

    Exchanges in front of stateful operators keep the number with which their state was written.
    """
    try:
        execution_of(query).sparkSessionForStream().conf().set(_SHUFFLE_PARTITIONS, str(partitions))
    except Exception as error:
        raise ActionFailed(f"The query would not take {partitions} partitions: {_first_line(error)}") from error


def shuffle_partitions(query: "StreamingQuery") -> int:
    """What `set_shuffle_partitions` set last, or what the query started with."""
    return int(execution_of(query).sparkSessionForStream().conf().get(_SHUFFLE_PARTITIONS))


def finish_and_stop(query: "StreamingQuery", timeout_s: float) -> bool:
    """Stop a query between two batches: the running batch is finished and committed, not killed.

    Returns whether the last batch that was begun is committed. It may not be when the batch took longer than
    `timeout_s` (it is then killed) or the query had failed before; a start with `trigger(once=True)` repeats it.
    A query that has stopped already is only checked.
    """
    execution = execution_of(query)
    deadline = time.monotonic() + timeout_s
    try:
        idle = _end_at_boundary(execution, deadline)
    except Exception:
        idle = _wait_for_gap(query, deadline)
    left_s = 0.0 if idle else max(0.0, deadline - time.monotonic())
    if not _ended(execution, left_s):
        # Between batches this wakes the thread that waits for the next trigger; after the deadline it kills the batch.
        query.stop()
        _ended(execution, _STOP_GRACE_S)
    begun, committed = batches_of(execution)
    return begun == committed


def _end_at_boundary(execution: Any, deadline: float) -> bool:
    """Mark a query as terminated at a moment when it can do no harm; returns whether it is between two batches.

    Spark looks at the mark before a batch and once more after planning it, where a marked query breaks off a batch
    whose offsets are written already. But it takes the progress lock to write offsets and again to commit. Whoever
    holds that lock therefore knows: a batch in flight whose thread queues for the lock has only to commit.
    """
    _require_tied_threads()
    lock, thread, state = execution.awaitProgressLock(), execution.queryExecutionThread(), execution.state()
    terminated = _terminated(_jvm())
    while time.monotonic() < deadline and thread.isAlive():
        lock.lock()
        try:
            begun, committed = batches_of(execution)
            if begun != committed:
                _wait_for_commit(lock, thread, deadline)
                state.set(terminated)
                return False
            if lock.hasQueuedThread(thread):
                continue
            before = state.getAndSet(terminated)
            time.sleep(_POLL_S)
            if not lock.hasQueuedThread(thread) and not execution.status().isTriggerActive():
                return True
            # A batch was about to begin when the mark was set: take it back and let the batch have its way.
            state.set(before)
        finally:
            lock.unlock()
    if not thread.isAlive():
        state.set(terminated)  # what was taken back above may have been the mark of the thread's own end
    return False


@contextmanager
def between_batches(queries: Sequence["StreamingQuery"], timeout_s: float) -> Iterator[bool]:
    """Keep running queries from beginning a batch while the body runs; yields whether that was possible.

    Batches in flight are let finish first, for up to `timeout_s`. Without success nothing is held.
    """
    held: list[Any] = []
    deadline = time.monotonic() + timeout_s
    try:
        calm = all(_hold(execution_of(query), deadline, held) for query in queries)
        if not calm:
            _release(held)
        yield calm
    finally:
        _release(held)


def _hold(execution: Any, deadline: float, held: list[Any]) -> bool:
    """Take a query's progress lock at a moment when no batch is in flight, and note it in `held`."""
    try:
        _require_tied_threads()
        lock, thread = execution.awaitProgressLock(), execution.queryExecutionThread()
        lock.lock()
    except Exception:
        return False
    held.append(lock)
    while thread.isAlive():
        begun, committed = batches_of(execution)
        if begun == committed:
            return True
        _wait_for_commit(lock, thread, deadline)
        if time.monotonic() > deadline:
            return False
        # The lock is fair: the waiting batch commits now, and the next one cannot be begun before we have it back.
        lock.unlock()
        lock.lock()
    return True


def _release(held: list[Any]) -> None:
    while held:
        held.pop().unlock()


def _wait_for_commit(lock: Any, thread: Any, deadline: float) -> None:
    while time.monotonic() < deadline and thread.isAlive() and not lock.hasQueuedThread(thread):
        time.sleep(_POLL_S)


def _wait_for_gap(query: "StreamingQuery", deadline: float) -> bool:
    """The public way: return as soon as no batch seems to run."""
    while time.monotonic() < deadline and query.isActive:
        if not query.status["isTriggerActive"]:
            return True
        time.sleep(_POLL_S)
    return False


def _ended(execution: Any, timeout_s: float) -> bool:
    """Whether the query's thread has come to its end, waited for up to `timeout_s`."""
    thread = execution.queryExecutionThread()
    if timeout_s > 0:
        thread.join(int(timeout_s * 1000))
    return not thread.isAlive()


def batches_of(execution: Any) -> tuple[int | None, int | None]:
    """The last batch begun and the last committed, as the query's own logs have them."""
    begun, committed = execution.offsetLog().getLatestBatchId(), execution.commitLog().getLatestBatchId()
    return (
        int(begun.get()) if begun.isDefined() else None,
        int(committed.get()) if committed.isDefined() else None,
    )


def execution_of(query: "StreamingQuery") -> Any:
    """The object of the JVM that runs `query`."""
    handle: Any = query
    return handle._jsq.streamingQuery()


def _terminated(jvm: Any) -> Any:
    """Spark's mark for a query that has ended."""
    return getattr(getattr(jvm, f"{_RUNTIME}.TERMINATED$"), "MODULE$")


def _require_tied_threads() -> None:
    """Locks belong to threads of the JVM, so calls of one thread here must arrive in one thread there."""
    from py4j.clientserver import ClientServer
    from pyspark import SparkContext

    if not isinstance(SparkContext._gateway, ClientServer):
        raise ActionFailed("Threads of Python and the JVM are not tied together; unset PYSPARK_PIN_THREAD.")


def _jvm() -> Any:
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    if jvm is None:
        raise ActionFailed("There is no running Spark session in this process.")
    return jvm


def failure(query: "StreamingQuery") -> str | None:
    """Why a query has died, in one line; None if it has not."""
    error = query.exception()
    return None if error is None else gist(str(error))


def gist(message: str) -> str:
    """The line of a long message that says what is wrong: the error behind a traceback of Python, else the first."""
    lines = [line for line in message.splitlines() if line.strip()]
    begin = next((number for number, line in enumerate(lines) if "Traceback (most recent call last)" in line), None)
    behind = [] if begin is None else [line for line in lines[begin + 1 :] if not line.startswith(" ")]
    return (behind or lines or ["it gave no reason"])[0].strip()


# State


def repartition_state(spark: "SparkSession", checkpoint: str | Path, partitions: int) -> None:
    """Spread the state of a stopped query over `partitions` partitions, all of it or none.

    Its last batch must be committed, except that a rewrite that was cut off is finished by asking for the same number
    again. Asking for the number it has does nothing. Raises `ActionFailed`.
    """
    if is_clean(checkpoint) and state_partitions(checkpoint) in (partitions, None):
        return
    session: Any = spark
    try:
        session._streamingCheckpointManager.repartition(str(checkpoint), partitions)
    except Exception as error:
        raise ActionFailed(f"The state in {checkpoint} was not rewritten: {_first_line(error)}") from error
