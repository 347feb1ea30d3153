from dataclasses import replace
from itertools import pairwise

import pytest

from penstock.control import Acted, ControlLoop, LoopSettings, Plant, Ports
from penstock.errors import UsageError
from penstock.model import (
    Cluster,
    Configuration,
    Keep,
    Link,
    Objectives,
    Operator,
    Reconfigure,
    Role,
    Topology,
    View,
    Worker,
)
from penstock.model import Stream as Edge
from penstock.policies import Edrp, EdrpMemory, policy
from penstock.policies.edrp import Paused
from penstock.policies.edrp_problem import Costs, Deployment, Wishes
from penstock.policies.edrp_units import units_of
from penstock.policies.senses import arriving
from penstock.simulation import World, WorldSettings
from penstock.stores import MemoryJournal
from penstock.testing import pipeline, steady_view
from penstock.workloads import Application, Constant, Curve, OperatorCost, Sine

APP = pipeline((100.0, 10.0, 25.0))


def view(load_per_s: float, parallelism: tuple[int, int, int], target_s: float = 50.0, app: Application = APP) -> View:
    start = Configuration({"pipeline": dict(zip(("s0", "s1", "s2"), parallelism, strict=True))}, 1)
    start = start.fitted({"pipeline": app.topology}, app.cluster)
    return replace(steady_view((app,), {"pipeline": load_per_s}, start), objectives=Objectives(target_s))


def asked(edrp: Edrp, seen: View, memory: EdrpMemory | None = None) -> tuple[int, ...]:
    """What is asked for, or what there is."""
    decision, _ = edrp.decide(seen, edrp.start() if memory is None else memory)
    target = decision.target if isinstance(decision, Reconfigure) else seen.requested
    return tuple(target.parallelism["pipeline"].values())


def test_every_operator_gets_the_fewest_that_keep_up_when_there_is_time() -> None:
    # 42 per second keep 0.42, 4.2 and 1.68 instances busy; they may be busy for 0.8 of their time.
    assert asked(Edrp(), view(42.0, (1, 1, 1))) == (1, 6, 3)
    assert asked(Edrp(), view(42.0, (4, 9, 4))) == (1, 6, 3)


def test_a_tight_target_is_worth_more_replicas() -> None:
    # With 1, 6 and 3 of them an event takes 17 + 333 + 91 ms.
    assert sum(asked(Edrp(), view(42.0, (1, 6, 3), target_s=0.3))) > 10
    only_time = Edrp(response_weight=1.0, cost_weight=0.0, downtime_weight=0.0)
    assert sum(asked(only_time, view(42.0, (1, 6, 3), target_s=0.3))) > 30


def test_bounds_that_cannot_be_kept_are_dropped() -> None:
    assert asked(Edrp(), view(42.0, (1, 1, 1), target_s=0.01)) > (1, 6, 3)


def test_a_change_must_be_worth_its_downtime() -> None:
    seen = view(42.0, (1, 9, 3))
    assert asked(Edrp(), seen) == (1, 6, 3)
    slow = EdrpMemory(requested=seen.requested, seen_until_s=60.0, plain=Paused(1, 20.0))
    decision, _ = Edrp().decide(seen, slow)
    assert isinstance(decision, Keep)
    assert asked(Edrp(downtime_weight=0.0, cost_weight=0.7), seen, slow) == (1, 6, 3)


def test_pauses_are_learned_from_what_was_observed() -> None:
    edrp, before = Edrp(), view(42.0, (1, 6, 3))
    _, memory = edrp.decide(before, edrp.start())
    after = view(42.0, (1, 7, 3))
    paused = replace(after.observations[-1].applications["pipeline"], paused_s=3.0)
    newest = replace(after.observations[-1], at_s=70.0, applications={"pipeline": paused})
    _, memory = edrp.decide(replace(after, now_s=70.0, observations=(*after.observations, newest)), memory)
    assert memory.plain == Paused(1, 3.0)
    assert memory.state == Paused()
    assert memory.plain.mean_s(0.25) == 3.0
    assert memory.state.mean_s(0.25) == 0.25


def test_a_load_that_cannot_be_carried_is_assessed_at_once() -> None:
    edrp = Edrp()
    memory = EdrpMemory(assessed_at_s=55.0)
    calm, _ = edrp.decide(view(42.0, (4, 9, 4)), memory)
    assert calm == Keep("the next assessment is at 115 s")
    urgent, _ = edrp.decide(view(42.0, (1, 3, 3)), memory)
    assert isinstance(urgent, Reconfigure)


def test_one_is_given_up_only_with_room_to_spare() -> None:
    # At 47 per second six would be busy for 0.783 of their time, at ten percent more for 0.862.
    assert asked(Edrp(), view(47.0, (1, 7, 3)))[1] == 7
    assert asked(Edrp(), view(47.0, (1, 6, 3)))[1] == 6


def test_a_fused_segment_is_deployed_as_one() -> None:
    app = pipeline((100.0, 10.0, 25.0), fused=True)
    # Together they keep 6.3 instances busy.
    assert asked(Edrp(), view(42.0, (1, 1, 1), app=app)) == (8, 8, 8)


