"""Events are followed from their timetable through every sink."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import pytest

from penstock.spark.completion import Completed, Completions, SourceLoad
from penstock.spark.progress import BatchProgress, SourceProgress
from penstock.spark.segments import RunningPipeline
from penstock.workloads.curves import Constant, Step
from penstock.workloads.schedule import Schedule

EPOCH_S = 1_000_000.0
LOAD = SourceLoad(Schedule(Constant(10.0)), EPOCH_S)


def test_the_busiest_time_of_a_load() -> None:
    rising = SourceLoad(Schedule(Step(10.0, 50.0, step_s=30.0)), EPOCH_S)

    assert rising.most_due(5.0, 20.0) == 50
    assert rising.most_due(5.0, 60.0) == 250
    assert SourceLoad(rising.schedule, EPOCH_S, duration_s=25.0).most_due(5.0, 60.0) == 50


def batch(number: int, committed_s: float, events: int) -> BatchProgress:
    offset = f'{{"events": {events}}}'
    source = SourceProgress("load", None, offset, offset, 0)
    return BatchProgress("run", number, EPOCH_S + committed_s - 1, 1.0, {"addBatch": 1.0}, 0, (source,))


def pipeline(held: Mapping[str, Mapping[str, int]], sources: tuple[str, ...] = ("load",)) -> RunningPipeline:
    """A pipeline of which nothing is known but how far its segments, which all end in sinks, have come."""

    def segment(name: str) -> SimpleNamespace:
        plan = SimpleNamespace(sink="out", writes=None, reads=(), sources=sources, inputs=sources)
        return SimpleNamespace(name=name, plan=plan, position=lambda: held[name])

    topology = SimpleNamespace(sources=sources)
    running = SimpleNamespace(segments={name: segment(name) for name in held}, topology=topology)
    return cast(RunningPipeline, running)


def test_events_arrive_by_timetable_and_are_completed_by_commits() -> None:
    completions = Completions(pipeline({"a": {}}), {"load": LOAD})

    first = completions.look(EPOCH_S + 2.0, {"a": [batch(0, 1.5, 10)]})
    second = completions.look(EPOCH_S + 3.0, {"a": [batch(1, 2.5, 20), batch(2, 2.9, 25)]})

    assert (first.arrived, first.completed, first.backlog) == (20, 10, 10)
    assert (second.arrived, second.completed, second.backlog) == (10, 15, 5)


def test_latency_counts_from_when_an_event_was_due() -> None:
    completions = Completions(pipeline({"a": {}}), {"load": LOAD})

    seen = completions.look(EPOCH_S + 2.0, {"a": [batch(0, 1.5, 10)]})

    # Ten events, due at 0.05, 0.15, ... 0.95 s, were committed at 1.5 s.
    assert seen.latency is not None
    assert seen.latency.mean_s == pytest.approx(1.0)
    assert seen.latency.p50_s == pytest.approx(1.0)
    assert 1.4 < seen.latency.p99_s <= 1.45


def test_an_event_is_completed_when_the_last_sink_has_it() -> None:
    completions = Completions(pipeline({"a": {}, "b": {}}), {"load": LOAD})

    first = completions.look(EPOCH_S + 2.0, {"a": [batch(0, 1.5, 20)], "b": []})
    second = completions.look(EPOCH_S + 4.0, {"a": [], "b": [batch(0, 3.0, 10)]})

    assert (first.completed, first.latency) == (0, None)
    assert second.completed == 10
    assert second.latency is not None
    assert second.latency.mean_s == pytest.approx(2.5)


def test_counts_go_on_from_the_checkpoint() -> None:
    completions = Completions(pipeline({"a": {"load": 15}}), {"load": LOAD})

    seen = completions.look(EPOCH_S + 2.0, {"a": [batch(4, 1.9, 18)]})

    assert (seen.arrived, seen.completed, seen.backlog) == (5, 3, 2)
    assert completions.waiting("load", 19) == 1


def test_what_nobody_saw_between_the_last_look_and_a_crash_is_counted_once() -> None:
    completions = Completions(pipeline({"a": {"load": 15}}), {"load": LOAD}, counted=(16.0, 9.0))

    first = completions.look(EPOCH_S + 2.0, {"a": [batch(4, 1.9, 18)]})
    second = completions.look(EPOCH_S + 3.0, {"a": [batch(5, 2.9, 27)]})

    assert (first.arrived, first.completed, first.backlog) == (20 - 16, 18 - 9, 2)
    assert (second.arrived, second.completed, second.backlog) == (10, 9, 3)


def test_batches_without_new_events_change_nothing() -> None:
    completions = Completions(pipeline({"a": {}}), {"load": LOAD})
    completions.look(EPOCH_S + 1.0, {"a": [batch(0, 0.5, 5)]})

    seen = completions.look(EPOCH_S + 1.0, {"a": [batch(1, 0.9, 5)]})

    assert (seen.arrived, seen.completed, seen.latency) == (0, 0, None)


def test_nothing_is_due_after_the_end() -> None:
    load = SourceLoad(LOAD.schedule, EPOCH_S, duration_s=3.0)

    assert [load.due(EPOCH_S + at_s) for at_s in (-1, 1, 3, 100)] == [0, 10, 30, 30]


def test_without_a_timetable_nothing_is_known() -> None:
    completions = Completions(pipeline({"a": {}}, ("load", "other")), {"load": LOAD})

    assert completions.look(EPOCH_S + 2.0, {"a": [batch(0, 1.5, 10)]}) == Completed()
    assert completions.waiting("other", 0) is None


def test_of_very_many_events_an_even_part_is_looked_at() -> None:
    load = SourceLoad(Schedule(Constant(100_000.0)), EPOCH_S)

    events, due_s = load.sampled(1000, 301_000)

    assert len(events) == len(due_s) == 50_000
    assert (events[0], events[-1]) == (1000, 300_999)
    assert due_s.mean() - EPOCH_S == pytest.approx(1.51, abs=0.01)
