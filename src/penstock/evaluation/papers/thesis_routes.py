"""The routes application of the thesis (DEBS 2015) as a problem of replication and placement; chapters 6 and 8."""

from dataclasses import replace

from penstock.model import Cluster
from penstock.placement import (
    Bounds,
    Operator,
    Placement,
    Problem,
    Reconfiguration,
    Stream,
    Weights,
)
from penstock.placement.infrastructure import network_of, nodes_of
from penstock.workloads import Application

BOUNDS = Bounds(response_time_ms=175.0, cost=30.0, downtime_s=7.5)
_SPAWN_S = 0.5
_CHANGES = Reconfiguration(sync_s=0.25, store_delay_ms=5.0, store_rate_bytes_per_s=12_500_000.0)
_CODE_BYTES = 300_000.0


def routes_problem(app: Application, cluster: Cluster, source_per_s: float, replicas: int) -> Problem:
    """The application at a source rate, with at most so many replicas of every operator that can be replicated.

    Its response time is minimised. Operators are M/M/1 queues. An instance costs 1 $/h; what flows between nodes is
    free: at the published 0.02 $ per tuple and second it would dwarf the published costs, which follow the numbers of
    replicas.
    """
    rates = _rates(app, source_per_s)
    home = cluster.workers[0].name
    operators = tuple(
        Operator(
            o.name,
            candidates=(home,) if o.pins else None,
            max_replicas=1 if o.max_parallelism == 1 else replicas,
            service_rate_per_s=app.costs[o.name].rate_per_s,
            state_bytes=app.costs[o.name].state_bytes,
            code_bytes=_CODE_BYTES,
            input_rate_per_s=rates[o.name],
        )
        for o in app.topology.operators
    )
    streams = tuple(
        Stream(s.upstream, s.downstream, rates[s.upstream] * app.costs[s.upstream].selectivity[s.downstream])
        for s in app.topology.streams
    )
    return Problem(operators, streams, nodes_of(cluster, _SPAWN_S), replace(network_of(cluster), cost=None))


def elastic(problem: Problem, current: Placement, weights: Weights) -> Problem:
    """The same problem with a deployment that is changed, at the price of downtime and within bounds."""
    return replace(problem, current=current, reconfiguration=_CHANGES, bounds=BOUNDS, weights=weights)


def _rates(app: Application, source_per_s: float) -> dict[str, float]:
    """What reaches every operator per second."""
    rates: dict[str, float] = {}
    for name in app.topology.order:
        upstream = app.topology.upstream(name)
        flows = (rates[up] * app.costs[up].selectivity[name] for up in upstream)
        rates[name] = sum(flows) if upstream else source_per_s
    return rates
