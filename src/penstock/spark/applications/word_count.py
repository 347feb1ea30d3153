"""Word count: how often every word has occurred since the start."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORD_BREAK = r"[^\p{L}]+"
"""What separates words: anything but letters, of whatever alphabet."""


def word_count(parameters: Mapping[str, str]) -> Pipeline:
    """How often every word has occurred. Parameters: max (instances of an operator), sink (a format)."""
    check_known("word-count", parameters, ("max", "sink"))
    most = read(parameters, "max", positive, 8)
    pipeline = Pipeline("word-count")
    sentences = pipeline.source("source", load="text")
    pipeline.operator("flat-map", after=sentences, parallelism=(1, most))(split_words)
    pipeline.operator("count", after="flat-map", key="word", stateful=True, parallelism=(1, most))(count_words)
    pipeline.sink("counts", after="count", mode="update", format=parameters.get("sink", "batches"))
    return pipeline


def split_words(sentences: "DataFrame") -> "DataFrame":
    """One row per word, in lower case, with the event it comes from."""
    from pyspark.sql import functions as F  # noqa: N812

    words = F.explode(F.split(F.lower("text"), WORD_BREAK)).alias("word")
    return sentences.select("event_id", "event_time", words).where("word != ''")


def count_words(words: "DataFrame") -> "DataFrame":
    """How often each word occurred."""
    return words.groupBy("word").count()
