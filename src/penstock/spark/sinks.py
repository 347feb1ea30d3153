"""Where a segment's query writes: a channel, a function of the user's, a folder per batch, or any format of Spark's."""

from pathlib import Path
from typing import TYPE_CHECKING

from penstock.spark.channels import BatchFolders
from penstock.spark.graph import SinkNode

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

BATCHES = "batches"


def sink_path(sink: SinkNode, folder: Path) -> str | None:
    """Where the sink writes; a relative path lies in the folder of the run."""
    if sink.path is None:
        return str(folder / "sinks" / sink.name) if sink.format == BATCHES else None
    return sink.path if "://" in sink.path or Path(sink.path).is_absolute() else str(folder / sink.path)


def attach_sink(writer: "DataStreamWriter", sink: SinkNode, folder: Path) -> "DataStreamWriter":
    """The writer, made to write to `sink`."""
    if sink.function is not None:
        return writer.foreachBatch(sink.function)
    path = sink_path(sink, folder)
    if sink.format == BATCHES:
        assert path is not None
        Path(path).mkdir(parents=True, exist_ok=True)
        return writer.foreachBatch(BatchFolders(Path(path)).write)
    assert sink.format is not None
    writer = writer.format(sink.format).options(**sink.options)
    return writer if path is None else writer.option("path", path)
