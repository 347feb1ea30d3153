"""The built-in applications: their streaming results against a plain computation over the same events."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidModel, UnknownName, UsageError
from penstock.spark import Pipeline, RunningPipeline, RunOptions
from penstock.spark.applications.counting import counted
from penstock.spark.applications.lexicon import emphasis, mood, negations, score, stem, strengths
from penstock.spark.applications.ranking import bucket_of, ranked, updated
from penstock.spark.applications.registry import SPARK_APPLICATIONS, load_user_pipeline, of_application, spark_pipeline
from penstock.spark.applications.synthetic import Stage
from penstock.spark.applications.top_words import stop_words
from penstock.spark.graph import OperatorNode, SourceNode
from penstock.spark.source import LoadOptions, encode_schedule, read_events
from penstock.workloads import APPLICATIONS, Constant, Schedule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = 400
FILES = 3
MINUTE_US = 60_000_000


class Recorded:
    """Events of one payload in files, which are read one per batch."""

    def __init__(self, folder: Path, payload: str) -> None:
        # Two events per second from the beginning of a minute: 200 s, which are four windows of one minute.
        options = LoadOptions(
            encode_schedule(Schedule(Constant(2.0))), epoch_s=1_800_000_000.0, payload=payload, seed=3
        )
        self.folder = folder
        self.table = pa.Table.from_batches(read_events(options, 0, EVENTS))
        for part in range(FILES):
            begin, end = EVENTS * part // FILES, EVENTS * (part + 1) // FILES
            pq.write_table(self.table.slice(begin, end - begin), folder / f"{part}.parquet")

    def open(self, spark: "SparkSession", source: SourceNode, partitions: int) -> "DataFrame":
        schema = spark.read.parquet(str(self.folder)).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.folder))

    def minutes_and_texts(self) -> list[tuple[int, str]]:
        times = self.table.column("event_time").cast(pa.int64()).to_pylist()
        texts = self.table.column("text").to_pylist()
        return [(time // MINUTE_US, text) for time, text in zip(times, texts, strict=True)]


@pytest.fixture(scope="module")
def tweets(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("tweets"), "text")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("numbers"), "numbers")


def results(
    spark: "SparkSession", pipeline: Pipeline, events: Recorded, folder: Path, sink: str
) -> list[list[dict[str, Any]]]:
    """What a pipeline has written to a sink when all events are processed: rows by batch."""
    running = RunningPipeline(spark, pipeline, "fused", folder, {}, RunOptions(open_load=events.open))
    running.run_to_end()
    return [pq.read_table(batch).to_pylist() for batch in sorted((folder / "sinks" / sink).glob("batch-*"))]


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.lower())


def minute_of(time: datetime) -> int:
    return round(time.timestamp() if time.tzinfo else (time - datetime(1970, 1, 1)).total_seconds()) // 60


class TestWordCount:
    def test_counts_are_those_of_a_plain_computation(
        self, spark: "SparkSession", tweets: Recorded, tmp_path: Path
    ) -> None:
        batches = results(spark, spark_pipeline("word-count"), tweets, tmp_path, "counts")
        assert len(batches) == FILES
        last = {row["word"]: row["count"] for rows in batches for row in rows}
        assert last == Counter(word for _, text in tweets.minutes_and_texts() for word in words_of(text))

    def test_its_functions_work_on_any_frame(self, spark: "SparkSession") -> None:
        from penstock.spark.applications.word_count import count_words, split_words

        sentences = spark.createDataFrame(
            [(1, None, "To be, or not to be")], "event_id bigint, event_time date, text string"
        )
        counted = {row["word"]: row["count"] for row in count_words(split_words(sentences)).collect()}
        assert counted == {"to": 2, "be": 2, "or": 1, "not": 1}


class TestTopWords:
    @pytest.mark.parametrize("taking_time", ["", ",scale=100"])
    def test_the_last_rankings_are_those_of_a_plain_computation(
        self, spark: "SparkSession", tweets: Recorded, tmp_path: Path, taking_time: str
    ) -> None:
        batches = results(spark, spark_pipeline(f"top-words:k=5,max=2{taking_time}"), tweets, tmp_path, "rankings")
        last: dict[int, dict[int, tuple[str, int]]] = {}
        for rows in batches:
            emitted: dict[int, dict[int, tuple[str, int]]] = defaultdict(dict)
            for row in rows:
                emitted[minute_of(row["window_start"])][row["place"]] = (row["word"], row["count"])
            last |= emitted
        assert last == self.expected(tweets, k=5)

    def expected(self, tweets: Recorded, k: int) -> dict[int, dict[int, tuple[str, int]]]:
        dropped = set(stop_words())
        counts: dict[int, Counter[str]] = defaultdict(Counter)
        for minute, text in tweets.minutes_and_texts():
            counts[minute].update(word for word in words_of(text) if word not in dropped)
        first = {minute: sorted(c.items(), key=lambda item: (-item[1], item[0]))[:k] for minute, c in counts.items()}
        return {minute: dict(enumerate(ranking, start=1)) for minute, ranking in first.items()}

    @given(
        st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), max_size=8),
        st.integers(1, 4),
    )
    def test_rankings_of_growing_counts_are_exact(self, batches: list[list[str]], k: int) -> None:
        counts: Counter[str] = Counter()
        ranking: list[tuple[str, int]] = []
        for batch in batches:
            counts.update(batch)
            ranking = ranked(ranking, [(word, counts[word]) for word in set(batch)], k)
        assert ranking == sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:k]


def test_buckets_are_spread_evenly_over_any_number_of_instances(spark: "SparkSession") -> None:
    buckets = spark.range(1000).selectExpr(f"{bucket_of('id')} AS bucket").distinct().cache()
    for instances in range(1, 9):
        spread = Counter(row["to"] for row in buckets.selectExpr(f"pmod(hash(bucket), {instances}) AS to").collect())
        assert len(spread) == instances
        assert max(spread.values()) - min(spread.values()) <= 1


class TestForgettingWindows:
    def test_a_ranking_that_stays_the_same_is_not_emitted(self) -> None:
        assert updated({1: [("a", 3)]}, [(1, "a", 3), (1, "b", 2)], k=1, windows=2) == {}
        assert updated({1: [("a", 3)]}, [(1, "b", 4), (2, "c", 1)], k=1, windows=2) == {1: [("b", 4)], 2: [("c", 1)]}

    def test_a_window_that_was_forgotten_does_not_come_back(self) -> None:
        kept = {3: [("a", 1)], 4: [("a", 1)]}
        assert updated(kept, [(2, "late", 9)], k=1, windows=2) == {}
        assert updated(kept, [(2, "late", 9)], k=1, windows=3) == {2: [("late", 9)]}

    @given(st.lists(st.lists(st.tuples(st.integers(1, 2), st.sampled_from("abc")), max_size=6), max_size=6))
    def test_counts_are_those_of_all_items_together(self, batches: list[list[tuple[int, str]]]) -> None:
        kept: dict[int, dict[str, int]] = {}
        for batch in batches:
            changed = counted(kept, batch, windows=2)
            assert {(window, item) for window, items in changed.items() for item in items} == set(batch)
            for window, items in changed.items():
                kept.setdefault(window, {}).update(items)
        whole = Counter(item for batch in batches for item in batch)
        assert {(window, item): n for window, items in kept.items() for item, n in items.items()} == whole

    def test_items_of_a_window_that_was_forgotten_are_not_counted(self) -> None:
        kept = {3: {"a": 1}, 4: {"a": 1}}
        assert counted(kept, [(2, "late"), (4, "a"), (5, "b")], windows=2) == {4: {"a": 2}, 5: {"b": 1}}


class TestSentiment:
    def test_moods_are_those_of_a_plain_computation(
        self, spark: "SparkSession", tweets: Recorded, tmp_path: Path
    ) -> None:
        batches = results(spark, spark_pipeline("sentiment:max=2"), tweets, tmp_path, "moods")
        last = {(minute_of(row["window_start"]), row["sentiment"]): row["count"] for rows in batches for row in rows}
        texts = [(minute, [stem(word) for word in words_of(text)]) for minute, text in tweets.minutes_and_texts()]
        expected = Counter((minute, mood(score(stems))) for minute, stems in texts if len(stems) >= 3)
        assert last == expected
        assert {found for _, found in last} == {"positive", "negative", "neutral"}

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("what a wonderful day", "positive"),
            ("this is not good", "negative"),
            ("i never hated it", "positive"),
            ("the train leaves at noon", "neutral"),
            ("it was slightly nice", "neutral"),
            ("it was extremely nice", "positive"),
            ("they liked it but it failed and hurts", "negative"),
        ],
    )
    def test_negation_and_emphasis_are_heeded(self, text: str, found: str) -> None:
        assert mood(score([stem(word) for word in text.split()])) == found

    def test_a_negation_does_not_reach_far(self) -> None:
        near, far = ["not", "good", "at", "all"], ["not", "that", "i", "mind", "but", "good"]
        assert score([stem(word) for word in near]) < 0 < score([stem(word) for word in far])

    def test_no_word_has_two_parts_to_play(self) -> None:
        assert not set(strengths()) & set(emphasis())
        assert not negations() & (set(strengths()) | set(emphasis()))


def batch_result(pipeline: Pipeline, static: "DataFrame") -> "dict[str, DataFrame]":
    """The frames of all operators when every source is `static`: the same functions, without streaming."""
    graph = pipeline.graph()
    frames: dict[str, DataFrame] = {}
    for name in graph.order:
        node = graph.nodes[name]
        if isinstance(node, SourceNode):
            frames[name] = static
        elif isinstance(node, OperatorNode):
            united = frames[node.after[0]]
            for other in node.after[1:]:
                united = united.unionByName(frames[other])
            frames[name] = node.function(united)
    return frames


class TestSynthetic:
    @pytest.mark.parametrize(
        "spec",
        ["synthetic:shape=diamond,selectivity=1.5,service_ms=0,max=2", "synthetic:selectivity=0.4,service_ms=0.01"],
    )
    def test_counts_are_those_of_a_plain_computation(
        self, spark: "SparkSession", numbers: Recorded, tmp_path: Path, spec: str
    ) -> None:
        pipeline = spark_pipeline(spec)
        batches = results(spark, pipeline, numbers, tmp_path, "out-count")
        last = {row["key"]: row["count"] for rows in batches for row in rows}
        static = spark.read.parquet(str(numbers.folder))
        expected = {row["key"]: row["count"] for row in batch_result(pipeline, static)["count"].collect()}
        assert last == expected

    def test_selectivities_are_kept(self, spark: "SparkSession", numbers: Recorded) -> None:
        frames = batch_result(
            spark_pipeline("synthetic:selectivity=2.5,service_ms=0"), spark.read.parquet(str(numbers.folder))
        )
        assert frames["wait-1"].count() == EVENTS
        assert frames["wait-1-to-wait-2"].count() == pytest.approx(2.5 * EVENTS, rel=0.1)
        ids = [row["event_id"] for row in frames["wait-1-to-wait-2"].collect()]
        assert len(set(ids)) == len(ids)

    def test_operators_wait_as_long_as_they_are_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from penstock.spark.applications.waiting import Wait

        waited: list[float] = []
        monkeypatch.setattr("time.sleep", waited.append)
        batch = pa.RecordBatch.from_pydict({"event_id": [1, 2, 3]})
        assert list(Wait(0.002)([batch, batch.slice(0, 1)])) == [batch, batch.slice(0, 1)]  # type: ignore[arg-type]
        assert waited == pytest.approx([0.006, 0.002])

    @pytest.mark.parametrize("name", sorted(APPLICATIONS))
    def test_every_simulated_application_has_a_waiting_twin(self, name: str) -> None:
        simulated = APPLICATIONS[name]
        topology = of_application(simulated, scale=2.0).topology("pipelined")
        assert set(topology.names) == set(simulated.topology.names)
        assert set(topology.streams) == set(simulated.topology.streams)

    @pytest.mark.parametrize(
        ("spec", "sentence"),
        [
            ("synthetic:shape=ring", "no shape 'ring'; choose one of: linear, diamond, star"),
            ("synthetic:operators=0", "at least 1"),
            ("synthetic:service_ms=fast", "'service_ms=fast' is not a number"),
            ("synthetic:colour=red", "no parameter of 'synthetic' called 'colour'"),
            ("synthetic:application=star,scale=-1", "must be above 0"),
            ("synthetic:application=nothing", "no application 'nothing'"),
            ("word-cuont", "did you mean 'word-count'"),
            ("word-count:k=3", "no parameter of 'word-count' called 'k'"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, spec: str, sentence: str) -> None:
        with pytest.raises(UsageError, match=sentence):
            spark_pipeline(spec)

    def test_a_negative_service_time_is_refused(self) -> None:
        with pytest.raises(InvalidModel, match="'op' cannot wait -1 s per row"):
            Stage("op", (), -1.0)


@pytest.mark.parametrize("name", sorted(SPARK_APPLICATIONS))
def test_every_application_has_a_line_and_both_topologies(name: str) -> None:
    application = SPARK_APPLICATIONS[name]
    assert application.summary.endswith(".")
    assert 0 < application.low_per_s < application.high_per_s
    fused, pipelined = application().topology("fused"), application().topology("pipelined")
    assert fused.name == name
    assert fused.operators == pipelined.operators
    assert len(fused.segments) <= len(pipelined.segments)


def test_top_words_has_the_operators_of_its_simulated_twin() -> None:
    assert spark_pipeline("top-words").topology().streams == APPLICATIONS["top-words"].topology.streams


USERS_FILE = """
from penstock.spark import Pipeline
from pyspark.sql import functions as F

