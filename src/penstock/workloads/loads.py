"""Loads as they are written on the command line: `sine:low=100,high=800,period=600`."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from penstock.errors import UnknownName, UsageError
from penstock.model import Spec
from penstock.workloads.curves import (
    Bursts,
    Constant,
    Curve,
    Diurnal,
    Noisy,
    Ramp,
    Sine,
    Square,
    Stair,
    Step,
)
from penstock.workloads.fourier import news_like, twitter_like
from penstock.workloads.trace import read_trace


@dataclass(frozen=True, slots=True)
class LoadInfo:
    """A load that can be asked for by name: one line about it, and each parameter with its meaning and default."""

    name: str
    summary: str
    parameters: Mapping[str, str]


_RANGE = {
    "low": "lowest rate per second (default: the application's)",
    "high": "highest rate per second (default: the application's)",
}
_CHANCE = {
    "noise": "deviation of the rate from second to second, as a share of it (default 0)",
    "seed": "whole number that decides everything random (default 0)",
}


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The parameters of one load as given, read one by one; what was not given has a default."""

    spec: Spec
    low_per_s: float
    high_per_s: float
    duration_s: float

    def number(self, name: str, default: float) -> float:
        text = self.spec.parameters.get(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise UsageError(f"The load '{self.spec}' has {name}={text}, which is not a number.")
        if value < 0:
            raise UsageError(f"The load '{self.spec}' has {name}={text}; it must not be negative.")
        return value

    def positive(self, name: str, default: float) -> float:
        value = self.number(name, default)
        if value == 0:
            raise UsageError(f"The load '{self.spec}' has {name}=0; it must be above 0.")
        return value

    def whole(self, name: str, default: int) -> int:
        value = self.number(name, default)
        if value != int(value):
            raise UsageError(f"The load '{self.spec}' has {name}={value:g}; it must be a whole number.")
        return int(value)

    def span(self) -> tuple[float, float]:
        """Low and high, checked against each other."""
        low, high = self.number("low", self.low_per_s), self.number("high", self.high_per_s)
        if low > high:
            raise UsageError(f"The load '{self.spec}' has low={low:g} above high={high:g}; give a low of at most high.")
        return low, high


def _constant(given: _Arguments) -> Curve:
    return Constant(given.number("rate", (given.low_per_s + given.high_per_s) / 2.0))


def _step(given: _Arguments) -> Curve:
    return Step(*given.span(), step_s=given.number("at", given.duration_s / 3.0))


def _stair(given: _Arguments) -> Curve:
    return Stair(*given.span(), period_s=given.positive("period", given.duration_s), levels=given.whole("levels", 4))


def _square(given: _Arguments) -> Curve:
    return Square(
        *given.span(), period_s=given.positive("period", given.duration_s / 2.0), duty=given.number("duty", 0.5)
    )


def _sine(given: _Arguments) -> Curve:
    return Sine(
        *given.span(), period_s=given.positive("period", given.duration_s / 2.0), phase=given.number("phase", 0.0)
    )


def _ramp(given: _Arguments) -> Curve:
    rise_s = given.number("rise", given.duration_s / 2.0)
    hold_s = given.number("hold", 0.0)
    fall_s = given.number("fall", max(0.0, given.duration_s - rise_s - hold_s))
    return Ramp(*given.span(), rise_s=rise_s, hold_s=hold_s, fall_s=fall_s)


def _diurnal(given: _Arguments) -> Curve:
    return Diurnal(
        *given.span(),
        day_s=given.positive("day", given.duration_s / 7.0),
        weekend=given.number("weekend", 0.7),
        first_day=given.whole("first", 0),
    )


def _twitter(given: _Arguments) -> Curve:
    return twitter_like(*given.span(), period_s=given.positive("period", given.duration_s))


def _news(given: _Arguments) -> Curve:
    return news_like(*given.span(), period_s=given.positive("period", given.duration_s))


def _bursts(given: _Arguments) -> Curve:
    every_s = given.positive("every", given.duration_s / 6.0)
    return Bursts(
        *given.span(), every_s=every_s, length_s=given.positive("length", every_s / 5.0), seed=given.whole("seed", 0)
    )


def _trace(given: _Arguments) -> Curve:
    if len(given.spec.positional) != 1:
        raise UsageError(f"The load '{given.spec}' must name one file; write it as trace:FILE.csv,compress=60.")
    text = given.spec.parameters.get("start")
    try:
        begin = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"The load '{given.spec}' has start={text}; write it as 2026-01-31T23:59:00.") from None
    path = Path(given.spec.positional[0]).expanduser()
    return read_trace(path, given.positive("compress", 60.0), given.number("peak", given.high_per_s), begin)


