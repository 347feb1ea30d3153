"""What there is to run: the applications that come with Penstock, and those that users write."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from penstock.errors import UnknownName
from penstock.model import Spec
from penstock.spark.applications.debs_routes import debs_routes
from penstock.spark.applications.fission_1 import fission_1
from penstock.spark.applications.fission_2 import fission_2
from penstock.spark.applications.fission_3 import fission_3
from penstock.spark.applications.frequent_patterns import frequent_patterns
from penstock.spark.applications.nexmark_q5 import nexmark_q5
from penstock.spark.applications.nexmark_q11 import nexmark_q11
from penstock.spark.applications.sentiment import sentiment
from penstock.spark.applications.synthetic import of_application, synthetic
from penstock.spark.applications.top_words import top_words
from penstock.spark.applications.user import load_user_pipeline
from penstock.spark.applications.word_count import word_count
from penstock.spark.applications.yahoo_streaming import yahoo_streaming
from penstock.spark.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class SparkApplication:
    """A built-in application: how it is built, and the load range in which it is interesting on a small machine."""

    name: str
    build: Callable[[Mapping[str, str]], Pipeline]
    low_per_s: float
    high_per_s: float

    @property
    def summary(self) -> str:
        """One line, with the parameters it takes."""
        return (self.build.__doc__ or "").splitlines()[0]

    def __call__(self, parameters: Mapping[str, str] | None = None) -> Pipeline:
        """The pipeline, with the parameters that were written behind its name."""
        return self.build(parameters or {})


SPARK_APPLICATIONS: Mapping[str, SparkApplication] = MappingProxyType(
    {
        each.name: each
        for each in (
            SparkApplication("word-count", word_count, 500, 8_000),
            SparkApplication("top-words", top_words, 200, 3_000),
            SparkApplication("sentiment", sentiment, 500, 8_000),
            SparkApplication("yahoo-streaming", yahoo_streaming, 500, 8_000),
            SparkApplication("nexmark-q5", nexmark_q5, 500, 10_000),
            SparkApplication("nexmark-q11", nexmark_q11, 500, 8_000),
            SparkApplication("debs-routes", debs_routes, 20, 300),
            SparkApplication("frequent-patterns", frequent_patterns, 50, 600),
            SparkApplication("fission-1", fission_1, 50, 800),
            SparkApplication("fission-2", fission_2, 50, 800),
            SparkApplication("fission-3", fission_3, 50, 800),
            SparkApplication("synthetic", synthetic, 200, 2_000),
        )
    }
)
"""Every built-in application by its name."""


def spark_pipeline(text: str) -> Pipeline:
    """The pipeline for `name`, `name:key=value,...` or `file.py:name`."""
    if ".py" in text:
        return load_user_pipeline(text)
    spec = Spec.parse(text)
    if spec.name not in SPARK_APPLICATIONS:
        raise UnknownName.of("application", spec.name, SPARK_APPLICATIONS)
    return SPARK_APPLICATIONS[spec.name](spec.parameters)


__all__ = ["SPARK_APPLICATIONS", "SparkApplication", "load_user_pipeline", "of_application", "spark_pipeline"]
