"""The Operator CPU Usage Profiler (OCUP) of ELYSIUM: how busy an instance is, by its input rate.

Where operators take turns in a fused segment, an instance's slot is taken for as long as its whole segment works. Its
usage is therefore that of the segment, and its `share` of it is what it does itself; alone in its segment it is all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.analysis import segment_busy_s, weighted_mean
from penstock.errors import UsageError
from penstock.model import ApplicationObservation, Observation, OperatorObservation, Topology
from penstock.profiling.base import check_operators, enough, field_of, seen
from penstock.profiling.functions import Fitted, Floats, Function, choose, function_from_json


@dataclass(frozen=True, slots=True)
class OperatorUsage:
    """One operator: its instance's usage as a function of that instance's input rate.

    `own` is the same for what the instance does itself, where that is not simply its `share` of it: an instance with
    state costs something in every batch, however little it handles. The errors are those of what it does itself.
    """

    function: Function
    share: float = 1.0
    own: Function | None = None
    error: float = 0.0
    errors: Mapping[str, float] | None = None
    samples: int = 0

    @property
    def chosen(self) -> str:
        """The name of the candidate that was best on held-out samples."""
        return min(self.errors, key=self.errors.__getitem__) if self.errors else self.function.kind

    def usage(self, rate_per_s: float) -> float:
        """The share of its time for which an instance's slot is taken at that input rate."""
        return float(self.function(np.array([rate_per_s]))[0])

    def usages(self, rates_per_s: Floats) -> Floats:
        """The same for many rates at once."""
        return self.function(rates_per_s)

    def own_usage(self, rate_per_s: float) -> float:
        """The share of its time for which an instance is busy itself at that input rate."""
        return self.usage(rate_per_s) * self.share if self.own is None else float(self.own(np.array([rate_per_s]))[0])


@dataclass(frozen=True, slots=True)
class UsageProfile:
    """The usage of every operator; an operator that handled nothing while it was learned is missing."""

    application: str
    operators: Mapping[str, OperatorUsage]
    error: float = 0.0

    @property
    def kind(self) -> str:
        """What was learned."""
        return "usage"

    @classmethod
    def train(cls, topology: Topology, observations: Sequence[Observation], seed: int = 0) -> "UsageProfile":
        """Learn a function for every operator, each the best on held-out samples; `seed` deals the samples.

        The error is the mean over operators, each weighted by what it does itself, so that idle ones do not count.
        """
        learned: dict[str, OperatorUsage] = {}
        weights: dict[str, float] = {}
        for segment in topology.all_segments:
            for name in segment:
                samples = usage_samples(topology.name, segment, name, observations)
                if len(samples) < 2:
                    continue
                fitted = choose([x for x, _, _ in samples], [y for _, y, _ in samples], seed=seed)
                share = weighted_mean((own, busy) for _, busy, own in samples)
                share = 1.0 if share is None else share
                own = None if len(segment) == 1 else _own(samples, seed)
                judged = own or fitted
                learned[name] = OperatorUsage(
                    fitted.function,
                    share,
                    None if own is None else own.function,
                    judged.error,
                    judged.errors,
                    len(samples),
                )
                weights[name] = share * sum(busy for _, busy, _ in samples)
        enough("usage", topology.name, list(learned), 1)
        error = weighted_mean((operator.error, weights[name]) for name, operator in learned.items())
        return cls(topology.name, learned, error or 0.0)

    def check(self, topology: Topology) -> None:
        """Raise `UsageError` when this profile does not fit the application."""
        check_operators("usage", topology, self.application, self.operators)

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        operators = {
            name: {
                "function": learned.function.to_json(),
                "share": learned.share,
                "own": None if learned.own is None else learned.own.to_json(),
                "error": learned.error,
                "errors": dict(learned.errors or {}),
                "samples": learned.samples,
            }
            for name, learned in self.operators.items()
        }
        return {"application": self.application, "error": self.error, "operators": operators}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "UsageProfile":
        """The profile that was saved, or `UsageError`."""
        application, error, rows = (field_of(body, name, "usage") for name in ("application", "error", "operators"))
        try:
            operators = {
                name: OperatorUsage(
                    function_from_json(row["function"]),
                    float(row["share"]),
                    None if row["own"] is None else function_from_json(row["own"]),
                    float(row["error"]),
                    {key: float(value) for key, value in row["errors"].items()},
                    int(row["samples"]),
                )
                for name, row in rows.items()
            }
        except (AttributeError, KeyError, TypeError, ValueError):
            raise UsageError("The saved usage profile is broken; profile the application again.") from None
        return cls(application, operators, float(error))


def usage_samples(
    application: str, segment: Sequence[str], name: str, observations: Sequence[Observation]
) -> list[tuple[float, float, float | None]]:
    """(input rate of an instance, usage of its slot, its own part of that) of every window in which all is known."""
    samples = []
    for observed, window_s in seen(observations, application):
        operator = observed.operators.get(name)
        busy_s = segment_busy_s(observed, segment)
        rate = None if operator is None else handled_per_s(operator)
        if operator is not None and rate and busy_s:
            share = own_share(observed, segment, operator, busy_s)
            samples.append((rate / operator.instances, busy_s / (operator.instances * window_s), share))
    return samples


def _own(samples: Sequence[tuple[float, float, float | None]], seed: int) -> Fitted | None:
    """What an instance does itself, by its rate; None where too few samples tell its part."""
    known = [(x, busy * own) for x, busy, own in samples if own is not None]
    return choose([x for x, _ in known], [y for _, y in known], seed=seed) if len(known) > 1 else None


def handled_per_s(operator: OperatorObservation) -> float | None:
    """What it handled, which is what its busy time went into; what arrived where that is not known."""
    return operator.input_per_s if operator.processed_per_s is None else operator.processed_per_s


def own_share(
    observed: ApplicationObservation, segment: Sequence[str], operator: OperatorObservation, segment_s: float
) -> float | None:
    """The operator's part of its segment's busy time; None where it is not known."""
    if len(segment) == 1:
        return 1.0
    if operator.busy_s is not None:
        return min(1.0, operator.busy_s / segment_s)
    return operator.time_share