def test_what_is_not_known_stays_as_it_is() -> None:
    seen = view(42.0, (1, 1, 5))
    blind = []
    for o in seen.observations:
        application = o.applications["pipeline"]
        hidden = replace(application.operators["s2"], true_rate_per_s=None, effective_rate_per_s=None)
        operators = {**application.operators, "s2": hidden}
        blind.append(replace(o, applications={"pipeline": replace(application, operators=operators)}))
    assert asked(Edrp(), replace(seen, observations=tuple(blind))) == (1, 6, 5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("edrp:response_weight=0.9", "sum to 1"),
        ("edrp:0,0,1", "response_weight or cost_weight"),
        ("edrp:utilisation=1", "utilisation"),
        ("edrp:max_downtime_s=0", "above 0"),
        ("edrp:min_gain=-1", "at least 0"),
        ("edrp:max_instances=0", "max_instances"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        policy(text)


def far_and_near() -> Application:
    """Source and sink on one node, two nodes near it and two far away, two slots each."""
    places = {"home": 0.0, "near": 0.005, "close": 0.006, "far": 0.1, "farther": 0.12}
    links = tuple(
        Link(one, other, delay_s=abs(places[one] - places[other])) for one in places for other in places if one != other
    )
    names = ("in", "work", "out")
    operators = (
        Operator("in", Role.SOURCE, pins=("home",)),
        Operator("work", max_parallelism=4, stateful=True, key="k"),
        Operator("out", Role.SINK, pins=("home",)),
    )
    topology = Topology("far", operators, tuple(Edge(*ends) for ends in pairwise(names)))
    costs = {name: OperatorCost(rate) for name, rate in zip(names, (500.0, 50.0, 500.0), strict=True)}
    cluster = Cluster(tuple(Worker(name, 2) for name in ("farther", "far", "home", "near", "close")), links)
    return Application(topology, costs, "far", "made up", 10.0, 120.0, cluster, latency_target_s=0.2)


def run(app: Application, curve: Curve, edrp: Edrp, until_s: float) -> tuple[World, list[Configuration]]:
    topologies = {app.name: app.topology}
    start = Configuration({app.name: dict.fromkeys(app.topology.names, 1)}, len(app.cluster.workers))
    world = World([(app, curve)], app.cluster, start, WorldSettings(noise=0.02))
    plant = Plant(topologies, app.cluster, Objectives(app.latency_target_s))
    journal = MemoryJournal()
    loop = ControlLoop(plant, edrp, Ports(world, world, world, journal), LoopSettings())
    loop.begin({})
    loop.run(until_s)
    return world, [entry.target for entry in journal.entries() if isinstance(entry, Acted)]


def test_replicas_are_placed_on_a_network() -> None:
    world, targets = run(far_and_near(), Constant(100.0), Edrp(), 300.0)
    placement = world.requested().placement
    assert placement is not None
    assert placement["far"]["in"] == placement["far"]["out"] == ("home",)
    assert set(placement["far"]["work"]) <= {"near", "close"}
    assert len(placement["far"]["work"]) >= 3
    assert 1 <= len(targets) <= 3


def test_a_noisy_load_does_not_make_it_swing() -> None:
    _, targets = run(far_and_near(), Constant(77.0), Edrp(), 1800.0)
    assert len(targets) <= 4
    calm = pipeline((400.0, 90.0, 150.0))
    _, targets = run(replace(calm, cluster=Cluster.homogeneous(8, 4)), Constant(290.0), Edrp(), 1800.0)
    assert len(targets) <= 4


def test_a_swinging_load_is_followed_and_nothing_is_lost() -> None:
    app = pipeline((400.0, 90.0, 150.0))
    world, targets = run(app, Sine(60.0, 700.0, 600.0), Edrp(), 1200.0)
    workers = [target.workers for target in targets]
    assert min(workers) < max(workers)
    assert len(targets) <= 20
    seen = world.applications["pipeline"]
    assert seen.lost == 0
    assert seen.completed > 0.98 * seen.arrived


def test_slots_are_shared_where_there_are_too_few() -> None:
    seen = view(42.0, (1, 1, 1))
    quota = replace(seen, objectives=replace(seen.objectives, max_workers=2))
    decision, _ = Edrp().decide(quota, Edrp().start())
    assert isinstance(decision, Reconfigure)
    assert decision.target.workers == 2
    assert tuple(decision.target.parallelism["pipeline"].values()) == (1, 6, 3)


def test_without_a_known_deployment_downtime_does_not_count() -> None:
    app = far_and_near()
    start = Configuration({"far": {"in": 1, "work": 1, "out": 1}}, 5)
    seen = steady_view((app,), {"far": 100.0}, start)
    edrp = Edrp()
    _, memory = edrp.decide(seen, edrp.start())
    units, flows = units_of(seen, arriving(seen, 30.0), memory.rates)
    deployment = Deployment(seen, units, flows, {unit.name: unit.choices(0.8, 0.1) for unit in units})
    assert deployment.current() is None
    problem = deployment.problem(Wishes((0.3, 0.3, 0.4), 200.0, 10.0, 60.0), Costs(0.25, 4.0, 1e6), bounded=True)
    assert problem.weights.downtime == 0
    assert problem.weights.response_time == pytest.approx(0.5)


def test_equal_views_of_a_network_give_equal_decisions() -> None:
    app = far_and_near()
    world, _ = run(app, Constant(90.0), Edrp(), 60.0)
    topologies = {app.name: app.topology}
    seen = world.observe()
    asked = Configuration(world.requested().parallelism, 5)
    now = View(70.0, topologies, app.cluster, Objectives(0.2), asked, asked, None, (seen,))
    decisions = [Edrp().decide(now, EdrpMemory()) for _ in range(5)]
    assert all(decision == decisions[0] for decision in decisions)
