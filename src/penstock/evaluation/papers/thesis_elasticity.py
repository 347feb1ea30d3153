"""Elastic replication and placement of the routes application (thesis, section 8.6.2)."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from penstock.evaluation.papers.experiment import Row
from penstock.evaluation.papers.thesis_routes import BOUNDS, elastic, routes_problem
from penstock.placement import Bounds, Evaluation, Placement, Status, Weights, evaluate, solver
from penstock.workloads import application, waxman

WEIGHTINGS: Mapping[str, Weights] = {
    "baseline": Weights(response_time=0.5, cost=0.5),
    "balanced": Weights(response_time=0.3, cost=0.3, downtime=0.4),
    "response time": Weights(response_time=0.6, downtime=0.4),
    "cost": Weights(cost=0.6, downtime=0.4),
}
_FEWEST_CHANGES = Weights(response_time=0.4995, cost=0.4995, downtime=0.001)
"""The baseline, except that of deployments that are equally good the one with the least downtime is taken."""
_TABLE_8_3: Mapping[str, tuple[float, float, float]] = {
    "baseline": (120.8, 9.6, 12.0),
    "balanced": (121.7, 9.9, 2.4),
    "response time": (121.5, 10.3, 2.4),
    "cost": (136.0, 9.2, 4.9),
}
"""Mean response time in ms, mean cost in $/h, total downtime in s."""

_TABLE_8_4: Mapping[tuple[int, int], tuple[float | None, float]] = {
    (8, 2): (3.7, 0.8),
    (12, 2): (30.5, 0.6),
    (16, 2): (122.6, 1.1),
    (20, 2): (415.2, 1.6),
    (24, 2): (593.7, 3.1),
    (8, 3): (298.0, 0.7),
    (12, 3): (None, 0.9),
    (16, 3): (None, 1.2),
    (20, 3): (None, 1.9),
    (24, 3): (None, 3.9),
    (8, 4): (None, 1.0),
    (12, 4): (None, 0.8),
    (16, 4): (None, 1.2),
    (20, 4): (None, 2.5),
    (24, 4): (None, 4.2),
}
"""Seconds that EDRP and rEDRP took by number of nodes and most replicas; None if EDRP was not solved."""

_LOW_PER_S, _HIGH_PER_S, _HALF_MIN = 70.0, 220.0, 30
_MOST = 2
_TIME_LIMIT_S = 120.0
_BEFORE_PER_S, _AFTER_PER_S = 100.0, 160.0


@dataclass(frozen=True, slots=True)
class Hour:
    """What came of the deployments of one hour."""

    response_ms: float
    cost: float
    downtime_s: float
    changed_min: tuple[int, ...]
    proven: bool


def hour(weights: Weights, every_min: int = 1) -> Hour:
    """A load that rises from 70 to 220 per second in half an hour and falls again, solved for every so many minutes."""
    app = application("debs-routes")
    current = _initial()
    seen: list[Evaluation] = []
    changed: list[int] = []
    proven = True
    for minute in range(0, 2 * _HALF_MIN + 1, every_min):
        rise = 1.0 - abs(minute - _HALF_MIN) / _HALF_MIN
        rate = _LOW_PER_S + rise * (_HIGH_PER_S - _LOW_PER_S)
        problem = elastic(routes_problem(app, app.cluster, rate, _MOST), current, weights)
        found = solver("exact").solve(problem, _TIME_LIMIT_S)
        proven = proven and found.status is Status.OPTIMAL
        after = current if found.placement is None else found.placement
        seen.append(evaluate(problem, after))
        if seen[-1].downtime_s:
            changed.append(minute)
        current = after
    downtime_s = sum(evaluation.downtime_s or 0.0 for evaluation in seen)
    response_ms, cost = fmean(e.response_time_ms for e in seen), fmean(e.cost for e in seen)
    return Hour(response_ms, cost, downtime_s, tuple(changed), proven)


def _initial() -> Placement:
    app = application("debs-routes")
    problem = replace(
        routes_problem(app, app.cluster, _LOW_PER_S, _MOST),
        weights=WEIGHTINGS["baseline"],
        bounds=Bounds(BOUNDS.response_time_ms, BOUNDS.cost),
    )
    placement = solver("exact").solve(problem, _TIME_LIMIT_S).placement
    assert placement is not None
    return placement


def table_8_3(quick: bool) -> list[Row]:
    """One hour of a ramp under four weightings; quick: solved for every three minutes in place of every minute."""
    rows = []
    for name, weights in WEIGHTINGS.items():
        found = hour(weights, 3 if quick else 1)
        how = _how(found, quick)
        why = f"{how}; {_WHY_8_3[name]}" if name in _WHY_8_3 else how
        response_ms, cost, downtime_s = _TABLE_8_3[name]
        rows.append(Row(f"{name}: mean response time, ms", response_ms, found.response_ms, why))
        rows.append(Row(f"{name}: mean cost, $/h", cost, found.cost, "replicas only"))
        rows.append(Row(f"{name}: downtime, s", downtime_s, found.downtime_s, why))
    fewest = hour(_FEWEST_CHANGES, 3 if quick else 1)
    note = f"{_how(fewest, quick)}; beyond the publication: the baseline without the changes that gain nothing"
    rows.append(Row("baseline, no needless change: downtime, s", None, fewest.downtime_s, note))
    return rows


def _how(found: Hour, quick: bool) -> str:
    how = f"{len(found.changed_min)} changes"
    if len(found.changed_min) <= _FEW:
        how += f" (after {', '.join(str(minute) for minute in found.changed_min)} min)"
    how += ", all proven best" if found.proven else ", not all proven best"
    return how + ("; solved for every 3 min, published every minute" if quick else "")


_FEW = 10
_WHY_8_3 = {
    "baseline": "where downtime does not count, moves that gain nothing are as good as none, so their number is chance",
    "balanced": "published: 3 changes, after 8, 27 and 46 min; of the network, which is not published, the part is "
    "taken with which the baseline comes nearest to the published one (decision 10)",
    "cost": "where response time does not count, any within the bound of 175 ms is as good, so it is chance",
}


def table_8_4(quick: bool) -> list[Row]:
    """How long it takes to solve for a change, the load having risen from 100 to 160 per second."""
    rows = []
    chosen = [(8, 2), (16, 2), (8, 3)] if quick else list(_TABLE_8_4)
    for nodes, replicas in chosen:
        published = dict(zip(("exact", "redrp"), _TABLE_8_4[nodes, replicas], strict=True))
        for name, label in (("exact", "EDRP"), ("redrp", "rEDRP")):
            seconds, note = _timed(name, nodes, replicas)
            if published[name] is None:
                note += "; CPLEX could not solve it"
            if name == "redrp":
                note += "; best of the deployments that differ by one replica, not of all"
            rows.append(Row(f"{label}, {nodes} nodes, {replicas} replicas: s", published[name], seconds, note))
    return rows


def _timed(name: str, nodes: int, replicas: int) -> tuple[float, str]:
    """CPU seconds, and how the search ended."""
    app = application("debs-routes")
    # The published table does not say which networks; links and mean delay are those of chapter 5.
    cluster = waxman(nodes, seed=1, slots=2)
    pinned = tuple(replace(o, pins=(cluster.workers[0].name,) if o.pins else ()) for o in app.topology.operators)
    moved = replace(app, topology=replace(app.topology, operators=pinned), cluster=cluster)
    before = solver("exact").solve(routes_problem(moved, cluster, _BEFORE_PER_S, 1 + (replicas > 1)), _TIME_LIMIT_S)
    assert before.placement is not None
    problem = elastic(routes_problem(moved, cluster, _AFTER_PER_S, replicas), before.placement, WEIGHTINGS["balanced"])
    begin = time.process_time()
    found = solver(name).solve(problem, _TIME_LIMIT_S)
    return time.process_time() - begin, f"{found.status}, CPU time of all threads"
