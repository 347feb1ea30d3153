"""What events hold: made up from their number and a seed, so that any slice can be made, and made again.

Every generator is vectorised over event numbers and keeps no state: the same numbers, times and seed give the same rows
in every process and on every replay.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import UnknownName
from penstock.spark import phrases

Numbers: TypeAlias = NDArray[np.uint64]
Columns: TypeAlias = Sequence[pa.Array]

TIMESTAMP = pa.timestamp("us", tz="UTC")

_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 1 << 64

_SPARK_TYPES = {
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    TIMESTAMP: "TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class Payload:
    """One kind of event.

    `make(numbers, times_us, seed)` gives the columns of `schema` for the events with these numbers, due at these
    microseconds since 1970.
    """

    name: str
    summary: str
    schema: pa.Schema
    make: Callable[[Numbers, NDArray[np.int64], int], Columns]

    def spark_schema(self) -> str:
        """The columns as Spark writes a schema."""
        return ", ".join(f"{field.name} {_SPARK_TYPES[field.type]}" for field in self.schema)


def payload(name: str) -> Payload:
    """The payload called `name`; raises `UnknownName`."""
    try:
        return PAYLOADS[name]
    except KeyError:
        raise UnknownName.of("payload", name, PAYLOADS) from None


def hashed(numbers: Numbers, seed: int, field: int) -> Numbers:
    """A well mixed 64-bit number for every event (splitmix64), another one for every `field` and `seed`."""
    base = np.uint64((seed * _GOLDEN + (field + 1) * 0xD1B54A32D192ED03) % _WORD)
    mixed = (numbers + base) * np.uint64(_GOLDEN)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def uniform(numbers: Numbers, seed: int, field: int) -> NDArray[np.float64]:
    """Evenly spread over [0, 1)."""
    return np.asarray((hashed(numbers, seed, field) >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def choice(numbers: Numbers, seed: int, field: int, count: int) -> NDArray[np.int64]:
    """Evenly spread over 0 .. `count` - 1."""
    return (uniform(numbers, seed, field) * count).astype(np.int64)


def zipf_choice(numbers: Numbers, seed: int, field: int, count: int) -> NDArray[np.int64]:
    """Over 0 .. `count` - 1 by Zipf's law with exponent 1: 0 is the most frequent."""
    return np.searchsorted(_zipf(count), uniform(numbers, seed, field), side="right")


@lru_cache(maxsize=32)
def _zipf(count: int) -> NDArray[np.float64]:
    weights = np.cumsum(1.0 / np.arange(1, count + 1))
    shares: NDArray[np.float64] = weights / weights[-1]
    # Rounding must not leave a gap below 1 at the end.
    shares[-1] = 1.0
    return shares


# ---- numbers -------------------------------------------------------------------------------------------------------

_NUMBER_KEYS = 1000


