"""Nexmark query 11, user sessions: how many bids everyone made in each stretch of activity."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.spark.applications.nexmark_q5 import only_bids
from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LATENESS = "2 seconds"


def nexmark_q11(parameters: Mapping[str, str]) -> Pipeline:
    """Bids per bidder in session windows (Nexmark query 11). Parameters: gap_s, max, sink.

    A session ends with the first pause of `gap_s`; it is emitted when it has ended for certain.
    """
    check_known("nexmark-q11", parameters, ("gap_s", "max", "sink"))
    gap_s, most = read(parameters, "gap_s", positive, 10), read(parameters, "max", positive, 4)

    def session_window(bids: "DataFrame") -> "DataFrame":
        return count_sessions(bids, gap_s)

    pipeline = Pipeline("nexmark-q11")
    pipeline.source("source", load="auctions")
    pipeline.operator("bids", after="source")(only_bids)
    pipeline.operator(
        "session-window", after="bids", key="bidder", stateful=True, mode="append", parallelism=(1, most)
    )(session_window)
    pipeline.sink("sessions", after="session-window", format=parameters.get("sink", "batches"))
    return pipeline


def count_sessions(bids: "DataFrame", gap_s: int) -> "DataFrame":
    """How many bids each bidder made in each session."""
    from pyspark.sql import functions as F  # noqa: N812

    session = F.session_window("event_time", f"{gap_s} seconds").alias("session")
    counted = bids.withWatermark("event_time", _LATENESS).groupBy(session, "bidder").agg(F.count("*").alias("bids"))
    return counted.select("bidder", F.col("session.start").alias("begin"), F.col("session.end").alias("end"), "bids")
