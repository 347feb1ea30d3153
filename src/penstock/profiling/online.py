"""Profiles learned while an application runs: running sums, from which straight lines follow.

Everything here is a value: learning returns new sums. What is older counts less, so that a changed application is
learned anew.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.analysis import segment_busy_s
from penstock.model import ApplicationObservation, Cluster, Observation, Topology
from penstock.profiling.functions import Line
from penstock.profiling.overhead import OverheadProfile, overhead_samples
from penstock.profiling.profile import ApplicationProfile
from penstock.profiling.selectivity import Ratio, SelectivityProfile
from penstock.profiling.usage import OperatorUsage, UsageProfile, handled_per_s, own_share

_DOUBT = 0.2
"""How much of what is measured of a fixed cost is doubted: half is believed after five samples that vary by a fifth of
their mean, or twenty that vary by a tenth."""
_STATE_FIXED = 0.5
"""The part of what an operator with state costs in a fused segment that is taken to be fixed as long as nothing else is
known: committing state takes its time in every batch."""

_UNSEEN = 2.0
"""As if so many samples had shown that workers do nothing beside their instances: a single one says little."""


_WARMING_S = 15.0
"""For how long a worker that has just come is slow, which says nothing of what operators cost."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Samples of one operator so far, summed up: what an instance handled (`x`) and for how long it was busy itself
    (`y`), both by the batch, of which `pace` sums the numbers per second; where there are no batches, by the second."""

    weight: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0
    pace: float = 0.0

    def plus(self, kept: float, x_per_s: float, y_per_s: float, batches_per_s: float = 1.0) -> "Moments":
        """The same with one more sample; of the earlier ones a part is kept."""
        x, y = x_per_s / batches_per_s, y_per_s / batches_per_s
        return Moments(
            self.weight * kept + 1.0,
            self.x * kept + x,
            self.y * kept + y,
            self.xx * kept + x * x,
            self.xy * kept + x * y,
            self.pace * kept + batches_per_s,
        )

    def line(self, fixed_part: float = 0.0) -> Line:
        """What an instance costs by its rate, and what it costs whatever its rate.

        Least squares with a penalty on what differs from `fixed_part` of the mean, so that another part is believed
        to be fixed only as far as many samples at varying rates speak for it.
        """
        spread = self.weight - self.x * self.x / self.xx
        measured = self.y - self.x * self.xy / self.xx
        fixed = (measured + _DOUBT * fixed_part * self.y / self.weight) / (spread + _DOUBT)
        slope = (self.xy - fixed * self.x) / self.xx
        batches_per_s = self.pace / self.weight
        if fixed <= 0:
            return Line(self.y / self.x)
        if slope <= 0:
            return Line(0.0, batches_per_s * self.y / self.weight)
        return Line(slope, batches_per_s * fixed)


@dataclass(frozen=True, slots=True)
class Sums:
    """One operator so far: events handled in so many busy seconds of its segment, and its own part of those seconds.

    `sent` holds, for every downstream operator, events sent and events handled meanwhile.
    """

    handled: float = 0.0
    busy_s: float = 0.0
    own_s: float = 0.0
    own_of_s: float = 0.0
    sent: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    own: Moments = field(default_factory=Moments)


@dataclass(frozen=True, slots=True)
class Learned:
    """All that was learned on line: `until_s` is how far the observations have been used.

    `beside` sums what workers did beside their instances (as shares of their slots) and counts the samples. Once
    something is known nothing is learned while some of the `workers` are new, which is over at `warm_s`. What a fused
    application shows at its start, before it is warm, is `provisional`: it is forgotten afterwards.
    """

    until_s: float | None = None
    applications: Mapping[str, Mapping[str, Sums]] = field(default_factory=dict)
    beside: tuple[float, float] = (0.0, 0.0)
    workers: frozenset[str] = frozenset()
    warm_s: float | None = None
    provisional: bool = True

    def with_observations(
        self,
        topologies: Mapping[str, Topology],
        cluster: Cluster,
        observations: tuple[Observation, ...],
        memory_s: float,
    ) -> "Learned":
        """The same with every observation that is newer than those used before; each counts once."""
        new = [o for o in observations if self.until_s is None or o.at_s > self.until_s + 1e-9]
        if not new:
            return self
        fused = any(len(segment) > 1 for topology in topologies.values() for segment in topology.all_segments)
        workers, warm_s = self.workers, self.warm_s
        if fused and self.until_s is None:
            warm_s = new[0].at_s + _WARMING_S
        telling: list[Observation] = []
        provisional = self.provisional and fused
        known = self
        for observation in new:
            if workers and not workers.issuperset(observation.workers):
                warm_s = observation.at_s + _WARMING_S
            workers = frozenset(observation.workers)
            warm = warm_s is None or observation.at_s - observation.window_s >= warm_s
            if warm and provisional:
                provisional, known, telling = False, Learned(), []
            if warm or provisional or not (known.applications or telling):
                telling.append(observation)
        applications = {name: known._operators(topology, telling, memory_s) for name, topology in topologies.items()}
        beside = known._beside(cluster, telling, memory_s)
        return Learned(new[-1].at_s, applications, beside, workers, warm_s, provisional)

    def _operators(self, topology: Topology, new: list[Observation], memory_s: float) -> dict[str, Sums]:
        sums = dict(self.applications.get(topology.name, {}))
        for observation in new:
            observed = observation.applications.get(topology.name)
            if observed is None:
                continue
            kept = math.exp(-observation.window_s / memory_s)
            for segment in topology.all_segments:
                busy_s = segment_busy_s(observed, segment)
                for name in segment:
                    if name in observed.operators:
                        before = sums.get(name, Sums())
                        sums[name] = _added(before, kept, observed, (name, segment), (busy_s, observation.window_s))
        return sums

    def _beside(self, cluster: Cluster, new: list[Observation], memory_s: float) -> tuple[float, float]:
        total, weight = self.beside
        for observation in new:
            kept = math.exp(-observation.window_s / memory_s)
            extra = [y - x for x, y in overhead_samples(cluster, observation) if y < 0.97]
            total, weight = total * kept + sum(extra), weight * kept + len(extra)
        return total, weight

    def profile(self, topology: Topology) -> ApplicationProfile:
        """What the sums say about one application; what has not been seen yet is missing from it."""
        sums = self.applications.get(topology.name, {})
        ratios = {
            (name, downstream): Ratio(sent / handled)
            for name, operator in sums.items()
            for downstream, (sent, handled) in operator.sent.items()
            if handled > 0
        }
        usages = {
            name: _usage(sums[name], len(segment) == 1, topology.operator(name).stateful)
            for segment in topology.all_segments
            for name in segment
            if name in sums and sums[name].handled > 0
        }
        total, weight = self.beside
        overhead = Line(1.0, max(0.0, total / (weight + _UNSEEN)))
        return ApplicationProfile(
            SelectivityProfile(topology.name, ratios),
            UsageProfile(topology.name, usages),
            OverheadProfile(topology.name, overhead),
        )


def _usage(sums: Sums, alone: bool, stateful: bool) -> OperatorUsage:
    own = sums.own.line(_STATE_FIXED if stateful and not alone else 0.0) if sums.own.xx > 0 else None
    if alone and own is not None:
        return OperatorUsage(own)
    share = min(1.0, sums.own_s / sums.own_of_s) if sums.own_of_s > 0 else 1.0
    return OperatorUsage(Line(sums.busy_s / sums.handled), share, own)


def _added(
    before: Sums,
    kept: float,
    observed: ApplicationObservation,
    who: tuple[str, tuple[str, ...]],
    spent: tuple[float | None, float],
) -> Sums:
    """The sums of one operator after one more window, in which its segment was busy for `spent[0]` of `spent[1]` s."""
    (name, segment), (busy_s, window_s) = who, spent
    operator = observed.operators[name]
    rate = handled_per_s(operator)
    sent = {down: (out * kept, of * kept) for down, (out, of) in before.sent.items()}
    if rate:
        for down, out_per_s in operator.output_per_s.items():
            out, of = sent.get(down, (0.0, 0.0))
            sent[down] = (out + out_per_s * window_s, of + rate * window_s)
    known = bool(rate and busy_s)
    own = own_share(observed, segment, operator, busy_s) if known and busy_s else None
    samples = before.own
    if own is not None and rate and busy_s:
        busy_share = own * busy_s / (operator.instances * window_s)
        samples = samples.plus(kept, rate / operator.instances, busy_share, operator.batches_per_s or 1.0)
    return Sums(
        before.handled * kept + (rate * window_s if known and rate else 0.0),
        before.busy_s * kept + (busy_s if known and busy_s else 0.0),
        before.own_s * kept + (own * busy_s if own is not None and busy_s else 0.0),
        before.own_of_s * kept + (busy_s if own is not None and busy_s else 0.0),
        sent,
        samples,
    )
