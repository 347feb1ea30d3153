"""Loads with the shape of social media: a Fourier series for the daily course, with sudden peaks added."""

import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import InvalidModel
from penstock.workloads.curves import Clipped, Constant, Curve, Scaled, Sum


@dataclass(frozen=True, slots=True)
class Fourier:
    """A mean and, for each harmonic, the coefficients of its cosine and its sine; never below 0."""

    mean_per_s: float
    coefficients: tuple[tuple[float, float], ...]
    period_s: float

    def __post_init__(self) -> None:
        if self.mean_per_s < 0:
            raise InvalidModel(f"A Fourier load cannot have mean {self.mean_per_s:g}; it must be at least 0.")
        if self.period_s <= 0:
            raise InvalidModel(f"A Fourier load cannot have period={self.period_s:g}; it must be above 0.")

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        # The k-th power of a point on the unit circle holds the cosine and sine of k times its angle.
        turn = cmath.rect(1.0, 2.0 * math.pi * at_s / self.period_s)
        rate, power = self.mean_per_s, turn
        for cosine, sine in self.coefficients:
            rate += cosine * power.real + sine * power.imag
            power *= turn
        return max(0.0, rate)


@dataclass(frozen=True, slots=True)
class Peak:
    """One surge per period: a steep rise (half a bell) up to `height_per_s` at `peak_s`, then exponential decay."""

    height_per_s: float
    peak_s: float
    rise_s: float
    decay_s: float
    period_s: float

    def __post_init__(self) -> None:
        if self.height_per_s < 0:
            raise InvalidModel(f"A peak cannot have height {self.height_per_s:g}; it must be at least 0.")
        if min(self.rise_s, self.decay_s, self.period_s) <= 0:
            raise InvalidModel("A peak needs a rise, a decay and a period above 0 seconds.")

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        after_s = (at_s - self.peak_s + self.period_s / 2.0) % self.period_s - self.period_s / 2.0
        if after_s < 0:
            return self.height_per_s * math.exp(-((after_s / self.rise_s) ** 2))
        return self.height_per_s * math.exp(-after_s / self.decay_s)


def surges(starts: Sequence[float], length: float, harmonics: int = 8) -> Fourier:
    """A load that is 1 for `length` from each start on and 0 for the rest of a period of 1, as far as so many harmonics
    can follow; Lanczos' factors keep them from ringing."""
    coefficients = []
    for k in range(1, harmonics + 1):
        turn, damping = 2.0 * math.pi * k, math.sin(math.pi * k / (harmonics + 1)) * (harmonics + 1) / (math.pi * k)
        cosine = sum(math.sin(turn * (start + length)) - math.sin(turn * start) for start in starts)
        sine = sum(math.cos(turn * start) - math.cos(turn * (start + length)) for start in starts)
        coefficients.append((damping * cosine / (math.pi * k), damping * sine / (math.pi * k)))
    return Fourier(length * len(starts), tuple(coefficients), 1.0)


_TWITTER = Fourier(
    0.32,
    (
        *((-0.12, -0.155), (0.025, -0.06), (0.04, 0.02), (-0.025, 0.025)),
        *((0.015, -0.02), (0.01, 0.015), (-0.012, 0.008), (0.008, -0.01)),
    ),
    1.0,
)
_TWITTER_PEAKS = (
    Peak(0.15, 0.22, 0.010, 0.020, 1.0),
    Peak(0.45, 0.50, 0.020, 0.035, 1.0),
    Peak(0.58, 0.83, 0.025, 0.050, 1.0),
)
_NEWS = Fourier(
    0.138,
    (
        *((-0.03, -0.05), (0.02, -0.02), (0.012, 0.01), (-0.01, 0.01)),
        *((0.008, -0.008), (0.006, 0.005), (-0.005, 0.004), (0.004, -0.004)),
    ),
    1.0,
)
_NEWS_PEAKS = (
    Peak(0.22, 0.13, 0.005, 0.010, 1.0),
    Peak(0.30, 0.30, 0.006, 0.015, 1.0),
    Peak(0.83, 0.50, 0.006, 0.030, 1.0),
    Peak(0.55, 0.67, 0.006, 0.020, 1.0),
    Peak(0.68, 0.83, 0.006, 0.026, 1.0),
)


@dataclass(frozen=True, slots=True)
class Stretched:
    """Another load in slow motion: what it does in one second takes `factor` seconds, at the same rates."""

    curve: Curve
    factor: float

    def __post_init__(self) -> None:
        if self.factor <= 0:
            raise InvalidModel(f"A load cannot be stretched by {self.factor:g}; the factor must be above 0.")

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        return self.curve.rate_per_s(at_s / self.factor)


def twitter_like(low_per_s: float, high_per_s: float, period_s: float) -> Curve:
    """The fission publication's Twitter load: eight harmonics, surges half way and at five sixths.

    With 0 to 800 per second over 10 minutes it brings about the 187,000 events of that publication's Table 2.
    """
    return _spanning(Sum((_TWITTER, *_TWITTER_PEAKS)), low_per_s, high_per_s, period_s)


def news_like(low_per_s: float, high_per_s: float, period_s: float) -> Curve:
    """The fission publication's news phrases: a quiet course with short, very high peaks.

    With 0 to 3000 per second over 10 minutes it brings about the 383,000 events of that publication's Table 2.
    """
    return _spanning(Sum((_NEWS, *_NEWS_PEAKS)), low_per_s, high_per_s, period_s)


def _spanning(shape: Curve, low_per_s: float, high_per_s: float, period_s: float) -> Curve:
    """The shape, made for values from 0 to 1 in a period of 1, at other rates and another length."""
    if low_per_s > high_per_s:
        raise InvalidModel(f"A load cannot have low={low_per_s:g} above high={high_per_s:g}.")
    above = Scaled(Stretched(Clipped(shape, 0.0, 1.0), period_s), high_per_s - low_per_s)
    return Sum((Constant(low_per_s), above))
