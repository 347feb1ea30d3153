"""DS2: the parallelism at which every operator keeps up with the sources, from true rates and the graph alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.analysis import (
    ApplicationRates,
    OperatorRates,
    application_rates,
    desired_inputs,
    make_up_for_limits,
    newest,
    recent,
    selectivities,
    source_inputs,
)
from penstock.errors import UsageError
from penstock.model import (
    Configuration,
    Decision,
    Expected,
    Keep,
    Operator,
    Reconfigure,
    Topology,
    View,
    diff,
)
from penstock.policies.sizing import on_fewest_workers


@dataclass(frozen=True, slots=True)
class Ds2Memory:
    """What was requested at the last decision, since when measurements count, and what was recommended how often.

    `rates` are the last known ones of every operator of every application.
    """

    decided_at_s: float | None = None
    requested: Configuration | None = None
    counts_from_s: float | None = None
    recommended: Configuration | None = None
    rounds: int = 0
    rates: Mapping[str, Mapping[str, OperatorRates]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Need:
    """Instances that one operator needs (a real number, infinite if no number suffices) to take in `desired_per_s`.

    `share` is its part of its segment's busy time, `busy` the instances it would keep busy all the time by itself.
    """

    desired_per_s: float
    instances: float
    share: float | None
    busy: float


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one application needs, what it shall get, and why."""

    input_per_s: float
    needs: Mapping[str, _Need]
    parallelism: Mapping[str, int]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ds2:
    """Gives every operator desired input / (rate of an instance x `utilisation`) instances, rounded up.

    The desired inputs follow from what arrives at the sources by one pass through the graph with measured
    selectivities; the rate of an instance is its measured effective rate. When operators scale linearly one step is
    enough; when they do not, the rates are measured again at the new parallelism and the next step corrects the
    first, three steps in all for operators that scale well. One that hardly scales takes more, up to its bound: DS2
    does not know when to give up. Throughput counts, latency does not; skew is not looked at.

    `utilisation` is how busy instances may be (as published: 1, which leaves no room for variation). Load and rates
    are averaged over `window_s`. An operator that handled nothing in that time, as in the middle of a long micro-batch,
    is judged by the last rate that is known of it, and is left alone if there is none. After a change, nothing measured
    within `warm_up_s` of the decision that led to it counts; that time must cover the action itself. A recommendation
    is acted upon when it has stood for `activation_rounds` rounds in a row.

    An operator keeps its parallelism while that is within `tolerance` of what it needs: not short by more than that
    share (and never so short that its instances could not cope), and not too many even if the need were larger by
    that share. So noise of less than that does not move an operator back and forth. `catch_up_s` above 0 adds
    backlog / catch_up_s to the load, which drains a backlog in about that time (as published: off).

    In a fused segment members that take turns need about the same parallelism; where one may not have it (a source
    that cannot be split), the others get more, so that the segment as a whole keeps up.
    """

    utilisation: float = 0.8
    window_s: float = 20.0
    warm_up_s: float = 20.0
    activation_rounds: int = 2
    tolerance: float = 0.1
    catch_up_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.utilisation <= 1:
            raise UsageError(f"DS2 needs a utilisation above 0 and at most 1, not {self.utilisation:g}.")
        if self.window_s <= 0 or self.activation_rounds < 1:
            raise UsageError("DS2 needs a window_s above 0 and activation_rounds of at least 1.")
        if min(self.warm_up_s, self.tolerance, self.catch_up_s) < 0:
            raise UsageError("DS2 needs warm_up_s, tolerance and catch_up_s of at least 0.")

    def start(self) -> Ds2Memory:
        """Everything counts."""
        return Ds2Memory()

    def decide(self, view: View, memory: Ds2Memory) -> tuple[Decision, Ds2Memory]:
        """Recommend, and reconfigure once the recommendation has stood for long enough."""
        memory = self._noticed(view, memory)
        usable = newest(recent(view.observations, memory.counts_from_s), self.window_s)
        if not usable:
            return Keep("nothing was measured since the last change"), replace(memory, recommended=None, rounds=0)
        lately = {name: application_rates(topology, usable) for name, topology in view.topologies.items()}
        memory = replace(memory, rates={name: _known(rates, memory.rates.get(name)) for name, rates in lately.items()})
        plans = {name: self._plan(view, name, lately[name], memory.rates[name]) for name in view.topologies}
        known = {name: plan for name, plan in plans.items() if plan is not None}
        if not known:
            return Keep("no input rate or no instance's rate is known yet"), replace(memory, recommended=None, rounds=0)
        target = on_fewest_workers(
            view, {**view.requested.parallelism, **{name: plan.parallelism for name, plan in known.items()}}
        )
        rounds = memory.rounds + 1 if target == memory.recommended else 1
        memory = replace(memory, recommended=target, rounds=rounds)
        if not diff(view.requested, target):
            return Keep(_sufficient(view, known)), memory
        reasons = "; ".join(reason for plan in known.values() for reason in plan.reasons)
        because = reasons or f"{target.workers} workers are the fewest for {target.slots(view.topologies)} slots"
        if rounds < self.activation_rounds:
            return Keep(f"seen {rounds} of {self.activation_rounds} times: {because}"), memory
        return Reconfigure(target, because, self._expected(view, target, known)), memory

    def _noticed(self, view: View, memory: Ds2Memory) -> Ds2Memory:
        """The memory with a change of the requested configuration taken note of.

        The change was made at some time after the previous decision, so the warm-up is counted from there.
        """
        changed = memory.requested is not None and bool(diff(memory.requested, view.requested))
        if changed and memory.decided_at_s is not None:
            memory = replace(memory, counts_from_s=memory.decided_at_s + self.warm_up_s, recommended=None, rounds=0)
        return replace(memory, decided_at_s=view.now_s, requested=view.requested)

    def _plan(
        self, view: View, name: str, lately: ApplicationRates, rates: Mapping[str, OperatorRates]
    ) -> _Plan | None:
        """What one application needs; None while its load, or everything else about it, is unknown."""
        topology = view.topologies[name]
        sources = self._source_rates(topology, lately)
        # Selectivity does not depend on parallelism, so measurements from before the last change count as well.
        desired = desired_inputs(topology, sources, selectivities(topology, view.observations))
        needs: dict[str, _Need] = {}
        for segment in topology.all_segments:
            needs.update(self._needs(topology, segment, desired, rates))
        if not needs or all(rate is None for rate in sources.values()):
            return None
        current = view.requested.parallelism[topology.name]
        parallelism = dict(current)
        reasons = []
        for operator, need in needs.items():
            parallelism[operator] = self._instances(topology.operator(operator), need.instances, current[operator])
            if parallelism[operator] != current[operator]:
                reasons.append(self._reason(view, topology, operator, need))
        input_per_s = sum(rate for rate in source_inputs(topology, lately).values() if rate is not None)
        return _Plan(input_per_s, needs, parallelism, tuple(reasons))

    def _source_rates(self, topology: Topology, rates: ApplicationRates) -> dict[str, float | None]:
        """What the sources shall take in: what arrives, and the backlog's share of it on top when catching up."""
        arriving = source_inputs(topology, rates)
        total = sum(rate for rate in arriving.values() if rate is not None)
        if not self.catch_up_s or not rates.backlog:
            return arriving
        extra = rates.backlog / self.catch_up_s
        if total == 0:
            return {name: None if rate is None else extra / len(arriving) for name, rate in arriving.items()}
        return {name: None if rate is None else rate * (1 + extra / total) for name, rate in arriving.items()}

    def _needs(
        self,
        topology: Topology,
        segment: tuple[str, ...],
        desired: Mapping[str, float | None],
        measured: Mapping[str, OperatorRates],
    ) -> dict[str, _Need]:
        """The needs of one segment's operators, as far as they are known."""
        needs: dict[str, _Need] = {}
        for name in segment:
            rates = measured[name]
            share = 1.0 if len(segment) == 1 else rates.share
            wanted = desired[name]
            if wanted == 0:
                needs[name] = _Need(0.0, 0.0, share, 0.0)
            elif wanted is not None and rates.rate_per_s:
                whole = wanted / rates.rate_per_s
                busy = wanted / rates.true_rate_per_s if rates.true_rate_per_s else whole * (share or 1.0)
                needs[name] = _Need(wanted, whole / self.utilisation, share, busy)
        shares = {name: need.share for name, need in needs.items() if need.share is not None}
        if len(segment) == 1 or len(shares) < len(needs):
            return needs
        limits = {name: topology.operator(name).max_parallelism for name in needs}
        shared = make_up_for_limits({name: need.instances for name, need in needs.items()}, shares, limits)
        return {name: replace(need, instances=shared[name]) for name, need in needs.items()}

    def _instances(self, operator: Operator, need: float, current: int) -> int:
        """The current parallelism while it is within tolerance of the need, else the need rounded up, in bounds."""
        if need > operator.max_parallelism:
            return operator.max_parallelism
        enough = need <= current * min(1 + self.tolerance, 1 / self.utilisation)
        too_many = _whole(need * (1 + self.tolerance)) < current
        return operator.clip(current if enough and not too_many else _whole(need))

    def _reason(self, view: View, topology: Topology, name: str, need: _Need) -> str:
        current = view.requested.parallelism[topology.name][name]
        label = name if len(view.topologies) == 1 else f"{topology.name}/{name}"
        needed = "more than it may have" if math.isinf(need.instances) else f"{need.instances:.1f}"
        return (
            f"{label} needs {needed} of {current} instances at {need.desired_per_s:.0f} events/s "
            f"(utilisation {self.utilisation:g})"
        )

    def _expected(self, view: View, target: Configuration, plans: Mapping[str, _Plan]) -> Expected:
        """The promise: all that arrives is handled, unless bounds or slots do not allow it."""
        slots = view.cluster.slots(target.workers)
        crowding = sum(need.busy for plan in plans.values() for need in plan.needs.values()) / slots
        throughput: dict[str, float] = {}
        usage: dict[str, float] = {}
        for name, plan in plans.items():
            given = target.parallelism[name]
            busy = {operator: need.busy for operator, need in plan.needs.items()}
            segments = view.topologies[name].all_segments
            loads = [sum(busy[o] / given[o] for o in segment if o in busy) for segment in segments]
            reached = 1.0 / max(1.0, crowding, *loads)
            throughput[name] = plan.input_per_s * reached
            usage[name] = sum(busy.values()) * reached / sum(given[operator] for operator in busy)
        return Expected(throughput, usage)


def _known(rates: ApplicationRates, before: Mapping[str, OperatorRates] | None) -> dict[str, OperatorRates]:
    """The rates of all operators, with the last known ones where there are no new ones."""
    return {
        name: now if now.rate_per_s or before is None else before.get(name, now)
        for name, now in rates.operators.items()
    }


def _whole(need: float) -> int:
    """The need rounded up, to at least 1; what floating point adds to a whole number does not count."""
    return max(1, math.ceil(need - 1e-9))


def _sufficient(view: View, plans: Mapping[str, _Plan]) -> str:
    """Why nothing needs to change: the operator with the least to spare."""
    tight = [
        (need.instances / view.requested.parallelism[application][name], application, name, need.instances)
        for application, plan in plans.items()
        for name, need in plan.needs.items()
    ]
    _, application, name, instances = max(tight)
    have = view.requested.parallelism[application][name]
    label = name if len(view.topologies) == 1 else f"{application}/{name}"
    if instances > have and have == view.topologies[application].operator(name).max_parallelism:
        return f"nothing more can be given; {label} needs {instances:.1f} and may have {have} instances"
    return f"every operator has what it needs; {label} needs {instances:.1f} of {have} instances"
