"""Wiring of simulated runs."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.control import ControlLoop, Entry, Journal, Plant, Ports
from penstock.model import Cluster, Worker
from penstock.service.requests import RunRequest
from penstock.simulation import World, WorldSettings
from penstock.workloads import Application


def simulate(
    request: RunRequest,
    journal: Journal,
    on_entry: Callable[[Entry], None] | None = None,
    world_settings: WorldSettings | None = None,
) -> None:
    """Run `request` in virtual time; the journal then holds all there is to know about it."""
    chosen = [_executed(app, request.execution) for app in request.applications()]
    cluster = _cluster(chosen, request.workers)
    topologies = {app.name: app.topology for app in chosen}
    settings = world_settings or WorldSettings(seed=request.seed, noise=0.02)
    world = World([(app, request.curve(app)) for app in chosen], cluster, request.start(topologies, cluster), settings)
    objectives = request.objectives(min(app.latency_target_s for app in chosen))
    plant = Plant(topologies, cluster, objectives)
    ports = Ports(world, world, world, journal)
    loop = ControlLoop(plant, request.make_policy(topologies), ports, request.settings, on_entry)
    loop.begin(request.identity)
    loop.run(request.duration_s, planned=request.requests)
    request.keep_learned(loop.memory, topologies)


def _executed(app: Application, execution: str) -> Application:
    """The application as one fused query, or with every operator on its own."""
    segments = (app.topology.order,) if execution == "fused" else ()
    return replace(app, topology=replace(app.topology, segments=segments))


def _cluster(chosen: Sequence[Application], workers: int | None) -> Cluster:
    """The cluster of the (first) application's publication, or `workers` workers like its first one."""
    cluster = chosen[0].cluster
    if workers is None:
        return cluster
    like: Worker = cluster.workers[0]
    return Cluster(tuple(replace(like, name=f"w{i + 1}") for i in range(workers)))
