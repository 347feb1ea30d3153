"""Nexmark query 5, hot items: the auctions with the most bids in a sliding window."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LATENESS = "2 seconds"


def nexmark_q5(parameters: Mapping[str, str]) -> Pipeline:
    """Hottest auctions in a sliding window (Nexmark query 5). Parameters: window_s, slide_s, max, sink.

    A window's auctions are emitted when the window is complete, all of them where several have the most bids.
    """
    check_known("nexmark-q5", parameters, ("window_s", "slide_s", "max", "sink"))
    window_s, slide_s, most = (
        read(parameters, name, positive, default) for name, default in (("window_s", 10), ("slide_s", 5), ("max", 4))
    )

    def sliding_window(bids: "DataFrame") -> "DataFrame":
        return count_bids(bids, window_s, slide_s)

    pipeline = Pipeline("nexmark-q5")
    bounds = (1, most)
    pipeline.source("source", load="auctions")
    pipeline.operator("bids", after="source")(only_bids)
    pipeline.operator(
        "sliding-window", after="bids", key=("window", "auction"), stateful=True, mode="append", parallelism=bounds
    )(sliding_window)
    pipeline.operator(
        "hottest", after="sliding-window", key="window", stateful=True, mode="append", parallelism=bounds
    )(hottest)
    pipeline.sink("hot-items", after="hottest", format=parameters.get("sink", "batches"))
    return pipeline


def only_bids(events: "DataFrame") -> "DataFrame":
    """The bids among all that happens at the auctions."""
    return events.where("kind = 'bid'").selectExpr("event_id", "event_time", "auction", "person AS bidder", "price")


def count_bids(bids: "DataFrame", window_s: int, slide_s: int) -> "DataFrame":
    """How many bids each auction got in each window."""
    from pyspark.sql import functions as F  # noqa: N812

    window = F.window("event_time", f"{window_s} seconds", f"{slide_s} seconds")
    return bids.withWatermark("event_time", _LATENESS).groupBy(window, "auction").agg(F.count("*").alias("bids"))


def hottest(counts: "DataFrame") -> "DataFrame":
    """The auctions with the most bids of each window."""
    from pyspark.sql import functions as F  # noqa: N812

    every = counts.groupBy("window").agg(
        F.max("bids").alias("bids"), F.collect_list(F.struct("auction", "bids")).alias("all")
    )
    first = every.withColumn("auction", F.explode(F.expr("filter(all, one -> one.bids = bids).auction")))
    return first.select(F.col("window.start").alias("window_start"), "auction", "bids")
