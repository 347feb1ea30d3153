import pytest

from penstock.errors import InvalidModel
from penstock.model import (
    ApplicationObservation,
    Cluster,
    Configuration,
    Objectives,
    Observation,
    OperatorObservation,
    View,
    WorkerObservation,
)


def observation(workers: int) -> Observation:
    seen = ApplicationObservation({"work": OperatorObservation(3), "out": OperatorObservation(1)})
    return Observation(10.0, 10.0, {"app": seen}, {f"w{i}": WorkerObservation() for i in range(workers)})


def view(max_workers: int | None, observations: tuple[Observation, ...] = ()) -> View:
    running = Configuration({"app": {"work": 3, "out": 1}}, 2)
    objectives = Objectives(max_workers=max_workers)
    return View(10.0, {}, Cluster.homogeneous(4, 4), objectives, running, running, None, observations)


def test_the_configuration_that_was_seen_is_what_ran() -> None:
    assert observation(2).configuration() == Configuration({"app": {"work": 3, "out": 1}}, 2)


def test_no_worker_seen_still_is_a_configuration() -> None:
    assert observation(0).configuration().workers == 1


def test_usage_is_busy_time_per_instance_and_unknown_without_it() -> None:
    assert OperatorObservation(4, busy_s=10.0).usage(10.0) == 0.25
    assert OperatorObservation(4).usage(10.0) is None


def test_what_is_not_known_is_none() -> None:
    seen = OperatorObservation(1)
    assert (seen.input_per_s, seen.busy_s, seen.queue, seen.true_rate_per_s, seen.skew) == (None,) * 5
    assert ApplicationObservation({}).latency is None


def test_the_newest_observation_is_the_latest() -> None:
    first, second = observation(1), observation(2)
    assert view(None, (first, second)).latest is second
    assert view(None).latest is None


@pytest.mark.parametrize(("quota", "most"), [(None, 4), (2, 2), (9, 4)])
def test_pool_and_quota_bound_the_workers(quota: int | None, most: int) -> None:
    assert view(quota).max_workers == most


@pytest.mark.parametrize(("least", "most"), [(0, None), (1, 0), (3, 2)])
def test_a_quota_that_allows_nothing_is_refused(least: int, most: int | None) -> None:
    with pytest.raises(InvalidModel, match="workers"):
        Objectives(min_workers=least, max_workers=most)
