"""The three applications of the self-adaptive processing graph with operator fission."""

from penstock.model import Cluster, Operator, Role
from penstock.workloads.application import Application, OperatorCost
from penstock.workloads.applications.graph import graph

_MAX = 32
_CLUSTER = Cluster.homogeneous(workers=8, slots=4)
_SHARED = (
    "operator fission, section 4: one machine of 32 cores (here eight workers of four), replicas without limit "
    "(here at most 32)"
)


def application_1() -> Application:
    """A pipeline on tweets; counting the words of the bag is the bottleneck."""
    operators = (
        Operator("source", Role.SOURCE),
        Operator("stop-words", max_parallelism=_MAX),
        Operator("language", max_parallelism=_MAX),
        Operator("bag-of-words", max_parallelism=_MAX),
        Operator("store", Role.SINK, max_parallelism=_MAX),
    )
    costs = {
        "source": OperatorCost(10_000, {"stop-words": 1.0}),
        "stop-words": OperatorCost(2_000, {"language": 1.0}),
        "language": OperatorCost(300, {"bag-of-words": 1.0}),
        "bag-of-words": OperatorCost(107, {"store": 1.0}),
        "store": OperatorCost(1_000),
    }
    return Application(
        graph("fission-1", operators, costs),
        costs,
        summary="tweets through stop words, language, bag of words and store (fission application 1)",
        origin=f"{_SHARED}; 107 per second at the bottleneck, from the 63,918 and 380,704 events that Table 2 "
        "reports without replicas in 10 and 60 minutes. assumed: the other rates.",
        low_per_s=0,
        high_per_s=800,
        cluster=_CLUSTER,
    )


def application_2() -> Application:
    """Two ways to the bag of words: a light language detector first, a slow one for what it did not recognise."""
    operators = (
        Operator("source", Role.SOURCE),
        Operator("stop-words", max_parallelism=_MAX),
        Operator("light-language", max_parallelism=_MAX),
        Operator("dictionary-language", max_parallelism=_MAX),
        Operator("bag-of-words", max_parallelism=_MAX),
        Operator("store", Role.SINK, max_parallelism=_MAX),
    )
    costs = {
        "source": OperatorCost(10_000, {"stop-words": 1.0}),
        "stop-words": OperatorCost(2_000, {"light-language": 1.0}),
        "light-language": OperatorCost(1_500, {"bag-of-words": 0.65, "dictionary-language": 0.35}),
        "dictionary-language": OperatorCost(150, {"bag-of-words": 0.6, "store": 0.4}),
        "bag-of-words": OperatorCost(107, {"store": 1.0}),
        "store": OperatorCost(1_000),
    }
    return Application(
        graph("fission-2", operators, costs),
        costs,
        summary="tweets through two language detectors (fission application 2)",
        origin=f"{_SHARED}. assumed: the bag of words as in application 1; 65 % recognised as Spanish at once and "
        "60 % of the rest later, so that without replicas about the published 151 per second are stored; other rates.",
        low_per_s=0,
        high_per_s=800,
        cluster=_CLUSTER,
    )


def application_3() -> Application:
    """A pipeline on news phrases with very high peaks; entity recognition is the bottleneck."""
    operators = (
        Operator("source", Role.SOURCE),
        Operator("spam", max_parallelism=_MAX),
        Operator("sentiment", max_parallelism=_MAX),
        Operator("entities", max_parallelism=_MAX),
        Operator("store", Role.SINK, max_parallelism=_MAX),
    )
    costs = {
        "source": OperatorCost(10_000, {"spam": 1.0}),
        "spam": OperatorCost(1_600, {"sentiment": 1.0}),
        "sentiment": OperatorCost(620, {"entities": 1.0}),
        "entities": OperatorCost(141, {"store": 1.0}),
        "store": OperatorCost(3_200),
    }
    return Application(
        graph("fission-3", operators, costs),
        costs,
        summary="news phrases through spam, sentiment, entities and store (fission application 3)",
        origin=f"{_SHARED}; 141 per second at the bottleneck, from the 84,575 events that Table 2 reports without "
        "replicas in 10 minutes. assumed: the other rates, so that 3,000 per second need the published 30 replicas.",
        low_per_s=0,
        high_per_s=3_000,
        cluster=_CLUSTER,
    )
