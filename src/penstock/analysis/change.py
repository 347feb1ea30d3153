"""Has a rate changed, or does it only fluctuate?"""

from collections.abc import Sequence


def has_changed(rates: Sequence[float], reference: float, share: float, windows: int) -> bool:
    """Whether the newest `windows` rates all lie more than `share` above, or all more than `share` below, `reference`.

    A single outlier, a burst shorter than that many windows and noise to both sides of the reference are no change; a
    lasting change is seen after `windows` windows. With fewer rates than that nothing can be said. A rate that was 0
    has changed once there is any.
    """
    newest = rates[-windows:]
    if len(newest) < windows:
        return False
    return all(rate > reference * (1 + share) for rate in newest) or all(
        rate < reference * (1 - share) for rate in newest
    )
