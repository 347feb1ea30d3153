"""Placement problems: the applications of this room on its infrastructures."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock.model import Cluster
from penstock.placement import Bounds, Operator, Problem, Reconfiguration, Stream, Weights
from penstock.placement.infrastructure import network_of, nodes_of
from penstock.workloads.application import Application
from penstock.workloads.applications import application
from penstock.workloads.infrastructures import ansnet

_SPAWN_S = 0.5
_CODE_BYTES = 300_000.0
_BALANCED = Weights(response_time=0.3, cost=0.3, downtime=0.4)


def placement_problem(of: Application, load_per_s: float, cluster: Cluster | None = None) -> Problem:
    """Where to run how many replicas of the operators of an application that has to carry a load.

    Latencies are those of M/M/1 queues. Pinned operators stay on the first node of `cluster` (default: the
    application's own).
    """
    rates = _rates_per_s(of, load_per_s)
    cluster = cluster or of.cluster
    first = cluster.workers[0].name
    operators = tuple(
        Operator(
            operator.name,
            candidates=(first,) if operator.pins else None,
            max_replicas=operator.max_parallelism,
            service_rate_per_s=of.costs[operator.name].rate_per_s,
            state_bytes=of.costs[operator.name].state_bytes,
            code_bytes=_CODE_BYTES,
        )
        for operator in of.topology.operators
    )
    streams = tuple(
        Stream(s.upstream, s.downstream, rates[s.upstream] * of.costs[s.upstream].selectivity.get(s.downstream, 1.0))
        for s in of.topology.streams
    )
    return Problem(operators, streams, nodes_of(cluster, _SPAWN_S), network_of(cluster))


def _rates_per_s(of: Application, load_per_s: float) -> Mapping[str, float]:
    """What every operator handles per second under a load."""
    rates: dict[str, float] = {}
    for name in of.topology.order:
        upstream = of.topology.upstream(name)
        flows = (rates[other] * of.costs[other].selectivity.get(name, 1.0) for other in upstream)
        rates[name] = sum(flows) if upstream else load_per_s * of.share(name)
    return rates


def debs_2015(load_per_s: float, replicas: int = 3, cluster: Cluster | None = None) -> Problem:
    """The most frequent taxi routes of the DEBS 2015 challenge, with the settings of the thesis's section 8.6.

    Pinned operators and the metronome have one replica. The price of links (0.02 $ per tuple per second) is left out:
    it would be far above the bound on the cost, and the published costs are numbers of replicas.
    """
    problem = placement_problem(application("debs-routes"), load_per_s, cluster or ansnet(slots=2))
    operators = tuple(
        replace(operator, max_replicas=replicas if operator.max_replicas > 1 else 1) for operator in problem.operators
    )
    bounds, weights = Bounds(response_time_ms=175.0, cost=30.0), Weights(response_time=0.5, cost=0.5)
    return replace(problem, operators=operators, bounds=bounds, weights=weights)


def redeployed(problem: Problem, current: Mapping[str, tuple[str, ...]]) -> Problem:
    """`problem` with a deployment that runs already and whose change costs time (section 8.6, balanced weights)."""
    return replace(
        problem,
        current=current,
        reconfiguration=Reconfiguration(sync_s=0.25, store_delay_ms=5.0, store_rate_bytes_per_s=12.5e6),
        bounds=replace(problem.bounds, downtime_s=7.5),
        weights=_BALANCED,
    )


def _debs_2015_change() -> Problem:
    """The load has doubled since every operator was deployed once, all of them close to the source."""
    problem = debs_2015(150.0)
    names = [node.name for node in problem.nodes]
    near = sorted(range(len(names)), key=lambda node: float(problem.network.delay_ms[0, node]))
    free = [operator.name for operator in problem.operators if operator.candidates is None]
    places = {name: (names[near[1 + index // 2]],) for index, name in enumerate(free)}
    return redeployed(problem, {o.name: places.get(o.name, (names[0],)) for o in problem.operators})


EXAMPLES: Mapping[str, Callable[[], Problem]] = {
    "debs2015": lambda: debs_2015(100.0),
    "debs2015-change": _debs_2015_change,
}
"""Problems to begin with: a first deployment with replication, and the change of a running one."""
