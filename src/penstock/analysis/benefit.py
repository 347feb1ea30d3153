"""AuTraScale's view of a configuration: a benefit score, samples to begin with, and models that carry over."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.analysis.gaussian_process import GaussianProcess, fit_gaussian_process

Vector: TypeAlias = tuple[int, ...]
"""Instances of every operator, in the order of the application."""


@dataclass(frozen=True, slots=True)
class Space:
    """The parallelism that may be chosen: from the throughput-optimal `base` (k') to `most` (P_max)."""

    base: Vector
    most: Vector

    def unit(self, points: Sequence[Vector] | NDArray[np.int64]) -> NDArray[np.float64]:
        """The points on a scale from 0 at the base to 1 at the most, by the reciprocal of their parallelism.

        Usage and the resource ratio go by that: from 3 instances to 4 is a greater step than from 30 to 40.
        """
        low = np.asarray(self.base, dtype=float)
        span = 1.0 - low / np.asarray(self.most, dtype=float)
        gone = 1.0 - low / np.asarray(points, dtype=float).reshape(-1, len(self.base))
        scaled: NDArray[np.float64] = np.divide(gone, span, out=np.zeros_like(gone), where=span > 0)
        return scaled


def resource_ratio(parallelism: Vector, base: Vector) -> float:
    """The mean over operators of what throughput needs over what there is."""
    return sum(b / k for b, k in zip(base, parallelism, strict=True)) / len(base)


def benefit_score(parallelism: Vector, base: Vector, latency_s: float, target_s: float, alpha: float) -> float:
    """Equation 4: how well the latency target is met, and how few instances that takes."""
    timely = 1.0 if latency_s <= target_s else target_s / latency_s
    return alpha * timely + (1.0 - alpha) * resource_ratio(parallelism, base)


def score_threshold(alpha: float, over_allocation: float) -> float:
    """Equation 9: the score from which on a configuration that meets the target is good enough."""
    return alpha + (1.0 - alpha) / (1.0 + over_allocation)


def bootstrap_set(space: Space, uniform: int) -> tuple[Vector, ...]:
    """Samples to begin with: `uniform` ones in which all operators have as many instances, from the greatest of the
    base up to the most, and for each operator one in which it alone has the most."""
    start, end = max(space.base), max(space.most)
    parts = max(1, uniform - 1)
    levels = [round(start + i * (end - start) / parts) for i in range(uniform)]
    even = [tuple(min(max(level, b), m) for b, m in zip(space.base, space.most, strict=True)) for level in levels]
    single = [
        tuple(m if i == chosen else b for i, (b, m) in enumerate(zip(space.base, space.most, strict=True)))
        for chosen in range(len(space.base))
    ]
    return tuple(dict.fromkeys((*even, *single)))


def transferred_samples(
    source: GaussianProcess,
    source_space: Space,
    space: Space,
    samples: Sequence[tuple[Vector, float]],
    wanted: Sequence[Vector],
) -> list[tuple[Vector, float]]:
    """Values at the `wanted` points at a new rate, from the model of another rate and real samples at the new one.

    As in Algorithm 2: another process learns by how much the old model is off at the samples, and its mean is added to
    that of the old model.
    """
    known = [point for point, _ in samples]
    residuals = np.asarray([value for _, value in samples]) - source.predict(source_space.unit(known))[0]
    residual = fit_gaussian_process(space.unit(known), residuals)
    values = source.predict(source_space.unit(wanted))[0] + residual.predict(space.unit(wanted))[0]
    return list(zip(wanted, (float(value) for value in values), strict=True))
