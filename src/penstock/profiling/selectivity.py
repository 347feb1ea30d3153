"""The Selectivity Profiler (SP) of ELYSIUM: events sent on each stream per event handled upstream."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import UsageError
from penstock.model import Observation, Topology
from penstock.profiling.base import check_streams, enough, field_of, seen


@dataclass(frozen=True, slots=True)
class Ratio:
    """The selectivity of one stream: all that was sent over all that was handled, and how it varied over time."""

    mean: float
    deviation: float = 0.0
    samples: int = 0


@dataclass(frozen=True, slots=True)
class SelectivityProfile:
    """Constant selectivities, by stream (upstream, downstream)."""

    application: str
    ratios: Mapping[tuple[str, str], Ratio]
    error: float = 0.0

    @property
    def kind(self) -> str:
        """What was learned."""
        return "selectivity"

    @property
    def means(self) -> dict[tuple[str, str], float]:
        """The selectivity of every stream."""
        return {stream: ratio.mean for stream, ratio in self.ratios.items()}

    @classmethod
    def train(cls, topology: Topology, observations: Sequence[Observation]) -> "SelectivityProfile":
        """Learn from observations; the error is that of the second half, predicted from the first.

        A stream whose upstream operator handled nothing is left out. Raises `UsageError` when that is true of all.
        """
        samples = {
            (stream.upstream, stream.downstream): _samples(
                topology.name, stream.upstream, stream.downstream, observations
            )
            for stream in topology.streams
        }
        known = {stream: pairs for stream, pairs in samples.items() if pairs}
        if topology.streams:
            enough("selectivity", topology.name, max(known.values(), key=len, default=[]))
        ratios = {stream: _ratio(pairs) for stream, pairs in known.items()}
        errors = [_error(pairs) for pairs in known.values() if len(pairs) > 1]
        return cls(topology.name, ratios, sum(errors) / len(errors) if errors else 0.0)

    def check(self, topology: Topology) -> None:
        """Raise `UsageError` when this profile does not fit the application."""
        check_streams(topology, self.application, self.ratios)

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        ratios = [[up, down, r.mean, r.deviation, r.samples] for (up, down), r in self.ratios.items()]
        return {"application": self.application, "error": self.error, "ratios": ratios}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "SelectivityProfile":
        """The profile that was saved, or `UsageError`."""
        application, error, rows = (field_of(body, name, "selectivity") for name in ("application", "error", "ratios"))
        try:
            ratios = {(up, down): Ratio(float(m), float(d), int(n)) for up, down, m, d, n in rows}
        except (TypeError, ValueError):
            raise UsageError("The saved selectivity profile is broken; profile the application again.") from None
        return cls(application, ratios, float(error))


def _samples(
    application: str, upstream: str, downstream: str, observations: Sequence[Observation]
) -> list[tuple[float, float]]:
    """(events handled, events sent) of every window in which both are known and something was handled."""
    pairs = []
    for observed, window_s in seen(observations, application):
        operator = observed.operators.get(upstream)
        if operator is not None and operator.processed_per_s and downstream in operator.output_per_s:
            pairs.append((operator.processed_per_s * window_s, operator.output_per_s[downstream] * window_s))
    return pairs


def _ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    mean = _overall(pairs)
    variance = sum((sent / handled - mean) ** 2 for handled, sent in pairs) / len(pairs)
    return Ratio(mean, math.sqrt(variance), len(pairs))


def _overall(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(sent for _, sent in pairs) / sum(handled for handled, _ in pairs)


def _error(pairs: Sequence[tuple[float, float]]) -> float:
    half = len(pairs) // 2
    ratio = _overall(pairs[:half])
    total = sum(sent for _, sent in pairs[half:])
    off = sum(abs(ratio * handled - sent) for handled, sent in pairs[half:])
    return off / total if total > 0 else 0.0
