"""Sentiment analysis, after the application T2 of ELYSIUM: how many tweets of every minute are in which mood."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from penstock.spark.applications.lexicon import SUFFIX, mood, score
from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.applications.waiting import service_s, wait_for
from penstock.spark.applications.word_count import WORD_BREAK
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_LATENESS = "30 seconds"
_LEAST_WORDS = 3
_NOISE = r"(https?://\S+)|(@\w+)|['\u2019]"
"""Addresses, names of accounts, and apostrophes, so that "don't" is one word."""


def sentiment(parameters: Mapping[str, str]) -> Pipeline:
    """Mood of a stream of tweets, after ELYSIUM T2. Parameters: window_s, service_ms, max, sink.

    Positive and negative words are weighed in one operator, `score`, because negation turns one into the other; its
    two halves and their join in the Storm topology are one here. With `service_ms` it takes that long for every tweet.
    """
    check_known("sentiment", parameters, ("window_s", "service_ms", "max", "sink"))
    service = service_s(parameters)
    window_s, most = read(parameters, "window_s", positive, 60), read(parameters, "max", positive, 4)

    def weigh(texts: "DataFrame") -> "DataFrame":
        return score_texts(wait_for(texts, service))

    def count(scored: "DataFrame") -> "DataFrame":
        return count_moods(scored, window_s)

    pipeline = Pipeline("sentiment")
    bounds = (1, most)
    pipeline.source("source", load="text")
    pipeline.operator("text-filter", after="source", parallelism=bounds)(clean)
    pipeline.operator("stemmer", after="text-filter", parallelism=bounds)(stem_words)
    pipeline.operator("score", after="stemmer", parallelism=bounds)(weigh)
    pipeline.operator(
        "count", after="score", key=("window", "sentiment"), stateful=True, parallelism=(1, min(most, 3))
    )(count)
    pipeline.sink("moods", after="count", mode="update", format=parameters.get("sink", "batches"))
    return pipeline


def clean(tweets: "DataFrame") -> "DataFrame":
    """The words of every tweet that has enough of them, in lower case."""
    from pyspark.sql import functions as F  # noqa: N812

    bare = F.regexp_replace(F.lower("text"), _NOISE, "")
    spaced = F.trim(F.regexp_replace(bare, WORD_BREAK, " "))
    words = tweets.select("event_id", "event_time", F.split(spaced, " ").alias("words"))
    return words.where(F.size("words") >= _LEAST_WORDS)


def stem_words(texts: "DataFrame") -> "DataFrame":
    """The same texts with every word reduced to its stem, as `lexicon.stem` does it."""
    from pyspark.sql import functions as F  # noqa: N812

    return texts.withColumn("words", F.transform("words", lambda word: F.regexp_replace(word, SUFFIX, "")))


def score_texts(texts: "DataFrame") -> "DataFrame":
    """Every text's score and mood."""
    return texts.mapInArrow(_scored, "event_id bigint, event_time timestamp, score double, sentiment string")


def _scored(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    for batch in batches:
        scores = [score(words) for words in batch.column("words").to_pylist()]
        moods = [mood(value) for value in scores]
        columns = [
            batch.column("event_id"),
            batch.column("event_time"),
            pa.array(scores, pa.float64()),
            pa.array(moods),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=["event_id", "event_time", "score", "sentiment"])


def count_moods(scored: "DataFrame", window_s: int) -> "DataFrame":
    """How many texts of each window are in which mood, and their mean score."""
    from pyspark.sql import functions as F  # noqa: N812

    window = F.window("event_time", f"{window_s} seconds")
    counted = scored.withWatermark("event_time", _LATENESS).groupBy(window, "sentiment")
    found = counted.agg(F.count("*").alias("count"), F.avg("score").alias("mean_score"))
    return found.select(F.col("window.start").alias("window_start"), "sentiment", "count", "mean_score")
