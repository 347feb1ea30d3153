from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.control import LoopSettings
from penstock.control.guards import (
    GUARDS,
    Blocked,
    Held,
    Need,
    Situation,
    admit,
    block,
    bounds,
    cool_down,
    describe,
    dry_run,
    excluded_periods,
    late_scale_down,
    quota,
)
from penstock.errors import InvalidModel
from penstock.model import (
    Cluster,
    Configuration,
    Objectives,
    ParallelismChange,
    PlacementChange,
    Topology,
    WorkersChange,
    diff,
)

Setting = Callable[..., Configuration]


@pytest.fixture
def situation(topology: Callable[..., Topology], configuration: Setting, cluster: Cluster) -> Callable[..., Situation]:
    def make(**changes: Any) -> Situation:
        base = Situation(
            100.0, {"words": topology()}, cluster, Objectives(), LoopSettings(), configuration(split=4, workers=4)
        )
        return replace(base, **changes)

    return make


def test_every_operator_is_clipped_to_its_bounds(situation: Callable[..., Situation], configuration: Setting) -> None:
    placed = configuration(split=9, count=1, placement={"words": {"sink": ("w1",)}})
    assert bounds(placed, situation()) == configuration(split=8, count=2)


def test_what_is_within_its_bounds_passes_as_it_is(situation: Callable[..., Situation], configuration: Setting) -> None:
    placed = configuration(placement={"words": {"sink": ("w1",)}})
    assert bounds(placed, situation()) is placed
    assert quota(placed, situation()) is placed


@pytest.mark.parametrize(
    ("objectives", "asked", "given"),
    [
        (Objectives(), 9, 6),
        (Objectives(max_workers=3), 9, 3),
        (Objectives(max_workers=8), 7, 6),
        (Objectives(min_workers=2), 1, 2),
        (Objectives(min_workers=9), 1, 6),
        (Objectives(max_workers=3), 2, 2),
    ],
)
def test_workers_are_clipped_to_pool_and_quota(
    situation: Callable[..., Situation], configuration: Setting, objectives: Objectives, asked: int, given: int
) -> None:
    passed = quota(configuration(workers=asked), situation(objectives=objectives))
    assert passed == configuration(workers=given)


UP = ParallelismChange("words", "split", 2, 4)
DOWN = ParallelismChange("words", "split", 4, 2)


@pytest.mark.parametrize(
    ("earlier", "running", "asked", "held"),
    [
        (UP, 2, 4, True),
        (UP, 2, 5, True),
        (UP, 3, 4, True),
        (UP, 4, 5, True),
        (UP, 2, 3, False),
        (UP, 6, 4, False),
        (UP, 4, 4, False),
        (DOWN, 4, 2, True),
        (DOWN, 4, 1, True),
        (DOWN, 3, 2, True),
        (DOWN, 4, 3, False),
        (DOWN, 1, 2, False),
        (ParallelismChange("words", "count", 2, 4), 2, 4, False),
        (ParallelismChange("other", "split", 2, 4), 2, 4, False),
        (WorkersChange(2, 4), 2, 4, False),
    ],
)
def test_a_bad_change_is_held_in_its_direction_and_at_least_as_far(
    situation: Callable[..., Situation],
    configuration: Setting,
    earlier: ParallelismChange | WorkersChange,
    running: int,
    asked: int,
    held: bool,
) -> None:
    now = situation(requested=configuration(split=running), blocked=(Blocked((earlier,), 500.0),))
    passed = block(configuration(split=asked), now)
    assert isinstance(passed, Held) == held
    if isinstance(passed, Held):
        assert passed.because == f"split {running} -> {asked} made things worse before and is blocked until 500 s"
        assert block(configuration(split=asked), replace(now, now_s=500.0)) == configuration(split=asked)


@pytest.mark.parametrize(("running", "asked", "held"), [(2, 4, True), (3, 5, True), (2, 3, False), (5, 4, False)])
def test_a_bad_number_of_workers_is_held_the_same_way(
    situation: Callable[..., Situation], configuration: Setting, running: int, asked: int, held: bool
) -> None:
    now = situation(requested=configuration(workers=running), blocked=(Blocked((WorkersChange(2, 4),), 500.0),))
    assert isinstance(block(configuration(workers=asked), now), Held) == held


def test_a_bad_move_is_held_only_as_it_was(situation: Callable[..., Situation], configuration: Setting) -> None:
    there: Any = {"words": {"sink": ("w2",)}}
    elsewhere: Any = {"words": {"sink": ("w3",)}}
    moved = PlacementChange("words", "sink", None, ("w2",))
    now = situation(requested=configuration(), blocked=(Blocked((moved,), 500.0),))
    assert isinstance(block(configuration(placement=there), now), Held)
    assert not isinstance(block(configuration(placement=elsewhere), now), Held)


