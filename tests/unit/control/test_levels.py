from collections.abc import Callable

import pytest

from penstock.control import Level, SegmentChange, segment_changes
from penstock.model import Configuration, ParallelismChange, Topology

FUSED = (("source", "split", "count", "sink"),)


@pytest.mark.parametrize(
    ("segments", "changes", "levels"),
    [
        ((), {"split": 4}, {("split",): Level.HOT}),
        ((), {"count": 4}, {("count",): Level.STATE}),
        ((), {"source": 2}, {("source",): Level.RESTART}),
        ((), {"split": 4, "count": 4}, {("split",): Level.HOT, ("count",): Level.STATE}),
        (FUSED, {"split": 4}, {FUSED[0]: Level.HOT}),
        (FUSED, {"split": 4, "source": 2}, {FUSED[0]: Level.RESTART}),
        (FUSED, {"split": 4, "source": 2, "count": 4}, {FUSED[0]: Level.STATE}),
        ((("source", "split"),), {"split": 4}, {("source", "split"): Level.HOT}),
        ((), {"workers": 5}, {}),
    ],
)
def test_each_segment_changes_at_its_cheapest_level(
    topology: Callable[..., Topology],
    configuration: Callable[..., Configuration],
    segments: tuple[tuple[str, ...], ...],
    changes: dict[str, int],
    levels: dict[tuple[str, ...], Level],
) -> None:
    found = segment_changes(configuration(), configuration(**changes), {"words": topology(segments)})
    assert {change.segment: change.level for change in found} == levels


def test_the_changes_of_a_segment_come_together(
    topology: Callable[..., Topology], configuration: Callable[..., Configuration]
) -> None:
    changes = segment_changes(configuration(), configuration(split=3, count=5), {"words": topology(FUSED)})
    split, count = ParallelismChange("words", "split", 2, 3), ParallelismChange("words", "count", 2, 5)
    assert changes == (SegmentChange("words", FUSED[0], Level.STATE, (split, count)),)
