"""Frequent Pattern Detection: sets of words that many tweets of the last minute have in common."""

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.applications.python_columns import python_column
from penstock.spark.applications.top_words import stop_words
from penstock.spark.applications.word_count import WORD_BREAK
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LATENESS = "10 seconds"


def frequent_patterns(parameters: Mapping[str, str]) -> Pipeline:
    """Words that tweets share (thesis, chapter 7). Parameters: words, size, threshold, window_s, slide_s, max, sink.

    Of every tweet the first `words` that are no stop words are taken; each set of two to `size` of them is a pattern.
    One that more than `threshold` tweets of a window have is reported, again whenever its count grows.
    """
    defaults = {"words": 6, "size": 2, "threshold": 20, "window_s": 60, "slide_s": 10, "max": 8}
    check_known("frequent-patterns", parameters, (*defaults, "sink"))
    given = {name: read(parameters, name, positive, default) for name, default in defaults.items()}

    def generator(tweets: "DataFrame") -> "DataFrame":
        return generate_patterns(tweets, given["words"], given["size"])

    def detector(patterns: "DataFrame") -> "DataFrame":
        return count_patterns(patterns, given["window_s"], given["slide_s"])

    def reporter(counts: "DataFrame") -> "DataFrame":
        return counts.where(f"count > {given['threshold']}")

    pipeline = Pipeline("frequent-patterns")
    pipeline.source("input", load="tweets")
    pipeline.operator("generator", after="input", parallelism=(1, min(given["max"], 2)))(generator)
    pipeline.operator(
        "detector", after="generator", key=("window", "pattern"), stateful=True, parallelism=(1, given["max"])
    )(detector)
    pipeline.operator("reporter", after="detector", parallelism=1)(reporter)
    pipeline.sink("patterns", after="reporter", mode="update", format=parameters.get("sink", "batches"))
    return pipeline


def generate_patterns(tweets: "DataFrame", words: int, size: int) -> "DataFrame":
    """One row for every pattern of a tweet."""
    from pyspark.sql import functions as F  # noqa: N812

    every = F.split(F.lower("text"), WORD_BREAK)
    telling = F.array_distinct(F.filter(every, lambda word: (word != "") & ~word.isin(stop_words())))
    chosen = tweets.select("event_id", "event_time", F.sort_array(F.slice(telling, 1, words)).alias("words"))

    def patterns(lists: "list[list[str]]") -> list[list[str]]:
        return [patterns_of(list(taken), size) for taken in lists]

    found = chosen.select("event_id", "event_time", python_column(patterns, "array<string>", "words").alias("patterns"))
    return found.select("event_id", "event_time", F.explode("patterns").alias("pattern"))


def patterns_of(words: list[str], size: int) -> list[str]:
    """All sets of two to `size` of the words, each as text with its words in the order in which they are given."""
    return [" ".join(chosen) for count in range(2, size + 1) for chosen in combinations(words, count)]


def count_patterns(patterns: "DataFrame", window_s: int, slide_s: int) -> "DataFrame":
    """How many tweets of each window have each pattern."""
    from pyspark.sql import functions as F  # noqa: N812

    window = F.window("event_time", f"{window_s} seconds", f"{slide_s} seconds")
    counted = patterns.withWatermark("event_time", _LATENESS).groupBy(window, "pattern").count()
    return counted.select(F.col("window.start").alias("window_start"), "pattern", "count")
