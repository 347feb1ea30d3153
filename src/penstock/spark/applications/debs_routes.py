"""The most frequent taxi routes of the last half hour, the first query of the DEBS 2015 Grand Challenge."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LATENESS_S = 5
_FIELDS = 17
_CELLS = 300
_NORTH, _WEST = 41.477183, -74.916578
_CELL_SOUTH, _CELL_EAST = 0.004491556, 0.005986
"""The north-western corner of the area in degrees, and the size of a cell: 500 m, so that the area is 150 km wide."""


def debs_routes(parameters: Mapping[str, str]) -> Pipeline:
    """Most frequent taxi routes (DEBS 2015, thesis chapters 6, 8, 9). Parameters: k, window_s, slide_s, max, sink.

    The city's day is replayed 60 times faster, so the window of half an hour is 30 s. The metronome of the original,
    which tells the counters how late it is, is Spark's watermark here. Rankings are emitted whenever they change.
    """
    check_known("debs-routes", parameters, ("k", "window_s", "slide_s", "max", "sink"))
    k, window_s, slide_s, most = (
        read(parameters, name, positive, default)
        for name, default in (("k", 10), ("window_s", 30), ("slide_s", 5), ("max", 3))
    )

    def count_by_window(trips: "DataFrame") -> "DataFrame":
        return count_routes(trips, window_s, slide_s)

    def partial_rank(counts: "DataFrame") -> "DataFrame":
        from penstock.spark.applications.ranking import Ranking, rank_buckets

        return rank_buckets(counts, Ranking("route", k, window_s, slide_s, _LATENESS_S))

    def global_rank(rankings: "DataFrame") -> "DataFrame":
        from penstock.spark.applications.ranking import Ranking, rank_windows

        return rank_windows(rankings, Ranking("route", k, window_s, slide_s, _LATENESS_S))

    pipeline = Pipeline("debs-routes")
    bounds = (1, most)
    pipeline.source("source", load="trip-lines")
    pipeline.operator("parser", after="source", parallelism=bounds)(parse)
    pipeline.operator("filter-by-coordinates", after="parser", parallelism=bounds)(filter_by_coordinates)
    pipeline.operator("compute-route-id", after="filter-by-coordinates", parallelism=bounds)(compute_route_id)
    pipeline.operator(
        "count-by-window", after="compute-route-id", key=("window", "route"), stateful=True, parallelism=bounds
    )(count_by_window)
    for name, after, key, function, allowed in (
        ("partial-rank", "count-by-window", "bucket", partial_rank, bounds),
        ("global-rank", "partial-rank", "table", global_rank, (1, 1)),
    ):
        pipeline.operator(name, after=after, key=key, stateful=True, mode="append", parallelism=allowed)(function)
    pipeline.sink("routes", after="global-rank", format=parameters.get("sink", "batches"))
    return pipeline


def parse(lines: "DataFrame") -> "DataFrame":
    """The trips, without lines that were cut off and trips that took no time."""
    from pyspark.sql import functions as F  # noqa: N812

    fields = lines.select("event_id", F.split("line", ",").alias("fields")).where(F.size("fields") == _FIELDS)
    coordinates = ("pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude")
    trips = fields.select(
        "event_id",
        F.try_to_timestamp(F.col("fields")[3]).alias("dropoff_time"),
        F.col("fields")[4].try_cast("int").alias("trip_time_s"),
        *(F.col("fields")[6 + place].try_cast("double").alias(name) for place, name in enumerate(coordinates)),
    )
    return trips.dropna().where("trip_time_s > 0").drop("trip_time_s")


def filter_by_coordinates(trips: "DataFrame") -> "DataFrame":
    """The trips within the area, with the cells (numbered from 1, eastwards and southwards) of their two ends."""
    from pyspark.sql import functions as F  # noqa: N812

    located = trips.select(
        "event_id",
        "dropoff_time",
        _cell(F.col("pickup_longitude") - _WEST, _CELL_EAST).alias("pickup_east"),
        _cell(_NORTH - F.col("pickup_latitude"), _CELL_SOUTH).alias("pickup_south"),
        _cell(F.col("dropoff_longitude") - _WEST, _CELL_EAST).alias("dropoff_east"),
        _cell(_NORTH - F.col("dropoff_latitude"), _CELL_SOUTH).alias("dropoff_south"),
    )
    for column in ("pickup_east", "pickup_south", "dropoff_east", "dropoff_south"):
        located = located.where(F.col(column).between(1, _CELLS))
    return located


def _cell(distance: "Column", size: float) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return (F.floor(distance / size) + 1).cast("int")


def compute_route_id(trips: "DataFrame") -> "DataFrame":
    """Every trip's route: the cells of its two ends."""
    from pyspark.sql import functions as F  # noqa: N812

    route = F.format_string("%d.%d-%d.%d", "pickup_east", "pickup_south", "dropoff_east", "dropoff_south")
    return trips.select("event_id", "dropoff_time", route.alias("route"))


def count_routes(trips: "DataFrame", window_s: int, slide_s: int) -> "DataFrame":
    """How often each route was taken in each window."""
    from pyspark.sql import functions as F  # noqa: N812

    window = F.window("dropoff_time", f"{window_s} seconds", f"{slide_s} seconds")
    counted = trips.withWatermark("dropoff_time", f"{_LATENESS_S} seconds").groupBy(window, "route").count()
    return counted.select(F.col("window.start").alias("window_start"), "route", "count")
