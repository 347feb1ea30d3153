"""The single number to be minimised: the weighted sum of the normalised metrics (4.9, 4.22, 6.21, 8.12)."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from penstock.placement.downtime import DowntimeTerms, downtime_terms
from penstock.placement.instance import Floats, Instance, instance_of
from penstock.placement.problem import AvailabilityModel, Normalisation, Problem, Range

_LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True)
class Objective:
    """`constant` plus every metric times its coefficient; less is better, and no coefficient is negative.

    Availability enters through its negative logarithm, which is 0 at best.
    """

    constant: float
    per_ms: float
    per_log_loss: float
    per_network: float
    per_cost: float
    per_downtime_s: float

    def value(self, response_ms: float, log_loss: float, network: float, cost: float, downtime_s: float) -> float:
        """The objective of a placement with these metrics. A metric without weight does not count, even if infinite."""
        terms = (
            (self.per_ms, response_ms),
            (self.per_log_loss, log_loss),
            (self.per_network, network),
            (self.per_cost, cost),
            (self.per_downtime_s, downtime_s),
        )
        return self.constant + sum(factor * metric for factor, metric in terms if factor > 0)


@lru_cache(maxsize=16)
def objective_of(problem: Problem) -> Objective:
    """The objective of `problem`, with the normalisation that was given and computed for the rest."""
    weights, ranges = problem.weights, normalisation_of(problem)
    low, high = ranges.availability or (1.0, 1.0)
    terms = (
        (weights.response_time, ranges.response_time_ms),
        (weights.availability, (-math.log(high), -math.log(low))),
        (weights.network, ranges.network),
        (weights.cost, ranges.cost),
        (weights.downtime, ranges.downtime_s),
    )
    factors = [0.0 if ends is None else weight / _width(ends) for weight, ends in terms]
    constant = -sum(factor * ends[0] for factor, (_, ends) in zip(factors, terms, strict=True) if ends is not None)
    return Objective(constant, *factors)


def normalisation_of(problem: Problem) -> Normalisation:
    """The least and the most of every metric.

    What is not given is from 0 to the bound, if there is one (8.12), and otherwise between what no placement can fall
    below and what none can exceed: every operator and every stream by itself at its best and at its worst. This
    depends on the problem alone, not on a solver or its luck, so objectives of different solvers can be compared.
    """
    given, bounds, instance = problem.normalisation, problem.bounds, instance_of(problem)
    return Normalisation(
        given.response_time_ms or _bounded(bounds.response_time_ms) or _response_ms(instance),
        given.availability or _availability(instance),
        given.network or _network(instance),
        given.cost or _bounded(bounds.cost) or _cost(instance),
        given.downtime_s or _bounded(bounds.downtime_s) or _downtime_s(instance),
    )


def _width(ends: Range) -> float:
    return ends[1] - ends[0]


def _bounded(bound: float | None) -> Range | None:
    return None if not bound else (0.0, bound)


def _proper(least: float, most: float) -> Range:
    """A range that can be divided by: all placements being equal, any width will do."""
    most = most if math.isfinite(most) else 2 * least + 1.0
    return (least, most) if most - least > 1e-12 * max(1.0, abs(most)) else (least, least + 1.0)


def _extremes(instance: Instance, matrix: Floats) -> list[Range]:
    """The least and the most of `matrix` over the links that every stream may use."""
    names = [candidates.tobytes() for candidates in instance.candidates]
    known: dict[tuple[bytes, bytes], Range] = {}
    ends = list(zip(instance.tails.tolist(), instance.heads.tolist(), strict=True))
    for tail, head in ends:
        if (names[tail], names[head]) not in known:
            part = matrix[np.ix_(instance.candidates[tail], instance.candidates[head])]
            extremes = (float(part.min()), float(part.max())) if part.size else (0.0, 0.0)
            known[names[tail], names[head]] = extremes
    return [known[names[tail], names[head]] for tail, head in ends]


def _response_ms(instance: Instance) -> Range:
    return _proper(longest_ms(instance, 0), longest_ms(instance, 1))


def longest_ms(instance: Instance, end: int) -> float:
    """The critical path with every operator and stream at its fastest (`end` 0) or slowest (1)."""
    delays = _extremes(instance, instance.delay_ms)
    arrivals = [0.0] * instance.operators
    longest = 0.0
    for operator in instance.problem.order:
        speeds = instance.speedup[instance.candidates[operator]]
        finite = instance.latency_ms[operator][np.isfinite(instance.latency_ms[operator])]
        if not len(speeds) or not len(finite):
            continue
        arrivals[operator] += float(finite.max() / speeds.min() if end else finite.min() / speeds.max())
        longest = max(longest, arrivals[operator])
        for stream in instance.outgoing[operator]:
            head = int(instance.heads[stream])
            arrivals[head] = max(arrivals[head], arrivals[operator] + delays[stream][end])
    return longest


def _availability(instance: Instance) -> Range:
    nodes, links = -instance.log_node, None if instance.log_link is None else -instance.log_link
    least = sum(float(nodes[c].min()) for c in instance.candidates if len(c))
    most = sum(k * float(nodes[c].max()) for c, k in zip(instance.candidates, instance.most, strict=True) if len(c))
    if links is not None:
        ends = zip(instance.tails, instance.heads, _extremes(instance, links), strict=True)
        for tail, head, (near, far) in ends:
            least, most = least + near, most + instance.most[tail] * instance.most[head] * far
    if instance.problem.available_by is AvailabilityModel.NODES:
        least = max((float(nodes[c].min()) for c in instance.candidates if len(c)), default=0.0)
        most = min(most, float(nodes.sum()) + (0.0 if links is None else float(links.sum())))
    # Beyond this an availability is too small to be told from none.
    least, most = _proper(min(least, _LARGEST_LOG - 1.0), min(most, _LARGEST_LOG))
    return math.exp(-most), math.exp(-least)


def _network(instance: Instance) -> Range:
    ends = _extremes(instance, instance.network_factor)
    least = sum(volume * end[0] for volume, end in zip(instance.volume.tolist(), ends, strict=True))
    most = sum(volume * end[1] for volume, end in zip(instance.volume.tolist(), ends, strict=True))
    return _proper(least, most)


def _cost(instance: Instance) -> Range:
    prices = [operator.cost * operator.resources for operator in instance.problem.operators]
    fewest = [int(np.argmax(np.isfinite(latency))) + 1 for latency in instance.latency_ms]
    least = sum(price * few for price, few in zip(prices, fewest, strict=True))
    most = sum(price * many for price, many in zip(prices, instance.most, strict=True))
    if instance.link_cost is not None:
        for rate, (near, far) in zip(instance.rate.tolist(), _extremes(instance, instance.link_cost), strict=True):
            least, most = least + rate * near, most + rate * far
    return _proper(least, most)


def _downtime_s(instance: Instance) -> Range | None:
    terms = downtime_terms(instance)
    if terms is None:
        return None
    return _proper(
        0.0, max(_most_downtime_s(term, candidates) for term, candidates in zip(terms, _spots(instance), strict=True))
    )


def _spots(instance: Instance) -> list[list[tuple[int, int]]]:
    """For every operator its candidates and the most replicas it can have."""
    return [
        [(int(node), most) for node in candidates]
        for candidates, most in zip(instance.candidates, instance.most, strict=True)
    ]


def _most_downtime_s(term: DowntimeTerms, spots: list[tuple[int, int]]) -> float:
    upload = max(
        term.upload_s(node, 0, total) for node in term.before for _, most in spots or [(0, 1)] for total in {1, most}
    )
    code = max((term.code_s(node) for node, _ in spots), default=0.0)
    arrival = max((term.arrival_s(node, c, h) for node, most in spots for h in {1, most} for c in {1, h}), default=0.0)
    times = term.settings.sync_s + term.joined_s(code, upload) + arrival
    return max(times, term.restart_s()) if term.restarts else times
