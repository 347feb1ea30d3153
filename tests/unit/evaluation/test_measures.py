"""Every measure against a journal small enough to work it out by hand."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from penstock.control import Acted, Action, Decided, Ended, Judged, Level, Refused
from penstock.errors import UsageError
from penstock.evaluation import measure
from penstock.model import Cluster, Keep, Latency, Reconfigure

AGREED_KEYS = [
    "application",
    "policy",
    "load",
    "duration_s",
    "seed",
    "live",
    "throughput_degradation",
    "nodes_saved",
    "mean_workers",
    "worker_seconds",
    "mean_latency_s",
    "p95_latency_s",
    "p99_latency_s",
    "slo_violation_s",
    "peak_backlog",
    "events_in",
    "events_out",
    "events_lost",
    "events_duplicated",
    "reconfigurations",
    "downtime_s",
    "convergence_s",
    "decisions",
]

Make = Callable[..., Any]


def test_no_start_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        measure([])


def test_a_run_of_which_nothing_was_seen(started: Make) -> None:
    measures = measure([started()])
    assert not measures.complete
    assert (measures.events_in, measures.events_out, measures.worker_seconds) == (0, 0, 0.0)
    assert measures.throughput_degradation is None
    assert measures.nodes_saved is None
    assert measures.mean_workers is None
    assert measures.p95_latency_s is None
    assert measures.convergence_s is None
    assert measures.decisions == ()
    json.dumps(measures.as_json())


def test_the_run_is_identified_by_its_start(started: Make) -> None:
    run = {"application": "a", "policy": "p", "load": "sine", "duration_s": "90", "seed": "3", "live": "True"}
    measures = measure([started(run=run), Ended(90.0, "done")])
    assert (measures.application, measures.policy, measures.load) == ("a", "p", "sine")
    assert (measures.duration_s, measures.seed, measures.live) == (90.0, 3, True)
    assert (measures.pool, measures.latency_target_s, measures.complete) == (4, 5.0, True)


def test_a_start_that_says_little_is_enough(started: Make, seen: Make, app: Make) -> None:
    measures = measure([started(run={"seed": "none"}), seen(30.0, wordcount=app()), Ended(30.0, "done")])
    assert (measures.application, measures.policy, measures.duration_s) == ("wordcount", "", 30.0)
    assert measures.seed is None
    assert not measures.live


def test_degradation_is_the_mean_over_time_of_the_relative_distance(started: Make, seen: Make, app: Make) -> None:
    short = app(100.0, 50.0, arrived=500.0, completed=250.0)
    entries = [
        started(),
        seen(10.0, wordcount=app(100.0, 100.0)),
        seen(15.0, window_s=5.0, wordcount=short),
        seen(25.0, wordcount=app(100.0, 250.0)),
        seen(35.0, wordcount=app(0.0, 10.0)),
        seen(45.0, wordcount=app(None, None)),
    ]
    assert measure(entries).throughput_degradation == pytest.approx((10 * 0.0 + 5 * 0.5 + 10 * 1.5) / 25)


def test_the_surplus_of_one_application_does_not_hide_the_deficit_of_another(
    started: Make, seen: Make, app: Make
) -> None:
    measures = measure([started(), seen(10.0, wordcount=app(100.0, 50.0), other=app(300.0, 350.0))])
    assert measures.throughput_degradation == pytest.approx(100 / 400)
    assert measures.by_application["wordcount"].throughput_degradation == pytest.approx(0.5)
    assert measures.by_application["other"].throughput_degradation == pytest.approx(50 / 300)


def test_counts_come_from_rates_where_there_are_none(started: Make, seen: Make, app: Make) -> None:
    entries = [
        started(),
        seen(10.0, wordcount=app(arrived=None, completed=None)),
        seen(20.0, wordcount=app(lost=3.0, duplicated=2.0)),
    ]
    measures = measure(entries)
    assert (measures.events_in, measures.events_out) == (2000, 2000)
    assert (measures.events_lost, measures.events_duplicated) == (3, 2)


def test_counts_that_nobody_knows_are_unknown(started: Make, seen: Make, app: Make) -> None:
    measures = measure([started(), seen(10.0, wordcount=app(None, None, latency=None, backlog=None))])
    assert measures.events_in is None
    assert measures.events_out is None
    assert measures.peak_backlog is None
    assert measures.slo_violation_s == 0.0


def test_where_spark_decides_nodes_saved_counts_what_was_running(started: Make, config: Make, seen: Make) -> None:
    begun = started(initial=config(workers=1), run={"policy": "spark-dynamic-allocation"})
    entries = [begun, seen(10.0, workers=3), Decided(10.0, Keep("Spark decides"), None), Ended(10.0, "")]
    assert measure(entries).nodes_saved == pytest.approx(25.0)


def test_nodes_saved_counts_what_was_chosen_at_each_decision(started: Make, config: Make) -> None:
    entries = [
        started(initial=config(workers=4)),
        Decided(10.0, Keep("fine"), None),
        Decided(20.0, Reconfigure(config(workers=1), "idle"), config(workers=1)),
        Acted(20.0, config(workers=1), (Action("workers", Level.HOT, None, 1.0, 0.0),)),
        Decided(30.0, Keep("fine"), None),
        Decided(40.0, Reconfigure(config(workers=3), "busy"), None, "cool-down: too soon"),
    ]
    assert measure(entries).nodes_saved == pytest.approx(100 * (1 - (4 + 1 + 1 + 1) / (4 * 4)))


def test_worker_seconds_follow_what_was_seen_and_leave_out_no_refused_time(
    started: Make, seen: Make, app: Make
) -> None:
    entries = [
        started(),
        seen(10.0, workers=2, wordcount=app()),
        Refused(20.0, "negative rate"),
        seen(30.0, workers=4, wordcount=app()),
    ]
    measures = measure(entries)
    assert measures.worker_seconds == pytest.approx(2 * 10 + 4 * 20)
    assert measures.mean_workers == pytest.approx(100 / 30)
    assert measures.observed_s == pytest.approx(20)
    assert measures.refused == 1


def test_requested_workers_stand_in_for_those_that_cannot_be_seen(
    started: Make, seen: Make, app: Make, config: Make
) -> None:
    assert measure([started(initial=config(workers=3)), seen(10.0, workers=0, wordcount=app())]).mean_workers == 3.0


def test_latency_is_weighted_by_completed_events(started: Make, seen: Make, app: Make) -> None:
    slow = app(100.0, 300.0, latency=Latency(8.0, 8.0, 8.0, 8.0))
    fast = app(100.0, 100.0, latency=Latency(2.0, 2.0, 2.0, 2.0))
    measures = measure([started(), seen(10.0, wordcount=slow), seen(20.0, wordcount=fast)])
    assert measures.mean_latency_s == pytest.approx((3000 * 8 + 1000 * 2) / 4000)
    assert measures.p95_latency_s == pytest.approx(8.0)


def test_seconds_over_target_are_those_late_or_standing_still(started: Make, seen: Make, app: Make) -> None:
    late = app(latency=Latency(1.0, 1.0, 5.1, 9.0))
    stuck = app(100.0, 0.0, backlog=1000.0, latency=None)
    idle = app(0.0, 0.0, backlog=0.0, latency=None)
    entries = [
        started(),
        seen(10.0, wordcount=app()),
        seen(20.0, wordcount=late),
        seen(30.0, wordcount=stuck),
        seen(40.0, wordcount=idle),
    ]
    assert measure(entries).slo_violation_s == pytest.approx(20.0)


def test_a_window_between_two_batches_is_not_standing_still(started: Make, seen: Make, app: Make) -> None:
    """The target is 5 s: nothing for 4 s is no miss, nothing for 8 s is one for as long as the target is exceeded."""
    between = app(100.0, 0.0, backlog=400.0, latency=None)
    quick = [seen(4.0 * n, window_s=4.0, wordcount=app() if n % 2 else between) for n in range(1, 7)]
    assert measure([started(), *quick]).slo_violation_s == 0.0
    slow = [seen(4.0 * n, window_s=4.0, wordcount=between if n in (2, 3, 4) else app()) for n in range(1, 7)]
    assert measure([started(), *slow]).slo_violation_s == pytest.approx(8.0)


def test_seconds_over_target_of_several_applications_are_not_counted_twice(
    started: Make, seen: Make, app: Make
) -> None:
    late = app(latency=Latency(9.0, 9.0, 9.0, 9.0))
    measures = measure([started(), seen(10.0, wordcount=late, other=late), seen(20.0, wordcount=late, other=app())])
    assert measures.slo_violation_s == pytest.approx(20.0)
    assert measures.by_application["other"].slo_violation_s == pytest.approx(10.0)


def test_peak_backlog_adds_up_within_a_window(started: Make, seen: Make, app: Make) -> None:
    entries = [
        started(),
        seen(10.0, wordcount=app(backlog=50.0), other=app(backlog=10.0)),
        seen(20.0, wordcount=app(backlog=20.0), other=app(backlog=45.0)),
    ]
    measures = measure(entries)
    assert measures.peak_backlog == 65.0
    assert measures.by_application["wordcount"].peak_backlog == 50.0
    assert measures.backlog_at_end == 65.0


def downtime_entries(started: Make, config: Make, *seen_pauses: Any) -> list[Any]:
    both = (Action("split", Level.STATE, "wordcount", 5.0, 4.0), Action("count", Level.RESTART, "wordcount", 3.0, 2.0))
    target = config(split=2)
    return [started(), Decided(1.0, Reconfigure(target, "slow"), target), Acted(1.0, target, both), *seen_pauses]


def test_downtime_of_one_reconfiguration_is_its_longest_pause(started: Make, config: Make) -> None:
    assert measure(downtime_entries(started, config)).downtime_s == pytest.approx(4.0)


def test_downtime_seen_and_downtime_told_are_not_added(started: Make, config: Make, seen: Make, app: Make) -> None:
    seen_pauses = (seen(10.0, wordcount=app(paused_s=3.5)), seen(20.0, wordcount=app(paused_s=2.5)))
    assert measure(downtime_entries(started, config, *seen_pauses)).downtime_s == pytest.approx(6.0)
    assert measure(downtime_entries(started, config, seen_pauses[0])).downtime_s == pytest.approx(4.0)


def test_reconfigurations_concern_the_applications_they_touch(
    started: Make, seen: Make, app: Make, config: Make
) -> None:
    both = ("wordcount", "other")
    target = config(split=2, names=both)
    entries = [
        started(initial=config(names=both)),
        seen(10.0, wordcount=app(), other=app()),
        Decided(10.0, Reconfigure(target, "slow"), target),
        Acted(10.0, target, (Action("split", Level.RESTART, "wordcount", 2.0, 2.0),)),
        Decided(20.0, Reconfigure(config(split=3, names=both), "slow"), config(split=3, names=both)),
        Acted(20.0, config(split=3, names=both), (), "no answer"),
    ]
    measures = measure(entries)
    assert (measures.reconfigurations, measures.failed, measures.downtime_s) == (1, 1, 2.0)
    assert measures.by_application["wordcount"].reconfigurations == 1
    assert measures.by_application["other"].reconfigurations == 0
    assert measures.by_application["other"].downtime_s == 0.0


def test_convergence_is_not_disturbed_by_a_changing_load(started: Make, seen: Make, app: Make, config: Make) -> None:
    target = config(split=2)
    rates = [100.0, 200.0, 400.0, 300.0, 100.0, 50.0]
    entries = [
        started(),
        Decided(1.0, Reconfigure(target, "slow"), target),
        Acted(0.0, target, (Action("split", Level.RESTART, "wordcount", 2.0, 2.0),)),
        *(seen(10.0 * (i + 1), wordcount=app(rate, rate)) for i, rate in enumerate(rates)),
    ]
    measures = measure(entries)
    assert (measures.convergence_s, measures.converged) == (20.0, 1)


def test_decisions_say_what_became_of_them(started: Make, config: Make) -> None:
    hot = (Action("workers", Level.HOT, None, 1.0, 0.0),)
    two, three = config(workers=2), config(workers=3)
    entries = [
        started(),
        Decided(5.0, Keep("fine"), None),
        Decided(10.0, Reconfigure(two, "busy"), two),
        Acted(10.0, two, hot),
        Decided(20.0, Reconfigure(three, "busier"), None, "cool-down: too soon"),
        Judged(40.0, "worse", "slower", config()),
        Acted(40.0, config(), hot),
        Decided(60.0, Reconfigure(three, "busiest"), three),
        Acted(60.0, three, (), "no worker came"),
    ]
    measures = measure(entries)
    assert measures.as_json()["decisions"] == [
        {"at_s": 10.0, "action": "workers 1 -> 2", "reason": "busy"},
        {"at_s": 20.0, "action": "held back: workers 2 -> 3", "reason": "busier; cool-down: too soon"},
        {"at_s": 40.0, "action": "rolled back: workers 2 -> 1", "reason": "slower"},
        {"at_s": 60.0, "action": "failed: workers 1 -> 3", "reason": "busiest; no worker came"},
    ]
    assert (measures.reconfigurations, measures.rollbacks, measures.failed) == (2, 1, 1)


def test_a_resumed_run_is_measured_as_one(started: Make, seen: Make, app: Make, config: Make) -> None:
    entries = [
        started(),
        seen(10.0, wordcount=app()),
        started(at_s=60.0, initial=config(workers=3), resumed=True),
        seen(70.0, workers=3, wordcount=app()),
        Ended(70.0, "done"),
    ]
    measures = measure(entries)
    assert measures.complete
    assert measures.events_in == 2000
    assert measures.worker_seconds == pytest.approx(2 * 10 + 3 * 10)


def test_json_has_the_agreed_keys_first_and_plain_values(fluid: Make) -> None:
    values = measure(fluid(lambda at_s: 100 + 0.4 * at_s)).as_json()
    assert list(values)[: len(AGREED_KEYS)] == AGREED_KEYS
    assert json.loads(json.dumps(values)) == values
    assert values["reconfigurations"] > 0
    assert all(list(decision) == ["at_s", "action", "reason"] for decision in values["decisions"])


def test_an_elastic_run_beats_a_static_small_one_and_saves_against_a_large_one(fluid: Make, config: Make) -> None:
    def load(at_s: float) -> float:
        return 400.0 if 200 <= at_s < 400 else 60.0

    elastic = measure(fluid(load))
    small = measure(fluid(load, elastic=False, now=config(2, 1)))
    large = measure(fluid(load, elastic=False, now=config(8, 4)))
    assert elastic.slo_violation_s < small.slo_violation_s
    assert elastic.worker_seconds < large.worker_seconds == 4 * 600
    assert large.throughput_degradation == 0.0
    assert large.nodes_saved == 0.0
    assert small.nodes_saved == 75.0
    assert (elastic.throughput_degradation or 0.0) < (small.throughput_degradation or 0.0)
    assert elastic.events_in == small.events_in == large.events_in


def test_pool_is_the_whole_cluster(started: Make) -> None:
    assert measure([started(cluster=Cluster.homogeneous(9, 1))]).pool == 9