def _numbers(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    return pa.array(choice(numbers, seed, 0, _NUMBER_KEYS)), pa.array(uniform(numbers, seed, 1))


# ---- text ----------------------------------------------------------------------------------------------------------

_AUTHORS = 10_000
_HALVES = 1 << 13
_HALF_WORDS = (6, 13)
_LANGUAGE_SHARES = {"en": 0.8, "es": 0.08, "fr": 0.06, "de": 0.06}


def _text(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    import pyarrow.compute as pc

    firsts, seconds = _halves(seed)
    language = np.searchsorted(np.cumsum(list(_LANGUAGE_SHARES.values()))[:-1], uniform(numbers, seed, 0), side="right")
    # Sentences are put together from two halves of the same language: far more of them than need be kept.
    beginning = firsts.take(pa.array(language * _HALVES + choice(numbers, seed, 1, _HALVES)))
    ending = seconds.take(pa.array(language * _HALVES + choice(numbers, seed, 2, _HALVES)))
    text = pc.binary_join_element_wise(beginning, ending, " ")
    return pa.array(zipf_choice(numbers, seed, 3, _AUTHORS)), text


@lru_cache(maxsize=4)
def _halves(seed: int) -> tuple[pa.Array, pa.Array]:
    """First and second halves of sentences: `_HALVES` of each per language, in the order of the languages."""
    firsts, seconds = [], []
    for index, language in enumerate(_LANGUAGE_SHARES):
        firsts.append(_phrases(phrases.vocabulary(language), seed, 10 * index, ""))
        seconds.append(_phrases(phrases.vocabulary(language), seed, 10 * index + 5, "."))
    return pa.concat_arrays(firsts), pa.concat_arrays(seconds)


def _phrases(words: Sequence[str], seed: int, field: int, end: str) -> pa.Array:
    import pyarrow.compute as pc

    numbers = np.arange(_HALVES, dtype=np.uint64)
    shortest, longest = _HALF_WORDS
    lengths = shortest + choice(numbers, seed, 100 + field, longest - shortest)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    drawn = zipf_choice(np.arange(offsets[-1], dtype=np.uint64), seed, 101 + field, len(words))
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(words).take(pa.array(drawn)))
    return pc.binary_join_element_wise(pc.binary_join(lists, " "), end, "")


# ---- trips ---------------------------------------------------------------------------------------------------------

_MEDALLIONS = 13_000
_PLACES = 400
_ASTRAY = 0.02
_CENTRE = (40.7549, -73.9840)
_SPREAD = (0.045, 0.03)
_MILES_PER_DEGREE = (69.0, 52.3)


def _trips(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    latitude, longitude = _places(seed)
    pick_up = zipf_choice(numbers, seed, 0, _PLACES)
    drop_off = zipf_choice(numbers, seed, 1, _PLACES)
    from_latitude = latitude[pick_up] + _jitter(numbers, seed, 2)
    from_longitude = longitude[pick_up] + _jitter(numbers, seed, 3)
    to_latitude = latitude[drop_off] + _jitter(numbers, seed, 4)
    to_longitude = longitude[drop_off] + _jitter(numbers, seed, 5)
    north = np.abs(to_latitude - from_latitude) * _MILES_PER_DEGREE[0]
    east = np.abs(to_longitude - from_longitude) * _MILES_PER_DEGREE[1]
    miles = np.round(north + east + 0.3, 2)
    seconds = (60 + miles * (180 + 240 * uniform(numbers, seed, 6))).astype(np.int64)
    fare = np.round(2.5 + 2.5 * miles + 0.004 * seconds, 2)
    tip = np.round(fare * np.maximum(0.0, 0.4 * uniform(numbers, seed, 7) - 0.1), 2)
    # Receivers fail now and then and report the origin of the map.
    found = uniform(numbers, seed, 8) >= _ASTRAY
    return (
        _medallions(seed).take(pa.array(choice(numbers, seed, 9, _MEDALLIONS))),
        pa.array(times_us - seconds * 1_000_000, TIMESTAMP),
        pa.array(times_us, TIMESTAMP),
        pa.array(seconds),
        pa.array(miles),
        pa.array(np.where(found, from_longitude, 0.0)),
        pa.array(np.where(found, from_latitude, 0.0)),
        pa.array(to_longitude),
        pa.array(to_latitude),
        pa.array(fare),
        pa.array(tip),
    )


def _jitter(numbers: Numbers, seed: int, field: int) -> NDArray[np.float64]:
    return (uniform(numbers, seed, field) - 0.5) * 0.004


@lru_cache(maxsize=4)
def _places(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where trips begin and end, the most popular place first: dense in the middle, thin outside."""
    numbers = np.arange(_PLACES, dtype=np.uint64)
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(numbers, seed, 50)))
    angle = 2 * np.pi * uniform(numbers, seed, 51)
    latitude = _CENTRE[0] + _SPREAD[0] * radius * np.cos(angle)
    longitude = _CENTRE[1] + _SPREAD[1] * radius * np.sin(angle)
    return latitude, longitude


@lru_cache(maxsize=4)
def _medallions(seed: int) -> pa.Array:
    numbers = np.arange(_MEDALLIONS, dtype=np.uint64)
    high, low = hashed(numbers, seed, 60).tolist(), hashed(numbers, seed, 61).tolist()
    return pa.array([f"{first:016X}{second:016X}" for first, second in zip(high, low, strict=True)])


# ---- ads -----------------------------------------------------------------------------------------------------------

AD_TYPES = ("banner", "modal", "sponsored-search", "mail", "mobile")
AD_EVENT_TYPES = ("view", "click", "purchase")
ADS_PER_CAMPAIGN = 10

_CAMPAIGNS = 100
_USERS = 10_000
_PAGES = 1000
_ADDRESSES = 4096


def ad_campaigns() -> list[tuple[str, str]]:
    """Every advertisement of the `ads` payload with its campaign."""
    return [
        (f"ad-{number:04d}", f"campaign-{number // ADS_PER_CAMPAIGN:03d}")
        for number in range(_CAMPAIGNS * ADS_PER_CAMPAIGN)
    ]


def _ads(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    users, pages, ads, addresses = _ad_names()
    return (
        users.take(pa.array(choice(numbers, seed, 0, _USERS))),
        pages.take(pa.array(choice(numbers, seed, 1, _PAGES))),
        ads.take(pa.array(choice(numbers, seed, 2, len(ads)))),
        pa.array(AD_TYPES).take(pa.array(choice(numbers, seed, 3, len(AD_TYPES)))),
        pa.array(AD_EVENT_TYPES).take(pa.array(choice(numbers, seed, 4, len(AD_EVENT_TYPES)))),
        addresses.take(pa.array(choice(numbers, seed, 5, _ADDRESSES))),
    )


@lru_cache(maxsize=1)
def _ad_names() -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
    # Addresses from the block that is kept for examples in documents and benchmarks (RFC 2544).
    addresses = [f"198.18.{number // 256}.{number % 256}" for number in range(_ADDRESSES)]
    return (
        pa.array([f"user-{number:05d}" for number in range(_USERS)]),
        pa.array([f"page-{number:04d}" for number in range(_PAGES)]),
        pa.array([ad for ad, _ in ad_campaigns()]),
        pa.array(addresses),
    )


PAYLOADS: Mapping[str, Payload] = MappingProxyType(
    {
        each.name: each
        for each in (
            Payload(
                "numbers",
                "a key out of 1000 and a value between 0 and 1",
                pa.schema([("key", pa.int64()), ("value", pa.float64())]),
                _numbers,
            ),
            Payload(
                "text",
                "sentences of some 18 words in four languages, with their author",
                pa.schema([("author", pa.int64()), ("text", pa.string())]),
                _text,
            ),
            Payload(
                "trips",
                "taxi trips, reported when they end",
                pa.schema(
                    [
                        ("medallion", pa.string()),
                        ("pickup_time", TIMESTAMP),
                        ("dropoff_time", TIMESTAMP),
                        ("trip_time_s", pa.int64()),
                        ("trip_miles", pa.float64()),
                        ("pickup_longitude", pa.float64()),
                        ("pickup_latitude", pa.float64()),
                        ("dropoff_longitude", pa.float64()),
                        ("dropoff_latitude", pa.float64()),
                        ("fare", pa.float64()),
                        ("tip", pa.float64()),
                    ]
                ),
                _trips,
            ),
            Payload(
                "ads",
                "advertisements viewed, clicked and followed by a purchase",
                pa.schema([(n, pa.string()) for n in ("user_id", "page_id", "ad_id", "ad_type", "event_type", "ip")]),
                _ads,
            ),
        )
    }
)
"""Every payload by its name."""
