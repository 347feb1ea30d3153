"""The benchmark applications of the publications: their streaming results against a plain computation."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import combinations, pairwise
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.spark import RunningPipeline, RunOptions
from penstock.spark.applications.fission_3 import all_entities, moods
from penstock.spark.applications.languages import detected, is_spanish
from penstock.spark.applications.registry import spark_pipeline
from penstock.spark.applications.spam import trained_classifier
from penstock.spark.applications.top_words import stop_words
from penstock.spark.graph import SourceNode
from penstock.spark.payloads.ads import ad_campaigns
from penstock.spark.phrases import EMERGENCY_WORDS
from penstock.spark.source import LoadOptions, encode_schedule, read_events
from penstock.workloads import Constant, Curve, Diurnal, Schedule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = 500
EPOCH_S = 1_800_000_000
FILES = 2


class Recorded:
    """Events of one payload in files, which are read one per batch."""

    def __init__(self, folder: Path, payload: str, curve: Curve) -> None:
        options = LoadOptions(encode_schedule(Schedule(curve)), float(EPOCH_S), payload, seed=3)
        self.folder = folder
        self.table = pa.Table.from_batches(read_events(options, 0, EVENTS))
        self.seconds = [time / 1e6 - EPOCH_S for time in self.table.column("event_time").cast(pa.int64()).to_pylist()]
        for part, (begin, end) in enumerate(pairwise(EVENTS * cut // FILES for cut in range(FILES + 1))):
            pq.write_table(self.table.slice(begin, end - begin), folder / f"{part}.parquet")

    def column(self, name: str) -> list[Any]:
        return self.table.column(name).to_pylist()  # type: ignore[no-any-return]

    def open(self, spark: "SparkSession", source: SourceNode, partitions: int) -> "DataFrame":
        schema = spark.read.parquet(str(self.folder)).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.folder))

    def process(self, spark: "SparkSession", application: str, folder: Path, execution: str = "fused") -> None:
        pipeline = spark_pipeline(application)
        RunningPipeline(spark, pipeline, execution, folder, {}, RunOptions(open_load=self.open)).run_to_end()


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[str, Curve], Recorded]:
    def record(payload: str, curve: Curve) -> Recorded:
        folder = tmp_path / "events"
        folder.mkdir()
        return Recorded(folder, payload, curve)

    return record


def batches(folder: Path, sink: str) -> list[list[dict[str, Any]]]:
    """The rows of every batch that a sink has got."""
    return [pq.read_table(batch).to_pylist() for batch in sorted((folder / "sinks" / sink).glob("batch-*"))]


def stored(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """What the sink `store` holds."""
    database = sqlite3.connect(folder / "sinks" / "store.sqlite")
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def second(time: datetime) -> float:
    """Seconds since the first event was due."""
    return (time.timestamp() if time.tzinfo else (time - datetime(1970, 1, 1)).total_seconds()) - EPOCH_S


def windows_of(at_s: float, window_s: int, slide_s: int) -> Iterable[int]:
    """The beginnings of the windows in which a time lies."""
    last = floor(at_s / slide_s) * slide_s
    return range(last, int(last - window_s), -slide_s)


class TestYahooStreaming:
    def test_views_are_those_of_a_plain_computation(
        self, spark: "SparkSession", recorded: Callable[..., Recorded], tmp_path: Path
    ) -> None:
        events = recorded("ad-json", Constant(20.0))
        events.process(spark, "yahoo-streaming:max=2,store_per_s=100000", tmp_path)
        rows = stored(tmp_path, "SELECT campaign, window_start, views FROM store")
        found = {(campaign, second(datetime.fromisoformat(start))): views for campaign, start, views in rows}
        assert len(rows) == len(found)
        assert found == self.expected(events)

    def expected(self, events: Recorded) -> dict[tuple[str, int], int]:
        campaigns = dict(ad_campaigns())
        views: Counter[tuple[str, int]] = Counter()
        for event in map(json.loads, events.column("event")):
            if event["event_type"] == "view":
                at_s = int(event["event_time"]) / 1000 - EPOCH_S
                views[campaigns[event["ad_id"]], floor(at_s / 10) * 10] += 1
        return dict(views)


class TestNexmark:
    def bids(self, events: Recorded) -> list[tuple[float, int, int]]:
        columns = map(events.column, ("kind", "auction", "person"))
        every = zip(events.seconds, *columns, strict=True)
        return [(at_s, auction, bidder) for at_s, kind, auction, bidder in every if kind == "bid"]

    @pytest.mark.parametrize("execution", ["fused", "pipelined"])
    def test_the_hottest_auctions_are_those_of_a_plain_computation(
        self, spark: "SparkSession", recorded: Callable[..., Recorded], tmp_path: Path, execution: str
    ) -> None:
        events = recorded("auctions", Constant(10.0))
        events.process(spark, "nexmark-q5:max=2", tmp_path, execution)
        found: dict[int, dict[int, int]] = defaultdict(dict)
        for row in (row for rows in batches(tmp_path, "hot-items") for row in rows):
            assert row["auction"] not in found[round(second(row["window_start"]))]
            found[round(second(row["window_start"]))][row["auction"]] = row["bids"]
        counts: dict[int, Counter[int]] = defaultdict(Counter)
        for at_s, auction, _ in self.bids(events):
            for begin in windows_of(at_s, 10, 5):
                counts[begin][auction] += 1
        hottest = {
            begin: {auction: bids for auction, bids in window.items() if bids == max(window.values())}
            for begin, window in counts.items()
        }
        # Only windows that are complete are emitted: events may be two seconds late.
        complete = [begin for begin in hottest if begin + 10 <= events.seconds[-1] - 2]
        if execution == "pipelined":
            # The second query knows that a window is complete when it sees a later one.
            complete.remove(max(complete))
        assert found == {begin: hottest[begin] for begin in complete}
        assert len(complete) >= 8

    def test_sessions_are_those_of_a_plain_computation(
        self, spark: "SparkSession", recorded: Callable[..., Recorded], tmp_path: Path
    ) -> None:
        events = recorded("auctions", Constant(2.0))
        events.process(spark, "nexmark-q11:gap_s=4,max=2", tmp_path)
        rows = [row for rows in batches(tmp_path, "sessions") for row in rows]
        found = {(row["bidder"], round(second(row["begin"]), 3)): (second(row["end"]), row["bids"]) for row in rows}
        assert len(found) == len(rows) > 20
        sessions = self.sessions(events, gap_s=4.0)
        over = {key: session for key, session in sessions.items() if session[0] <= events.seconds[-1] - 2}
        assert found == {key: (pytest.approx(end, abs=1e-5), bids) for key, (end, bids) in over.items()}

    def sessions(self, events: Recorded, gap_s: float) -> dict[tuple[int, float], tuple[float, int]]:
        times: dict[int, list[float]] = defaultdict(list)
        for at_s, _, bidder in self.bids(events):
            times[bidder].append(at_s)
        found: dict[tuple[int, float], tuple[float, int]] = {}
        for bidder, bids in times.items():
            # As Spark has it, a bid that comes the very moment a session would end still belongs to it.
            pauses = [round(after - before, 6) > gap_s for before, after in pairwise(bids)]
            begins = [0, *(place for place, pause in enumerate(pauses, start=1) if pause), len(bids)]
            for begin, end in pairwise(begins):
                found[bidder, round(bids[begin], 3)] = (bids[end - 1] + gap_s, end - begin)
        return found


class TestDebsRoutes:
    def test_the_last_rankings_are_those_of_a_plain_computation(
        self, spark: "SparkSession", recorded: Callable[..., Recorded], tmp_path: Path
    ) -> None:
        # A whole day of the city: hardly any trips at four in the morning, most in the evening.
        events = recorded("trip-lines", Diurnal(1.0, 9.0, day_s=100.0))
        events.process(spark, "debs-routes:k=3,max=2", tmp_path)
        last: dict[int, dict[int, tuple[str, int]]] = {}
        for rows in batches(tmp_path, "routes"):
            emitted: dict[int, dict[int, tuple[str, int]]] = defaultdict(dict)
            for row in rows:
                emitted[round(second(row["window_start"]))][row["place"]] = (row["route"], row["count"])
            last |= emitted
        assert last == self.expected(events.column("line"), k=3)

    def expected(self, lines: list[str], k: int) -> dict[int, dict[int, tuple[str, int]]]:
        counts: dict[int, Counter[str]] = defaultdict(Counter)
        fields_of = [line.split(",") for line in lines]
        whole = [fields for fields in fields_of if len(fields) == 17]
        assert len(whole) < len(fields_of)
        for fields in whole:
            route = self.route(*map(float, fields[6:10]))
            at_s = second(datetime.fromisoformat(fields[3]))
            for begin in windows_of(at_s, 30, 5) if route else ():
                counts[begin][str(route)] += 1
        return {
            begin: dict(enumerate(sorted(window.items(), key=lambda item: (-item[1], item[0]))[:k], start=1))
            for begin, window in counts.items()
        }

    def route(self, from_longitude: float, from_latitude: float, longitude: float, latitude: float) -> str | None:
        cells = [
            (floor((x + 74.916578) / 0.005986) + 1, floor((41.477183 - y) / 0.004491556) + 1)
            for x, y in ((from_longitude, from_latitude), (longitude, latitude))
        ]
        if not all(1 <= cell <= 300 for end in cells for cell in end):
            return None
        return "-".join(f"{east}.{south}" for east, south in cells)


class TestFrequentPatterns:
    def test_patterns_are_those_of_a_plain_computation(
        self, spark: "SparkSession", recorded: Callable[..., Recorded], tmp_path: Path
    ) -> None:
        events = recorded("tweets", Constant(4.0))
        events.process(spark, "frequent-patterns:words=4,size=3,threshold=2,slide_s=20,max=2", tmp_path)
        rows = [row for rows in batches(tmp_path, "patterns") for row in rows]
        last = {(round(second(row["window_start"])), row["pattern"]): row["count"] for row in rows}
        dropped, counts = set(stop_words()), Counter[tuple[int, str]]()
        for at_s, text in zip(events.seconds, events.column("text"), strict=True):
            telling = dict.fromkeys(word for word in text.rstrip(".").split() if word not in dropped)
            chosen = sorted(list(telling)[:4])
            for pattern in (*combinations(chosen, 2), *combinations(chosen, 3)):
                counts.update((begin, " ".join(pattern)) for begin in windows_of(at_s, 60, 20))
        assert last == {key: count for key, count in counts.items() if count > 2}
        assert len(last) > 10


class TestFission:
    def bare(self, events: Recorded) -> list[str]:
        dropped = set(stop_words())
        texts = (text.rstrip(".").split() for text in events.column("text"))
        return [" ".join(word for word in words if word not in dropped) for words in texts]

    def bag_words(self, text: str) -> int:
        return sum(word in EMERGENCY_WORDS for word in text.split())

    def test_application_1_stores_what_a_plain_computation_finds(
        self, spark: "SparkSession", recorded: Callable[..., Recorded], tmp_path: Path
    ) -> None:
        events = recorded("tweets", Constant(20.0))
        events.process(spark, "fission-1:max=2", tmp_path)
        query = "SELECT event_id, author, text, language, bag_words FROM store ORDER BY event_id"
        found, texts = stored(tmp_path, query), self.bare(events)
        bags = map(self.bag_words, texts)
        assert found == list(zip(range(EVENTS), events.column("author"), texts, detected(texts), bags, strict=True))

        # A driver that dies after the store and before the commit repeats its last batch: nothing is stored twice.
        commits = tmp_path / "segments" / "bag-of-words" / "commits"
        last = commits / str(FILES - 1)
        last.unlink()
        (commits / f".{last.name}.crc").unlink(missing_ok=True)
        events.process(spark, "fission-1:max=2", tmp_path)
        assert last.exists()
        assert stored(tmp_path, query) == found

    def test_application_2_stores_what_a_plain_computation_finds(
        self, spark: "SparkSession", recorded: Callable[..., Recorded], tmp_path: Path
    ) -> None:
        events = recorded("tweets", Constant(20.0))
        events.process(spark, "fission-2:max=2", tmp_path)
        texts = self.bare(events)
        light = detected(texts)
        languages = [
            "es" if found == "es" or is_spanish(text) else found for found, text in zip(light, texts, strict=True)
        ]
        assert "es" in light
        assert light != languages
        bags = [
            self.bag_words(text) if language == "es" else None for language, text in zip(languages, texts, strict=True)
        ]
        found = stored(tmp_path, "SELECT event_id, text, language, bag_words FROM store ORDER BY event_id")
        assert found == list(zip(range(EVENTS), texts, languages, bags, strict=True))

    def test_application_3_stores_what_a_plain_computation_finds(
        self, spark: "SparkSession", recorded: Callable[..., Recorded], tmp_path: Path
    ) -> None:
        events = recorded("news", Constant(20.0))
        events.process(spark, "fission-3:max=2", tmp_path)
        texts = events.column("text")
        spam, entities = trained_classifier().are_spam(texts), map(json.dumps, all_entities(texts))
        found = stored(tmp_path, "SELECT event_id, text, spam, sentiment, entities FROM store ORDER BY event_id")
        assert found == list(zip(range(EVENTS), texts, spam, moods(texts), entities, strict=True))
