"""Views and observations for tests of policies, consistent with a fluid model of what would be measured.

Load flows through an application like water: every operator handles what arrives, up to what its instances can, and
hands on its selectivity's multiple. Members of a fused segment share its time. There is no noise and no transient.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

from penstock.analysis import ScalabilityLaw
from penstock.model import (
    ApplicationObservation,
    Cluster,
    Configuration,
    Decision,
    Objectives,
    Observation,
    Operator,
    OperatorObservation,
    Reconfigure,
    Role,
    Stream,
    Topology,
    View,
    WorkerObservation,
)
from penstock.policies import Policy
from penstock.workloads.application import Application, OperatorCost


def pipeline(
    rates_per_s: Sequence[float], selectivity: float = 1.0, max_parallelism: int = 16, fused: bool = False
) -> Application:
    """An application `pipeline` of operators s0, s1, ... in a row, on sixteen workers of four slots.

    An instance of the i-th handles `rates_per_s[i]`; each passes on `selectivity` events per event to the next.
    """
    names = [f"s{i}" for i in range(len(rates_per_s))]
    roles = [Role.SOURCE, *[Role.TRANSFORM] * (len(names) - 2), Role.SINK][: len(names)]
    operators = tuple(
        Operator(name, role, max_parallelism=max_parallelism) for name, role in zip(names, roles, strict=True)
    )
    streams = tuple(Stream(up, down) for up, down in pairwise(names))
    topology = Topology("pipeline", operators, streams, (tuple(names),) if fused else ())
    costs = {
        name: OperatorCost(rate, dict.fromkeys(topology.downstream(name), selectivity))
        for name, rate in zip(names, rates_per_s, strict=True)
    }
    return _example(topology, costs)


def crossing() -> Application:
    """An application `crossing` with two sources, an operator where they meet, and two sinks."""
    topology = Topology(
        "crossing",
        (
            Operator("left", Role.SOURCE, max_parallelism=4),
            Operator("right", Role.SOURCE, max_parallelism=4),
            Operator("clean", max_parallelism=8),
            Operator("meet", min_parallelism=2, max_parallelism=12, stateful=True, key="id"),
            Operator("store", Role.SINK, max_parallelism=8),
            Operator("alert", Role.SINK, max_parallelism=2),
        ),
        (
            Stream("left", "clean"),
            Stream("clean", "meet"),
            Stream("right", "meet"),
            Stream("meet", "store"),
            Stream("meet", "alert"),
        ),
    )
    costs = {
        "left": OperatorCost(1000.0),
        "right": OperatorCost(800.0),
        "clean": OperatorCost(300.0, {"meet": 0.5}),
        "meet": OperatorCost(150.0, {"store": 2.0, "alert": 0.01}),
        "store": OperatorCost(400.0),
        "alert": OperatorCost(50.0),
    }
    return _example(topology, costs, {"left": 0.75, "right": 0.25})


def _example(
    topology: Topology, costs: Mapping[str, OperatorCost], source_share: Mapping[str, float] | None = None
) -> Application:
    cluster = Cluster.homogeneous(16, 4)
    return Application(
        topology, costs, "an example", "made up", 20.0, 1000.0, cluster, source_share=dict(source_share or {})
    )


@dataclass(frozen=True, slots=True)
class _Flow:
    """What one operator takes in, handles, would handle if nothing held it up, and the seconds per second it needs."""

    arriving_per_s: float
    processed_per_s: float
    unhindered_per_s: float
    busy: float


def steady_observation(
    applications: Sequence[Application],
    loads_per_s: Mapping[str, float],
    configuration: Configuration,
    at_s: float = 10.0,
    window_s: float = 10.0,
) -> Observation:
    """What is measured when each application has its load and the configuration has been in place for long."""
    seen = {
        application.name: _application(
            application, loads_per_s[application.name], configuration.parallelism[application.name], window_s
        )
        for application in applications
    }
    busy_s = sum(o.busy_s or 0.0 for a in seen.values() for o in a.operators.values())
    workers = applications[0].cluster.workers[: configuration.workers]
    usage = min(1.0, busy_s / (window_s * sum(worker.slots for worker in workers)))
    return Observation(at_s, window_s, seen, {worker.name: WorkerObservation(usage) for worker in workers})


def steady_view(
    applications: Sequence[Application],
    loads_per_s: Mapping[str, float],
    configuration: Configuration,
    now_s: float = 60.0,
    windows: int = 6,
) -> View:
    """The view of a policy that has been looking at a steady state for `windows` windows of ten seconds."""
    observations = tuple(
        steady_observation(applications, loads_per_s, configuration, now_s - 10.0 * (windows - 1 - i))
        for i in range(windows)
    )
    return view_of(applications, configuration, observations, now_s)


def view_of(
    applications: Sequence[Application],
    configuration: Configuration,
    observations: tuple[Observation, ...],
    now_s: float,
) -> View:
    """A view in which `configuration` is desired and requested, and observed if anything was."""
    observed = observations[-1].configuration() if observations else None
    return View(
        now_s,
        {application.name: application.topology for application in applications},
        applications[0].cluster,
        Objectives(),
        configuration,
        configuration,
        observed,
        observations,
    )


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a policy: what it saw, what it remembered before, what it decided and remembered then."""

    view: View
    before: object
    decision: Decision
    after: object


