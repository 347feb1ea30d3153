"""Application 1 of the publication on operator fission: tweets about an earthquake, and how urgent their words are."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.spark import phrases
from penstock.spark.applications.languages import detected
from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.applications.python_columns import python_column
from penstock.spark.applications.storing import add_store
from penstock.spark.applications.top_words import stop_words
from penstock.spark.applications.word_count import WORD_BREAK
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fission_1(parameters: Mapping[str, str]) -> Pipeline:
    """Tweets through stop words, language, bag of words and store (fission application 1). Parameters: max, url.

    What stores is a sink here and no operator with replicas: every batch goes to the database in one transaction.
    """
    check_known("fission-1", parameters, ("max", "url"))
    bounds = (1, read(parameters, "max", positive, 8))
    pipeline = Pipeline("fission-1")
    pipeline.source("source", load="tweets")
    pipeline.operator("stop-words", after="source", parallelism=bounds)(remove_stop_words)
    pipeline.operator("language", after="stop-words", parallelism=bounds)(detect_language)
    pipeline.operator("bag-of-words", after="language", parallelism=bounds)(count_bag_words)
    add_store(pipeline, "bag-of-words", parameters)
    return pipeline


def remove_stop_words(tweets: "DataFrame") -> "DataFrame":
    """Every tweet in lower case with only the words that say something."""
    from pyspark.sql import functions as F  # noqa: N812

    words = F.split(F.lower("text"), WORD_BREAK)
    telling = F.filter(words, lambda word: (word != "") & ~word.isin(stop_words()))
    return tweets.withColumn("text", F.array_join(telling, " "))


def detect_language(tweets: "DataFrame") -> "DataFrame":
    """Every tweet with its language."""
    return tweets.withColumn("language", python_column(detected, "string", "text"))


def count_bag_words(tweets: "DataFrame") -> "DataFrame":
    """Every tweet with the number of its words that are in the bag: those that speak of an emergency."""
    from pyspark.sql import functions as F  # noqa: N812

    in_bag = F.filter(F.split("text", " "), lambda word: word.isin(list(phrases.EMERGENCY_WORDS)))
    return tweets.withColumn("bag_words", F.size(in_bag))
