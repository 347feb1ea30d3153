"""Starts queries again that have died, from their checkpoints."""

from collections.abc import Callable, Sequence

from penstock.errors import ActionFailed
from penstock.spark.checkpoints import last_committed
from penstock.spark.segments import RunningPipeline, RunningSegment

_DEATHS = 3
"""How often a query may die without having committed anything in between."""


class Supervisor:
    """Looks after the queries of running pipelines.

    A query may die of something that passes: an executor that goes, a Python worker that comes too late on a busy
    machine. One that dies again and again over the same batch has a reason of its own and is given up.
    """

    def __init__(self, pipelines: Sequence[RunningPipeline], say: Callable[[str], None]) -> None:
        self._segments = [segment for pipeline in pipelines for segment in pipeline.segments.values()]
        self._say = say
        self._deaths: dict[str, tuple[int | None, int]] = {}

    def look(self) -> None:
        """Start every segment again whose query has died; raise `ActionFailed` for one that keeps dying."""
        for segment in self._segments:
            why = segment.failure
            if why is not None:
                self._revive(segment, why)

    def _revive(self, segment: RunningSegment, why: str) -> None:
        reached = last_committed(segment.checkpoint)
        before, deaths = self._deaths.get(segment.name, (reached, 0))
        deaths = deaths + 1 if before == reached else 1
        self._deaths[segment.name] = (reached, deaths)
        if deaths > _DEATHS:
            raise ActionFailed(
                f"The query of segment '{segment.name}' has died {deaths} times over the same batch: {why}"
            )
        self._say(f"The query of segment '{segment.name}' has died ({why}); it is started again.")
        segment.start(segment.parallelism)
