"""How the queries of a pipeline are set up: the settings they keep as their own, and the folder they live in."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.spark.compiler import SegmentPlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POOL = "spark.scheduler.pool"
_PATTERN_SIGNS = "*?[]{}\\"
_SETTINGS: Mapping[str, str] = {
    # Adaptive execution squeezes small but slow stages into one task.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # What changed in a batch is written down, instead of all files of the state: of some 150 ms per store, 10 are left.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # On a local file system the default starts a process for every file it renames, which costs each batch some 90 ms.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
_CHANNEL_SETTINGS: Mapping[str, str] = {
    # The list of files that a channel's reader has seen is rewritten as a whole each time it is compacted.
    "spark.sql.streaming.fileSource.log.compactInterval": "100",
    # Listing a channel must not become a job of its own when there are many batches in it.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
}
"""What file sources read from the session itself, and only after a query's start has returned: it must stay set.

With another interval than the one it was written with, Spark cannot read such a list any more."""

# A query copies the session's settings when it starts; until it has, no other may change them.
_starting = threading.RLock()


def prepare_session(spark: "SparkSession") -> None:
    """Give a session, for good, the settings that all queries need, and all that works on their checkpoints."""
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)


def query_settings(plan: SegmentPlan, parallelism: Mapping[str, int]) -> dict[str, str]:
    """What the query of a segment needs at that parallelism."""
    settings = {"spark.sql.shuffle.partitions": str(plan.hot_number(parallelism))}
    state = plan.state_number(parallelism)
    if state is not None:
        # Counts for the first start alone: after that Spark takes the number from the checkpoint.
        settings["spark.sql.streaming.internal.stateStore.partitions"] = str(state)
    return settings


@contextmanager
def session_with(spark: "SparkSession", settings: Mapping[str, str], pool: str | None = None) -> Iterator[None]:
    """Give the session settings that whatever starts meanwhile keeps as its own; then put the old ones back.

    A query that starts meanwhile schedules its jobs in `pool`, so that no query has to wait for another's long batch.
    """
    with _starting:
        for name, value in _CHANNEL_SETTINGS.items():
            spark.conf.set(name, value)
        before = {name: spark.conf.get(name, None) for name in settings}
        for name, value in settings.items():
            spark.conf.set(name, value)
        context: Any = spark.sparkContext
        old_pool = context.getLocalProperty(_POOL)
        context.setLocalProperty(_POOL, pool or old_pool)
        try:
            yield
        finally:
            context.setLocalProperty(_POOL, old_pool)
            for name, old in before.items():
                if old is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, old)


def claim_folder(folder: Path, pipeline: str, execution: str, plans: tuple[SegmentPlan, ...]) -> None:
    """Refuse a folder whose checkpoints belong to other segments: Spark would go on from them all the same.

    Refuse as well a folder whose name Spark's file source would take for a pattern, escaped or not.
    """
    if set(str(folder)) & set(_PATTERN_SIGNS):
        raise UsageError(
            f"The folder {folder} has one of the signs {' '.join(_PATTERN_SIGNS)} in its name; use another."
        )
    layout = {
        "pipeline": pipeline,
        "execution": execution,
        "segments": {plan.name: list(plan.nodes) for plan in plans},
    }
    kept = folder / "layout.json"
    if kept.exists():
        if json.loads(kept.read_text()) != layout:
            raise UsageError(f"The folder {folder} belongs to a different pipeline or execution mode; use another.")
        return
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(layout, indent=2))
