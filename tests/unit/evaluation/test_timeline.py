"""Journals are read in order, on one clock, with every change followed to its end."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock.control import Acted, Action, Decided, Ended, Judged, Level, Refused
from penstock.errors import UsageError
from penstock.evaluation.timeline import Timeline
from penstock.model import Keep, Reconfigure

HOT = Action("workers", Level.HOT, None, 1.0, 0.0)


def test_a_journal_without_a_start_is_refused() -> None:
    with pytest.raises(UsageError, match="no start of a run"):
        Timeline.of([])


def test_two_runs_in_one_journal_are_refused(started: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="more than one run"):
        Timeline.of([started(), Ended(10.0, "done"), started()])


def test_a_change_is_followed_from_decision_to_verdict_and_rollback(
    started: Callable[..., Any], config: Callable[..., Any]
) -> None:
    bigger = config(split=3, workers=2)
    timeline = Timeline.of(
        [
            started(),
            Decided(10.0, Keep("fine"), None),
            Decided(20.0, Reconfigure(bigger, "too slow"), bigger),
            Acted(20.0, bigger, (HOT,)),
            Judged(50.0, "worse", "slower than before", config()),
            Acted(50.0, config(), (HOT,)),
        ]
    )
    change, rollback = timeline.episodes
    assert change.action == "split 1 -> 3, workers 1 -> 2"
    assert change.direction == "more"
    assert change.carried_out
    assert (change.verdict, change.verdict_because) == ("worse", "slower than before")
    assert rollback.rollback
    assert rollback.carried_out
    assert rollback.direction == "less"
    assert rollback.action == "split 3 -> 1, workers 2 -> 1"
    assert timeline.kept == 1
    assert timeline.chosen == (1, 2)
    assert [(at_s, c.workers) for at_s, c in timeline.requested] == [(0.0, 1), (20.0, 2), (50.0, 1)]


def test_held_and_failed_changes_are_not_carried_out(started: Callable[..., Any], config: Callable[..., Any]) -> None:
    bigger = config(workers=2)
    timeline = Timeline.of(
        [
            started(),
            Decided(10.0, Reconfigure(bigger, "too slow"), None, "cool-down: the last action was at 5 s"),
            Decided(20.0, Reconfigure(bigger, "too slow"), bigger),
            Acted(20.0, bigger, (), "no worker came"),
            Decided(30.0, Keep("fine"), None),
        ]
    )
    held, failed = timeline.episodes
    assert not held.carried_out
    assert held.held_by == "cool-down: the last action was at 5 s"
    assert not failed.carried_out
    assert failed.error == "no worker came"
    assert timeline.chosen == (1, 2, 1)
    assert len(timeline.requested) == 1


def test_the_second_clock_of_a_resumed_run_continues_the_first(
    started: Callable[..., Any], seen: Callable[..., Any], app: Callable[..., Any]
) -> None:
    timeline = Timeline.of(
        [
            started(),
            seen(10.0, wordcount=app()),
            seen(20.0, wordcount=app()),
            started(resumed=True),
            seen(10.0, wordcount=app()),
            Ended(11.0, "done"),
        ]
    )
    assert [window.end_s for window in timeline.windows] == [10.0, 20.0, 30.0]
    assert timeline.end_s == 31.0


def test_a_resumed_run_on_the_same_clock_is_left_as_it_is(
    started: Callable[..., Any], seen: Callable[..., Any], app: Callable[..., Any]
) -> None:
    timeline = Timeline.of(
        [started(), seen(10.0, wordcount=app()), started(at_s=60.0, resumed=True), seen(70.0, wordcount=app())]
    )
    assert [(window.since_s, window.end_s) for window in timeline.windows] == [(0.0, 10.0), (60.0, 70.0)]
    assert timeline.ended is None


def test_a_decision_cut_off_by_a_crash_is_not_taken_for_the_next_action(
    started: Callable[..., Any], config: Callable[..., Any]
) -> None:
    bigger = config(workers=2)
    timeline = Timeline.of(
        [
            started(),
            Decided(10.0, Reconfigure(bigger, "too slow"), bigger),
            started(at_s=40.0, resumed=True),
            Acted(50.0, config(workers=3), (HOT,)),
        ]
    )
    assert [episode.carried_out for episode in timeline.episodes] == [False, True]


def test_refused_measurements_leave_no_gap(
    started: Callable[..., Any], seen: Callable[..., Any], app: Callable[..., Any]
) -> None:
    timeline = Timeline.of(
        [started(), seen(10.0, wordcount=app()), Refused(20.0, "negative rate"), seen(30.0, wordcount=app())]
    )
    assert timeline.refused == 1
    assert timeline.windows[1].since_s == 10.0
    assert timeline.windows[1].start_s == 20.0


def test_operators_are_named_with_their_application_where_there_are_several(
    started: Callable[..., Any], config: Callable[..., Any]
) -> None:
    both = ("wordcount", "other")
    target = config(split=2, names=both)
    timeline = Timeline.of(
        [
            started(initial=config(names=both)),
            Decided(5.0, Reconfigure(target, "grow"), target),
            Acted(5.0, target, (HOT,)),
        ]
    )
    assert timeline.episodes[0].action == "wordcount/split 1 -> 2, other/split 1 -> 2"
