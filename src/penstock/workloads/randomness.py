"""Chance as a pure function: the same seed and position always give the same draw, whatever was drawn before."""

import math
from functools import lru_cache

_MASK = (1 << 64) - 1


def _mixed(value: int) -> int:
    # The finaliser of SplitMix64: neighbouring inputs give unrelated outputs.
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def uniform(seed: int, position: int, channel: int = 0) -> float:
    """A number in [0, 1) that belongs to `position`; different channels are independent."""
    return _mixed(_mixed(_mixed(seed & _MASK) ^ (position & _MASK)) ^ (channel & _MASK)) / 2.0**64


@lru_cache(maxsize=1024)
def normal(seed: int, position: int) -> float:
    """A standard normal number that belongs to `position` (Box and Muller), kept within three deviations."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, position, 1)))
    return min(max(radius * math.cos(2.0 * math.pi * uniform(seed, position, 2)), -3.0), 3.0)