def drive(
    policy: Policy[Any],
    applications: Sequence[Application],
    loads_per_s: Callable[[float], Mapping[str, float]],
    start: Configuration,
    turns: int,
) -> Iterator[Turn]:
    """Let a policy steer the fluid model for `turns` turns of ten seconds; what it asks for is there at once."""
    memory: Any = policy.start()
    current = start
    observations: tuple[Observation, ...] = ()
    for turn in range(1, turns + 1):
        now_s = 10.0 * turn
        observed = steady_observation(applications, loads_per_s(now_s), current, now_s)
        observations = (*observations[-5:], observed)
        view = view_of(applications, current, observations, now_s)
        decision, after = policy.decide(view, memory)
        yield Turn(view, memory, decision, after)
        memory = after
        if isinstance(decision, Reconfigure):
            current = decision.target


def _application(
    application: Application, load_per_s: float, parallelism: Mapping[str, int], window_s: float
) -> ApplicationObservation:
    topology = application.topology
    flows: dict[str, _Flow] = {}
    for segment in _segments_in_order(topology):
        flows.update(_segment(application, load_per_s, parallelism, segment, flows))
    busy = {name: sum(flows[member].busy for member in seg) for seg in topology.all_segments for name in seg}
    reached = min((f.processed_per_s / f.unhindered_per_s for f in flows.values() if f.unhindered_per_s), default=1.0)
    throughput = load_per_s * reached
    return ApplicationObservation(
        {name: _operator(application, name, parallelism[name], flows[name], busy[name], window_s) for name in flows},
        arrived=load_per_s * window_s,
        completed=throughput * window_s,
        input_per_s=load_per_s,
        throughput_per_s=throughput,
        backlog=(load_per_s - throughput) * window_s,
    )


def _operator(
    application: Application, name: str, instances: int, flow: _Flow, segment_busy: float, window_s: float
) -> OperatorObservation:
    rate = _instance_rate(application, name, instances) if flow.processed_per_s else None
    share = flow.busy / segment_busy if segment_busy else None
    return OperatorObservation(
        instances,
        flow.arriving_per_s,
        flow.processed_per_s,
        {
            downstream: flow.processed_per_s * _selectivity(application, name, downstream)
            for downstream in application.topology.downstream(name)
        },
        busy_s=flow.busy * window_s,
        time_share=share,
        queue=(flow.arriving_per_s - flow.processed_per_s) * window_s,
        true_rate_per_s=rate,
        effective_rate_per_s=None if rate is None or share is None else rate * share,
    )


def _segment(
    application: Application,
    load_per_s: float,
    parallelism: Mapping[str, int],
    segment: Sequence[str],
    flows: Mapping[str, _Flow],
) -> dict[str, _Flow]:
    """The flows of one segment: all members are held up alike when they do not fit into its time together."""
    topology = application.topology
    outside: dict[str, float] = {}
    inside: dict[str, float] = {}
    unhindered: dict[str, float] = {}
    for name in (n for n in topology.order if n in segment):
        own = load_per_s * application.share(name) if name in topology.sources else 0.0
        outside[name], inside[name], unhindered[name] = own, 0.0, own
        for up in topology.upstream(name):
            ratio = _selectivity(application, up, name)
            if up in segment:
                inside[name] += ratio * (outside[up] + inside[up])
                unhindered[name] += ratio * unhindered[up]
            else:
                outside[name] += ratio * flows[up].processed_per_s
                unhindered[name] += ratio * flows[up].unhindered_per_s
    rates = {name: _instance_rate(application, name, parallelism[name]) for name in outside}
    load = sum((outside[name] + inside[name]) / (rates[name] * parallelism[name]) for name in outside)
    part = 1.0 if load <= 1 else 1.0 / load
    result = {}
    for name, external in outside.items():
        processed = part * (external + inside[name])
        result[name] = _Flow(external + part * inside[name], processed, unhindered[name], processed / rates[name])
    return result


def _segments_in_order(topology: Topology) -> list[tuple[str, ...]]:
    of = {name: segment for segment in topology.all_segments for name in segment}
    graph = {s: {of[up] for name in s for up in topology.upstream(name)} - {s} for s in topology.all_segments}
    return list(TopologicalSorter(graph).static_order())


def _instance_rate(application: Application, name: str, instances: int) -> float:
    cost = application.costs[name]
    return ScalabilityLaw(cost.contention, cost.coherence, cost.rate_per_s).instance_per_s(instances)


def _selectivity(application: Application, upstream: str, downstream: str) -> float:
    return application.costs[upstream].selectivity.get(downstream, 1.0)
