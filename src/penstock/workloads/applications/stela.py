"""The topologies of Stela: three small shapes, two of Yahoo! and network monitoring.

Table I gives as many worker processes as there are components times initial executors, which tells the number of
components of each topology, and how many processes (here: slots) a machine has. Rates and loads are not published. They
follow from one rule, the same for all topologies, that knows nothing of the published gains: see `_costs`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from penstock.model import Cluster, Operator, Role
from penstock.workloads.application import Application, OperatorCost
from penstock.workloads.applications.graph import graph


@dataclass(frozen=True, slots=True)
class StelaSettings:
    """One row of Table I: where a scale-out begins, and how far an operator can go (one executor per task)."""

    tasks: int
    executors: int
    processes: int
    workers: int
    workers_after: int
    processors: int = 1
    """Of one machine: type 1 has one, type 2 has four."""

    @property
    def slots(self) -> int:
        """Worker processes of one machine."""
        return self.processes // self.workers


STELA_SETTINGS: Mapping[str, StelaSettings] = {
    "star": StelaSettings(4, 2, 12, 4, 5),
    "linear": StelaSettings(12, 6, 24, 6, 7),
    "diamond": StelaSettings(8, 4, 24, 6, 7),
    "page-load": StelaSettings(8, 4, 28, 7, 8),
    "processing": StelaSettings(8, 4, 32, 8, 9),
    "network-monitoring": StelaSettings(8, 4, 32, 8, 9, processors=4),
}
"""Table I by application."""

STELA_SCALE_IN = StelaSettings(15, 15, 32, 8, 4)
"""The last row of Table I: Page Load on eight machines, of which four are given up."""

_MOST_INSTANCES = {"page-load": STELA_SCALE_IN.tasks}

_ASSUMED = (
    "slots (worker processes) per machine as Table I implies. assumed: which operator is congested; it can handle a "
    "third of the load, and all others twice the load"
)

_EXECUTOR_PER_S = 100.0
"""What one executor of the narrowest operator handles."""
_LOAD = 3.0
_CONGESTED = (1.0 + _LOAD) / 2
_AMPLE = 2 * _LOAD
"""The load, and what other operators can handle, in units of what the narrowest one can."""

Streams: TypeAlias = Mapping[str, Mapping[str, float]]
"""The downstream operators of every operator, with selectivities."""


def star() -> Application:
    """Two sources and three sinks around one congested operator."""
    sinks = ("sink-1", "sink-2", "sink-3")
    streams = {
        **_each(("source-1", "source-2"), {"centre": 1.0}),
        "centre": dict.fromkeys(sinks, 1.0),
        **_each(sinks, {}),
    }
    summary = "two sources and three sinks around one operator (Stela)"
    return _application("star", _costs(streams, "centre"), summary, "assumed: two sources, three sinks")


def linear() -> Application:
    """Four components in a row, the second one congested."""
    costs = _costs(_row("source", "bolt-1", "bolt-2", "sink"), "bolt-1")
    return _application("linear", costs, "four components in a row (Stela)", "four components")


def diamond() -> Application:
    """One source, four operators side by side, one sink, in which all paths meet and which is congested."""
    bolts = ("bolt-1", "bolt-2", "bolt-3", "bolt-4")
    streams = {"source": dict.fromkeys(bolts, 1.0), **_each(bolts, {"sink": 1.0}), "sink": {}}
    summary = "four operators side by side (Stela)"
    return _application("diamond", _costs(streams, "sink"), summary, "four parallel operators")


def page_load() -> Application:
    """Page views in a row of seven; looking up places is congested."""
    streams = _row("source", "parse", "filter", "locate", "enrich", "aggregate", "sink")
    costs = _with_state(_costs(streams, "locate"), {"aggregate": 2_000_000})
    note = "seven components. assumed: the layout (drawn, not described)"
    return _application("page-load", costs, "page views of Yahoo! (Stela)", note, {"aggregate": "page"})


def processing() -> Application:
    """Two joins side by side that meet in a congested merge."""
    streams = {
        **_row("source", "parse", "filter"),
        "filter": {"join-users": 1.0, "join-pages": 1.0},
        **_each(("join-users", "join-pages"), {"merge": 1.0}),
        "merge": {"aggregate": 0.5},
        **_row("aggregate", "sink"),
    }
    costs = _with_state(_costs(streams, "merge"), {"aggregate": 2_000_000})
    note = "eight components. assumed: the layout (drawn, not described)"
    return _application("processing", costs, "event processing of Yahoo! (Stela)", note, {"aggregate": "key"})


def network_monitoring() -> Application:
    """Packets through several congested operators, the worst closest to the sink."""
    streams = {
        **_row("source", "parse", "flows"),
        "flows": {"classify": 1.0, "anomalies": 1.0},
        **_each(("classify", "anomalies"), {"correlate": 1.0}),
        "correlate": {"score": 0.5},
        **_row("score", "alerts"),
    }
    costs = _costs(streams, "score", ("classify", "anomalies"))
    costs = _with_state(costs, {"flows": 5_000_000, "correlate": 2_000_000})
    note = "eight components. assumed: the layout (drawn, not described)"
    keys = {"flows": "flow", "correlate": "flow"}
    return _application("network-monitoring", costs, "monitoring of network packets (Stela)", note, keys)


def _row(*names: str) -> dict[str, dict[str, float]]:
    """Operators one after the other."""
    return {
        name: {following: 1.0} if following else {} for name, following in zip(names, (*names[1:], ""), strict=True)
    }


def _each(names: Sequence[str], selectivity: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Operators side by side that all send to the same ones."""
    return {name: dict(selectivity) for name in names}


