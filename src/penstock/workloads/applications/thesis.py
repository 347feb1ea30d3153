"""The applications of the QoS-aware deployment and adaptation thesis."""

from dataclasses import replace

from penstock.model import Cluster, Operator, Role
from penstock.workloads.application import Application, OperatorCost
from penstock.workloads.applications.graph import graph
from penstock.workloads.infrastructures import ansnet

_THESIS = "QoS-aware deployment and adaptation thesis"


def tag_and_count() -> Application:
    """Sentences through five operators in a row; chapters 3 and 4."""
    steps = ("splitter", "tagger", "filter", "counter", "aggregator")
    operators = (
        Operator("source", Role.SOURCE),
        *(Operator(name, max_parallelism=2) for name in steps[:3]),
        Operator("counter", max_parallelism=2, stateful=True, key="tag"),
        Operator("aggregator", max_parallelism=2, stateful=True, key="tag"),
        Operator("consumer", Role.SINK),
    )
    following = (*steps[1:], "consumer")
    costs = {
        "source": OperatorCost(5_000, {"splitter": 1.0}),
        **{name: OperatorCost(714, {after: 1.0}) for name, after in zip(steps, following, strict=True)},
        "consumer": OperatorCost(5_000),
    }
    costs["counter"] = replace(costs["counter"], state_bytes=100_000)
    costs["aggregator"] = replace(costs["aggregator"], state_bytes=20_000)
    return Application(
        graph("tag-and-count", operators, costs),
        costs,
        summary="sentences tagged and counted by five operators in a row (thesis, chapters 3 and 4)",
        origin=f"{_THESIS}, chapters 3 and 4: five operators between source and consumer, two instances each, eight "
        "nodes with two slots; 714 per second from about 14 ms in the heavy version, a tenth of it in this one. "
        "assumed: names of the five, selectivities of 1, state; the load goes beyond the published 10 per second.",
        low_per_s=10,
        high_per_s=900,
        cluster=Cluster.homogeneous(workers=8, slots=2),
    )


def log_processing() -> Application:
    """Log events, indexed on one branch and counted on the other; chapter 3."""
    operators = (
        Operator("source", Role.SOURCE),
        Operator("rules", max_parallelism=2),
        Operator("indexer", max_parallelism=2),
        Operator("volume", max_parallelism=2, stateful=True, key="minute"),
        Operator("statistics", max_parallelism=2, stateful=True, key="minute"),
        Operator("consumer", Role.SINK),
    )
    costs = {
        "source": OperatorCost(5_000, {"rules": 1.0}),
        "rules": OperatorCost(900, {"indexer": 1.0, "volume": 1.0}),
        "indexer": OperatorCost(600, {"consumer": 1.0}),
        "volume": OperatorCost(1_500, {"statistics": 1.0}, state_bytes=50_000),
        "statistics": OperatorCost(1_500, {"consumer": 1.0}, state_bytes=50_000),
        "consumer": OperatorCost(5_000),
    }
    return Application(
        graph("log-processing", operators, costs),
        costs,
        summary="log events indexed and counted on two branches (thesis, chapter 3)",
        origin=f"{_THESIS}, chapter 3: two branches that meet in the consumer, two instances each, eight nodes with "
        "two slots. assumed: rates, selectivities and state; the load goes beyond the published 10 per second.",
        low_per_s=10,
        high_per_s=750,
        cluster=Cluster.homogeneous(workers=8, slots=2),
    )


def frequent_patterns() -> Application:
    """Patterns of words that many tweets share; only the detector needs to scale; chapter 7."""
    operators = (
        Operator("input", Role.SOURCE),
        Operator("generator", max_parallelism=2),
        Operator("detector", max_parallelism=20, stateful=True, key="pattern"),
        Operator("reporter", Role.SINK),
    )
    costs = {
        "input": OperatorCost(5_000, {"generator": 1.0}),
        "generator": OperatorCost(1_500, {"detector": 5.0}),
        "detector": OperatorCost(330, {"reporter": 0.02}, state_bytes=20_000_000),
        "reporter": OperatorCost(1_000),
    }
    return Application(
        graph("frequent-patterns", operators, costs),
        costs,
        summary="frequent patterns in tweets (thesis, chapter 7)",
        origin=f"{_THESIS}, chapter 7: parallelism of Table 7.1, five workers of four cores, 120 to 900 tweets per "
        "second. assumed: five patterns per tweet, state, and rates: 66 tweets per second and detector are what makes "
        "the thresholds 0.7 and 0.2 lead to the published 20, 10, 5, 10, 20, 10, 5 detectors.",
        low_per_s=120,
        high_per_s=900,
        cluster=Cluster.homogeneous(workers=5, slots=4),
    )


