"""Operators that take turns: how much parallelism each member of a fused segment needs."""

import math
from collections.abc import Mapping


def make_up_for_limits(
    needs: Mapping[str, float], shares: Mapping[str, float], limits: Mapping[str, int]
) -> dict[str, float]:
    """Instances needed by the members of one segment when some may not have as many as they need.

    `needs` are the instances each would need if all had as many (for members that take turns: about the same number),
    `shares` their parts of the segment's busy time, `limits` the most each may have. A member at its limit takes longer
    than its part; the others must be quicker by as much. The segment keeps up when the sum over its members of
    need x share / instances is at most 1. Where no number suffices, the others get infinity.
    """
    work = {name: needs[name] * shares[name] for name in needs}
    result = dict(needs)
    limited: set[str] = set()
    while True:
        newly = {name for name in needs if name not in limited and result[name] > limits[name]}
        if not newly:
            return result
        limited |= newly
        left = 1.0 - sum(work[name] / limits[name] for name in limited)
        free = [name for name in needs if name not in limited]
        together = sum(work[name] for name in free) / left if left > 0 else math.inf
        for name in free:
            result[name] = max(result[name], together)
