"""How long the throughput takes to settle after a reconfiguration: the convergence time of Stela."""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

BAND = 0.05
"""Stela's tolerance: an oscillation of at most 5 % around the mean counts as settled."""
STILL = 0.01
"""A throughput that stays this close together does not oscillate at all."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Throughput as a share of the load in the `seconds` before `end_s`."""

    end_s: float
    seconds: float
    value: float


def convergence_times_s(starts_s: Sequence[float], samples: Sequence[Sample]) -> tuple[float | None, ...]:
    """For each reconfiguration the time until throughput had settled; None if the next one came first.

    What follows a reconfiguration is compared with its own mean up to the next one (or the end). It has settled
    when, without a sample more than 5 % away in between, two samples lay above and two below that mean, or four
    in a row were within 1 % of each other.
    """
    ends_s = [sample.end_s for sample in samples]
    cuts = [*(bisect_right(ends_s, start_s) for start_s in starts_s), len(samples)]
    return tuple(_settled_after_s(start_s, samples[cuts[i] : cuts[i + 1]]) for i, start_s in enumerate(starts_s))


def _settled_after_s(start_s: float, samples: Sequence[Sample]) -> float | None:
    seconds = sum(sample.seconds for sample in samples)
    mean = sum(sample.value * sample.seconds for sample in samples) / seconds if seconds > 0 else 0.0
    if mean <= 0:
        return None
    above = below = 0
    calm: deque[float] = deque(maxlen=4)
    for sample in samples:
        deviation = sample.value / mean - 1.0
        if abs(deviation) > BAND:
            above = below = 0
            calm.clear()
            continue
        calm.append(deviation)
        above += deviation >= 0
        below += deviation <= 0
        still = len(calm) == 4 and max(calm) - min(calm) <= STILL
        if still or (above >= 2 and below >= 2):
            return sample.end_s - start_s
    return None
