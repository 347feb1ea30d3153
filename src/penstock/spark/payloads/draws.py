"""Chance that depends on an event's number and a seed alone: the same in every slice, process and replay."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.spark.payloads.kind import Numbers

_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 1 << 64


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
