"""Taxi trips: as columns, and as lines of text that have yet to be parsed."""

from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.spark.payloads.draws import choice, hashed, uniform, zipf_choice
from penstock.spark.payloads.kind import TIMESTAMP, Columns, Numbers, Payload

_MEDALLIONS = 13_000
_PLACES = 400
_ASTRAY = 0.02
_CENTRE = (40.7549, -73.9840)
_SPREAD = (0.045, 0.03)
_MILES_PER_DEGREE = (69.0, 52.3)

CITY_DAY_S = 1440.0
"""How long a day of the city takes: it is replayed 60 times faster, as in the thesis on operator placement."""

_HOURS = 24
_SHIFT = 17
_DAMAGED = 0.005
_CASH = 0.4
_TAX = 0.5


def _trips(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    pick_up = zipf_choice(numbers, seed, 0, _PLACES)
    drop_off = zipf_choice(numbers, seed, 1, _PLACES)
    return _trips_between(pick_up, drop_off, numbers, times_us, seed)


def _trips_between(
    pick_up: NDArray[np.int64], drop_off: NDArray[np.int64], numbers: Numbers, times_us: NDArray[np.int64], seed: int
) -> Columns:
    latitude, longitude = _places(seed)
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


def _trip_lines(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    import pyarrow.compute as pc

    # Every hour has favourites of its own; where trips end in the morning they begin twelve hours later.
    hour = (times_us // round(CITY_DAY_S * 1e6 / _HOURS)) % _HOURS
    pick_up = (zipf_choice(numbers, seed, 0, _PLACES) + _SHIFT * hour) % _PLACES
    drop_off = (zipf_choice(numbers, seed, 1, _PLACES) + _SHIFT * ((hour + _HOURS // 2) % _HOURS)) % _PLACES
    trips = _trips_between(pick_up, drop_off, numbers, times_us, seed)
    medallion, begin, end, seconds, miles, *places, fare, tip = trips
    licence = _medallions(seed).take(pa.array(choice(numbers, seed, 10, _MEDALLIONS)))
    cash = uniform(numbers, seed, 11) < _CASH
    tip = pa.array(np.where(cash, 0.0, tip))
    total = pa.array(np.round(fare.to_numpy() + tip.to_numpy() + _TAX, 2))
    fields = (
        *(medallion, licence, _clock(begin), _clock(end), _text(seconds), _text(miles)),
        *(_text(pc.round(place, 6)) for place in places),
        *(
            pa.array(("CRD", "CSH")).take(pa.array(cash.astype(np.int8))),
            _text(fare),
            "0.00",
            f"{_TAX:.2f}",
            _text(tip),
            "0.00",
            _text(total),
        ),
    )
    line = pc.binary_join_element_wise(*fields, ",")
    # Some lines were cut off on their way.
    damaged = pa.array(uniform(numbers, seed, 12) < _DAMAGED)
    return (pc.replace_with_mask(line, damaged, pc.utf8_slice_codeunits(line.filter(damaged), 0, 90)),)


def _text(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.cast(values, pa.string())


def _clock(times: pa.Array) -> pa.Array:
    """Date and time as text, in UTC, to the second."""
    import pyarrow.compute as pc

    return _text(pc.cast(times, pa.timestamp("s"), safe=False))


TRIPS = Payload(
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
)

TRIP_LINES = Payload(
    "trip-lines",
    "taxi trips in a city with its hours, as lines of the DEBS 2015 Grand Challenge",
    pa.schema([("line", pa.string())]),
    _trip_lines,
)