_BUILDERS: Mapping[str, tuple[LoadInfo, Callable[[_Arguments], Curve]]] = {
    info.name: (info, build)
    for info, build in (
        (
            LoadInfo(
                "constant",
                "the same rate all the time",
                {"rate": "events per second (default: half way between the application's low and high)"},
            ),
            _constant,
        ),
        (
            LoadInfo(
                "step",
                "low, then high from one moment on",
                {**_RANGE, "at": "second of the step (default: a third of the run)"},
            ),
            _step,
        ),
        (
            LoadInfo(
                "stair",
                "up in equal steps and down again",
                {
                    **_RANGE,
                    "period": "seconds up and down (default: the run)",
                    "levels": "different rates, low and high among them (default 4)",
                },
            ),
            _stair,
        ),
        (
            LoadInfo(
                "square",
                "low and high by turns",
                {
                    **_RANGE,
                    "period": "seconds of low and high together (default: half the run)",
                    "duty": "share of the period at high (default 0.5)",
                },
            ),
            _square,
        ),
        (
            LoadInfo(
                "sine",
                "a wave that starts at low",
                {
                    **_RANGE,
                    "period": "seconds of one wave (default: half the run)",
                    "phase": "share of a wave by which it starts later in its course (default 0)",
                },
            ),
            _sine,
        ),
        (
            LoadInfo(
                "ramp",
                "evenly up to high and down to low",
                {
                    **_RANGE,
                    "rise": "seconds from low to high (default: half the run; 0 starts at high)",
                    "hold": "seconds at high (default 0)",
                    "fall": "seconds from high to low (default: the rest of the run)",
                },
            ),
            _ramp,
        ),
        (
            LoadInfo(
                "diurnal",
                "days with night, noon and evening, in weeks with quieter weekends",
                {
                    **_RANGE,
                    "day": "seconds of one day (default: a seventh of the run)",
                    "weekend": "load of the weekend as a share of the other days (default 0.7)",
                    "first": "weekday of the first day, 0 is Monday (default 0)",
                },
            ),
            _diurnal,
        ),
        (
            LoadInfo(
                "twitter",
                "tweets as in the fission publication: eight Fourier coefficients with added peaks",
                {**_RANGE, "period": "seconds of the whole course (default: the run)"},
            ),
            _twitter,
        ),
        (
            LoadInfo(
                "news",
                "news phrases as in the fission publication: quiet, with short and very high peaks",
                {**_RANGE, "period": "seconds of the whole course (default: the run)"},
            ),
            _news,
        ),
        (
            LoadInfo(
                "bursts",
                "low, with random bursts",
                {
                    **_RANGE,
                    "every": "seconds in which there is one burst (default: a sixth of the run)",
                    "length": "seconds of a burst (default: a fifth of every)",
                },
            ),
            _bursts,
        ),
        (
            LoadInfo(
                "trace",
                "a recorded load: trace:FILE.csv with the columns timestamp and value",
                {
                    "compress": "how many times faster than recorded (default 60)",
                    "peak": "highest rate per second (default: the application's high)",
                    "start": "time in the trace at which to begin, such as 2026-01-31T18:00 (default: its start)",
                },
            ),
            _trace,
        ),
    )
}

LOAD_INFOS: Mapping[str, LoadInfo] = {
    name: LoadInfo(name, info.summary, {**info.parameters, **_CHANCE}) for name, (info, _) in _BUILDERS.items()
}
"""Every load by name, with its parameters."""

LOADS: Mapping[str, str] = {name: info.summary for name, info in LOAD_INFOS.items()}
"""One line about every load, by name."""


def parse_load(text: str, low_per_s: float, high_per_s: float, duration_s: float) -> Curve:
    """The curve that `text` describes, for a run of `duration_s`; rates not given span `low_per_s` to `high_per_s`.

    Every mistake in the text, or in the file it names, is a `UsageError` in one sentence.
    """
    if not 0 <= low_per_s <= high_per_s < math.inf:
        raise UsageError(f"A load needs 0 <= low <= high, not low={low_per_s:g} and high={high_per_s:g}.")
    if not 0 < duration_s < math.inf:
        raise UsageError(f"A load cannot last {duration_s:g} s; the duration must be above 0.")
    spec = Spec.parse(text)
    if spec.name not in _BUILDERS:
        raise UnknownName.of("load", spec.name, _BUILDERS)
    for parameter in spec.parameters:
        if parameter not in LOAD_INFOS[spec.name].parameters:
            raise UnknownName.of(f"parameter of load '{spec.name}' called", parameter, LOAD_INFOS[spec.name].parameters)
    if spec.positional and spec.name != "trace":
        raise UsageError(f"The load '{text}' has '{spec.positional[0]}' without a name; write it as name=value.")
    given = _Arguments(spec, low_per_s, high_per_s, duration_s)
    curve = _BUILDERS[spec.name][1](given)
    noise, seed = given.number("noise", 0.0), given.whole("seed", 0)
    return Noisy(curve, noise, seed) if noise else curve
