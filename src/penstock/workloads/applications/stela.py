"""The topologies of Stela: three small shapes, two of Yahoo! and network monitoring, each with one congested operator.

Table I gives as many worker processes as there are components times initial executors, which tells the number of
components of each topology, and how many processes (here: slots) a machine has.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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
    "network-monitoring": StelaSettings(8, 4, 32, 8, 9),
}
"""Table I by application."""

STELA_SCALE_IN = StelaSettings(15, 15, 32, 8, 4)
"""The last row of Table I: Page Load on eight machines, of which four are given up."""

_MOST_INSTANCES = {"page-load": STELA_SCALE_IN.tasks}

_ASSUMED = "slots (worker processes) per machine as Table I implies. assumed: rates and load"


def star() -> Application:
    """Two sources and three sinks around one congested operator; the sinks come next at 1.65 times as much."""
    costs = {
        "source-1": OperatorCost(1_500, {"centre": 1.0}),
        "source-2": OperatorCost(1_500, {"centre": 1.0}),
        "centre": OperatorCost(500, {"sink-1": 1.0, "sink-2": 1.0, "sink-3": 1.0}),
        "sink-1": OperatorCost(825),
        "sink-2": OperatorCost(825),
        "sink-3": OperatorCost(825),
    }
    summary = "two sources and three sinks around one operator (Stela)"
    return _application("star", costs, summary, "assumed: two sources, three sinks", (300, 2_000))


def linear() -> Application:
    """Four components in a row; after the congested one the next can do 1.45 times as much."""
    costs = {
        "source": OperatorCost(400, {"bolt-1": 1.0}),
        "bolt-1": OperatorCost(100, {"bolt-2": 1.0}),
        "bolt-2": OperatorCost(145, {"sink": 1.0}),
        "sink": OperatorCost(400),
    }
    return _application("linear", costs, "four components in a row (Stela)", "four components", (200, 1_200))


def diamond() -> Application:
    """One source, four operators side by side, one sink; one of the four is congested."""
    bolts = ("bolt-1", "bolt-2", "bolt-3", "bolt-4")
    costs = {
        "source": OperatorCost(800, dict.fromkeys(bolts, 1.0)),
        **{bolt: OperatorCost(125 if bolt == "bolt-1" else 600, {"sink": 1.0}) for bolt in bolts},
        "sink": OperatorCost(2_000),
    }
    return _application(
        "diamond", costs, "four operators side by side (Stela)", "four parallel operators", (150, 1_200)
    )


def page_load() -> Application:
    """Page views in a row of seven; looking up places is congested, aggregation comes next at 1.8 times as much."""
    costs = {
        "source": OperatorCost(500, {"parse": 1.0}),
        "parse": OperatorCost(400, {"filter": 1.0}),
        "filter": OperatorCost(400, {"locate": 1.0}),
        "locate": OperatorCost(100, {"enrich": 1.0}),
        "enrich": OperatorCost(300, {"aggregate": 1.0}),
        "aggregate": OperatorCost(180, {"sink": 1.0}, state_bytes=2_000_000),
        "sink": OperatorCost(500),
    }
    note = "seven components. assumed: the layout (drawn, not described)"
    return _application("page-load", costs, "page views of Yahoo! (Stela)", note, (150, 1_000), {"aggregate": "page"})


def processing() -> Application:
    """Two joins side by side that meet in a congested merge; one join comes next at 1.8 times as much."""
    costs = {
        "source": OperatorCost(500, {"parse": 1.0}),
        "parse": OperatorCost(400, {"filter": 1.0}),
        "filter": OperatorCost(400, {"join-users": 1.0, "join-pages": 1.0}),
        "join-users": OperatorCost(180, {"merge": 1.0}),
        "join-pages": OperatorCost(300, {"merge": 1.0}),
        "merge": OperatorCost(200, {"aggregate": 0.5}),
        "aggregate": OperatorCost(300, {"sink": 1.0}, state_bytes=2_000_000),
        "sink": OperatorCost(500),
    }
    note = "eight components. assumed: the layout (drawn, not described)"
    return _application(
        "processing", costs, "event processing of Yahoo! (Stela)", note, (150, 1_000), {"aggregate": "key"}
    )


def network_monitoring() -> Application:
    """Packets through several congested operators, the worst closest to the sink; the others come at 1.21 times."""
    costs = {
        "source": OperatorCost(500, {"parse": 1.0}),
        "parse": OperatorCost(400, {"flows": 1.0}),
        "flows": OperatorCost(300, {"classify": 1.0, "anomalies": 1.0}, state_bytes=5_000_000),
        "classify": OperatorCost(121, {"correlate": 1.0}),
        "anomalies": OperatorCost(121, {"correlate": 1.0}),
        "correlate": OperatorCost(242, {"score": 0.5}, state_bytes=2_000_000),
        "score": OperatorCost(100, {"alerts": 1.0}),
        "alerts": OperatorCost(500),
    }
    note = "eight components. assumed: the layout (drawn, not described)"
    keys = {"flows": "flow", "correlate": "flow"}
    return _application("network-monitoring", costs, "monitoring of network packets (Stela)", note, (150, 1_000), keys)


def _application(
    name: str,
    costs: Mapping[str, OperatorCost],
    summary: str,
    note: str,
    load_per_s: tuple[float, float],
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
    return Application(
        graph(name, operators, costs),
        costs,
        summary=summary,
        origin=f"Stela, Table I: {settings.workers} machines before scaling out and {settings.workers_after} after, "
        f"{settings.executors} initial executors and {settings.tasks} tasks per component, {note}; {_ASSUMED}, "
        "chosen so that one more machine brings about the published gain.",
        low_per_s=load_per_s[0],
        high_per_s=load_per_s[1],
        cluster=Cluster.homogeneous(settings.workers_after, settings.slots),
    )


def _role(operator: str, cost: OperatorCost, fed: set[str]) -> Role:
    if operator not in fed:
        return Role.SOURCE
    return Role.TRANSFORM if cost.selectivity else Role.SINK
