"""Where a segment's query writes: a channel, a user's function, folders of batches, a database, or any format."""

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.spark.channels import BatchFolders
from penstock.spark.databases import DatabaseSink, DatabaseTable, check_url, sink_options, sqlite_url
from penstock.spark.graph import SinkNode

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

BATCHES = "batches"
DATABASE = "database"


def sink_path(sink: SinkNode, folder: Path) -> str | None:
    """Where the sink writes; a relative path lies in the folder of the run."""
    if sink.path is None:
        ending = {BATCHES: "", DATABASE: ".sqlite"}.get(sink.format or "")
        return None if ending is None else str(folder / "sinks" / f"{sink.name}{ending}")
    return sink.path if "://" in sink.path or Path(sink.path).is_absolute() else str(folder / sink.path)


def attach_sink(writer: "DataStreamWriter", sink: SinkNode, folder: Path) -> "DataStreamWriter":
    """The writer, made to write to `sink`."""
    if sink.function is not None:
        return writer.foreachBatch(sink.function)
    if sink.format == DATABASE:
        return writer.foreachBatch(_database_sink(sink, folder).write)
    path = sink_path(sink, folder)
    if sink.format == BATCHES:
        assert path is not None
        Path(path).mkdir(parents=True, exist_ok=True)
        return writer.foreachBatch(BatchFolders(Path(path)).write)
    assert sink.format is not None
    writer = writer.format(sink.format).options(**sink.options)
    return writer if path is None else writer.option("path", path)


def is_shared(sink: SinkNode) -> bool:
    """Whether a sink stores in a database of the user's, which rows of a mere trial must not reach."""
    return sink.format == DATABASE and "url" in sink.options


def _database_sink(sink: SinkNode, folder: Path) -> DatabaseSink:
    key, limit = sink_options(sink.options)
    (folder / "sinks").mkdir(parents=True, exist_ok=True)
    path = sink_path(sink, folder)
    assert path is not None
    url = check_url(sink.options["url"]) if "url" in sink.options else sqlite_url(path)
    table = sink.options.get("table", sink.name.replace("-", "_"))
    return DatabaseSink(DatabaseTable(url, table, _run_of(sink, folder), key), limit)


def _run_of(sink: SinkNode, folder: Path) -> str:
    """A name for the run in this folder that no other has; a run that is taken up again keeps its own."""
    path = folder / "sinks" / f"{sink.name}.run"
    if not path.exists():
        aside = path.with_suffix(".new")
        aside.write_text(uuid.uuid4().hex)
        aside.rename(path)
    return path.read_text()
