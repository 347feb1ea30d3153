"""Application 3 of the publication on operator fission: phrases from the news, and what they say about whom."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.spark.applications.entities import entities_of
from penstock.spark.applications.lexicon import mood, score, stem
from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.applications.python_columns import python_column
from penstock.spark.applications.spam import SpamClassifier, trained_classifier
from penstock.spark.applications.storing import add_store
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fission_3(parameters: Mapping[str, str]) -> Pipeline:
    """News phrases through spam, sentiment, entities and store (fission application 3). Parameters: max, url.

    The classifier is trained when the pipeline is built, always with the same phrases.
    """
    check_known("fission-3", parameters, ("max", "url"))
    bounds = (1, read(parameters, "max", positive, 8))
    classifier = trained_classifier()

    def spam(phrases: "DataFrame") -> "DataFrame":
        return detect_spam(phrases, classifier)

    pipeline = Pipeline("fission-3")
    pipeline.source("source", load="news")
    pipeline.operator("spam", after="source", parallelism=bounds)(spam)
    pipeline.operator("sentiment", after="spam", parallelism=bounds)(classify_sentiment)
    pipeline.operator("entities", after="sentiment", parallelism=bounds)(detect_entities)
    add_store(pipeline, "entities", parameters)
    return pipeline


def detect_spam(phrases: "DataFrame", classifier: SpamClassifier) -> "DataFrame":
    """Every phrase with whether it is spam."""
    return phrases.withColumn("spam", python_column(classifier.are_spam, "boolean", "text"))


def classify_sentiment(phrases: "DataFrame") -> "DataFrame":
    """Every phrase with its mood."""
    return phrases.withColumn("sentiment", python_column(moods, "string", "text"))


def moods(texts: list[str]) -> list[str]:
    """The mood of every text, by the lexicon."""
    return [mood(score([stem(word) for word in text.lower().rstrip(".").split()])) for text in texts]


def detect_entities(phrases: "DataFrame") -> "DataFrame":
    """Every phrase with the persons, places and organisations that it names."""
    return phrases.withColumn("entities", python_column(all_entities, "array<string>", "text"))


def all_entities(texts: list[str]) -> list[list[str]]:
    """The entities of every text, each as `kind:name`."""
    return [[f"{kind}:{name}" for kind, name in entities_of(text)] for text in texts]
