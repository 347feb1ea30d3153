"""Made-up events: the same in every slice and process, and shaped like what they stand for."""

import json
from collections import Counter
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import UnknownName
from penstock.spark import phrases
from penstock.spark.names import ALL_NAMES
from penstock.spark.payloads import PAYLOADS, Payload, payload
from penstock.spark.payloads.ads import ADS_PER_CAMPAIGN, ad_campaigns
from penstock.spark.payloads.draws import hashed, zipf_choice
from penstock.spark.payloads.news import labelled_news
from penstock.spark.payloads.trips import CITY_DAY_S

ROWS = 20_000


def rows(kind: Payload, start: int, end: int, seed: int = 7) -> pa.Table:
    numbers = np.arange(start, end, dtype=np.uint64)
    times_us = 1_700_000_000_000_000 + np.arange(start, end, dtype=np.int64) * 1000
    return pa.table(list(kind.make(numbers, times_us, seed)), schema=kind.schema)


@pytest.fixture(params=sorted(PAYLOADS))
def kind(request: pytest.FixtureRequest) -> Payload:
    return PAYLOADS[request.param]


@pytest.mark.parametrize("name", sorted(PAYLOADS))
@given(start=st.integers(0, 2**62), first=st.integers(1, 50), second=st.integers(1, 50), seed=st.integers(0, 2**63))
@settings(deadline=None, max_examples=25)
def test_a_slice_needs_nothing_before_it(name: str, start: int, first: int, second: int, seed: int) -> None:
    kind = PAYLOADS[name]
    whole = rows(kind, start, start + first + second, seed)
    parts = [rows(kind, start, start + first, seed), rows(kind, start + first, start + first + second, seed)]
    assert whole.equals(pa.concat_tables(parts))
    assert not any(column.null_count for column in whole.columns)


def test_another_seed_gives_other_events(kind: Payload) -> None:
    assert not rows(kind, 0, 100, seed=1).equals(rows(kind, 0, 100, seed=2))


def test_no_events_have_all_columns(kind: Payload) -> None:
    assert rows(kind, 5, 5).num_rows == 0


HASHES = [8586179100290060053, 13167626049558394971, 15289348666568936257]
SAMPLES: dict[str, dict[str, object]] = {
    "auctions": {"kind": "person", "person": 1020, "auction": 0, "price": 0},
    "news": {
        "text": "and free the the movie wonderful to historys roads of house awful "
        "the on jober prizework horseful people."
    },
    "trip-lines": {
        "line": "664E439C20531BFD667C669526F1AEA7,2219C3C026F1CA6C86D414107FDD26EA,"
        "2023-11-14 21:55:36,2023-11-14 22:13:21,1065,4.81,0,0,-74.001101,40.763873,CRD,18.78,0.00,0.50,4.43,0.00,23.71"
    },
    "tweets": {"author": 0, "text": "zu die und mond das das und der hat buch der der der dass der im der des von."},
    "numbers": {"key": 973, "value": 0.7240530066055785},
    "text": {"author": 0, "text": "im hat der leute spiel der berg der in oder den wird des der."},
    "ads": {
        "user_id": "user-09738",
        "page_id": "page-0724",
        "ad_id": "ad-0834",
        "ad_type": "banner",
        "event_type": "purchase",
        "ip": "198.18.15.253",
    },
}


def test_what_is_made_never_changes() -> None:
    # A checkpoint written by one version must be replayed alike by the next.
    assert hashed(np.arange(3, dtype=np.uint64), seed=1, field=0).tolist() == HASHES
    assert {name: rows(PAYLOADS[name], 1000, 1001).to_pylist()[0] for name in SAMPLES} == SAMPLES


def test_hashes_are_evenly_spread() -> None:
    drawn = hashed(np.arange(ROWS, dtype=np.uint64), seed=3, field=2)
    counts = np.bincount((drawn % np.uint64(16)).astype(np.int64), minlength=16)
    assert counts.min() > 0.9 * ROWS / 16
    assert counts.max() < 1.1 * ROWS / 16


def test_zipf_choice_follows_the_law() -> None:
    counts = np.bincount(zipf_choice(np.arange(200_000, dtype=np.uint64), 1, 0, 100), minlength=100)
    assert counts[0] / counts[1] == pytest.approx(2, rel=0.05)
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.1)
    assert counts[99] > 0


def test_the_schema_is_told_to_spark_in_its_words() -> None:
    assert payload("numbers").spark_schema() == "key BIGINT, value DOUBLE"
    assert payload("trips").spark_schema().startswith("medallion STRING, pickup_time TIMESTAMP")


def test_an_unknown_payload_is_an_error_with_a_hint() -> None:
    with pytest.raises(UnknownName, match="did you mean 'trips'"):
        payload("trip")


def test_text_reads_like_text() -> None:
    sentences = rows(payload("text"), 0, ROWS)["text"].to_pylist()
    words = [sentence.rstrip(".").split() for sentence in sentences]
    assert np.mean([len(sentence) for sentence in words]) == pytest.approx(18, abs=0.5)
    assert len(set(sentences)) > 0.99 * ROWS
    counts = Counter(word for sentence in words for word in sentence)
    assert [word for word, _ in counts.most_common(3)] == ["the", "of", "and"]
    feeling = set(phrases.POSITIVE_WORDS) | set(phrases.NEGATIVE_WORDS)
    assert np.mean([bool(feeling & set(sentence)) for sentence in words]) > 0.4


