import pytest

from penstock.model import ApplicationObservation, Latency, Observation, OperatorObservation, WorkerObservation
from penstock.stores import average


def seen(at_s: float, operator: OperatorObservation, window_s: float = 10.0) -> Observation:
    return Observation(at_s, window_s, {"words": ApplicationObservation({"count": operator})}, {})


def counted(at_s: float, application: ApplicationObservation) -> Observation:
    return Observation(at_s, 10.0, {"words": application}, {})


def count(observation: Observation | None) -> OperatorObservation:
    assert observation is not None
    return observation.applications["words"].operators["count"]


def words(observation: Observation | None) -> ApplicationObservation:
    assert observation is not None
    return observation.applications["words"]


def test_nothing_has_no_average() -> None:
    assert average([], 60.0, 60.0) is None


def test_rates_are_means_over_the_samples_that_know_them() -> None:
    samples = [
        seen(10.0, OperatorObservation(1, 100.0, 80.0, {"rank": 40.0})),
        seen(20.0, OperatorObservation(1, None, 60.0, {"rank": 20.0, "store": 6.0})),
        seen(30.0, OperatorObservation(1, 200.0, 40.0)),
    ]
    mean = count(average(samples, 30.0, 60.0))
    assert mean.input_per_s == 150.0
    assert mean.processed_per_s == 60.0
    assert mean.output_per_s == {"rank": 30.0, "store": 6.0}
    assert mean.busy_s is None
    assert mean.true_rate_per_s is None


def test_longer_samples_weigh_more() -> None:
    samples = [seen(30.0, OperatorObservation(1, 100.0), 30.0), seen(40.0, OperatorObservation(1, 300.0), 10.0)]
    assert count(average(samples, 40.0, 60.0)).input_per_s == 150.0


def test_usage_is_the_mean_also_where_samples_do_not_fill_the_window() -> None:
    samples = [
        seen(10.0, OperatorObservation(2, busy_s=10.0)),
        seen(20.0, OperatorObservation(2, busy_s=6.0)),
        seen(30.0, OperatorObservation(2)),
    ]
    mean = average(samples, 30.0, 60.0)
    assert mean is not None
    assert count(mean).usage(mean.window_s) == pytest.approx(0.4)


def test_a_true_rate_is_a_mean_over_useful_time() -> None:
    samples = [
        seen(10.0, OperatorObservation(1, processed_per_s=100.0, busy_s=2.0, true_rate_per_s=500.0)),
        seen(20.0, OperatorObservation(1, processed_per_s=100.0, busy_s=8.0, true_rate_per_s=125.0)),
        seen(30.0, OperatorObservation(1, processed_per_s=0.0, busy_s=0.0)),
    ]
    mean = count(average(samples, 30.0, 60.0))
    assert mean.true_rate_per_s == pytest.approx(2000 / 10)


def test_a_share_is_a_mean_over_the_useful_time_of_all_who_take_turns() -> None:
    # A segment works 2 s for 20 events and then 8 s for 160, of which the operator itself takes 1 s each time.
    busy_s = (2.0, 8.0)
    samples = [
        seen(10.0 * (index + 1), OperatorObservation(1, busy_s=1.0, time_share=1.0 / all_s, effective_rate_per_s=rate))
        for index, (all_s, rate) in enumerate(zip(busy_s, (10.0, 20.0), strict=True))
    ]
    mean = count(average(samples, 20.0, 20.0))
    assert mean.time_share == pytest.approx(2.0 / 10.0)
    assert mean.effective_rate_per_s == pytest.approx((2.0 * 10.0 + 8.0 * 20.0) / 10.0)


def test_a_state_is_the_newest_that_is_known() -> None:
    samples = [
        seen(10.0, OperatorObservation(1, queue=5.0, state_rows=7, state_bytes=70)),
        seen(20.0, OperatorObservation(4, queue=9.0)),
    ]
    mean = count(average(samples, 20.0, 60.0))
    assert (mean.instances, mean.queue, mean.state_rows, mean.state_bytes) == (4, 9.0, 7, 70)


def test_events_are_counted_and_never_invented() -> None:
    samples = [
        counted(10.0, ApplicationObservation({}, arrived=5.0, lost=1.0, paused_s=2.0)),
        counted(20.0, ApplicationObservation({}, arrived=7.0, completed=3.0)),
    ]
    total = words(average(samples, 20.0, 60.0))
    assert (total.arrived, total.completed, total.lost, total.paused_s) == (12.0, None, 1.0, 2.0)


def test_latency_is_a_mean_over_events() -> None:
    fast, slow = Latency(1.0, 1.0, 2.0, 3.0), Latency(5.0, 5.0, 6.0, 7.0)
    samples = [
        counted(10.0, ApplicationObservation({}, completed=30.0, latency=fast)),
        counted(20.0, ApplicationObservation({}, completed=10.0, latency=slow)),
        counted(30.0, ApplicationObservation({}, completed=0.0)),
    ]
    assert words(average(samples, 30.0, 60.0)).latency == Latency(2.0, 2.0, 3.0, 4.0)
    uncounted = [
        counted(at_s, ApplicationObservation({}, latency=latency)) for at_s, latency in ((10.0, fast), (20.0, slow))
    ]
    assert words(average(uncounted, 20.0, 60.0)).latency == Latency(3.0, 3.0, 4.0, 5.0)


def test_what_is_gone_is_not_averaged() -> None:
    before = Observation(10.0, 10.0, {}, {"w1": WorkerObservation(0.2, 2), "w2": WorkerObservation(0.9)})
    after = Observation(20.0, 10.0, {}, {"w1": WorkerObservation(0.4, operators={"count": 1})})
    mean = average([before, after], 20.0, 60.0)
    assert mean is not None
    assert list(mean.workers) == ["w1"]
    assert mean.workers["w1"].usage == pytest.approx(0.3)
    assert mean.workers["w1"].instances == 2
    assert mean.workers["w1"].operators == {"count": 1}


def test_a_sample_that_ends_just_inside_the_window_does_not_count() -> None:
    samples = [seen(10.02, OperatorObservation(1, 900.0)), seen(70.0, OperatorObservation(1, 100.0))]
    assert count(average(samples, 70.0, 60.0)).input_per_s == 100.0


def test_a_sample_longer_than_the_window_counts_if_it_is_the_newest() -> None:
    assert count(average([seen(300.0, OperatorObservation(1, 100.0), 300.0)], 300.0, 60.0)).input_per_s == 100.0
