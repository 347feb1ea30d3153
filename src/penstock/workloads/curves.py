"""How many events per second arrive at what time: curves, and ways to combine them.

Every curve is a frozen value and a pure function of time: it can be sent to another process, asked for any moment in
any order, and always gives the same answer. Rates are never negative.
"""

import math
from dataclasses import dataclass
from typing import Protocol

from penstock.errors import InvalidModel
from penstock.workloads.randomness import normal, uniform


class Curve(Protocol):
    """A load over time."""

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time; at least 0."""
        ...


def _check_range(kind: str, low_per_s: float, high_per_s: float) -> None:
    if low_per_s < 0:
        raise InvalidModel(f"A {kind} load cannot have low={low_per_s:g}; it must be at least 0.")
    if low_per_s > high_per_s:
        raise InvalidModel(f"A {kind} load cannot have low={low_per_s:g} above high={high_per_s:g}.")


def _check_positive(kind: str, name: str, value: float) -> None:
    if value <= 0:
        raise InvalidModel(f"A {kind} load cannot have {name}={value:g}; it must be above 0.")


def _check_not_negative(kind: str, name: str, value: float) -> None:
    if value < 0:
        raise InvalidModel(f"A {kind} load cannot have {name}={value:g}; it must be at least 0.")


def _check_share(kind: str, name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise InvalidModel(f"A {kind} load cannot have {name}={value:g}; it must lie between 0 and 1.")


@dataclass(frozen=True, slots=True)
class Constant:
    """The same rate at all times."""

    level_per_s: float

    def __post_init__(self) -> None:
        _check_not_negative("constant", "rate", self.level_per_s)

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        return self.level_per_s


@dataclass(frozen=True, slots=True)
class Step:
    """Low before `step_s`, high from then on."""

    low_per_s: float
    high_per_s: float
    step_s: float

    def __post_init__(self) -> None:
        _check_range("step", self.low_per_s, self.high_per_s)
        _check_not_negative("step", "at", self.step_s)

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        return self.high_per_s if at_s >= self.step_s else self.low_per_s


@dataclass(frozen=True, slots=True)
class Stair:
    """Up in equal steps from low to high and down again in `period_s`, over and over; `levels` counts low and high."""

    low_per_s: float
    high_per_s: float
    period_s: float
    levels: int = 4

    def __post_init__(self) -> None:
        _check_range("stair", self.low_per_s, self.high_per_s)
        _check_positive("stair", "period", self.period_s)
        if self.levels < 2:
            raise InvalidModel(f"A stair load cannot have levels={self.levels}; it needs at least 2.")

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        treads = 2 * self.levels - 1
        tread = min(int(_phase(at_s, self.period_s) * treads), treads - 1)
        level = min(tread, treads - 1 - tread)
        return self.low_per_s + (self.high_per_s - self.low_per_s) * level / (self.levels - 1)


@dataclass(frozen=True, slots=True)
class Square:
    """Low, then high for the last `duty` of every period."""

    low_per_s: float
    high_per_s: float
    period_s: float
    duty: float = 0.5

    def __post_init__(self) -> None:
        _check_range("square", self.low_per_s, self.high_per_s)
        _check_positive("square", "period", self.period_s)
        _check_share("square", "duty", self.duty)

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        return self.high_per_s if _phase(at_s, self.period_s) >= 1.0 - self.duty else self.low_per_s


@dataclass(frozen=True, slots=True)
class Sine:
    """A wave between low and high that starts at low; `phase` starts it that part of a period later in its course."""

    low_per_s: float
    high_per_s: float
    period_s: float
    phase: float = 0.0

    def __post_init__(self) -> None:
        _check_range("sine", self.low_per_s, self.high_per_s)
        _check_positive("sine", "period", self.period_s)
        _check_share("sine", "phase", self.phase)

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        share = 0.5 - 0.5 * math.cos(2.0 * math.pi * (at_s / self.period_s + self.phase))
        return self.low_per_s + (self.high_per_s - self.low_per_s) * share


@dataclass(frozen=True, slots=True)
class Ramp:
    """From low up to high in `rise_s`, high for `hold_s`, down to low in `fall_s`, low from then on.

    A rise of 0 starts at high and only falls.
    """

    low_per_s: float
    high_per_s: float
    rise_s: float
    hold_s: float
    fall_s: float

    def __post_init__(self) -> None:
        _check_range("ramp", self.low_per_s, self.high_per_s)
        for name, value in (("rise", self.rise_s), ("hold", self.hold_s), ("fall", self.fall_s)):
            _check_not_negative("ramp", name, value)

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        return self.low_per_s + (self.high_per_s - self.low_per_s) * self._share(at_s)

    def _share(self, at_s: float) -> float:
        if at_s < self.rise_s:
            return max(0.0, at_s / self.rise_s)
        falling_s = at_s - self.rise_s - self.hold_s
        if falling_s < 0:
            return 1.0
        return 1.0 - falling_s / self.fall_s if falling_s < self.fall_s else 0.0


_HOURS = (
    *(0.22, 0.13, 0.07, 0.03, 0.00, 0.03, 0.12, 0.28, 0.45, 0.55, 0.60, 0.64),
    *(0.70, 0.72, 0.70, 0.68, 0.70, 0.78, 0.88, 0.96, 1.00, 0.92, 0.70, 0.42),
)
"""Load at each full hour as a part of the way from low to high: quiet at four, busy at noon, busiest at eight."""


@dataclass(frozen=True, slots=True)
class Diurnal:
    """Days with a night, a noon and an evening, in weeks whose last two days reach only `weekend` of the others.

    One day lasts `day_s`. The run starts at midnight of weekday `first_day` (0 is Monday).
    """

    low_per_s: float
    high_per_s: float
    day_s: float
    weekend: float = 0.7
    first_day: int = 0

    def __post_init__(self) -> None:
        _check_range("diurnal", self.low_per_s, self.high_per_s)
        _check_positive("diurnal", "day", self.day_s)
        _check_share("diurnal", "weekend", self.weekend)

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        hour = _phase(at_s, self.day_s) * 24.0
        before = int(hour) % 24
        share = _HOURS[before] + (_HOURS[(before + 1) % 24] - _HOURS[before]) * (hour - int(hour))
        weekday = (math.floor(at_s / self.day_s) + self.first_day) % 7
        return self.low_per_s + (self.high_per_s - self.low_per_s) * share * (self.weekend if weekday >= 5 else 1.0)


@dataclass(frozen=True, slots=True)
class Bursts:
    """Low, with one burst in every `every_s` seconds, at a time and of a height that `seed` decides.

    A burst jumps to its height (from half way to high, up to high) and lasts `length_s`.
    """

    low_per_s: float
    high_per_s: float
    every_s: float
    length_s: float
    seed: int = 0

    def __post_init__(self) -> None:
        _check_range("bursts", self.low_per_s, self.high_per_s)
        _check_positive("bursts", "every", self.every_s)
        _check_positive("bursts", "length", self.length_s)
        if self.length_s > self.every_s:
            raise InvalidModel(f"A bursts load cannot have length={self.length_s:g} above every={self.every_s:g}.")

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        turn = math.floor(at_s / self.every_s)
        begin_s = turn * self.every_s + uniform(self.seed, turn, 1) * (self.every_s - self.length_s)
        if not begin_s <= at_s < begin_s + self.length_s:
            return self.low_per_s
        return self.low_per_s + (self.high_per_s - self.low_per_s) * (0.5 + 0.5 * uniform(self.seed, turn, 2))


@dataclass(frozen=True, slots=True)
class Sum:
    """Several loads at once."""

    parts: tuple[Curve, ...]

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        return sum((part.rate_per_s(at_s) for part in self.parts), 0.0)


@dataclass(frozen=True, slots=True)
class Scaled:
    """`factor` times another load."""

    curve: Curve
    factor: float

    def __post_init__(self) -> None:
        _check_not_negative("scaled", "factor", self.factor)

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        return self.factor * self.curve.rate_per_s(at_s)


@dataclass(frozen=True, slots=True)
class Noisy:
    """Another load with chance on top: every `every_s` its rate is off by a normal share of deviation `deviation`."""

    curve: Curve
    deviation: float
    seed: int = 0
    every_s: float = 1.0

    def __post_init__(self) -> None:
        _check_not_negative("noisy", "noise", self.deviation)
        _check_positive("noisy", "every", self.every_s)

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        off = self.deviation * normal(self.seed, math.floor(at_s / self.every_s))
        return max(0.0, self.curve.rate_per_s(at_s) * (1.0 + off))


@dataclass(frozen=True, slots=True)
class Clipped:
    """Another load, kept between low and high."""

    curve: Curve
    low_per_s: float
    high_per_s: float

    def __post_init__(self) -> None:
        _check_range("clipped", self.low_per_s, self.high_per_s)

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        return min(max(self.curve.rate_per_s(at_s), self.low_per_s), self.high_per_s)


def _phase(at_s: float, period_s: float) -> float:
    """How far into its period the time is, from 0 up to but not including 1."""
    phase = math.fmod(at_s, period_s) / period_s
    return phase + 1.0 if phase < 0 else phase
