"""The Yahoo streaming benchmark: how often the advertisements of every campaign were viewed in every ten seconds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.spark.applications.parameters import check_known, not_negative, positive, read
from penstock.spark.applications.storing import add_store
from penstock.spark.payloads.ads import ad_campaigns
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LATENESS = "5 seconds"
_EVENT = "user_id string, page_id string, ad_id string, ad_type string, event_type string, event_time string, ip string"


def yahoo_streaming(parameters: Mapping[str, str]) -> Pipeline:
    """Advertisement views per campaign (Yahoo streaming benchmark). Parameters: window_s, store_per_s, max, url.

    The counts go to an external store. It takes `store_per_s` views per second (0: as many as come), whatever the
    parallelism of the operators, as the store of the benchmark did that held them back in AuTraScale.
    """
    check_known("yahoo-streaming", parameters, ("window_s", "store_per_s", "max", "url"))
    window_s, most = read(parameters, "window_s", positive, 10), read(parameters, "max", positive, 4)
    store_per_s = read(parameters, "store_per_s", not_negative, 0.0)

    def count_campaigns(views: "DataFrame") -> "DataFrame":
        return count_per_campaign(views, window_s)

    pipeline = Pipeline("yahoo-streaming")
    bounds = (1, most)
    pipeline.source("source", load="ad-json")
    pipeline.operator("deserialise", after="source", parallelism=bounds)(deserialise)
    pipeline.operator("filter-views", after="deserialise", parallelism=bounds)(filter_views)
    pipeline.operator("project", after="filter-views", parallelism=bounds)(project)
    pipeline.operator("join-campaigns", after="project")(join_campaigns)
    pipeline.operator(
        "count-campaigns", after="join-campaigns", key=("window", "campaign"), stateful=True, parallelism=bounds
    )(count_campaigns)
    limit = {"writes_per_s": repr(store_per_s), "counter": "views"} if store_per_s else {}
    add_store(pipeline, "count-campaigns", parameters, "update", {"key": "campaign,window_start", **limit})
    return pipeline


def deserialise(events: "DataFrame") -> "DataFrame":
    """The columns of every event, which comes as JSON."""
    from pyspark.sql import functions as F  # noqa: N812

    parsed = events.select("event_id", F.from_json("event", _EVENT).alias("event")).select("event_id", "event.*")
    return parsed.withColumn("event_time", F.timestamp_millis(F.col("event_time").cast("bigint")))


def filter_views(events: "DataFrame") -> "DataFrame":
    """Only the views."""
    return events.where("event_type = 'view'")


def project(views: "DataFrame") -> "DataFrame":
    """Only the columns that are needed from here on."""
    return views.select("event_id", "event_time", "ad_id")


def join_campaigns(views: "DataFrame") -> "DataFrame":
    """Every view with the campaign that the advertisement belongs to."""
    from pyspark.sql import functions as F  # noqa: N812

    campaigns = views.sparkSession.createDataFrame(ad_campaigns(), "ad_id string, campaign string")
    return views.join(F.broadcast(campaigns), "ad_id").drop("ad_id")


def count_per_campaign(views: "DataFrame", window_s: int) -> "DataFrame":
    """How often each campaign was viewed in each window."""
    from pyspark.sql import functions as F  # noqa: N812

    window = F.window("event_time", f"{window_s} seconds")
    counted = views.withWatermark("event_time", _LATENESS).groupBy(window, "campaign")
    return counted.agg(F.count("*").alias("views")).select(
        "campaign", F.col("window.start").alias("window_start"), "views"
    )
