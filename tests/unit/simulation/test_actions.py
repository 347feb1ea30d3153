"""What changes of the configuration and failures of workers do."""

from collections.abc import Callable

import pytest

from penstock.control import Action, Level
from penstock.model import Cluster, Configuration, Observation
from penstock.simulation import STORM_PAUSES, Pauses, World
from penstock.workloads import Application, OperatorCost

MakeApp = Callable[..., Application]
MakeWorld = Callable[..., World]
Observe = Callable[..., list[Observation]]

PLENTY = OperatorCost(10_000.0)


def words(make_app: MakeApp, fused: bool = False) -> Application:
    costs = {"in": PLENTY, "split": PLENTY, "count": OperatorCost(10_000.0, state_bytes=100e6), "out": PLENTY}
    return make_app(costs, fused=fused, stateful=("count",))


def setting(workers: int = 8, **instances: int) -> Configuration:
    return Configuration({"app": {name: instances.get(name, 1) for name in ("in", "split", "count", "out")}}, workers)


def completed(seen: list[Observation]) -> list[float]:
    return [o.applications["app"].completed or 0.0 for o in seen]


def paused(seen: list[Observation]) -> list[float]:
    return [o.applications["app"].paused_s for o in seen]


@pytest.mark.parametrize(
    ("fused", "change", "level", "pause_s"),
    [
        (False, {"split": 3}, Level.HOT, 0.0),
        (False, {"in": 2}, Level.RESTART, 2.0),
        (False, {"count": 3}, Level.STATE, 6.0),
        (True, {"split": 3}, Level.HOT, 0.0),
        (True, {"in": 2}, Level.RESTART, 2.0),
        (True, {"count": 3}, Level.STATE, 6.0),
    ],
)
def test_a_pause_is_as_long_as_its_level_and_its_state(
    make_app: MakeApp,
    make_world: MakeWorld,
    observe: Observe,
    fused: bool,
    change: dict[str, int],
    level: Level,
    pause_s: float,
) -> None:
    world = make_world(words(make_app, fused), 100.0)
    observe(world, 20.0)
    ((name, after),) = change.items()
    assert world.apply(setting(**change)) == (Action(f"{name} 1 -> {after}", level, "app", pause_s, pause_s),)
    assert world.requested() == setting(**change)
    seen = observe(world, 50.0)
    assert paused(seen) == pytest.approx([pause_s, 0.0, 0.0])
    # Nothing is lost, and what waited is worked off.
    assert sum(completed(seen)) == pytest.approx(3000.0, abs=101)
    assert seen[0].applications["app"].operators[name].instances == after