@pytest.mark.parametrize(("last_s", "held"), [(None, False), (70.0, False), (70.1, True), (100.0, True)])
def test_a_change_waits_until_the_last_one_has_cooled_down(
    situation: Callable[..., Situation], configuration: Setting, last_s: float | None, held: bool
) -> None:
    assert isinstance(cool_down(configuration(), situation(last_action_s=last_s)), Held) == held


def test_what_is_needed_need_not_wait_for_what_was_given_up(
    configuration: Setting, situation: Callable[..., Situation]
) -> None:
    now = situation(now_s=100.0, last_action_s=95.0, requested=configuration(split=2, workers=2), gave_up=True)
    assert cool_down(configuration(split=4, workers=3), now) == configuration(split=4, workers=3)
    assert isinstance(cool_down(configuration(split=4, workers=1), now), Held)
    assert isinstance(cool_down(configuration(split=1, workers=2), now), Held)
    assert isinstance(cool_down(configuration(split=4, workers=3), replace(now, gave_up=False)), Held)


@pytest.mark.parametrize(("load_per_s", "held"), [(120.0, True), (130.0, False)])
def test_what_a_risen_load_calls_for_need_not_wait(
    configuration: Setting, situation: Callable[..., Situation], load_per_s: float, held: bool
) -> None:
    now = situation(
        now_s=100.0,
        last_action_s=95.0,
        requested=configuration(split=2, workers=2),
        loads_per_s={"words": load_per_s},
        acted_on_per_s={"words": 100.0},
    )
    assert isinstance(cool_down(configuration(split=4, workers=2), now), Held) == held
    assert isinstance(cool_down(configuration(split=4, workers=1), now), Held)


@pytest.mark.parametrize(
    ("now_s", "held"), [(99.9, False), (100.0, True), (199.9, True), (200.0, False), (350.0, True)]
)
def test_nothing_changes_in_an_excluded_period(
    situation: Callable[..., Situation], configuration: Setting, now_s: float, held: bool
) -> None:
    settings = LoopSettings(excluded=((100.0, 200.0), (300.0, 400.0)))
    passed = excluded_periods(configuration(), situation(now_s=now_s, settings=settings))
    assert isinstance(passed, Held) == held


def test_nothing_changes_in_a_dry_run(situation: Callable[..., Situation], configuration: Setting) -> None:
    assert dry_run(configuration(), situation(settings=LoopSettings(dry_run=True))) == Held("this is a dry run")
    assert dry_run(configuration(), situation()) == configuration()


def test_what_was_needed_a_moment_ago_is_not_given_up(
    situation: Callable[..., Situation], configuration: Setting
) -> None:
    running, target = configuration(split=4, workers=4), configuration(split=2, workers=3)
    now = situation(requested=running, needs=(Need(41.0, running), Need(100.0, target)))
    assert late_scale_down(target, now) == Held("more was needed within the last 60 s")


def test_what_was_needed_long_ago_is_given_up(situation: Callable[..., Situation], configuration: Setting) -> None:
    running, target = configuration(split=4, workers=4), configuration(split=2, workers=3)
    assert (
        late_scale_down(target, situation(requested=running, needs=(Need(40.0, running), Need(100.0, target))))
        == target
    )
    assert late_scale_down(target, situation(requested=running)) == target


@pytest.mark.parametrize(
    ("before", "now", "given_up"),
    [
        ({"words": 100.0}, {"words": 74.0}, True),
        ({"words": 100.0}, {"words": 76.0}, False),
        ({"words": 100.0, "tags": 100.0}, {"words": 10.0, "tags": 100.0}, False),
        ({"words": 100.0}, {}, False),
        ({}, {}, False),
    ],
)
def test_what_a_much_higher_load_needed_is_given_up(
    situation: Callable[..., Situation],
    configuration: Setting,
    before: dict[str, float],
    now: dict[str, float],
    given_up: bool,
) -> None:
    running, target = configuration(split=4, workers=4), configuration(split=2, workers=3)
    passed = late_scale_down(
        target,
        situation(requested=running, needs=(Need(90.0, running, before), Need(100.0, target, now)), loads_per_s=now),
    )
    assert passed == (target if given_up else Held("more was needed within the last 60 s"))


def test_only_as_much_is_given_up_as_nobody_needed(situation: Callable[..., Situation], configuration: Setting) -> None:
    running, between = configuration(split=8, workers=6), configuration(split=5, workers=5)
    target = configuration(split=2, workers=3)
    now = situation(requested=running, needs=(Need(80.0, between), Need(100.0, target)))
    assert late_scale_down(target, now) == between


def test_a_need_above_what_runs_asks_for_nothing_more(
    situation: Callable[..., Situation], configuration: Setting
) -> None:
    running, needed = configuration(split=4, workers=4), configuration(split=8, workers=6)
    target = configuration(split=3, count=3, workers=4)
    now = situation(requested=running, needs=(Need(80.0, needed), Need(100.0, target)))
    assert late_scale_down(target, now) == configuration(split=4, count=3, workers=4)


