"""The workloads of AuTraScale: WordCount, the Yahoo streaming benchmark and two Nexmark queries."""

from penstock.model import Cluster, Operator, Role
from penstock.workloads.application import Application, OperatorCost
from penstock.workloads.applications.graph import graph

_MAX = 40
_CLUSTER = Cluster.homogeneous(workers=3, slots=40)
_SHARED = (
    "AuTraScale, section V: three machines of 20 cores for Flink. assumed: 40 slots each (two threads per core) and at "
    "most 40 instances (the highest parallelism in Tables II and III)"
)


def word_count() -> Application:
    """Four operators in a row. At 350,000 records per second throughput needs the parallelism 3, 4, 12, 10."""
    operators = (
        Operator("source", Role.SOURCE, max_parallelism=_MAX),
        Operator("flat-map", max_parallelism=_MAX),
        Operator("count", max_parallelism=_MAX, stateful=True, key="word"),
        Operator("sink", Role.SINK, max_parallelism=_MAX),
    )
    costs = {
        "source": OperatorCost(150_000, {"flat-map": 1.0}, contention=0.02),
        "flat-map": OperatorCost(105_000, {"count": 5.0}, contention=0.02),
        "count": OperatorCost(184_000, {"sink": 1.0}, contention=0.02, state_bytes=50_000_000),
        "sink": OperatorCost(200_000, contention=0.01),
    }
    return Application(
        graph("word-count", operators, costs),
        costs,
        summary="counts of words (AuTraScale WordCount)",
        origin=f"{_SHARED}; five words per record; rates and contention, chosen so that the least parallelism that "
        "sustains 350,000 records per second is the published 3, 4, 12, 10.",
        low_per_s=100_000,
        high_per_s=350_000,
        cluster=_CLUSTER,
        latency_target_s=0.18,
    )


def yahoo_streaming() -> Application:
    """Advertisement events, counted per campaign. The external store holds back the last operator."""
    operators = (
        Operator("source", Role.SOURCE, max_parallelism=_MAX),
        Operator("deserialise", max_parallelism=_MAX),
        Operator("filter-views", max_parallelism=_MAX),
        Operator("project", max_parallelism=_MAX),
        Operator("count-campaigns", Role.SINK, max_parallelism=_MAX, stateful=True, key="campaign"),
    )
    costs = {
        "source": OperatorCost(16_000, {"deserialise": 1.0}),
        "deserialise": OperatorCost(40_000, {"filter-views": 1.0}),
        "filter-views": OperatorCost(100_000, {"project": 1.0 / 3.0}),
        "project": OperatorCost(100_000, {"count-campaigns": 1.0}),
        "count-campaigns": OperatorCost(3_085, contention=0.25, state_bytes=5_000_000),
    }
    return Application(
        graph("yahoo-streaming", operators, costs),
        costs,
        summary="advertisement views per campaign (Yahoo streaming benchmark, as in AuTraScale)",
        origin=f"{_SHARED}; a third of the events are views (as in the benchmark); rates that give 4, 2, 1, 1 for the "
        "first four operators at 60,000 records per second; the store that limits the last operator appears as "
        "contention, so that 34 instances are the fewest that sustain 34,000 per second and 40 hardly do better.",
        low_per_s=10_000,
        high_per_s=34_000,
        cluster=_CLUSTER,
        latency_target_s=0.3,
    )


def nexmark_q5() -> Application:
    """Hot items: bids per auction in a sliding window."""
    operators = (
        Operator("source", Role.SOURCE, max_parallelism=_MAX),
        Operator("sliding-window", Role.SINK, max_parallelism=_MAX, stateful=True, key="auction"),
    )
    costs = {
        "source": OperatorCost(200_000, {"sliding-window": 1.0}),
        "sliding-window": OperatorCost(2_000, contention=0.01, state_bytes=200_000_000),
    }
    return Application(
        graph("nexmark-q5", operators, costs),
        costs,
        summary="hottest auctions in a sliding window (Nexmark query 5, as in AuTraScale)",
        origin=f"{_SHARED}; rates and contention, chosen so that 30,000 records per second need the published 1, 18.",
        low_per_s=10_000,
        high_per_s=30_000,
        cluster=_CLUSTER,
        latency_target_s=0.5,
    )


def nexmark_q11() -> Application:
    """Bids per bidder and session."""
    operators = (
        Operator("source", Role.SOURCE, max_parallelism=_MAX),
        Operator("session-window", Role.SINK, max_parallelism=_MAX, stateful=True, key="bidder"),
    )
    costs = {
        "source": OperatorCost(300_000, {"session-window": 1.0}),
        "session-window": OperatorCost(10_400, contention=0.01, state_bytes=100_000_000),
    }
    return Application(
        graph("nexmark-q11", operators, costs),
        costs,
        summary="bids per bidder in session windows (Nexmark query 11, as in AuTraScale)",
        origin=f"{_SHARED}; rates and contention, chosen so that 100,000 records per second need the published 1, 11.",
        low_per_s=30_000,
        high_per_s=100_000,
        cluster=_CLUSTER,
        latency_target_s=0.15,
    )
