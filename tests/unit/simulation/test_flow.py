"""How events flow through operators and workers, without chance."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock.control.inspection import inspect
from penstock.errors import InvalidModel
from penstock.model import Cluster, Configuration, Link, Observation, Operator, Role, Stream, Topology, Worker
from penstock.simulation import World, WorldSettings
from penstock.workloads import Application, Constant, OperatorCost, Step

MakeApp = Callable[..., Application]
MakeWorld = Callable[..., World]
Observe = Callable[..., list[Observation]]

PLENTY = OperatorCost(10_000.0)


def conserved(world: World, name: str = "app") -> bool:
    app = world.applications[name]
    return app.arrived == pytest.approx(app.completed + app.backlog + app.lost)


def test_what_fits_passes_and_takes_the_time_of_its_operators(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    app = make_app({"in": OperatorCost(200.0), "work": OperatorCost(100.0), "out": OperatorCost(50.0)})
    world = make_world(app, 80.0, {"work": 1, "out": 2})
    seen = observe(world, 60.0)[-1].applications["app"]
    assert seen.throughput_per_s == pytest.approx(80.0)
    assert seen.input_per_s == pytest.approx(80.0)
    assert seen.backlog == pytest.approx(0.0, abs=1e-6)
    assert seen.latency is not None
    assert seen.latency.mean_s == pytest.approx(0.005 + 0.01 + 0.02)
    usages = {name: o.usage(10.0) for name, o in seen.operators.items()}
    assert usages == pytest.approx({"in": 0.4, "work": 0.8, "out": 0.8})


@pytest.mark.parametrize("instances", [1, 2, 5])
def test_what_does_not_fit_waits(make_app: MakeApp, make_world: MakeWorld, observe: Observe, instances: int) -> None:
    app = make_app({"in": PLENTY, "work": OperatorCost(30.0), "out": PLENTY})
    world = make_world(app, 200.0, {"work": instances})
    seen = observe(world, 100.0)[-1].applications["app"]
    assert seen.throughput_per_s == pytest.approx(30.0 * instances)
    assert seen.backlog == pytest.approx((200.0 - 30.0 * instances) * 100)
    work = seen.operators["work"]
    assert work.queue == pytest.approx((200.0 - 30.0 * instances) * 100)
    assert work.true_rate_per_s == pytest.approx(30.0)
    assert work.effective_rate_per_s == pytest.approx(30.0)
    assert work.usage(10.0) == pytest.approx(1.0)
    assert work.input_per_s == pytest.approx(200.0)
    assert seen.operators["out"].input_per_s == pytest.approx(30.0 * instances)
    assert seen.latency is not None
    # What is completed at the end has waited since its place in the queue.
    assert seen.latency.mean_s == pytest.approx(95.0 - 95.0 * 30 * instances / 200, abs=1.5)
    assert conserved(world)


def test_selectivity_multiplies_events_and_completes_those_that_go_nowhere(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    app = make_app(
        {"in": OperatorCost(1e4, {"split": 1.0}), "split": OperatorCost(1e4, {"out": 17.5}), "out": OperatorCost(1e6)}
    )
    world = make_world(app, 100.0)
    seen = observe(world, 20.0)[-1].applications["app"]
    assert seen.operators["split"].output_per_s == pytest.approx({"out": 1750.0})
    assert seen.operators["out"].input_per_s == pytest.approx(1750.0)
    assert seen.throughput_per_s == pytest.approx(100.0)
    nothing = make_app({"in": OperatorCost(1e4, {"out": 0.0}), "out": PLENTY})
    seen = observe(make_world(nothing, 100.0), 20.0)[-1].applications["app"]
    assert seen.throughput_per_s == pytest.approx(100.0)
    assert seen.operators["out"].input_per_s == 0.0


def test_more_instances_handle_less_when_the_law_says_so(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    reached = {}
    for instances in (1, 2, 4, 8):
        app = make_app({"in": PLENTY, "work": OperatorCost(100.0, contention=0.1, coherence=0.05)})
        world = make_world(app, 5000.0, {"work": instances})
        reached[instances] = observe(world, 20.0)[-1].applications["app"].throughput_per_s
    law = {n: 100.0 * n / (1 + 0.1 * (n - 1) + 0.05 * n * (n - 1)) for n in (1, 2, 4, 8)}
    assert reached == pytest.approx(law)
    assert law[8] < law[4]


def test_a_faster_worker_does_more(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    app = make_app({"work": OperatorCost(100.0)})
    world = make_world(app, 500.0, cluster=Cluster((Worker("fast", 2, speedup=2.5),)))
    seen = observe(world, 20.0)[-1].applications["app"]
    assert seen.throughput_per_s == pytest.approx(250.0)
    assert seen.operators["work"].true_rate_per_s == pytest.approx(250.0)


def test_instances_on_a_crowded_worker_share_its_slots(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    app = make_app({"first": OperatorCost(100.0), "second": OperatorCost(100.0)})
    instances = {"first": 2, "second": 2}
    roomy = make_world(app, 180.0, instances, cluster=Cluster.homogeneous(2, 2))
    crowded = make_world(app, 180.0, instances, cluster=Cluster.homogeneous(2, 2), workers=1)
    plenty = observe(roomy, 120.0)[-1]
    little = observe(crowded, 120.0)[-1]
    assert plenty.applications["app"].throughput_per_s == pytest.approx(180.0)
    # Every event takes 0.02 s of two slots.
    assert little.applications["app"].throughput_per_s == pytest.approx(100.0, rel=0.05)
    assert little.workers["w1"].usage == pytest.approx(1.0, rel=0.02)
    assert (little.workers["w1"].instances, len(little.workers)) == (4, 1)
    # A crowded instance is slower by the clock, not by its own busy time.
    assert little.applications["app"].operators["first"].true_rate_per_s == pytest.approx(100.0)
    assert conserved(crowded)


def test_idle_neighbours_take_nothing(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    app = make_app({"busy": OperatorCost(100.0, {"idle": 0.01}), "idle": OperatorCost(1000.0)})
    world = make_world(app, 150.0, {"busy": 1, "idle": 3}, cluster=Cluster.homogeneous(1, 2))
    assert observe(world, 60.0)[-1].applications["app"].operators["busy"].processed_per_s == pytest.approx(100.0)


def test_an_operator_runs_where_it_is_placed(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    cluster = Cluster((Worker("slow", 4), Worker("fast", 4, speedup=3.0)))
    app = make_app({"work": OperatorCost(100.0)})
    world = make_world(app, 1000.0, {"work": 2}, cluster, placement={"app": {"work": ("fast", "fast")}})
    seen = observe(world, 20.0)[-1]
    assert seen.applications["app"].throughput_per_s == pytest.approx(600.0)
    assert seen.workers["fast"].operators == {"app/work": 2}
    assert seen.workers["slow"].operators == {}
    world.apply(Configuration({"app": {"work": 2}}, 2, {"app": {"work": ("fast", "slow")}}))
    assert observe(world, 40.0)[-1].applications["app"].throughput_per_s == pytest.approx(400.0)


def test_without_a_placement_instances_go_round_the_workers(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    world = make_world(make_app({"a": PLENTY, "b": PLENTY}), 10.0, {"a": 3, "b": 2}, Cluster.homogeneous(2, 4))
    workers = observe(world, 10.0)[-1].workers
    assert {name: dict(worker.operators) for name, worker in workers.items()} == {
        "w1": {"app/a": 2, "app/b": 1},
        "w2": {"app/a": 1, "app/b": 1},
    }


def test_the_network_adds_to_the_latency(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    workers = (Worker("here", 4), Worker("there", 4))
    links = (Link("here", "there", 0.2), Link("there", "here", 0.05))
    app = make_app({"a": PLENTY, "b": PLENTY, "c": PLENTY})

    def latency(**where: str) -> float:
        placed = {"app": {name: (worker,) for name, worker in where.items()}}
        seen = observe(make_world(app, 10.0, cluster=Cluster(workers, links), placement=placed), 20.0)[-1]
        found = seen.applications["app"].latency
        assert found is not None
        return found.mean_s

    together = latency(a="here", b="here", c="here")
    assert latency(a="here", b="there", c="there") - together == pytest.approx(0.2)
    assert latency(a="here", b="there", c="here") - together == pytest.approx(0.25)


def test_a_full_queue_loses_what_does_not_fit(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    app = make_app({"in": PLENTY, "split": OperatorCost(1e4, {"work": 2.0}), "work": OperatorCost(100.0)})
    world = make_world(app, 100.0, queue_limit=500.0)
    seen = [o.applications["app"] for o in observe(world, 60.0)]
    # 200 of them arrive at `work` each second, 100 leave: half of every source event is lost once the queue is full.
    assert seen[-1].lost == pytest.approx(500.0)
    assert seen[-1].throughput_per_s == pytest.approx(50.0)
    assert seen[-1].operators["work"].queue == pytest.approx(400.0)
    assert sum(a.lost for a in seen) == pytest.approx(world.applications["app"].lost)
    assert conserved(world)
    assert seen[0].lost < seen[-1].lost


def test_no_limit_loses_nothing(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    world = make_world(make_app({"in": PLENTY, "work": OperatorCost(10.0)}), 100.0)
    assert sum(o.applications["app"].lost for o in observe(world, 60.0)) == 0.0


def test_a_skewed_key_keeps_hashed_instances_from_sharing_the_load(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    """The first of four instances gets 0.48 of the events (Zipf with exponent 1), so 208/s is the most."""
    app = make_app({"in": PLENTY, "work": OperatorCost(100.0, key_skew=1.0)})
    seen = {
        dispatch: observe(make_world(app, 380.0, {"work": 4}, dispatch=dispatch), 100.0)[-1].applications["app"]
        for dispatch in ("hashed", "shortest-queue")
    }
    assert seen["shortest-queue"].throughput_per_s == pytest.approx(380.0)
    assert seen["shortest-queue"].operators["work"].skew == pytest.approx(1.0)
    heaviest = 1 / (1 + 1 / 2 + 1 / 3 + 1 / 4)
    assert seen["hashed"].operators["work"].skew == pytest.approx(4 * heaviest)
    # The first instance works at its limit, the second has 91/s to do, and so on.
    assert seen["hashed"].throughput_per_s == pytest.approx(100.0 + 380.0 * (1 - heaviest))
    assert seen["hashed"].latency is not None
    assert seen["hashed"].latency.p95_s > 10.0


def test_instances_that_wait_leave_their_slot_to_others(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    """Four instances on one slot: each at full speed if it needs a quarter of it, at half speed if it needs half."""
    one = Cluster.homogeneous(1, 1)
    for share, handled in ((0.25, 400.0), (0.5, 200.0), (1.0, 100.0)):
        app = make_app({"work": OperatorCost(100.0, slot_share=share)})
        seen = observe(make_world(app, 1000.0, {"work": 4}, one), 60.0)[-1]
        assert seen.applications["app"].operators["work"].processed_per_s == pytest.approx(handled)
        assert seen.applications["app"].operators["work"].true_rate_per_s == pytest.approx(100.0)
        assert seen.workers["w1"].usage == pytest.approx(1.0)


def test_an_instance_keeps_part_of_a_slot_busy() -> None:
    for share in (0.0, 1.5):
        with pytest.raises(InvalidModel, match="at most 1 of a slot"):
            OperatorCost(100.0, slot_share=share)


def test_resizing_spreads_what_waits_and_loses_nothing(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    app = make_app({"in": PLENTY, "work": OperatorCost(100.0, key_skew=0.5)})
    world = make_world(app, 300.0, {"work": 2}, dispatch="hashed")
    observe(world, 50.0)
    before = world.applications["app"].backlog
    world.apply(Configuration({"app": {"in": 1, "work": 6}}, 8))
    assert world.applications["app"].backlog == pytest.approx(before)
    observe(world, 200.0)
    assert world.applications["app"].backlog == pytest.approx(0.0, abs=1e-6)
    assert conserved(world)


def test_branches_share_the_events_and_meet_again(make_world: MakeWorld, observe: Observe) -> None:
    names = (("left", "mid"), ("right", "mid"), ("mid", "store"), ("mid", "alert"))
    operators = (
        Operator("left", Role.SOURCE),
        Operator("right", Role.SOURCE),
        Operator("mid"),
        Operator("store", Role.SINK),
        Operator("alert", Role.SINK),
    )
    topology = Topology("app", operators, tuple(Stream(*ends) for ends in names))
    costs = dict.fromkeys(topology.names, PLENTY) | {
        "mid": OperatorCost(1e4, {"store": 2.0, "alert": 0.5}),
        "alert": OperatorCost(20.0),
    }
    app = Application(
        topology, costs, "", "", 0.0, 1.0, Cluster.homogeneous(2, 8), source_share={"left": 0.75, "right": 0.25}
    )
    world = make_world(app, 80.0)
    seen = observe(world, 100.0)[-1].applications["app"]
    arriving = {name: o.input_per_s for name, o in seen.operators.items()}
    assert arriving == pytest.approx({"left": 60.0, "right": 20.0, "mid": 80.0, "store": 160.0, "alert": 40.0})
    # Half of every event is completed in time; the other half waits for `alert`, which handles half of its input.
    assert seen.throughput_per_s == pytest.approx(60.0)
    assert seen.backlog == pytest.approx(20.0 * 100)
    assert conserved(world)


def test_several_applications_share_the_cluster(make_app: MakeApp) -> None:
    one, two = (make_app({"work": OperatorCost(100.0)}, name=name) for name in ("one", "two"))
    cluster = Cluster.homogeneous(2, 2)

    def throughputs(workers: int) -> dict[str, float]:
        initial = Configuration({"one": {"work": 2}, "two": {"work": 2}}, workers)
        world = World([(one, Constant(180.0)), (two, Constant(60.0))], cluster, initial)
        for _ in range(10):
            world.sleep_until(world.now_s() + 10)
            last = world.observe()
        inspect(last, world.topologies, None)
        assert all(conserved(world, name) for name in ("one", "two"))
        return {name: seen.throughput_per_s or 0.0 for name, seen in last.applications.items()}

    assert throughputs(2) == pytest.approx({"one": 180.0, "two": 60.0})
    crowded = throughputs(1)
    assert sum(crowded.values()) == pytest.approx(200.0, rel=0.03)
    assert crowded["one"] < 150.0


def test_a_step_that_does_not_divide_the_period_is_cut(
    make_app: MakeApp, make_world: MakeWorld, observe: Observe
) -> None:
    world = make_world(make_app({"work": OperatorCost(100.0)}), 50.0, step_s=3.0)
    seen = observe(world, 30.0, 10.0)
    assert [(o.at_s, o.window_s) for o in seen] == [(10.0, 10.0), (20.0, 10.0), (30.0, 10.0)]
    assert [o.applications["app"].arrived for o in seen] == pytest.approx([500.0] * 3)


def test_the_load_is_followed(make_app: MakeApp, make_world: MakeWorld, observe: Observe) -> None:
    world = make_world(make_app({"work": PLENTY}), Step(10.0, 70.0, 30.0))
    arrived = [o.applications["app"].arrived for o in observe(world, 50.0)]
    assert arrived == pytest.approx([100.0, 100.0, 100.0, 700.0, 700.0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"step_s": 0.0}, "step must be longer"),
        ({"dispatch": "random"}, "not 'random'"),
        ({"noise": -0.1}, "must not be negative"),
        ({"start_up_s": -1.0}, "must not be negative"),
        ({"monitor_delay_s": -1.0}, "must not be negative"),
        ({"batch_overhead_s": -1.0}, "must not be negative"),
        ({"queue_limit": -1.0}, "must not be negative"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidModel, match=said):
        WorldSettings(**settings)


def test_more_workers_than_there_are_cannot_be_started(make_app: MakeApp, make_world: MakeWorld) -> None:
    with pytest.raises(InvalidModel, match=r"^9 workers are asked for, but the cluster has 2\.$"):
        make_world(make_app({"work": PLENTY}), 1.0, cluster=Cluster.homogeneous(2, 1), workers=9)
