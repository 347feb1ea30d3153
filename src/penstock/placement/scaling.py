"""Real objectives in whole numbers, for a solver that knows no others.

Everything is rounded down. So whatever keeps the constraints in reality keeps them in whole numbers, at an objective
that is not higher, and the best whole-number objective is a bound on the real one.
"""

import math
from dataclasses import dataclass

_FINEST = 1e13
_LARGEST_TOTAL = 1e16
_USUAL = 1e9
_BOUND_STEPS = 1e8


@dataclass(frozen=True, slots=True)
class Unit:
    """A metric in whole numbers: `per_unit` steps make one, and a step counts `weight` in the objective."""

    per_unit: float
    weight: int

    def steps(self, value: float) -> int:
        """The whole steps in `value`."""
        return math.floor(value * self.per_unit)


@dataclass(frozen=True, slots=True)
class Scale:
    """`per_objective` steps are one of the objective."""

    per_objective: float

    @classmethod
    def of(cls, spread: float, bounded: list[tuple[float, float]]) -> "Scale":
        """A scale for objectives that differ by up to `spread`.

        `bounded` holds the factor in the objective and the bound of every metric that has both: they need steps that
        are fine for the bound too.
        """
        finest = max((_BOUND_STEPS / max(factor * bound, 1e-12) for factor, bound in bounded), default=_USUAL)
        return cls(min(max(finest, _USUAL), _FINEST, _LARGEST_TOTAL / max(spread, 1e-9)))

    def steps(self, cost: float) -> int:
        """The whole steps in a part of the objective."""
        return math.floor(cost * self.per_objective)

    def unit(self, factor: float, bound: float | None, largest: float) -> Unit | None:
        """How to count a metric with this factor in the objective and this bound; None if it need not be counted.

        `largest` is what it may be without the bound.
        """
        if factor > 0:
            return Unit(factor * self.per_objective, 1)
        return None if bound is None else Unit(min(_USUAL / max(bound, 1.0), _LARGEST_TOTAL / max(largest, 1.0)), 0)