def test_only_the_changed_segment_pauses(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    world = make_world(words(make_app), 100.0)
    observe(world, 20.0)
    world.apply(setting(count=3))
    seen = observe(world, 25.0, 5.0)[-1].applications["app"]
    done = {name: o.processed_per_s for name, o in seen.operators.items()}
    assert done == pytest.approx({"in": 100.0, "split": 100.0, "count": 0.0, "out": 0.0})
    assert seen.operators["count"].queue == pytest.approx(500.0)


def test_each_part_of_a_change_is_made_at_its_own_level(make_app: MakeApp, make_world: MakeWorld) -> None:
    world = make_world(words(make_app), 100.0, workers=2)
    actions = world.apply(setting(workers=3, split=2, count=2))
    assert [(action.what, action.level, action.pause_s) for action in actions] == [
        ("split 1 -> 2", Level.HOT, 0.0),
        ("count 1 -> 2", Level.STATE, 6.0),
        ("workers 2 -> 3", Level.HOT, 0.0),
    ]
    assert actions[2].duration_s == 4.0


def test_a_storm_restarts_the_whole_application(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    lengths = []
    for seed in range(12):
        world = make_world(words(make_app), 100.0, pauses=STORM_PAUSES, seed=seed)
        observe(world, 20.0)
        (action,) = world.apply(setting(split=2))
        lengths.append(action.pause_s)
        seen = observe(world, 50.0)
        assert paused(seen) == pytest.approx([action.pause_s, 0.0, 0.0])
        assert completed(seen)[0] == pytest.approx(1000.0, abs=1e-6)
        during = make_world(words(make_app), 100.0, pauses=STORM_PAUSES, seed=seed)
        observe(during, 20.0)
        during.apply(setting(split=2))
        stopped = observe(during, 25.0, 5.0)[-1].applications["app"]
        assert stopped.completed == 0.0
        assert stopped.operators["in"].processed_per_s == 0.0
    assert all(5.0 <= length <= 8.0 for length in lengths)
    assert max(lengths) - min(lengths) > 1.0


def test_a_longer_pause_is_not_cut_short_by_another_one(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    world = make_world(words(make_app, fused=True), 100.0, pauses=Pauses(hot_s=1.0, state_s=10.0))
    world.apply(setting(count=2))
    world.apply(setting(count=2, split=2))
    assert paused(observe(world, 20.0)) == pytest.approx([10.0, 2.0])


def test_what_is_requested_already_is_no_action(make_app: MakeApp, make_world: MakeWorld) -> None:
    world = make_world(words(make_app), 100.0)
    assert world.apply(setting()) == ()
    assert world.apply(setting(split=2)) != ()
    assert world.apply(setting(split=2)) == ()


def test_new_workers_are_ready_after_their_start_up(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    app = make_app({"work": OperatorCost(100.0)})
    world = make_world(app, 400.0, {"work": 4}, Cluster.homogeneous(4, 1), workers=1, start_up_s=7.0)
    assert observe(world, 20.0, 1.0)[-1].applications["app"].throughput_per_s == pytest.approx(100.0)
    (action,) = world.apply(Configuration({"app": {"work": 4}}, 4))
    assert (action.what, action.level, action.duration_s, action.pause_s) == ("workers 1 -> 4", Level.HOT, 7.0, 0.0)
    seen = observe(world, 35.0, 1.0)
    assert [len(o.workers) for o in seen[:9]] == [1] * 7 + [4] * 2
    rates = [o.applications["app"].throughput_per_s or 0.0 for o in seen]
    assert rates[5] == pytest.approx(100.0)
    assert rates[-1] == pytest.approx(400.0)


def test_the_named_workers_are_given_up_first(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    app = make_app({"work": PLENTY})
    world = make_world(app, 10.0, cluster=Cluster.homogeneous(4, 1))

    def after(workers: int, *release: str) -> list[str]:
        (action,) = world.apply(Configuration({"app": {"work": 1}}, workers), release)
        assert action.level is Level.HOT
        return list(observe(world, world.now_s() + 10.0)[-1].workers)

    assert after(2, "w1", "w3") == ["w2", "w4"]
    assert after(1) == ["w2"]
    assert after(3) == ["w1", "w2", "w3"]
    assert after(2, "w9") == ["w1", "w2"]


def test_a_failed_worker_is_replaced_and_nothing_is_lost(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    app = make_app({"work": OperatorCost(100.0)})
    world = make_world(app, 200.0, {"work": 2}, Cluster.homogeneous(2, 1), failures=((30.0, "w2"),), start_up_s=10.0)
    seen = observe(world, 120.0)
    rates = [o.applications["app"].throughput_per_s or 0.0 for o in seen]
    assert rates[2] == pytest.approx(200.0)
    assert rates[3] == pytest.approx(100.0)
    assert [len(o.workers) for o in seen[2:5]] == [2, 1, 2]
    assert rates[5] == pytest.approx(200.0)
    simulated = world.applications["app"]
    assert simulated.lost == 0.0
    assert simulated.arrived == pytest.approx(simulated.completed + simulated.backlog)
    assert world.requested().workers == 2


def test_state_on_a_failed_worker_has_to_be_fetched(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    app = words(make_app)
    where = {"app": {"in": ("w1",), "split": ("w1",), "count": ("w2",), "out": ("w1",)}}
    settings = {"start_up_s": 2.0, "pauses": Pauses(state_s=5.0)}
    for victim, pause_s in (("w2", 5.0), ("w1", 0.0)):
        world = make_world(
            app, 100.0, cluster=Cluster.homogeneous(3, 4), placement=where, failures=((20.0, victim),), **settings
        )
        assert paused(observe(world, 40.0)) == pytest.approx([0.0, 0.0, pause_s, 0.0])


def test_a_batch_on_a_failed_worker_is_done_again_in_part(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    app = make_app({"work": OperatorCost(10.0)}, fused=True)
    cluster = Cluster.homogeneous(2, 1)
    ends = []
    for failures in ((), ((3.0, "w2"),)):
        world = make_world(app, 100.0, {"work": 2}, cluster, batch_overhead_s=0.0, failures=failures, start_up_s=1.0)
        seen = observe(world, 12.0, 1.0)
        ends.append(next(o.at_s for o in seen if o.applications["app"].completed))
    # The first batch holds 100 events and takes 5 s on two slots; half of it is done again, so it ends at 7.5 s.
    assert ends == [5.0, 8.0]


def test_a_worker_that_is_not_there_cannot_fail(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    world = make_world(
        make_app({"work": PLENTY}), 10.0, cluster=Cluster.homogeneous(3, 1), workers=1, failures=((5.0, "w3"),)
    )
    assert [len(o.workers) for o in observe(world, 30.0)] == [1, 1, 1]