def _routes_operators(pinned_to: str) -> tuple[Operator, ...]:
    return (
        Operator("source", Role.SOURCE, stateful=True, pins=(pinned_to,)),
        Operator("parser", max_parallelism=3),
        Operator("filter-by-coordinates", max_parallelism=3),
        Operator("compute-route-id", max_parallelism=3),
        Operator("metronome", stateful=True),
        Operator("count-by-window", max_parallelism=3, stateful=True, key="route"),
        Operator("partial-rank", max_parallelism=3, stateful=True, key="route"),
        Operator("global-rank", Role.SINK, stateful=True, pins=(pinned_to,)),
    )


def _routes_costs(metronome: float, global_rank: float, ranked_per_count: float) -> dict[str, OperatorCost]:
    return {
        "source": OperatorCost(284, {"parser": 1.0}, state_bytes=82),
        "parser": OperatorCost(233, {"filter-by-coordinates": 1.0, "metronome": 1.0}),
        "filter-by-coordinates": OperatorCost(253, {"compute-route-id": 1.0}),
        "compute-route-id": OperatorCost(253, {"count-by-window": 1.0}),
        "metronome": OperatorCost(metronome, {"count-by-window": 0.02}, state_bytes=328),
        "count-by-window": OperatorCost(335, {"partial-rank": ranked_per_count}, state_bytes=1376),
        "partial-rank": OperatorCost(2371, {"global-rank": 0.02}, state_bytes=1536),
        "global-rank": OperatorCost(global_rank, state_bytes=480),
    }


_ROUTES_ASSUMED = (
    "assumed: the parser drives the metronome; selectivities of 1 but for pulses (0.02 per event) and ranks (0.02); "
    "source and last rank pinned to the first node"
)


def debs_routes() -> Application:
    """The ten most frequent taxi routes of half an hour on a wide-area network; chapter 8."""
    cluster = ansnet(slots=2)
    costs = _routes_costs(metronome=300, global_rank=3_000, ranked_per_count=20.0)
    return Application(
        graph("debs-routes", _routes_operators(cluster.workers[0].name), costs),
        costs,
        summary="most frequent taxi routes, DEBS 2015 (thesis, chapters 8 and 9)",
        origin=f"{_THESIS}, section 8.6: service rates and state of Table 8.2, at most three replicas, 70 to 220 "
        f"per second, part of ANSNET with two slots per node, 175 ms. {_ROUTES_ASSUMED}; 20 updates per count, "
        "so that a second partial rank is needed near 105 per second and two suffice at 220.",
        low_per_s=70,
        high_per_s=220,
        cluster=cluster,
        latency_target_s=0.175,
    )


def debs_routes_constant() -> Application:
    """The same query as deployed once for a constant load; chapter 6."""
    cluster = Cluster.homogeneous(workers=6, slots=8)
    costs = _routes_costs(metronome=190, global_rank=185, ranked_per_count=30.6)
    return Application(
        graph("debs-routes-constant", _routes_operators(cluster.workers[0].name), costs),
        costs,
        summary="most frequent taxi routes at a constant rate, DEBS 2015 (thesis, chapter 6)",
        origin=f"{_THESIS}, section 6.6: service rates of Table 6.3, at most three replicas, 20 to 120 per second, six "
        "nodes of eight cores; 31 events per source event reach the partial rank (2,500 per second at 80). assumed: no "
        f"delays between the nodes (published: 12 to 32 ms, by emulation). {_ROUTES_ASSUMED}; state as in chapter 8.",
        low_per_s=20,
        high_per_s=120,
        cluster=cluster,
        latency_target_s=0.5,
    )
