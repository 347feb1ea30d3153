"""How many rows wait in channels, and how many events each source has handed out."""

from collections.abc import Mapping

from penstock.spark.channels import Channel
from penstock.spark.positions import events_taken
from penstock.spark.segments import RunningPipeline
from penstock.spark.watch import SegmentWindow


class Backlogs:
    """Counts the rows of an application's channels that their readers have not committed yet.

    Rows are counted from the files' own footers, each once. What has arrived in a window is what was read in it and
    what is waiting more than before.
    """

    def __init__(self, pipeline: RunningPipeline) -> None:
        self._pipeline = pipeline
        self._rows: dict[str, dict[int, int]] = {name: {} for name in pipeline.channels}
        self._unread: dict[tuple[str, str], int] = {}
        self._arrived: dict[tuple[str, str], int] = {}
        self._taken: dict[str, int] = {}
        for segment in pipeline.segments.values():
            position = segment.position()
            self._taken |= {source: position.get(source, 0) for source in segment.plan.sources}
            self._unread |= {(segment.name, name): self._waiting(segment.name, name) for name in segment.plan.reads}

    def look(self, windows: Mapping[str, SegmentWindow]) -> None:
        """Count anew, after the segments were looked at."""
        for name, segment in self._pipeline.segments.items():
            finished = windows[name].finished
            for place, source in enumerate(segment.plan.inputs):
                for batch in finished:
                    taken = events_taken(batch.sources[place].end_offset) if place < len(batch.sources) else None
                    if source in segment.plan.sources and taken is not None:
                        self._taken[source] = max(taken, self._taken.get(source, 0))
            for channel in segment.plan.reads:
                place = segment.plan.inputs.index(channel)
                read = sum(batch.sources[place].input_rows for batch in finished if place < len(batch.sources))
                before, after = self._unread[name, channel], self._waiting(name, channel)
                self._unread[name, channel] = after
                self._arrived[name, channel] = max(0, read + after - before)

    def taken(self, source: str) -> int:
        """Events that a source has handed to its query."""
        return self._taken.get(source, 0)

    def unread(self, segment: str, channel: str) -> int:
        """Rows of a channel that a segment has not committed."""
        return self._unread.get((segment, channel), 0)

    def arrived(self, segment: str, channel: str) -> int | None:
        """Rows that have come into a channel for a segment between the last two looks."""
        return self._arrived.get((segment, channel))

    def _waiting(self, segment: str, name: str) -> int:
        channel = self._pipeline.channels[name]
        consumed = self._pipeline.segments[segment].consumed(name)
        kept = self._rows[name]
        total = 0
        present = channel.batches()
        for batch in present:
            if consumed is not None and batch <= consumed:
                continue
            if batch not in kept:
                kept[batch] = _rows(channel, batch)
            total += kept[batch]
        for gone in [batch for batch in kept if not present or batch < present[0]]:
            del kept[gone]
        return total


def _rows(channel: Channel, batch: int) -> int:
    """The rows of one batch of a channel, as its files' footers have them."""
    import pyarrow.parquet as pq

    files = channel.folder.glob(f"*-{batch:09d}/*.parquet")
    return sum(int(pq.read_metadata(path).num_rows) for path in files)
