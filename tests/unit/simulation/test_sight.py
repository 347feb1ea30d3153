"""What the monitor reports, and that the same arguments give the same history."""

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

import pytest

from penstock.control.inspection import inspect
from penstock.errors import BadObservation
from penstock.model import Configuration, Observation
from penstock.simulation import STORM_PAUSES, World
from penstock.workloads import Application, OperatorCost, Ramp

MakeApp = Callable[..., Application]
MakeWorld = Callable[..., World]
Observe = Callable[..., list[Observation]]


@pytest.fixture
def app(make_app: MakeApp) -> Application:
    return make_app({"in": OperatorCost(1000.0), "work": OperatorCost(60.0), "out": OperatorCost(1000.0)})


@pytest.mark.parametrize("delay_s", [0.0, 1.0, 3.0, 7.5])
def test_a_late_monitor_tells_of_a_window_that_ended_earlier(
    app: Application, make_world: MakeWorld, observe: Observe, delay_s: float
) -> None:
    world = make_world(app, Ramp(0.0, 100.0, 100.0, 0.0, 100.0), monitor_delay_s=delay_s)
    seen = observe(world, 60.0)
    assert [o.at_s for o in seen] == pytest.approx([10.0 * (i + 1) - delay_s for i in range(6)])
    assert seen[0].window_s == pytest.approx(10.0 - delay_s)
    assert all(o.window_s == pytest.approx(10.0) for o in seen[1:])
    previous_s = None
    for o in seen:
        inspect(o, world.topologies, previous_s)
        previous_s = o.at_s
    punctual = observe(make_world(app, Ramp(0.0, 100.0, 100.0, 0.0, 100.0), step_s=0.5), 60.0 - delay_s, 0.5)
    arrived = sum(o.applications["app"].arrived or 0.0 for o in seen)
    assert arrived == pytest.approx(sum(o.applications["app"].arrived or 0.0 for o in punctual), rel=0.03)


def test_a_delay_never_hides_a_whole_window(app: Application, make_world: MakeWorld, observe: Observe) -> None:
    seen = observe(make_world(app, 50.0, monitor_delay_s=60.0), 50.0)
    assert all(o.window_s > 0 for o in seen)
    assert [o.at_s for o in seen] == sorted({o.at_s for o in seen})


def test_counts_are_exact_and_rates_are_noisy(app: Application, make_world: MakeWorld, observe: Observe) -> None:
    exact = observe(make_world(app, 50.0, {"work": 2}), 2000.0)
    noisy = observe(make_world(app, 50.0, {"work": 2}, noise=0.05, seed=4), 2000.0)
    for one, other in zip(exact, noisy, strict=True):
        clear, blurred = one.applications["app"], other.applications["app"]
        assert (clear.arrived, clear.completed, clear.backlog) == (blurred.arrived, blurred.completed, blurred.backlog)
    rates = [o.applications["app"].input_per_s or 0.0 for o in noisy]
    assert fmean(rates) == pytest.approx(50.0, rel=0.02)
    assert stdev(rates) == pytest.approx(2.5, rel=0.2)
    true = [o.applications["app"].operators["work"].true_rate_per_s or 0.0 for o in noisy]
    assert fmean(true) == pytest.approx(60.0, rel=0.02)
    assert stdev(true) > 1.0


def test_noise_never_makes_a_rate_negative(app: Application, make_world: MakeWorld, observe: Observe) -> None:
    world = make_world(app, 50.0, noise=2.0)
    for o in observe(world, 500.0):
        inspect(o, world.topologies, None)


HISTORIES: list[dict[str, Any]] = [
    {"stochastic": True},
    {"stochastic": True, "dispatch": "hashed"},
    {"noise": 0.1},
    {"pauses": STORM_PAUSES},
]


@pytest.mark.parametrize("settings", HISTORIES)
def test_the_same_seed_gives_the_same_history(
    app: Application, make_world: MakeWorld, observe: Observe, settings: dict[str, Any]
) -> None:
    def history(seed: int) -> list[Observation]:
        world = make_world(app, 50.0, {"work": 2}, seed=seed, **settings)
        seen = observe(world, 50.0)
        world.apply(Configuration({"app": {"in": 2, "work": 3, "out": 1}}, 4))
        return seen + observe(world, 100.0)

    assert history(1) == history(1)
    assert history(1) != history(2)


def test_without_chance_the_seed_changes_nothing(app: Application, make_world: MakeWorld, observe: Observe) -> None:
    assert observe(make_world(app, 50.0, seed=1), 50.0) == observe(make_world(app, 50.0, seed=2), 50.0)


def test_what_has_not_worked_has_no_rate(app: Application, make_world: MakeWorld, observe: Observe) -> None:
    seen = observe(make_world(app, 0.0), 10.0)[-1].applications["app"]
    for operator in seen.operators.values():
        assert (operator.true_rate_per_s, operator.effective_rate_per_s, operator.time_share) == (None, None, None)
        assert (operator.busy_s, operator.processed_per_s, operator.queue) == (0.0, 0.0, 0.0)
    assert seen.latency is None
    assert (seen.arrived, seen.completed, seen.throughput_per_s) == (0.0, 0.0, 0.0)


def test_asking_twice_at_the_same_time_is_no_second_measurement(app: Application, make_world: MakeWorld) -> None:
    world = make_world(app, 50.0)
    world.sleep_until(10.0)
    first, second = world.observe(), world.observe()
    assert second.at_s == first.at_s
    with pytest.raises(BadObservation, match="the clock went from 10 to 10 s"):
        inspect(second, world.topologies, first.at_s)
    world.sleep_until(20.0)
    assert world.observe().applications["app"].arrived == pytest.approx(500.0)


def test_the_clock_never_goes_back(app: Application, make_world: MakeWorld) -> None:
    world = make_world(app, 50.0)
    world.sleep_until(10.0)
    world.sleep_until(5.0)
    assert world.now_s() == 10.0


def test_state_is_reported_where_there_is_some(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    costs = {"in": OperatorCost(1000.0), "count": OperatorCost(1000.0, state_bytes=5000.0)}
    seen = observe(make_world(make_app(costs, stateful=("count",)), 10.0), 10.0)[-1].applications["app"]
    assert (seen.operators["in"].state_bytes, seen.operators["count"].state_bytes) == (None, 5000)


def test_usage_of_a_worker_counts_from_when_it_was_there(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    from penstock.model import Cluster

    app = make_app({"work": OperatorCost(100.0)})
    world = make_world(app, 1000.0, {"work": 2}, Cluster.homogeneous(2, 1), workers=1, start_up_s=5.0)
    observe(world, 10.0)
    world.apply(replace(world.requested(), workers=2))
    seen = observe(world, 30.0)[-1]
    assert {name: worker.usage for name, worker in seen.workers.items()} == pytest.approx({"w1": 1.0, "w2": 1.0})
