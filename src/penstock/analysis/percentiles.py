"""Percentiles of values that weigh differently."""

from collections.abc import Sequence


def weighted_percentiles(pairs: Sequence[tuple[float, float]], shares: Sequence[float]) -> list[float]:
    """For each share, the least value that at least that share of the total weight does not exceed.

    `pairs` are (value, weight) with some positive weight; `shares` are between 0 and 1 and ascending.
    """
    ordered = sorted(pairs)
    total = sum(weight for _, weight in ordered)
    result: list[float] = []
    reached = 0.0
    position = 0
    for share in shares:
        while position < len(ordered) - 1 and reached + ordered[position][1] < share * total * (1 - 1e-12):
            reached += ordered[position][1]
            position += 1
        result.append(ordered[position][0])
    return result
