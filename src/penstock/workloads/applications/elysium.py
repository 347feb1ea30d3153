"""The two applications of ELYSIUM: T1 Rolling Top-K Words and T2 Sentiment Analysis."""

from penstock.model import Cluster, Operator, Role
from penstock.workloads.application import Application, OperatorCost
from penstock.workloads.applications.graph import graph

_MAX = 4
_CLUSTER = Cluster.homogeneous(workers=4, slots=4)
_SHARED = "ELYSIUM, section 5: parallelism 1 to 4, four workers of four cores"


def top_words() -> Application:
    """T1. A tweet becomes about 18 words, of which two thirds are counted; the rankers have little to do."""
    operators = (
        Operator("source", Role.SOURCE, max_parallelism=_MAX),
        Operator("splitter", max_parallelism=_MAX),
        Operator("stop-word-filter", max_parallelism=_MAX),
        Operator("counter", max_parallelism=_MAX, stateful=True, key="word"),
        Operator("intermediate-ranker", max_parallelism=_MAX, stateful=True, key="word"),
        Operator("total-ranker", Role.SINK, max_parallelism=_MAX, stateful=True),
    )
    costs = {
        "source": OperatorCost(2_000, {"splitter": 1.0}),
        "splitter": OperatorCost(320, {"stop-word-filter": 17.86}),
        "stop-word-filter": OperatorCost(5_600, {"counter": 0.68}),
        "counter": OperatorCost(3_800, {"intermediate-ranker": 0.41}, state_bytes=4_000_000),
        "intermediate-ranker": OperatorCost(8_000, {"total-ranker": 0.01}, state_bytes=20_000),
        "total-ranker": OperatorCost(1_000, state_bytes=10_000),
    }
    return Application(
        graph("top-words", operators, costs),
        costs,
        summary="most frequent words of a stream of tweets (ELYSIUM T1)",
        origin=f"{_SHARED}; selectivities of Table 2. assumed: rates, chosen so that 200 tweets per second need one "
        "instance of everything and one worker (as in section 5) and 800 per second four instances of the splitter, "
        "the filter and the counter at core_max 0.65; sizes of state.",
        low_per_s=100,
        high_per_s=800,
        cluster=_CLUSTER,
    )


def sentiment() -> Application:
    """T2. Every tweet is scored for positive and for negative words side by side; both scores meet in a join."""
    operators = (
        Operator("source", Role.SOURCE, max_parallelism=_MAX),
        Operator("text-filter", max_parallelism=_MAX),
        Operator("stemmer", max_parallelism=_MAX),
        Operator("positive-words", max_parallelism=_MAX),
        Operator("negative-words", max_parallelism=_MAX),
        Operator("join", max_parallelism=_MAX, stateful=True, key="tweet"),
        Operator("score", Role.SINK, max_parallelism=_MAX),
    )
    costs = {
        "source": OperatorCost(5_000, {"text-filter": 1.0}),
        "text-filter": OperatorCost(3_200, {"stemmer": 1.0}),
        "stemmer": OperatorCost(800, {"positive-words": 1.0, "negative-words": 1.0}),
        "positive-words": OperatorCost(1_100, {"join": 1.0}),
        "negative-words": OperatorCost(1_100, {"join": 1.0}),
        "join": OperatorCost(3_300, {"score": 0.5}, state_bytes=1_000_000),
        "score": OperatorCost(3_300),
    }
    return Application(
        graph("sentiment", operators, costs),
        costs,
        summary="positive or negative tweets (ELYSIUM T2)",
        origin=f"{_SHARED}. assumed: operators (those of the public Storm topology it cites), rates and selectivities, "
        "chosen so that the load range needs one to four workers and is larger than that of T1, as published.",
        low_per_s=250,
        high_per_s=2_000,
        cluster=_CLUSTER,
    )
