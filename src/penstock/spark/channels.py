"""Channels: what one segment emits, kept on disk until every segment that reads it has committed it.

A channel is a folder with one Parquet folder per batch of its writer. A batch's folder is written aside and appears by
one rename, complete or not at all, and a batch that is tried again finds its folder there and leaves it: whatever
fails where, every row is read exactly once. Readers use Spark's own file source. Unlike Spark's file sink this takes
rows in every output mode, needs no metadata log that grows, and can be read before the first batch is there.

The folder must lie on a file system that driver and executors share, with an atomic rename (any local or network file
system; an object store has none: use a message broker there).
"""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_PREFIX = "batch-"
_WATERMARK = "spark.watermarkDelayMs"


class BatchFolders:
    """A folder of Parquet folders, one per batch, each written exactly once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, frame: "DataFrame", batch_id: int) -> None:
        """Keep `frame` as that batch; for use with `foreachBatch`."""
        target = self.folder / f"{_PREFIX}{batch_id:09d}"
        if target.exists():
            # The batch was written but not committed. Its state, if it has any, must still be brought to this batch.
            frame.write.format("noop").mode("overwrite").save()
            return
        aside = self.folder / f".{target.name}"
        frame.write.mode("overwrite").parquet(str(aside))
        aside.rename(target)

    def batches(self) -> tuple[int, ...]:
        """The batches that are there, in order."""
        found = (entry.name.removeprefix(_PREFIX) for entry in self.folder.glob(f"{_PREFIX}*"))
        return tuple(sorted(int(number) for number in found if number.isdigit()))

    def remove(self, batch_id: int) -> None:
        """Delete one batch; nothing happens if it is not there."""
        shutil.rmtree(self.folder / f"{_PREFIX}{batch_id:09d}", ignore_errors=True)


class Channel(BatchFolders):
    """What the node `name` emits, with the schema that it emits."""

    def __init__(self, name: str, folder: Path, schema: "StructType") -> None:
        super().__init__(folder)
        self.name = name
        self.schema = schema
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, spark: "SparkSession") -> "DataFrame":
        """The channel as a stream, from its first batch on. A watermark set by the writer holds for the reader too."""
        stream = (
            spark.readStream.schema(_without_metadata(self.schema))
            .option("maxFileAge", "1h")
            .parquet(str(self.folder / f"{_PREFIX}*"))
        )
        for field in self.schema.fields:
            if _WATERMARK in field.metadata:
                stream = stream.withWatermark(field.name, f"{field.metadata[_WATERMARK]} milliseconds")
        return stream


def _without_metadata(schema: "StructType") -> "StructType":
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType, nullable=True) for field in schema.fields])