def test_most_text_is_english_and_sentences_keep_to_one_language() -> None:
    vocabularies = {language: set(phrases.vocabulary(language)) for language in phrases.STOP_WORDS}
    sentences = [text.rstrip(".").split() for text in rows(payload("text"), 0, 2000)["text"].to_pylist()]
    languages = [[name for name, known in vocabularies.items() if known.issuperset(words)] for words in sentences]
    assert all(languages)
    assert np.mean(["en" in found for found in languages]) == pytest.approx(0.8, abs=0.03)


def test_trips_end_when_reported_and_stay_in_the_city() -> None:
    trips = rows(payload("trips"), 0, ROWS).to_pandas()
    assert (trips["dropoff_time"] - trips["pickup_time"]).dt.total_seconds().equals(trips["trip_time_s"].astype(float))
    assert trips["trip_time_s"].between(60, 4 * 3600).all()
    assert (trips["fare"] > 2.5).all()
    assert (trips["tip"] >= 0).all()
    # The grid of the DEBS 2015 Grand Challenge: 150 km around New York.
    assert trips["dropoff_latitude"].between(40.13, 41.48).all()
    assert trips["dropoff_longitude"].between(-74.92, -73.11).all()
    astray = trips["pickup_latitude"] == 0
    assert astray.mean() == pytest.approx(0.02, abs=0.005)
    assert trips["medallion"].str.fullmatch("[0-9A-F]{32}").all()


def test_some_routes_are_much_more_frequent_than_others() -> None:
    trips = rows(payload("trips"), 0, ROWS).to_pandas().round(2)
    routes = trips.groupby(["pickup_latitude", "pickup_longitude", "dropoff_latitude", "dropoff_longitude"]).size()
    assert routes.max() > 10 * routes.median()


def test_every_ad_belongs_to_a_campaign() -> None:
    ads = rows(payload("ads"), 0, ROWS).to_pydict()
    campaigns = dict(ad_campaigns())
    assert set(ads["ad_id"]) == set(campaigns)
    assert set(Counter(campaigns.values()).values()) == {ADS_PER_CAMPAIGN}
    shares = Counter(ads["event_type"])
    assert shares["view"] / ROWS == pytest.approx(1 / 3, abs=0.02)


def test_ads_as_json_are_the_same_ads() -> None:
    parsed = [json.loads(event) for event in rows(payload("ad-json"), 40, 60)["event"].to_pylist()]
    times = [int(event.pop("event_time")) for event in parsed]
    assert parsed == rows(payload("ads"), 40, 60).to_pylist()
    assert times == list(range(1_700_000_000_040, 1_700_000_000_060))


def test_trip_lines_have_the_fields_of_the_challenge() -> None:
    lines = [line.split(",") for line in rows(payload("trip-lines"), 0, ROWS)["line"].to_pylist()]
    whole = [fields for fields in lines if len(fields) == 17]
    assert 1 - len(whole) / ROWS == pytest.approx(0.005, abs=0.002)
    for fields in whole[:100]:
        begin, end = map(datetime.fromisoformat, fields[2:4])
        assert abs((end - begin).total_seconds() - int(fields[4])) <= 1
        parts = sum(map(float, fields[11:16]))
        assert float(fields[16]) == pytest.approx(parts)


def test_the_city_has_other_favourites_every_hour() -> None:
    kind, numbers = payload("trip-lines"), np.arange(2000, dtype=np.uint64)

    def places(hour: int, field: int) -> Counter[tuple[str, ...]]:
        times_us = np.full(2000, round(CITY_DAY_S * 1e6 / 24 * (hour + 0.5)))
        lines = [line.split(",") for line in kind.make(numbers, times_us, 7)[0].to_pylist()]
        ends = [fields[field : field + 2] for fields in lines if len(fields) == 17 and fields[6] != "0"]
        return Counter(tuple(f"{float(value):.2f}" for value in end) for end in ends)

    def alike(one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> float:
        return (one & other).total() / one.total()

    # Where trips end in the morning they begin in the evening.
    assert alike(places(8, field=8), places(20, field=6)) > 0.8
    assert alike(places(8, field=6), places(20, field=6)) < 0.6
    assert alike(places(8, field=6), places(9, field=6)) < 0.6


def test_auctions_are_mostly_bids_for_what_there_is() -> None:
    events = rows(payload("auctions"), 0, ROWS).to_pandas()
    assert events["kind"].value_counts().to_dict() == {"bid": 18_400, "auction": 1200, "person": 400}
    auctions, persons = events[events["kind"] == "auction"], events[events["kind"] == "person"]
    assert auctions["auction"].is_unique
    assert persons["person"].is_unique
    late = events[(events["kind"] == "bid") & (events.index > 10_000)]
    assert late["auction"].isin(auctions["auction"]).all()
    assert late["person"].isin(persons["person"]).all()
    block = late[late["auction"] // 100 == late["auction"].iloc[-1] // 100]
    assert (block["auction"] % 100 == 0).mean() > 0.4
    assert (late["price"] >= 100).all()


def test_tweets_are_mostly_spanish_and_news_have_names_and_spam() -> None:
    tweets = [text.rstrip(".").split() for text in rows(payload("tweets"), 0, 2000)["text"].to_pylist()]
    spanish = set(phrases.tweet_words())
    assert np.mean([spanish.issuperset(words) for words in tweets]) == pytest.approx(0.55, abs=0.05)
    texts, labels = labelled_news(ROWS, seed=7)
    assert texts == rows(payload("news"), 0, ROWS)["text"].to_pylist()
    assert np.mean(labels) == pytest.approx(0.12, abs=0.01)
    assert np.mean([any(name in text for name in ALL_NAMES) for text in texts[:2000]]) > 0.5
