"""Stages find their operators, and operators their work."""

import pytest

from penstock.model import Operator, Role, Stream, Topology
from penstock.spark.attribution import Flow, Sample, Share, covered_s, stage_owners, work_of
from penstock.spark.compiler import SegmentPlan
from penstock.spark.graph import Bounds
from penstock.spark.markers import Mark, Side
from penstock.spark.progress import PlanNode, StageRecord
from penstock.spark.status import MarkedRows

TOPOLOGY = Topology(
    "app",
    (Operator("words", Role.SOURCE), Operator("split"), Operator("count", stateful=True)),
    (Stream("words", "split"), Stream("split", "count")),
)
BOUNDS = dict.fromkeys(("words", "split", "count"), Bounds(1, 4))
FUSED = Flow.of(
    SegmentPlan(
        "count", ("words", "split", "count"), ("words", "split", "count"), "update", ("words",), None, "out", ("words",)
    ),
    TOPOLOGY,
)
ALONE = Flow.of(SegmentPlan("split", ("split",), ("split",), "append", ("words",), "split"), TOPOLOGY)


def stage(
    number: int, run_s: float = 1.0, read: int = 0, written: int = 0, span: tuple[float, float] = (0, 1)
) -> StageRecord:
    return StageRecord(number, 0, "run", 7, 2, 0, read, written, 0, run_s, *span)


def marked(*places: tuple[int, Side, int, int]) -> MarkedRows:
    return MarkedRows(
        7,
        tuple(
            (PlanNode(f"Filter (SPARK_PARTITION_ID() >= -{Mark(operator, side).number})", codegen, 0), rows)
            for operator, side, codegen, rows in places
        ),
    )


MARKS = marked(
    (2, Side.OUT, 5, 10), (2, Side.IN, 2, 80), (1, Side.OUT, 2, 80), (1, Side.IN, 2, 40), (0, Side.OUT, 1, 40)
)
CODEGENS = {11: frozenset({1}), 12: frozenset({2}), 13: frozenset({1, 3, 4, 5})}
STAGES = [stage(11), stage(12), stage(13)]


def test_marks_tell_whose_stage_it_is() -> None:
    owners = stage_owners(STAGES, CODEGENS, Sample.of(MARKS, 3), FUSED)

    assert owners == {11: Share(("words",)), 12: Share(("split",)), 13: Share(("count",))}


def test_marks_win_over_the_order_of_stages() -> None:
    swapped = {11: CODEGENS[12], 12: CODEGENS[11], 13: CODEGENS[13]}

    owners = stage_owners(STAGES, swapped, Sample.of(MARKS, 3), FUSED)

    assert [owners[number].operators for number in (11, 12)] == [("split",), ("words",)]


def test_stages_are_counted_off_where_the_marks_do_not_fit() -> None:
    assert stage_owners(STAGES, CODEGENS, None, FUSED)[12] == Share(("split",))
    assert stage_owners(STAGES, CODEGENS, Sample.of(MARKS, 4), FUSED)[13] == Share(("count",))


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert stage_owners(STAGES[:2], CODEGENS, None, FUSED) == {}


def test_reading_a_channel_is_work_of_the_reader_but_not_its_rows() -> None:
    owners = stage_owners([stage(21), stage(22)], {}, None, ALONE)
    work = work_of([([stage(21, 0.5, 0, 100), stage(22, 1.5, 100, 0)], owners)])

    assert owners == {21: Share(("split",), own=False), 22: Share(("split",))}
    assert (work["split"].busy_s, work["split"].read_rows, work["split"].written_rows) == (2.0, 100, 0)
    assert work["split"].last is not None
    assert work["split"].last.stage == 22


def test_jobs_of_the_sink_are_work_of_the_last_operator() -> None:
    owners = stage_owners([*STAGES, stage(14)], {**CODEGENS, 14: frozenset({1})}, Sample.of(MARKS, 4), FUSED)

    assert owners[14] == Share(("count",), own=False)


def test_work_adds_up_over_batches() -> None:
    owners = stage_owners(STAGES, CODEGENS, Sample.of(MARKS, 3), FUSED)
    batch = [stage(11, 0.25, 0, 40), stage(12, 1.0, 40, 30), stage(13, 2.0, 30, 0)]

    work = work_of([(batch, owners), (batch, owners)])

    assert {name: done.busy_s for name, done in work.items()} == {"words": 0.5, "split": 2.0, "count": 4.0}
    assert (work["split"].read_rows, work["split"].written_rows) == (80, 60)


def test_a_shared_stage_counts_in_equal_parts_and_its_rows_are_nobodys() -> None:
    shared = Sample.of(marked((0, Side.OUT, 1, 40), (1, Side.OUT, 1, 40), (2, Side.OUT, 2, 5)), 2)
    stages = [stage(11, 3.0), stage(12, 1.0)]

    work = work_of([(stages, stage_owners(stages, {11: frozenset({1}), 12: frozenset({2})}, shared, FUSED))])

    assert (work["words"].busy_s, work["split"].busy_s, work["count"].busy_s) == (1.5, 1.5, 1.0)
    assert [work[name].alone for name in ("words", "split", "count")] == [False, False, True]


def test_rows_at_a_mark_that_stands_twice_are_summed() -> None:
    sample = Sample.of(marked((2, Side.IN, 2, 30), (2, Side.IN, 4, 12)), 3)

    assert sample.rows[Mark(2, Side.IN)] == 42
    assert sample.codegens[Mark(2, Side.IN)] == {2, 4}


@pytest.mark.parametrize(
    ("spans", "expected"),
    [([], 0.0), ([(1, 3)], 2.0), ([(1, 3), (2, 4)], 3.0), ([(5, 6), (1, 3)], 3.0), ([(1, 9), (2, 4)], 8.0)],
)
def test_time_covered_by_stages_counts_once(spans: list[tuple[float, float]], expected: float) -> None:
    assert covered_s(stage(number, span=span) for number, span in enumerate(spans)) == expected
