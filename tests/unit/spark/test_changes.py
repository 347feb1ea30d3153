"""What the actuator would do, without doing it."""

from collections.abc import Mapping
from dataclasses import replace

from penstock.control.actions import Level
from penstock.model import Cluster, Configuration
from penstock.spark.changes import (
    ExecutorsChange,
    Pause,
    Planned,
    SegmentChange,
    choose_victims,
    overlap_s,
    plan_actions,
)
from penstock.spark.compiler import SegmentPlan
from penstock.spark.graph import Bounds
from penstock.spark.internals import gist
from penstock.spark.progress import ExecutorRecord
from penstock.spark.workers import WorkerNames

FUSED = SegmentPlan(
    name="count",
    nodes=("words", "split", "clean", "count", "out"),
    operators=("words", "split", "clean", "count"),
    mode="update",
    inputs=("words",),
    sink="out",
    sources=("words",),
    hot=("split", "clean"),
    stateful=("count",),
    bounds={"words": Bounds(1, 4), "split": Bounds(1, 8), "clean": Bounds(1, 3), "count": Bounds(1, 4)},
)
STATELESS = SegmentPlan(
    name="rank",
    nodes=("rank", "store"),
    operators=("rank",),
    mode="append",
    inputs=("count",),
    sink="store",
    hot=("rank",),
    bounds={"rank": Bounds(1, 8)},
)
PLANS = {"app": (FUSED, STATELESS)}
START = {"words": 1, "split": 2, "clean": 2, "count": 2, "rank": 1}


def configuration(workers: int = 2, **changes: int) -> Configuration:
    return Configuration({"app": {**START, **changes}}, workers)


def plan(target: Configuration) -> tuple[Planned, ...]:
    return plan_actions(configuration(), target, PLANS)


def changed(change: Planned) -> Mapping[str, int]:
    assert isinstance(change, SegmentChange)
    return {name: number for name, number in change.after.items() if change.before[name] != number}


def test_the_same_configuration_needs_nothing() -> None:
    assert plan(configuration()) == ()


def test_stateless_operators_change_hot_in_a_segment_with_state() -> None:
    (change,) = plan(configuration(split=3, clean=3))

    assert isinstance(change, SegmentChange)
    assert (change.segment, change.level) == ("count", Level.HOT)
    assert changed(change) == {"split": 3, "clean": 3}
    assert str(change) == "split 2 -> 3, clean 2 -> 3"


def test_the_widest_of_those_that_share_a_number_wins() -> None:
    (change,) = plan(configuration(split=5, clean=1))

    # Clean cannot have more than three.
    assert changed(change) == {"split": 5, "clean": 3}


def test_a_difference_that_makes_no_change_needs_nothing() -> None:
    assert plan(configuration(split=1)) == ()


def test_a_source_needs_a_restart_and_state_a_rewrite() -> None:
    (restart,) = plan(configuration(words=2))
    (rewrite,) = plan(configuration(count=3))

    assert isinstance(restart, SegmentChange)
    assert isinstance(rewrite, SegmentChange)
    assert (restart.level, rewrite.level) == (Level.RESTART, Level.STATE)


def test_one_segment_is_changed_once_at_the_deepest_level() -> None:
    (change,) = plan(configuration(words=2, split=4, count=4))

    assert isinstance(change, SegmentChange)
    assert change.level is Level.STATE
    assert changed(change) == {"words": 2, "split": 4, "clean": 3, "count": 4}


def test_what_pauses_nothing_goes_first() -> None:
    first, second = plan(configuration(count=3, rank=2))

    assert isinstance(first, SegmentChange)
    assert isinstance(second, SegmentChange)
    assert (first.segment, second.segment) == ("rank", "count")


def test_nothing_pauses_until_new_executors_have_come_and_they_are_removed_last() -> None:
    grown = plan(configuration(workers=4, rank=2, count=3))
    shrunk = plan(configuration(workers=1, rank=2))

    assert [changed(grown[0]), grown[1], changed(grown[2])] == [{"rank": 2}, ExecutorsChange(2, 4), {"count": 3}]
    assert shrunk[-1] == ExecutorsChange(2, 1)
    assert str(shrunk[-1]) == "executors 2 -> 1"


def executor(name: str, **changes: object) -> ExecutorRecord:
    record = ExecutorRecord(name, "host", 1, 0, 10, 5.0, 1000, float(name))
    return replace(record, **changes)  # type: ignore[arg-type]


NAMES = {"1": "w1", "2": "w2", "3": "w3"}


def test_named_executors_are_given_up_first() -> None:
    present = [executor("1"), executor("2"), executor("3")]

    assert choose_victims(present, 1, {"2": 0}, {"2": 5e6}) == ("2",)
    assert choose_victims(present, 2, {"3": 0, "1": 1}, {}) == ("3", "1")


def test_otherwise_those_with_least_state_and_then_the_newest_idle_ones_go() -> None:
    busy = executor("3", running_tasks=1)

    assert choose_victims([executor("1"), executor("2"), busy], 1, {}, {"1": 10.0, "2": 20.0}) == ("3",)
    assert choose_victims([executor("1"), executor("2"), busy], 2, {}, {"3": 5.0, "2": 7.0}) == ("1", "3")
    assert choose_victims([executor("1"), executor("2"), busy], 1, {}, {}) == ("2",)


def test_nobody_goes_when_fewer_are_there_than_wanted() -> None:
    assert choose_victims([executor("1")], -2, {"1": 0}, {}) == ()


def test_executors_keep_their_names_for_life() -> None:
    names = WorkerNames(Cluster.homogeneous(3, 1))

    assert names.of(["0", "1"]) == {"0": "w1", "1": "w2"}
    assert names.of(["1", "2"]) == {"1": "w2", "2": "w1"}
    assert names.of(["1", "2", "3", "4"]) == {"1": "w2", "2": "w1", "3": "w3", "4": "executor-4"}


def test_pauses_count_once_and_only_within_the_window() -> None:
    pauses = [Pause("app", 5, 8), Pause("app", 1, 3), Pause("app", 7, 10)]

    assert overlap_s(pauses, 0, 20) == 7
    assert overlap_s(pauses, 2, 6) == 2
    assert overlap_s(pauses, 3, 5) == 0


def test_the_gist_of_an_error_is_what_is_wrong() -> None:
    assert (
        gist("[STREAM_FAILED] Query 1 ended: no space\n=== Streaming Query ===")
        == "[STREAM_FAILED] Query 1 ended: no space"
    )
    traced = (
        "Message: Traceback (most recent call last):\n  File x, line 1\n    run()\nRuntimeError: out of tea\n\tat a.b"
    )
    assert gist(traced) == "RuntimeError: out of tea"
    assert gist("") == "it gave no reason"
