"""How many rows wait in channels, and how many events each source has handed out."""

from collections import Counter
from collections.abc import Mapping

from penstock.spark.channels import Channel
from penstock.spark.positions import events_taken
from penstock.spark.segments import RunningPipeline
from penstock.spark.watch import SegmentWindow


class Backlogs:
    """Counts the rows of an application's channels that their readers have not committed yet.

    Rows are counted from the files' own footers, each once. What has arrived until now is all that was read and what
    is waiting.
    """

    def __init__(self, pipeline: RunningPipeline) -> None:
        self._pipeline = pipeline
        self._rows: dict[str, dict[int, int]] = {name: {} for name in pipeline.channels}
        self._unread: dict[tuple[str, str], int] = {}
        self._read: Counter[tuple[str, str]] = Counter()
        self._known: dict[tuple[str, str], int] = {}
        self._arrived: dict[tuple[str, str], int] = {}
        self._taken: dict[str, int] = {}
        for segment in pipeline.segments.values():
            position = segment.position()
            self._taken |= {source: position.get(source, 0) for source in segment.plan.sources}
            self._unread |= {(segment.name, name): self._waiting(segment.name, name) for name in segment.plan.reads}
        self._known |= self._unread

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
                self._count((name, channel), read)

    def _count(self, key: tuple[str, str], read: int) -> None:
        self._unread[key] = self._waiting(*key)
        self._read[key] += read
        # A batch that is committed but not reported yet is missing for a moment: nothing has arrived until it is back.
        total = max(self._known[key], self._read[key] + self._unread[key])
        self._arrived[key], self._known[key] = total - self._known[key], total

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
