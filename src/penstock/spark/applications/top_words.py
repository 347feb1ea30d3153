"""Rolling Top-K Words, the application T1 of ELYSIUM: the most frequent words of every minute of a stream of tweets."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.spark import phrases
from penstock.spark.applications.parameters import above_zero, check_known, positive, read
from penstock.spark.applications.waiting import service_s, wait_for
from penstock.spark.applications.word_count import split_words
from penstock.spark.pipeline import Pipeline
from penstock.workloads import application

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.applications.ranking import Ranking

_LATENESS_S = 30


def top_words(parameters: Mapping[str, str]) -> Pipeline:
    """Most frequent words of a stream of tweets (ELYSIUM T1). Parameters: k, window_s, service_ms, scale, max, sink.

    As in the original every stage from the counter on keeps state. Words are counted per window, and a count that
    changes is handed on at once, so that all stages can be in one query; the intermediate ranker finds the first `k`
    of every bucket of words, the total ranker the first `k` of all (it is divided by windows, which take turns at its
    tables). What they emit is a ranking as it is now, whenever it changes; the last one of a window is final. With
    `service_ms` the splitter takes that long for every tweet; with `scale` every operator takes its time for every row,
    and handles as many per second as its simulated twin, times `scale`.
    """
    check_known("top-words", parameters, ("k", "window_s", "service_ms", "scale", "max", "sink"))
    service = _services_s(parameters)
    k, window_s, most = (
        read(parameters, name, positive, default) for name, default in (("k", 10), ("window_s", 60), ("max", 4))
    )

    def ranking() -> "Ranking":
        from penstock.spark.applications.ranking import Ranking

        return Ranking("word", k, window_s, window_s, _LATENESS_S)

    def splitter(tweets: "DataFrame") -> "DataFrame":
        return split_words(wait_for(tweets, service["splitter"]))

    def stop_word_filter(words: "DataFrame") -> "DataFrame":
        return drop_stop_words(wait_for(words, service["stop-word-filter"]))

    def counter(words: "DataFrame") -> "DataFrame":
        from penstock.spark.applications.counting import count_items

        return count_items(words, ranking(), service["counter"])

    def intermediate_ranker(counts: "DataFrame") -> "DataFrame":
        from penstock.spark.applications.ranking import rank_buckets

        return rank_buckets(counts, ranking(), service["intermediate-ranker"])

    def total_ranker(rankings: "DataFrame") -> "DataFrame":
        from penstock.spark.applications.ranking import rank_windows

        return rank_windows(rankings, ranking(), service["total-ranker"])

    pipeline = Pipeline("top-words")
    bounds = (1, most)
    pipeline.source("source", load="text")
    pipeline.operator("splitter", after="source", parallelism=bounds)(splitter)
    pipeline.operator("stop-word-filter", after="splitter", parallelism=bounds)(stop_word_filter)
    for name, after, key, function in (
        ("counter", "stop-word-filter", "bucket", counter),
        ("intermediate-ranker", "counter", "bucket", intermediate_ranker),
        ("total-ranker", "intermediate-ranker", "table", total_ranker),
    ):
        pipeline.operator(name, after=after, key=key, stateful=True, mode="append", parallelism=bounds)(function)
    pipeline.sink("rankings", after="total-ranker", format=parameters.get("sink", "batches"))
    return pipeline


def _services_s(parameters: Mapping[str, str]) -> dict[str, float]:
    """How long every operator takes for a row."""
    costs = application("top-words").costs
    if "scale" not in parameters:
        return dict.fromkeys(costs, 0.0) | {"splitter": service_s(parameters)}
    if "service_ms" in parameters:
        raise UsageError("Give 'service_ms' for the splitter alone or 'scale' for all operators, not both.")
    scale = read(parameters, "scale", above_zero, 1.0)
    return {name: 1.0 / (cost.rate_per_s * scale) for name, cost in costs.items()}


def drop_stop_words(words: "DataFrame") -> "DataFrame":
    """Only the words that say something."""
    from pyspark.sql import functions as F  # noqa: N812

    return words.where(~F.col("word").isin(stop_words()))


def stop_words() -> list[str]:
    """The words that say little, of all languages."""
    return sorted({word for words in phrases.STOP_WORDS.values() for word in words})
