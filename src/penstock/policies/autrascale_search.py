"""The next sample of AuTraScale: where a Gaussian process over what is known expects the greatest improvement."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.analysis import (
    Space,
    benefit_score,
    best_of_lattice,
    bootstrap_set,
    expected_improvement,
    fit_gaussian_process,
    transferred_samples,
)
from penstock.model import Topology, View
from penstock.policies.autrascale_memory import RateModel, Sample, Vector

Scored: TypeAlias = Sequence[tuple[Vector, float]]


def scored(samples: Sequence[Sample], base: Vector, target_s: float, alpha: float) -> list[tuple[Vector, float]]:
    """The samples with their benefit scores; one that did not keep up has no use at all from its latency."""
    late = float("inf")
    return [
        (
            s.parallelism,
            benefit_score(s.parallelism, base, late if s.latency_s is None else s.latency_s, target_s, alpha),
        )
        for s in samples
    ]


def carried_over(models: Sequence[RateModel], rate_per_s: float) -> RateModel | None:
    """The model of the nearest rate that has enough samples to learn from."""
    usable = [model for model in models if len(model.samples) > 1]
    return min(usable, key=lambda model: abs(model.rate_per_s - rate_per_s), default=None)


def with_predictions(
    samples: Scored, space: Space, source: RateModel, uniform: int, objective: tuple[float, float]
) -> list[tuple[Vector, float]]:
    """The real samples, and the rest of the bootstrap set as the model of another rate predicts it (Algorithm 2).

    `objective` is the latency target in seconds and the weight alpha.
    """
    known = {point for point, _ in samples}
    wanted = [point for point in bootstrap_set(space, uniform) if point not in known]
    if not wanted:
        return list(samples)
    source_space = Space(source.base, space.most)
    learned = scored(source.samples, source.base, *objective)
    process = fit_gaussian_process(source_space.unit([point for point, _ in learned]), [score for _, score in learned])
    return [*samples, *transferred_samples(process, source_space, space, samples, wanted)]


def fits(view: View, topology: Topology) -> Callable[[NDArray[np.int64]], NDArray[np.bool_]]:
    """A function that tells for points (rows) whether all workers together have the slots for each of them."""
    columns = [[topology.names.index(name) for name in segment] for segment in topology.all_segments]
    most = view.cluster.slots(view.max_workers)

    def fitting(points: NDArray[np.int64]) -> NDArray[np.bool_]:
        slots = np.zeros(len(points), dtype=np.int64)
        for members in columns:
            slots += points[:, members].max(axis=1)
        enough: NDArray[np.bool_] = slots <= most
        return enough

    return fitting


def most_promising(
    space: Space,
    samples: Scored,
    closed: Sequence[Vector],
    allowed: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
    luck: tuple[float, int],
) -> Vector | None:
    """The point of the greatest expected improvement that is allowed and not closed; None if there is none.

    `luck` is the exploration parameter xi and the seed of what is drawn.
    """
    xi, seed = luck
    process = fit_gaussian_process(space.unit([point for point, _ in samples]), [score for _, score in samples])
    best = max(score for _, score in samples)
    barred = np.asarray([*closed], dtype=np.int64).reshape(-1, len(space.base))

    def value(points: NDArray[np.int64]) -> NDArray[np.float64]:
        improvement = expected_improvement(*process.predict(space.unit(points)), best, xi)
        taken = (points[:, None, :] == barred[None, :, :]).all(axis=2).any(axis=1)
        return np.where(taken | ~allowed(points), -np.inf, improvement)

    ranked = sorted(samples, key=lambda sample: -sample[1])
    found = best_of_lattice(space.base, space.most, value, seed, [point for point, _ in ranked[:10]])
    return None if found is None else found[0]
