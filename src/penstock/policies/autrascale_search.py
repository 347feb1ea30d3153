"""The next sample of AuTraScale: where a Gaussian process over what is known expects the greatest improvement."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.analysis import (
    Space,
    benefit_score,
    best_of_lattice,
    bootstrap_set,
    expected_improvement,
    fit_gaussian_process,
    probability_below,
    transferred_samples,
)
from penstock.model import Topology, View
from penstock.policies.autrascale_memory import RateModel, Sample, Vector

Points: TypeAlias = NDArray[np.int64]
Surrogate: TypeAlias = Literal["latency", "score"]
Valued: TypeAlias = Sequence[tuple[Vector, float]]
Allowed: TypeAlias = Callable[[Points], NDArray[np.bool_]]
"""Tells for points (rows) which of them may be tried."""

_FAR = math.log(10.0)
"""The logarithm of latency over target that stands for a sample that did not keep up, and the most there is."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is searched for: the latency target, the weight of meeting it (alpha), the exploration parameter xi, and
    what the process learns: the score, as published, or the latency, from which the score follows."""

    target_s: float
    alpha: float
    xi: float
    surrogate: Surrogate = "latency"

    def score(self, sample: Sample, base: Vector) -> float:
        """Equation 4; of its latency a sample that did not keep up has no use at all."""
        latency_s = math.inf if sample.latency_s is None else sample.latency_s
        return benefit_score(sample.parallelism, base, latency_s, self.target_s, self.alpha)

    def values(self, samples: Sequence[Sample], base: Vector) -> list[tuple[Vector, float]]:
        """What the process learns of each sample."""
        if self.surrogate == "score":
            return [(sample.parallelism, self.score(sample, base)) for sample in samples]
        return [(sample.parallelism, self._excess(sample)) for sample in samples]

    def _excess(self, sample: Sample) -> float:
        if sample.latency_s is None:
            return _FAR
        return min(_FAR, math.log(max(sample.latency_s, 1e-6) / self.target_s))


def carried_over(models: Sequence[RateModel], rate_per_s: float) -> RateModel | None:
    """The model of the nearest rate that has enough samples to learn from."""
    usable = [model for model in models if len(model.samples) > 1]
    return min(usable, key=lambda model: abs(model.rate_per_s - rate_per_s), default=None)


def learned(
    samples: Sequence[Sample], space: Space, models: Sequence[RateModel], rate_per_s: float, uniform: int, goal: Goal
) -> Valued:
    """What the process learns from: the samples of this rate, and, while they are fewer than a bootstrap set, the rest
    of that as the model of the nearest other rate predicts it (Algorithm 2)."""
    valued: Valued = goal.values(samples, space.base)
    source, bootstrap = carried_over(models, rate_per_s), bootstrap_set(space, uniform)
    known = {point for point, _ in valued}
    wanted = [point for point in bootstrap if point not in known]
    if source is None or len(valued) >= len(bootstrap) or not wanted:
        return valued
    source_space = Space(source.base, space.most)
    before = goal.values(source.samples, source.base)
    process = fit_gaussian_process(source_space.unit([p for p, _ in before]), [value for _, value in before])
    return [*valued, *transferred_samples(process, source_space, space, valued, wanted)]


def fits(view: View, topology: Topology) -> Allowed:
    """A function that tells for points (rows) whether all workers together have the slots for each of them."""
    columns = [[topology.names.index(name) for name in segment] for segment in topology.all_segments]
    most = view.cluster.slots(view.max_workers)

    def fitting(points: Points) -> NDArray[np.bool_]:
        slots = np.zeros(len(points), dtype=np.int64)
        for members in columns:
            slots += points[:, members].max(axis=1)
        enough: NDArray[np.bool_] = slots <= most
        return enough

    return fitting


def most_promising(
    space: Space,
    valued: Valued,
    goal: Goal,
    allowed: Allowed,
    seed: int,
    least_chance: float = 0.0,
) -> Vector | None:
    """The point of the greatest expected improvement that is allowed; None if there is none.

    With the score as surrogate that is equation 5. With the latency it is the probability that a point meets the target
    times what its score would then be better than the best that is known to meet it: how many instances a point has is
    known, so nothing need be learned of that. With a `least_chance` to meet it, a point must also be an improvement.
    """
    process = fit_gaussian_process(space.unit([point for point, _ in valued]), [value for _, value in valued])
    base = np.asarray(space.base, dtype=float)

    def scores(points: Points) -> NDArray[np.float64]:
        ratios: NDArray[np.float64] = (base / points).mean(axis=1)
        return goal.alpha + (1.0 - goal.alpha) * ratios

    def value(points: Points) -> NDArray[np.float64]:
        mean, deviation = process.predict(space.unit(points))
        if goal.surrogate == "score":
            promise = expected_improvement(mean, deviation, max(value for _, value in valued), goal.xi)
        else:
            gain = np.maximum(scores(points) - best - goal.xi, 0.0)
            chance = probability_below(mean, deviation, 0.0)
            promise = np.where(chance >= least_chance, chance * gain, -np.inf)
        return np.where(allowed(points), promise, -np.inf)

    meeting = [point for point, excess in valued if excess <= 0]
    best = float(scores(np.asarray(meeting, dtype=np.int64)).max()) if meeting else 0.0
    ranked = sorted(valued, key=lambda sample: sample[1], reverse=goal.surrogate == "score")
    found = best_of_lattice(space.base, space.most, value, seed, [point for point, _ in ranked[:10]])
    return None if found is None or (least_chance > 0 and found[1] <= 0) else found[0]


def with_fewer(instances: int, allowed: Allowed) -> Allowed:
    """The same, but only for points with fewer instances in all."""

    def fewer(points: Points) -> NDArray[np.bool_]:
        both: NDArray[np.bool_] = (points.sum(axis=1) < instances) & allowed(points)
        return both

    return fewer


def outside(closed: Sequence[Vector], allowed: Allowed) -> Allowed:
    """The same, but for the closed points."""
    barred = {*closed}

    def open_(points: Points) -> NDArray[np.bool_]:
        free = np.fromiter((tuple(point) not in barred for point in points.tolist()), dtype=bool, count=len(points))
        both: NDArray[np.bool_] = free & allowed(points)
        return both

    return open_