def test_growth_passes_while_shrinking_waits(situation: Callable[..., Situation], configuration: Setting) -> None:
    running = configuration(split=4, count=2, workers=4)
    target = configuration(split=2, count=4, workers=4)
    now = situation(requested=running, needs=(Need(80.0, running), Need(100.0, target)))
    assert late_scale_down(target, now) == configuration(split=4, count=4, workers=4)


def test_a_target_that_is_trimmed_loses_its_placement(
    situation: Callable[..., Situation], configuration: Setting
) -> None:
    running = configuration(split=4, count=2, workers=4)
    target = configuration(split=2, count=4, workers=4, placement={"words": {"split": ("w1", "w2")}})
    trimmed = late_scale_down(target, situation(requested=running, needs=(Need(80.0, running), Need(100.0, target))))
    assert isinstance(trimmed, Configuration)
    assert trimmed.placement is None
    untrimmed = late_scale_down(target, situation(requested=running, needs=(Need(100.0, target),)))
    assert untrimmed is target


def test_workers_for_what_is_kept_are_kept_as_well(situation: Callable[..., Situation], configuration: Setting) -> None:
    """Two needs, each for another operator: together they need more workers than either."""
    running = configuration(split=4, count=4, workers=5)
    first, second = configuration(split=4, count=2, workers=4), configuration(split=2, count=4, workers=4)
    trimmed = late_scale_down(second, situation(requested=running, needs=(Need(80.0, first), Need(100.0, second))))
    assert trimmed == Held("more was needed within the last 60 s")
    roomy = replace(running, workers=6)
    trimmed = late_scale_down(second, situation(requested=roomy, needs=(Need(80.0, first), Need(100.0, second))))
    assert trimmed == configuration(split=4, count=4, workers=5)


def test_the_guards_are_asked_in_the_documented_order() -> None:
    import penstock.control.guards as module

    names = [name for name, _ in GUARDS]
    documented = [line.split("`")[1] for line in (module.__doc__ or "").splitlines() if line[:1].isdigit()]
    assert names == documented
    assert names == ["bounds", "quota", "block", "cool-down", "excluded period", "dry run", "late scale-down"]


def test_the_first_guard_that_holds_gives_the_reason(
    situation: Callable[..., Situation], configuration: Setting
) -> None:
    running, target = configuration(split=4, workers=4), configuration(split=2, workers=4)
    held_by_all = situation(
        requested=running,
        settings=LoopSettings(excluded=((0.0, 200.0),), dry_run=True),
        last_action_s=90.0,
        needs=(Need(80.0, running),),
        blocked=(Blocked(diff(running, target), 900.0),),
    )
    reasons = []
    for without in (
        {},
        {"blocked": ()},
        {"last_action_s": None},
        {"settings": LoopSettings(dry_run=True)},
        {"settings": LoopSettings()},
        {"needs": ()},
    ):
        held_by_all = replace(held_by_all, **without)
        held = admit(target, held_by_all)
        reasons.append(held.because.partition(":")[0] if isinstance(held, Held) else held)
    assert reasons == ["block", "cool-down", "excluded period", "dry run", "late scale-down", target]


def test_the_clipped_target_is_what_later_guards_look_at(
    situation: Callable[..., Situation], configuration: Setting
) -> None:
    """What is blocked is the change that would really be made."""
    now = situation(
        requested=configuration(split=7), blocked=(Blocked((ParallelismChange("words", "split", 7, 8),), 900.0),)
    )
    assert admit(configuration(split=99), now) == Held(
        "block: split 7 -> 8 made things worse before and is blocked until 900 s"
    )


def test_changes_in_words() -> None:
    assert describe(ParallelismChange("words", "split", 2, 3)) == "split 2 -> 3"
    assert describe(WorkersChange(1, 2)) == "workers 1 -> 2"
    assert describe(PlacementChange("words", "split", None, ("w1", "w2"))) == "split to w1, w2"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"observe_every_s": 0.0}, "longer than 0"),
        ({"decide_every_s": -1.0}, "longer than 0"),
        ({"window_s": float("nan")}, "longer than 0"),
        ({"cooldown_s": -1.0}, "negative"),
        ({"scale_down_after_s": -1.0}, "negative"),
        ({"settle_s": float("nan")}, "negative"),
        ({"block_s": -0.1}, "negative"),
        ({"tolerance": -0.1}, "tolerance"),
        ({"tolerance": 1.0}, "tolerance"),
        ({"excluded": ((5.0, 5.0),)}, "excluded period 5 to 5 s is empty"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidModel, match=said):
        LoopSettings(**values)


def test_guards_follow_the_period_of_observation() -> None:
    assert LoopSettings.every(10.0) == LoopSettings()
    brisk = LoopSettings.every(5.0, dry_run=True)
    assert (brisk.cooldown_s, brisk.settle_s, brisk.scale_down_after_s, brisk.dry_run) == (15.0, 15.0, 30.0, True)