def _costs(streams: Streams, narrowest: str, congested: Sequence[str] = ()) -> dict[str, OperatorCost]:
    """What every operator costs when each has the same number of executors.

    The narrowest can handle a third of the load, so that it stays congested however far Table I lets it grow, which is
    twice. The other `congested` ones, which the text tells of in network monitoring alone, are halfway between it and
    the load. Everything else can handle twice the load, so that it is no hindrance.
    """
    per_event = _per_event(streams)
    room = {name: _CONGESTED if name in congested else _AMPLE for name in streams} | {narrowest: 1.0}
    return {
        name: OperatorCost(_EXECUTOR_PER_S * room[name] * per_event[name] / per_event[narrowest], selectivity)
        for name, selectivity in streams.items()
    }


def _per_event(streams: Streams) -> dict[str, float]:
    """What arrives at every operator for one event of the load; `streams` names upstream operators first."""
    fed = {downstream for selectivity in streams.values() for downstream in selectivity}
    sources = [name for name in streams if name not in fed]
    arriving = {name: 1.0 / len(sources) if name in sources else 0.0 for name in streams}
    for name, selectivity in streams.items():
        for downstream, ratio in selectivity.items():
            arriving[downstream] += arriving[name] * ratio
    return arriving


def _with_state(costs: Mapping[str, OperatorCost], state_bytes: Mapping[str, int]) -> dict[str, OperatorCost]:
    return {name: replace(cost, state_bytes=state_bytes.get(name, 0)) for name, cost in costs.items()}


def _application(
    name: str,
    costs: Mapping[str, OperatorCost],
    summary: str,
    note: str,
    keys: Mapping[str, str] | None = None,
) -> Application:
    """The application on the cluster after scaling; `keys` names the stateful operators and what they are keyed by."""
    settings, keyed = STELA_SETTINGS[name], keys or {}
    fed = {downstream for cost in costs.values() for downstream in cost.selectivity}
    operators = tuple(
        Operator(
            operator,
            _role(operator, cost, fed),
            max_parallelism=_MOST_INSTANCES.get(name, settings.tasks),
            stateful=operator in keyed,
            key=keyed.get(operator),
        )
        for operator, cost in costs.items()
    )
    per_event = _per_event({name: cost.selectivity for name, cost in costs.items()})
    most_per_s = min(settings.executors * cost.rate_per_s / per_event[name] for name, cost in costs.items())
    return Application(
        graph(name, operators, costs),
        costs,
        summary=summary,
        origin=f"Stela, Table I: {settings.workers} machines before scaling out and {settings.workers_after} after, "
        f"{settings.executors} initial executors and {settings.tasks} tasks per component, {note}; {_ASSUMED}.",
        low_per_s=most_per_s / _LOAD,
        high_per_s=most_per_s * _LOAD,
        cluster=Cluster.homogeneous(settings.workers_after, settings.slots),
    )


def _role(operator: str, cost: OperatorCost, fed: set[str]) -> Role:
    if operator not in fed:
        return Role.SOURCE
    return Role.TRANSFORM if cost.selectivity else Role.SINK
