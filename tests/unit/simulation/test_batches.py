"""Fused execution: operators take turns in micro-batches."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import InvalidModel
from penstock.model import Cluster, Observation
from penstock.simulation import World, WorldSettings
from penstock.workloads import Application, OperatorCost

MakeApp = Callable[..., Application]
MakeWorld = Callable[..., World]
Observe = Callable[..., list[Observation]]


def latency_s(seen: Observation) -> float:
    found = seen.applications["app"].latency
    assert found is not None
    return found.mean_s


def two(make_app: MakeApp, **costs: Any) -> Application:
    return make_app({"a": OperatorCost(1000.0), "b": OperatorCost(500.0, **costs)}, fused=True)


def test_a_batch_takes_its_overhead_and_the_work_of_each_operator_in_turn(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    world = make_world(two(make_app), 100.0)
    seen = observe(world, 50.0)[-1]
    # 100 events per batch: 0.3 s of overhead, 0.1 s and 0.2 s of work.
    assert latency_s(seen) == pytest.approx(0.6)
    operators = seen.applications["app"].operators
    assert operators["a"].parallel_share == pytest.approx(0.5)
    assert {n: o.time_share for n, o in operators.items()} == pytest.approx({"a": 1 / 3, "b": 2 / 3})
    assert {n: o.true_rate_per_s for n, o in operators.items()} == pytest.approx({"a": 1000.0, "b": 500.0})
    # One event takes 0.003 s of the segment, whichever operator is asked.
    assert {n: o.effective_rate_per_s for n, o in operators.items()} == pytest.approx({"a": 1000 / 3, "b": 1000 / 3})


@pytest.mark.parametrize("overhead_s", [0.0, 0.2, 0.7])
def test_the_overhead_does_not_shrink_with_parallelism(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe, overhead_s: float
) -> None:
    one, four = (
        latency_s(observe(make_world(two(make_app), 100.0, {"a": k, "b": k}, batch_overhead_s=overhead_s), 50.0)[-1])
        for k in (1, 4)
    )
    assert one == pytest.approx(overhead_s + 0.3)
    assert four == pytest.approx(overhead_s + 0.3 / 4)


def test_each_operator_has_its_own_parallelism(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    world = make_world(two(make_app), 100.0, {"a": 1, "b": 8}, batch_overhead_s=0.0)
    assert latency_s(observe(world, 50.0)[-1]) == pytest.approx(0.1 + 0.2 / 8)


def test_a_fixed_part_per_instance_does_not_shrink_either(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    world = make_world(two(make_app, fixed_s=0.05), 100.0, {"a": 4, "b": 4}, batch_overhead_s=0.0)
    seen = observe(world, 50.0)[-1]
    assert latency_s(seen) == pytest.approx(0.025 + 0.05 + 0.05)
    # Ten batches in the window, each with four commits.
    assert seen.applications["app"].operators["b"].busy_s == pytest.approx(10 * (0.2 + 4 * 0.05))


@pytest.mark.parametrize(("slots", "waves"), [(4, 1), (3, 2), (2, 2), (1, 4)])
def test_tasks_run_in_waves_when_there_are_more_of_them_than_slots(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe, slots: int, waves: int
) -> None:
    world = make_world(two(make_app), 100.0, {"a": 4, "b": 4}, Cluster.homogeneous(1, slots), batch_overhead_s=0.0)
    assert latency_s(observe(world, 50.0)[-1]) == pytest.approx(waves * 0.3 / 4)


def test_segments_side_by_side_share_the_slots(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    """Two queries of four tasks each: on eight slots one wave, on four slots two."""
    app = make_app({"a": OperatorCost(400.0), "b": OperatorCost(400.0)}, segments=(("a",), ("b",)))
    times = [
        latency_s(
            observe(
                make_world(app, 100.0, {"a": 4, "b": 4}, Cluster.homogeneous(1, slots), batch_overhead_s=0.0), 50.0
            )[-1]
        )
        for slots in (8, 4)
    ]
    assert times == pytest.approx([2 * 0.0625, 2 * 0.125])


def test_the_largest_partition_decides_how_long_a_stage_takes(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    app = make_app({"a": OperatorCost(1000.0, key_skew=1.0)}, fused=True)
    even, skewed = (
        latency_s(observe(make_world(app, 100.0, {"a": 2}, dispatch=dispatch, batch_overhead_s=0.0), 50.0)[-1])
        for dispatch in ("shortest-queue", "hashed")
    )
    assert even == pytest.approx(0.05)
    assert skewed == pytest.approx(0.1 * 2 / 3)


def test_a_batch_that_takes_too_long_lets_the_next_one_grow(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    """At 500/s a batch needs 0.003 s per event: 1.5 s of work per second cannot be done by one instance."""
    world = make_world(two(make_app), 500.0)
    seen = observe(world, 300.0)
    app = world.applications["app"]
    assert app.completed < 0.75 * app.arrived
    assert app.arrived == pytest.approx(app.completed + app.backlog + app.lost)
    backlogs = [o.applications["app"].backlog or 0.0 for o in seen]
    assert backlogs[-1] > backlogs[len(seen) // 2] > backlogs[len(seen) // 6]
    enough = make_world(two(make_app), 500.0, {"a": 3, "b": 3})
    assert (observe(enough, 300.0)[-1].applications["app"].backlog or 0.0) < 2000


def test_a_batch_holds_no_more_than_its_limit(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    app = make_app({"a": OperatorCost(20.0)}, fused=True)
    world = make_world(app, 100.0, batch_overhead_s=0.0, batch_limit=40.0)
    first, second = observe(world, 6.0, 3.0)
    # Every batch takes 2 s, so they end at 2, 4 and 6 s.
    assert (first.applications["app"].completed, second.applications["app"].completed) == (40.0, 80.0)
    assert second.applications["app"].backlog == pytest.approx(480.0)
    with pytest.raises(InvalidModel, match="must be allowed to hold more than 0 events"):
        WorldSettings(batch_limit=0.0)


def test_a_batch_is_committed_as_a_whole(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    """Nothing is completed before the batch ends, and what is in it still counts as waiting."""
    app = make_app({"a": OperatorCost(20.0)}, fused=True)
    world = make_world(app, 100.0, batch_overhead_s=0.0)
    first, second = observe(world, 6.0, 3.0)
    # The first batch holds the events of the first second and takes 5 s.
    assert (first.applications["app"].completed, second.applications["app"].completed) == (0.0, 100.0)
    assert first.applications["app"].backlog == pytest.approx(300.0)
    assert second.applications["app"].backlog == pytest.approx(500.0)


def test_nothing_runs_without_workers(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    world = make_world(
        two(make_app), 10.0, cluster=Cluster.homogeneous(1, 4), failures=((20.0, "w1"),), start_up_s=30.0
    )
    seen = observe(world, 70.0)
    completed = [o.applications["app"].completed or 0.0 for o in seen]
    assert completed[2:4] == [0.0, 0.0]
    assert completed[5] > 100
    assert seen[3].workers == {}
    app = world.applications["app"]
    assert app.arrived == pytest.approx(app.completed + app.backlog)
