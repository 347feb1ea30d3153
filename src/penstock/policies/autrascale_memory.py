"""What AuTraScale remembers: plain values that can be written down, so that a restarted controller knows them all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from penstock.errors import UsageError

Vector: TypeAlias = tuple[int, ...]
"""Instances of every operator, in the order of the topology."""
Phase: TypeAlias = Literal["throughput", "base", "bootstrap", "search", "refine", "settled"]
LIBRARY = 50
"""Models of so many rates are kept for each application, the newest ones."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One iteration of the throughput step: what ran, what it completed per second, and whether it was enough."""

    parallelism: Vector
    throughput_per_s: float
    kept_up: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """What ran, and the mean latency that was measured; None if it did not keep up."""

    parallelism: Vector
    latency_s: float | None


@dataclass(frozen=True, slots=True)
class RateModel:
    """All that was learned at one input rate: the base (k'), the samples, and the configuration that was settled on."""

    rate_per_s: float
    base: Vector
    samples: tuple[Sample, ...]
    settled: Vector


@dataclass(frozen=True, slots=True)
class Course:
    """Where one application is.

    `rate_per_s` is the input rate it is being fitted to. `wanted` is the parallelism that was asked for at `asked_s`
    and is requested since `began_s`; without it nothing is under way. `queue` holds bootstrap samples still to be run,
    `refused` what was rolled back or never granted, `refined` counts the samples after the first that was good enough,
    `misses` how often in a row a settled application was not as it should be, `rates` the last known rate of an
    instance of each operator.
    """

    phase: Phase = "throughput"
    rate_per_s: float | None = None
    wanted: Vector | None = None
    asked_s: float | None = None
    began_s: float | None = None
    trials: tuple[Trial, ...] = ()
    base: Vector | None = None
    queue: tuple[Vector, ...] = ()
    samples: tuple[Sample, ...] = ()
    refused: tuple[Vector, ...] = ()
    iterations: int = 0
    refined: int = 0
    misses: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)

    def latency_s(self, parallelism: Vector) -> float | None:
        """The latency that was measured with that parallelism, if it was."""
        return next((s.latency_s for s in self.samples if s.parallelism == parallelism), None)

    def without_trial(self, parallelism: Vector) -> "Course":
        """Back in the throughput step, as if that parallelism had not been tried: it looked better than it is."""
        trials = tuple(trial for trial in self.trials if trial.parallelism != parallelism)
        return replace(self, phase="throughput", base=None, trials=trials, samples=())

    def is_open(self, parallelism: Vector) -> bool:
        """Whether that parallelism was neither sampled nor refused yet."""
        return parallelism not in self.refused and all(s.parallelism != parallelism for s in self.samples)


@dataclass(frozen=True, slots=True)
class AutraScaleMemory:
    """The course of every application, the model library by application and rate, and when it was last evaluated."""

    evaluated_s: float | None = None
    courses: Mapping[str, Course] = field(default_factory=dict)
    library: Mapping[str, tuple[RateModel, ...]] = field(default_factory=dict)


def with_model(models: tuple[RateModel, ...], model: RateModel, tolerance: float) -> tuple[RateModel, ...]:
    """The library of one application with this model in place of those of about the same rate."""
    others = (m for m in models if not is_about(m.rate_per_s, model.rate_per_s, tolerance))
    return (*others, model)[-LIBRARY:]


def is_about(rate_per_s: float, other_per_s: float, tolerance: float) -> bool:
    """Whether the first rate is within the share `tolerance` of the other."""
    return abs(rate_per_s - other_per_s) <= tolerance * other_per_s


def models_to_json(operators: Sequence[str], models: Sequence[RateModel]) -> dict[str, Any]:
    """The library of one application with these operators, as plain values."""
    return {
        "operators": list(operators),
        "models": [
            {
                "rate_per_s": model.rate_per_s,
                "base": list(model.base),
                "samples": [[list(sample.parallelism), sample.latency_s] for sample in model.samples],
                "settled": list(model.settled),
            }
            for model in models
        ],
    }


def models_from_json(operators: Sequence[str], saved: Mapping[str, Any]) -> tuple[RateModel, ...]:
    """The library that was saved; raises `UsageError` when it is broken or of other operators."""
    try:
        known, models = saved["operators"], tuple(_model(one) for one in saved["models"])
    except (KeyError, TypeError, ValueError):
        raise UsageError("The saved rate models are broken; remove them and let them be learned again.") from None
    lengths = {len(vector) for m in models for vector in (m.base, m.settled, *(s.parallelism for s in m.samples))}
    if known != list(operators) or lengths - {len(operators)}:
        raise UsageError(
            f"The saved rate models are of the operators {', '.join(map(str, known))}, not of "
            f"{', '.join(operators)}; remove them and let them be learned again."
        )
    return models


def _model(saved: Mapping[str, Any]) -> RateModel:
    samples = tuple(
        Sample(_vector(parallelism), None if latency_s is None else float(latency_s))
        for parallelism, latency_s in saved["samples"]
    )
    return RateModel(float(saved["rate_per_s"]), _vector(saved["base"]), samples, _vector(saved["settled"]))


def _vector(saved: Sequence[Any]) -> Vector:
    return tuple(int(count) for count in saved)
