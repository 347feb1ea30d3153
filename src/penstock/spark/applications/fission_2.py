"""Application 2 of the publication on operator fission: tweets that a light or else a slow detector finds Spanish."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.spark.applications.fission_1 import count_bag_words, detect_language, remove_stop_words
from penstock.spark.applications.languages import is_spanish
from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.applications.python_columns import python_column
from penstock.spark.applications.storing import add_store
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fission_2(parameters: Mapping[str, str]) -> Pipeline:
    """Tweets through two language detectors (fission application 2). Parameters: max, url.

    What the library finds Spanish goes to the bag of words at once; of the rest, what the dictionary finds Spanish goes
    there too, and the others are stored as they are.
    """
    check_known("fission-2", parameters, ("max", "url"))
    bounds = (1, read(parameters, "max", positive, 8))
    pipeline = Pipeline("fission-2")
    pipeline.source("source", load="tweets")
    pipeline.operator("stop-words", after="source", parallelism=bounds)(remove_stop_words)
    pipeline.operator("light-language", after="stop-words", parallelism=bounds)(detect_language)
    pipeline.operator("unrecognised", after="light-language")(not_spanish)
    pipeline.operator("dictionary-language", after="unrecognised", parallelism=bounds)(look_up_words)
    pipeline.operator("recognised", after="light-language")(spanish)
    pipeline.operator("recognised-later", after="dictionary-language")(spanish)
    pipeline.operator("bag-of-words", after=("recognised", "recognised-later"), parallelism=bounds)(count_bag_words)
    pipeline.operator("foreign", after="dictionary-language")(uncounted)
    pipeline.operator("all", after=("bag-of-words", "foreign"))(unchanged)
    add_store(pipeline, "all", parameters)
    return pipeline


def spanish(tweets: "DataFrame") -> "DataFrame":
    """The tweets that were found Spanish."""
    return tweets.where("language = 'es'")


def not_spanish(tweets: "DataFrame") -> "DataFrame":
    """The tweets that were not."""
    return tweets.where("language != 'es'")


def look_up_words(tweets: "DataFrame") -> "DataFrame":
    """The tweets, those with Spanish as their language in which most words are in the dictionary."""
    from pyspark.sql import functions as F  # noqa: N812

    language = F.when(python_column(_all_spanish, "boolean", "text"), "es").otherwise(F.col("language"))
    return tweets.withColumn("language", language)


def _all_spanish(texts: list[str]) -> list[bool]:
    return [is_spanish(text) for text in texts]


def uncounted(tweets: "DataFrame") -> "DataFrame":
    """The tweets that are not Spanish; their words are not counted."""
    from pyspark.sql import functions as F  # noqa: N812

    return not_spanish(tweets).withColumn("bag_words", F.lit(None).cast("int"))


def unchanged(tweets: "DataFrame") -> "DataFrame":
    """The tweets of both ways, as they are."""
    return tweets
