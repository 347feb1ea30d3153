"""Arithmetic with what arrives at the sources of an application."""

from collections.abc import Mapping


def total_per_s(sources: Mapping[str, float | None]) -> float:
    """What arrives at all sources together, as far as it is known."""
    return sum(rate for rate in sources.values() if rate is not None)


def scaled_to(sources: Mapping[str, float | None], total: float) -> dict[str, float | None]:
    """The sources with `total` events per second in all, in the same proportions (equal ones where nothing arrives)."""
    now = total_per_s(sources)
    if now > 0:
        return {name: None if rate is None else rate * total / now for name, rate in sources.items()}
    known = [name for name, rate in sources.items() if rate is not None]
    return {name: None if rate is None else total / len(known) for name, rate in sources.items()}
