"""What a reproduction of a published table or figure is."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One published figure beside ours; None where there is none. `note` says what must be known to compare them."""

    case: str
    published: float | None
    ours: float | None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values; fractions are rounded to six digits."""
        return {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Experiment:
    """The experiment behind one table or figure: `run(quick)` gives its rows; quick: in under two CPU minutes."""

    name: str
    summary: str
    run: Callable[[bool], list[Row]]


def interval(values: Sequence[float]) -> str:
    """The mean with its 95 % confidence interval, in words."""
    if len(values) < 2:
        return "one run"
    half = 1.96 * stdev(values) / math.sqrt(len(values))
    return f"{len(values)} seeds, mean {fmean(values):.1f} +- {half:.1f}"