pipeline = Pipeline("mine")
pipeline.source("in", load="numbers")

def twice(number):
    return 2 * number

@pipeline.operator(after="in", parallelism=(1, 2))
def doubled(df):
    return df.select("event_id", F.udf(twice, "bigint")("key").alias("key"))

pipeline.sink("out", after=doubled, format="batches")

def factory():
    return pipeline

odd = 7
"""


class TestUsersPipelines:
    def written(self, folder: Path, text: str = USERS_FILE) -> Path:
        file = folder / "mine.py"
        file.write_text(text)
        return file

    @pytest.mark.parametrize("name", ["", ":pipeline", ":factory"])
    def test_a_pipeline_is_found_by_file_and_name(self, tmp_path: Path, name: str) -> None:
        assert spark_pipeline(f"{self.written(tmp_path)}{name}").name == "mine"

    def test_its_functions_reach_the_executors(self, spark: "SparkSession", numbers: Recorded, tmp_path: Path) -> None:
        pipeline = load_user_pipeline(f"{self.written(tmp_path)}:pipeline")
        batches = results(spark, pipeline, numbers, tmp_path / "run", "out")
        doubled = sorted(row["key"] for rows in batches for row in rows)
        assert doubled == sorted(2 * key for key in numbers.table.column("key").to_pylist())

    @pytest.mark.parametrize(
        ("target", "text", "sentence"),
        [
            ("nothing.py:pipeline", USERS_FILE, r"no file .*nothing\.py"),
            ("mine.py:pipelin", USERS_FILE, r"no pipeline in .*mine\.py called 'pipelin'; did you mean 'pipeline'"),
            ("mine.py:odd", USERS_FILE, r"'odd' in .*mine\.py is a int; it must be a penstock\.spark\.Pipeline"),
            ("mine.py:pipeline", "x = 1", r"mine\.py defines no 'pipeline' and no other pipeline"),
            ("mine.py:pipeline", "\n1 / 0", r"cannot be loaded: ZeroDivisionError: .* \(line 2 of mine\.py\)"),
            ("mine.py:pipeline", "def", r"cannot be loaded: SyntaxError"),
            ("mine.py", "from penstock.spark import Pipeline\npipeline = Pipeline('p')", r"Pipeline 'p' has no source"),
        ],
    )
    def test_mistakes_are_named(self, tmp_path: Path, target: str, text: str, sentence: str) -> None:
        self.written(tmp_path, text)
        with pytest.raises(UsageError, match=sentence):
            load_user_pipeline(str(tmp_path / target))

    def test_an_unknown_name_is_a_usage_error(self) -> None:
        build: Callable[[str], Pipeline] = spark_pipeline
        with pytest.raises(UnknownName):
            build("no-such-application")
