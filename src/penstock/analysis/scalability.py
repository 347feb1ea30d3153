"""The universal scalability law: how much more k instances do than one."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.errors import InvalidModel


@dataclass(frozen=True, slots=True)
class ScalabilityLaw:
    """C(k) = k / (1 + contention (k - 1) + coherence k (k - 1)), times the rate of a single instance.

    With both coefficients 0 an operator scales linearly. Contention alone makes it level off at 1 / contention times
    the single rate; coherence makes it fall again beyond a peak.
    """

    contention: float = 0.0
    coherence: float = 0.0
    rate_per_s: float = 1.0

    def __post_init__(self) -> None:
        if self.contention < 0 or self.coherence < 0 or self.rate_per_s <= 0:
            raise InvalidModel(
                f"A scalability law needs coefficients of at least 0 and a rate above 0, not {self.contention:g}, "
                f"{self.coherence:g} and {self.rate_per_s:g}."
            )

    def speedup(self, instances: float) -> float:
        """What `instances` do together, in units of what one does."""
        extra = instances - 1
        return instances / (1 + self.contention * extra + self.coherence * instances * extra)

    def total_per_s(self, instances: float) -> float:
        """Events per second of useful time that `instances` handle together."""
        return self.rate_per_s * self.speedup(instances)

    def instance_per_s(self, instances: float) -> float:
        """Events per second of useful time that each of `instances` handles."""
        return self.total_per_s(instances) / instances

    @property
    def peak(self) -> float:
        """The number of instances beyond which more of them do less; infinite without coherence.

        Never below 1: an operator with such high coefficients is best left alone.
        """
        if self.coherence == 0:
            return math.inf if self.contention < 1 else 1.0
        return math.sqrt(max(1.0, (1 - self.contention) / self.coherence))


def fit_scalability(points: Iterable[tuple[int, float]]) -> ScalabilityLaw | None:
    """The law that fits measured (instances, total events per second) best, or None if the points do not determine one.

    The reciprocal k / X(k) is linear in three non-negative unknowns, so the fit is a small non-negative least-squares
    problem without starting values or local optima; rows are weighted so that errors count relative to what was
    measured. One distinct parallelism fixes the rate alone, two leave the law undetermined beyond contention, three
    or more determine all of it. Points without a positive rate are ignored.
    """
    import numpy as np
    from scipy.optimize import nnls

    usable = [(k, total) for k, total in points if k >= 1 and total > 0]
    distinct = len({k for k, _ in usable})
    if not distinct:
        return None
    rows = [[total / k, total * (k - 1) / k, total * (k - 1)][: min(distinct, 3)] for k, total in usable]
    solution, _ = nnls(np.array(rows), np.ones(len(rows)))
    unit, contention, coherence = (*map(float, solution), 0.0, 0.0)[:3]
    if unit <= 0:
        return None
    return ScalabilityLaw(contention / unit, coherence / unit, 1.0 / unit)
