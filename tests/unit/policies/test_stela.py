"""Stela serves the user's requests, and the strategies it is compared with do as they say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from penstock.control import Acted, ControlLoop, LoopSettings, Plant, Ports
from penstock.errors import UsageError
from penstock.model import (
    ApplicationObservation,
    Cluster,
    Configuration,
    Decision,
    Keep,
    Objectives,
    Observation,
    OperatorObservation,
    Reconfigure,
    ScaleRequest,
    View,
    WorkerObservation,
)
from penstock.policies import Stela, StelaMemory, policy
from penstock.simulation import World, WorldSettings
from penstock.stores import MemoryJournal
from penstock.testing import crossing, pipeline, steady_view, view_of
from penstock.workloads import STELA_SETTINGS, Constant, application

APP = pipeline((400.0, 50.0, 90.0, 400.0))
"""Under 300 per second, with two instances each, s1 is congested, and s2 would be as soon as s1 had more."""


def view(
    load_per_s: float = 300.0, asked: Sequence[int] = (1,), workers: int = 2, instances: int = 2, known: bool = True
) -> View:
    """Two workers with one instance of every operator each."""
    start = Configuration({"pipeline": dict.fromkeys(APP.topology.names, instances)}, workers)
    seen = steady_view((APP,), {"pipeline": load_per_s}, start)
    if known:
        each = {f"pipeline/{name}": instances // workers for name in APP.topology.names}
        seen = with_hosts(seen, dict.fromkeys([f"w{i + 1}" for i in range(workers)], each))
    return replace(seen, requests=tuple(ScaleRequest(50.0, count) for count in asked))


def with_hosts(seen: View, hosted: dict[str, dict[str, int]], state_bytes: dict[str, int] | None = None) -> View:
    workers = {
        name: WorkerObservation(0.5, sum(on_it.values()), (state_bytes or {}).get(name), on_it)
        for name, on_it in hosted.items()
    }
    last: Observation = replace(seen.observations[-1], workers=workers)
    return replace(seen, observations=(*seen.observations[:-1], last))


def decided(seen: View, by: Any = "etp", **parameters: Any) -> Reconfigure:
    decision: Decision = Stela(by=by, **parameters).decide(seen, StelaMemory())[0]
    assert isinstance(decision, Reconfigure)
    assert decision.on_request
    return decision


def test_nothing_happens_unless_the_user_asks() -> None:
    decision, memory = Stela().decide(view(asked=()), StelaMemory())
    assert decision == Keep("the user asked for nothing more")
    assert memory == StelaMemory()


def test_new_instances_go_where_they_count_until_something_else_is_congested() -> None:
    decision = decided(view(300.0))
    # 8 instances on 2 workers: 4 for the new one. s1 handles 100, then 150, 200, 250 (no longer congested); s2 gets
    # 250 and handles 180.
    assert decision.target.parallelism["pipeline"] == {"s0": 2, "s1": 5, "s2": 3, "s3": 2}
    assert decision.target.workers == 3
    assert decision.because == "the request for 1 more worker: 3 more of s1, 1 more of s2"


def test_idle_instances_make_room_where_that_is_asked_for() -> None:
    app = pipeline((400.0, 50.0, 400.0))
    start = Configuration({"pipeline": dict.fromkeys(app.topology.names, 2)}, 2)
    each = {f"pipeline/{name}": 1 for name in app.topology.names}
    seen = with_hosts(steady_view((app,), {"pipeline": 360.0}, start), {"w1": each, "w2": each})
    asking = replace(seen, requests=(ScaleRequest(50.0, 1),))
    # Three new instances make five: 250 per second of 360. A sixth handles 300, which is no longer congested; the sink,
    # which has most to spare, can handle that with one.
    assert decided(asking).target.parallelism["pipeline"] == {"s0": 2, "s1": 5, "s2": 2}
    exchanged = decided(asking, exchange=True)
    assert exchanged.target.parallelism["pipeline"] == {"s0": 2, "s1": 6, "s2": 1}
    assert exchanged.because.endswith("3 more of s1; instead of idle ones 1 more of s1")
    placement = (exchanged.target.placement or {})["pipeline"]
    assert {name: len(workers) for name, workers in placement.items()} == {"s0": 2, "s1": 6, "s2": 1}


def test_nothing_is_exchanged_for_what_would_leave_the_giver_short() -> None:
    app = pipeline((400.0, 50.0, 160.0))
    start = Configuration({"pipeline": {"s0": 1, "s1": 2, "s2": 2}}, 2)
    asking = replace(steady_view((app,), {"pipeline": 400.0}, start), requests=(ScaleRequest(50.0, 1),))
    # Two more of s1 handle 200; the sink could do without one of its two only up to 160.
    assert decided(asking, exchange=True).target.parallelism["pipeline"] == {"s0": 1, "s1": 4, "s2": 2}


def test_as_published_children_are_taken_to_handle_no_more_than_they_do() -> None:
    target = decided(view(300.0), capacity=False).target
    # s2 is seen to handle 100; as soon as s1 would send 150, s2 is congested and s1 no longer counts, and so on.
    assert target.parallelism["pipeline"] == {"s0": 2, "s1": 4, "s2": 3, "s3": 3}


def test_what_runs_already_stays_where_it_is() -> None:
    target = decided(view(300.0)).target
    assert target.placement is not None
    assert target.placement["pipeline"] == {
        "s0": ("w1", "w2"),
        "s1": ("w1", "w2", "w3", "w3", "w3"),
        "s2": ("w1", "w2", "w3"),
        "s3": ("w1", "w2"),
    }


def test_several_new_workers_get_instances_in_turn() -> None:
    target = decided(view(1000.0, asked=(2,))).target
    assert target.workers == 4
    assert sum(target.parallelism["pipeline"].values()) == 8 + 8
    assert target.placement is not None
    placed = [worker for workers in target.placement["pipeline"].values() for worker in workers]
    assert [placed.count(name) for name in ("w1", "w2", "w3", "w4")] == [4, 4, 4, 4]


def test_a_source_gets_more_when_nothing_is_congested() -> None:
    assert decided(view(50.0)).target.parallelism["pipeline"] == {"s0": 6, "s1": 2, "s2": 2, "s3": 2}


def test_bounds_are_respected() -> None:
    tight = pipeline((400.0, 50.0, 90.0, 400.0), max_parallelism=3)
    seen = replace(view(300.0), topologies={"pipeline": tight.topology})
    # s1 may have one more; then, with what it sends on, nothing else is congested, and the source may have one.
    assert decided(seen).target.parallelism["pipeline"] == {"s0": 3, "s1": 3, "s2": 2, "s3": 2}


def test_the_congestion_rate_decides_what_is_congested() -> None:
    seen = view(115.0)
    assert decided(seen).target.parallelism["pipeline"]["s1"] == 2
    assert decided(seen, congestion=1.1).target.parallelism["pipeline"]["s1"] == 3


def test_without_knowing_who_runs_where_the_scheduler_places() -> None:
    decision = decided(view(300.0, known=False))
    assert decision.target.placement is None
    assert decision.target.parallelism["pipeline"]["s1"] == 5
    fewer = decided(view(300.0, asked=(-1,), known=False))
    assert fewer.target.workers == 1
    assert fewer.target.placement is None


def split_hosts() -> View:
    """Two instances of each operator, every operator on a worker of its own; s1 is congested."""
    hosted = {f"w{i + 1}": {f"pipeline/s{i}": 2} for i in range(4)}
    start = Configuration({"pipeline": dict.fromkeys(APP.topology.names, 2)}, 4)
    seen = with_hosts(steady_view((APP,), {"pipeline": 300.0}, start), hosted)
    return replace(seen, requests=(ScaleRequest(50.0, -1),))


def test_the_worker_that_counts_least_is_released() -> None:
    decision = decided(split_hosts())
    # Nothing that s0 does gets through s1.
    assert decision.release == ("w1",)
    assert decision.target.workers == 3
    assert decision.target.parallelism == split_hosts().requested.parallelism
    assert decision.target.placement is not None
    assert decision.target.placement["pipeline"]["s0"] == ("w4", "w4"), "the sink has the least to do"
    in_turn = decided(split_hosts(), dealing="turn").target
    assert in_turn.placement is not None
    assert in_turn.placement["pipeline"]["s0"] == ("w2", "w3")


def test_instances_of_a_released_worker_go_to_the_least_busy() -> None:
    target = decided(replace(split_hosts(), requests=(ScaleRequest(50.0, -3),))).target
    assert target.workers == 1
    assert target.placement is not None
    assert len({worker for workers in target.placement["pipeline"].values() for worker in workers}) == 1


def test_among_equal_workers_the_one_with_the_least_state_goes() -> None:
    hosted = {f"w{i + 1}": {f"pipeline/s{i}": 2} for i in range(1, 4)}
    state = {"w2": 500, "w3": 100, "w4": 900}
    start = Configuration({"pipeline": dict.fromkeys(APP.topology.names, 2)}, 3)
    seen = with_hosts(steady_view((APP,), {"pipeline": 300.0}, start), hosted, state)
    assert decided(replace(seen, requests=(ScaleRequest(50.0, -1),))).release == ("w3",)


def test_several_workers_are_released_one_by_one() -> None:
    decision = decided(replace(split_hosts(), requests=(ScaleRequest(50.0, -2),)))
    assert len(decision.release) == 2
    assert decision.release[0] == "w1"
    assert decision.target.placement is not None
    assert {w for ws in decision.target.placement["pipeline"].values() for w in ws}.isdisjoint(decision.release)


def test_random_victims_depend_on_the_seed_alone() -> None:
    chosen = {seed: decided(split_hosts(), "random", seed=seed).release for seed in range(20)}
    assert chosen == {seed: decided(split_hosts(), "random", seed=seed).release for seed in range(20)}
    assert len(set(chosen.values())) == 4


def test_round_robin_deals_everything_anew() -> None:
    out = decided(view(300.0), "round-robin").target
    assert (out.workers, out.placement) == (3, None)
    assert out.parallelism == view(300.0).requested.parallelism
    fewer = decided(split_hosts(), "round-robin")
    assert fewer.target.placement is None
    assert len(fewer.release) == 1


@pytest.mark.parametrize(
    ("by", "first", "released"),
    [
        ("near-source", "s0", "w4"),
        ("near-sink", "s3", "w1"),
        ("descendants", "s0", "w4"),
        ("most-link-load", "s0", "w4"),
        ("least-link-load", "s3", "w1"),
    ],
)
def test_other_strategies_move_what_they_find_important(by: Any, first: str, released: str) -> None:
    out = decided(view(300.0), by).target
    assert out.parallelism == view(300.0).requested.parallelism
    assert out.placement is not None
    placed = [worker for workers in out.placement["pipeline"].values() for worker in workers]
    assert placed.count("w3") == 4
    assert "w3" in out.placement["pipeline"][first]
    assert decided(split_hosts(), by).release == (released,)


def test_centrality_prefers_operators_with_many_streams() -> None:
    app = crossing()
    start = Configuration({"crossing": dict.fromkeys(app.topology.names, 2)}, 2)
    each = {f"crossing/{name}": 1 for name in app.topology.names}
    seen = with_hosts(steady_view((app,), {"crossing": 900.0}, start), {"w1": each, "w2": each})
    target = decided(replace(seen, requests=(ScaleRequest(50.0, 1),)), "centrality").target
    assert target.placement is not None
    assert target.placement["crossing"]["meet"] == ("w3", "w3")


def test_a_request_is_served_once_and_in_turn() -> None:
    served = Stela()
    first, memory = served.decide(view(asked=(1, -1)), StelaMemory())
    assert isinstance(first, Reconfigure)
    again, same = served.decide(view(asked=(1, -1)), memory)
    assert again == first, "what did not happen is tried again"
    assert same == memory
    done = replace(view(asked=(1, -1)), requested=first.target)
    second, memory = served.decide(done, memory)
    assert isinstance(second, Reconfigure)
    assert second.target.workers == 2
    last, memory = served.decide(view(asked=(1, -1)), memory)
    assert isinstance(last, Keep)
    assert memory == StelaMemory(2)


def test_a_request_that_cannot_be_served_is_given_up() -> None:
    seen = replace(view(), objectives=Objectives(max_workers=2))
    decision, memory = Stela().decide(seen, StelaMemory())
    assert isinstance(decision, Keep)
    assert "cannot be served" in decision.because
    assert memory == StelaMemory(1)


def test_a_request_waits_until_something_is_known() -> None:
    decision, memory = Stela().decide(replace(view(), observations=()), StelaMemory())
    assert isinstance(decision, Keep)
    assert "waits" in decision.because
    assert memory == StelaMemory()


def test_two_applications_are_served_together() -> None:
    other = crossing()
    start = Configuration(
        {"pipeline": dict.fromkeys(APP.topology.names, 2), "crossing": dict.fromkeys(other.topology.names, 2)}, 2
    )
    seen = steady_view((APP, other), {"pipeline": 300.0, "crossing": 50.0}, start)
    target = decided(replace(seen, requests=(ScaleRequest(1.0, 1),))).target
    # Ten new instances: four where it is congested, the rest for the source with the most to do.
    assert target.parallelism["pipeline"] == {"s0": 8, "s1": 5, "s2": 3, "s3": 2}
    assert target.parallelism["crossing"] == start.parallelism["crossing"]


@pytest.mark.parametrize("text", ["stela:congestion=0.9", "stela:window_s=0"])
def test_parameters_are_checked(text: str) -> None:
    with pytest.raises(UsageError, match="Stela needs"):
        policy(text)


def test_on_the_simulator_the_named_workers_go_and_throughput_grows() -> None:
    app, settings = application("linear"), STELA_SETTINGS["linear"]
    start = Configuration({"linear": dict.fromkeys(app.topology.names, settings.executors)}, settings.workers)
    cluster = Cluster.homogeneous(settings.workers_after, settings.slots)
    world = World([(app, Constant(app.high_per_s))], cluster, start, WorldSettings())
    journal = MemoryJournal()
    plant = Plant({"linear": app.topology}, cluster, Objectives())
    loop = ControlLoop(plant, Stela(), Ports(world, world, world, journal), LoopSettings(cooldown_s=0.0))
    loop.begin({})
    loop.run(400.0, planned=(ScaleRequest(60.0, 1), ScaleRequest(200.0, -2)))
    acts = [entry for entry in journal.entries() if isinstance(entry, Acted)]
    assert [act.target.workers for act in acts] == [7, 5]
    assert acts[0].target.parallelism["linear"]["bolt-1"] > settings.executors
    hosts = {worker.name for worker in world.workers.alive}
    placed = acts[1].target.placement
    assert placed is not None
    assert hosts == {worker for workers in placed["linear"].values() for worker in workers}


def test_what_waits_before_a_query_counts_for_the_operators_in_it() -> None:
    """On Spark a source has no instances of its own: those of the operator that reads it are what is missing."""
    row = pipeline((10_000.0, 250.0, 250.0))
    fixed = tuple(replace(o, max_parallelism=1) if o.name == "s0" else o for o in row.topology.operators)
    app = replace(row, topology=replace(row.topology, operators=fixed, segments=(("s0", "s1"),)))
    behind = {
        "s0": OperatorObservation(1, 600.0, 240.0, {"s1": 240.0}),
        "s1": OperatorObservation(1, 240.0, 240.0, {"s2": 240.0}, busy_s=10.0, effective_rate_per_s=240.0),
        "s2": OperatorObservation(1, 240.0, 240.0, busy_s=10.0, effective_rate_per_s=250.0),
    }
    seen = Observation(10.0, 10.0, {"pipeline": ApplicationObservation(behind)}, {})
    start = Configuration({"pipeline": dict.fromkeys(app.topology.names, 1)}, 2)
    asking = replace(view_of((app,), start, (seen,), 10.0), requests=(ScaleRequest(5.0, 2),))
    assert decided(asking).target.parallelism["pipeline"] == {"s0": 1, "s1": 2, "s2": 2}
