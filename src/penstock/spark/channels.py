"""Channels: what one segment emits, kept on disk until every segment that reads it has committed it.

A channel is a folder with one Parquet folder per batch of its writer. A batch's folder is written aside and appears by
one rename, complete or not at all, and a batch that is tried again finds its folder there and leaves it: whatever
fails where, every row is read exactly once. Readers use Spark's own file source. Unlike Spark's file sink this takes
rows in every output mode, needs no metadata log that grows, and can be read before the first batch is there.

The folder must lie on a file system that driver and executors share, with an atomic rename (any local or network file
system; an object store has none: use a message broker there).
"""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.spark.positions import Position

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

_PREFIX = "batch-"
_POSITION = "_position.json"
_WATERMARK = "spark.watermarkDelayMs"
_LAST_INSTANT = "_last_instant"


class BatchFolders:
    """A folder of Parquet folders, one per batch, each written exactly once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, frame: "DataFrame", batch_id: int, position: Position | None = None) -> None:
        """Keep `frame` as that batch; for use with `foreachBatch`."""
        target = self._batch(batch_id)
        if target.exists():
            # The batch was written but not committed. Its state, if it has any, must still be brought to this batch.
            frame.write.format("noop").mode("overwrite").save()
            return
        aside = self.folder / f".{target.name}"
        frame.write.mode("overwrite").parquet(str(aside))
        if position is not None:
            (aside / _POSITION).write_text(json.dumps(position))
        aside.rename(target)

    def batches(self) -> tuple[int, ...]:
        """The batches that are there, in order."""
        found = (batch_number(entry.name) for entry in self.folder.glob(f"{_PREFIX}*"))
        return tuple(sorted(number for number in found if number is not None))

    def position(self, batch_id: int) -> Position | None:
        """How far the writer was with that batch; None if the batch is gone, or was written without it."""
        try:
            kept = json.loads((self._batch(batch_id) / _POSITION).read_text())
        except FileNotFoundError:
            return None
        return {str(source): int(events) for source, events in kept.items()}

    def discard_before(self, batch_id: int) -> int:
        """Delete the batches before `batch_id`; return how many there were."""
        old = [number for number in self.batches() if number < batch_id]
        for number in old:
            # Out of the readers' sight at once, then deleted.
            gone = self._batch(number).rename(self.folder / f".gone-{number}")
            shutil.rmtree(gone, ignore_errors=True)
        return len(old)

    def _batch(self, batch_id: int) -> Path:
        return self.folder / f"{_PREFIX}{batch_id:09d}"


class Channel(BatchFolders):
    """What the node `name` emits, with the schema that it emits."""

    def __init__(self, name: str, folder: Path, schema: "StructType") -> None:
        super().__init__(folder)
        self.name = name
        self.schema = schema
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, spark: "SparkSession") -> "DataFrame":
        """The channel as a stream, from its first batch on. A watermark set by the writer holds for the reader too."""
        # Every batch takes all files there are, so none is ever older than one that was taken before it by more than
        # it took to write it; the age limit only keeps Spark from remembering the names of all files there ever were.
        reader = spark.readStream.schema(_without_metadata(self.schema)).option("maxFileAge", "1h")
        stream = reader.parquet(str(self.folder / f"{_PREFIX}*"))
        for field in self.schema.fields:
            if _WATERMARK in field.metadata:
                stream = _with_watermark(stream, field)
        return stream


def batch_number(folder: str | None) -> int | None:
    """The number of the batch in a folder of that name; None if it holds no batch."""
    digits = (folder or "").removeprefix(_PREFIX)
    return int(digits) if digits.isdigit() else None


def _with_watermark(stream: "DataFrame", field: "StructField") -> "DataFrame":
    """The stream with the watermark that a column had on the writer's side."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    delay = f"{field.metadata[_WATERMARK]} milliseconds"
    if not isinstance(field.dataType, StructType):
        return stream.withWatermark(field.name, delay)
    # Spark cannot watch the time of a window itself, but it can watch the window's last instant and then be told, as
    # its own function `window` does, that the window follows it.
    last = F.col(f"`{field.name}`.end") - F.expr("INTERVAL 1 MICROSECOND")
    watched = stream.withColumn(_LAST_INSTANT, last).withWatermark(_LAST_INSTANT, delay)
    window = F.col(f"`{field.name}`").alias(field.name, metadata=field.metadata)
    return watched.select(*(window if name == field.name else F.col(f"`{name}`") for name in stream.columns))


def _without_metadata(schema: "StructType") -> "StructType":
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType, nullable=True) for field in schema.fields])
