"""DRS: the fewest instances for which an open queueing network promises the latency that is wanted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from penstock.analysis import (
    ApplicationRates,
    OperatorRates,
    Station,
    application_rates,
    desired_inputs,
    fewest_servers,
    network_sojourn_s,
    newest,
    recent,
    selectivities,
    source_inputs,
    weighted_mean,
)
from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Observation, Reconfigure, Topology, View, diff
from penstock.policies.sizing import on_fewest_workers


@dataclass(frozen=True, slots=True)
class DrsMemory:
    """What was requested at the last decision, since when measurements count, and what was recommended how often.

    `rates` are the last known rates of an instance, `factors` how much longer events were seen to take than the model
    says, by application.
    """

    decided_at_s: float | None = None
    requested: Configuration | None = None
    counts_from_s: float | None = None
    recommended: Configuration | None = None
    rounds: int = 0
    rates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Plan:
    parallelism: Mapping[str, int]
    promised_s: float
    measured_s: float | None
    factor: float


@dataclass(frozen=True, slots=True)
class Drs:
    """Sees every operator as an M/M/k queue in an open Jackson network, and gives instances out greedily.

    Every operator gets the fewest instances that keep up with what must arrive there; then each further one goes where
    it shortens the mean time in the network the most, until that is within the latency target or the slots are used up.
    `rate` is what an instance is taken to handle: its `true` rate, per second of useful time, or the `observed` one,
    per second, in which an instance that waits counts as slow (as DRS was published; it always wants more).

    The model knows neither network nor buffers. With `calibrate` the ratio of the latency that was last measured to
    what the model says for what runs is applied to all that it says. `window_s`, `warm_up_s` and `activation_rounds`
    are as in DS2. An operator keeps more than it needs as long as it would need that if the load were higher by the
    share `tolerance`.
    """

    rate: Literal["true", "observed"] = "true"
    calibrate: bool = True
    window_s: float = 20.0
    warm_up_s: float = 20.0
    activation_rounds: int = 2
    tolerance: float = 0.1

    def __post_init__(self) -> None:
        if self.window_s <= 0 or self.activation_rounds < 1:
            raise UsageError("DRS needs a window_s above 0 and activation_rounds of at least 1.")
        if min(self.warm_up_s, self.tolerance) < 0:
            raise UsageError("DRS needs warm_up_s and tolerance of at least 0.")

    def start(self) -> DrsMemory:
        """Everything counts."""
        return DrsMemory()

    def decide(self, view: View, memory: DrsMemory) -> tuple[Decision, DrsMemory]:
        """Recommend, and reconfigure once the recommendation has stood for long enough."""
        memory = self._noticed(view, memory)
        usable = newest(recent(view.observations, memory.counts_from_s), self.window_s)
        if not usable:
            return Keep("nothing was measured since the last change"), replace(memory, recommended=None, rounds=0)
        lately = {name: application_rates(topology, usable) for name, topology in view.topologies.items()}
        rates = {name: self._known(view, rates, memory.rates.get(name, {}), name) for name, rates in lately.items()}
        memory = replace(memory, rates=rates)
        plans: dict[str, _Plan] = {}
        for name, topology in view.topologies.items():
            plan = self._plan(view, topology, lately[name], usable, memory)
            if plan is not None:
                plans[name] = plan
        if not plans:
            return Keep("no input rate or no instance's rate is known yet"), replace(memory, recommended=None, rounds=0)
        memory = replace(memory, factors={**memory.factors, **{name: plan.factor for name, plan in plans.items()}})
        target = on_fewest_workers(
            view, {**view.requested.parallelism, **{name: plan.parallelism for name, plan in plans.items()}}
        )
        rounds = memory.rounds + 1 if target == memory.recommended else 1
        memory = replace(memory, recommended=target, rounds=rounds)
        because = "; ".join(_reason(view, name, plan) for name, plan in plans.items())
        if not diff(view.requested, target):
            return Keep(because), memory
        if rounds < self.activation_rounds:
            return Keep(f"seen {rounds} of {self.activation_rounds} times: {because}"), memory
        return Reconfigure(target, because), memory

    def _noticed(self, view: View, memory: DrsMemory) -> DrsMemory:
        """The memory with a change of the requested configuration taken note of."""
        changed = memory.requested is not None and bool(diff(memory.requested, view.requested))
        if changed and memory.decided_at_s is not None:
            memory = replace(memory, counts_from_s=memory.decided_at_s + self.warm_up_s, recommended=None, rounds=0)
        return replace(memory, decided_at_s=view.now_s, requested=view.requested)

    def _known(
        self, view: View, lately: ApplicationRates, before: Mapping[str, float], application: str
    ) -> dict[str, float]:
        """What an instance of each operator handles per second, as far as that was ever known."""
        known = dict(before)
        for name, rates in lately.operators.items():
            rate = self._instance_rate(rates, view.requested.parallelism[application][name])
            if rate:
                known[name] = rate
        return known

    def _instance_rate(self, rates: OperatorRates, instances: int) -> float | None:
        if self.rate == "true":
            return rates.rate_per_s
        return None if rates.processed_per_s is None else rates.processed_per_s / instances

    def _plan(
        self,
        view: View,
        topology: Topology,
        lately: ApplicationRates,
        seen: tuple[Observation, ...],
        memory: DrsMemory,
    ) -> _Plan | None:
        sources = source_inputs(topology, lately)
        external = sum(rate for rate in sources.values() if rate is not None)
        arriving = desired_inputs(topology, sources, selectivities(topology, view.observations))
        stations = _stations(topology, arriving, memory.rates[topology.name])
        if not stations or all(rate is None for rate in sources.values()):
            return None
        current = view.requested.parallelism[topology.name]
        modelled = network_sojourn_s(stations, current, external)
        measured = weighted_mean(
            (a.latency.mean_s, a.completed)
            for a in (o.applications[topology.name] for o in seen if topology.name in o.applications)
            if a.latency is not None
        )
        factor = memory.factors.get(topology.name, 1.0)
        if self.calibrate and measured is not None and 0 < modelled < math.inf:
            factor = measured / modelled
        target_s = view.objectives.latency_target_s / factor if factor > 0 else math.inf
        limit = view.cluster.slots(view.max_workers)
        needed = fewest_servers(stations, external, target_s, limit)
        higher = {n: replace(s, arrival_per_s=s.arrival_per_s * (1 + self.tolerance)) for n, s in stations.items()}
        enough = fewest_servers(higher, external * (1 + self.tolerance), target_s, limit)
        given = {**current, **{n: min(max(current[n], needed[n]), max(needed[n], enough[n])) for n in needed}}
        return _Plan(given, network_sojourn_s(stations, given, external) * factor, measured, factor)


def _stations(
    topology: Topology, arriving: Mapping[str, float | None], rates: Mapping[str, float]
) -> dict[str, Station]:
    """The operators of which load and rate are known; where nothing arrives any rate will do."""
    stations = {}
    for operator in topology.operators:
        arrival, rate = arriving[operator.name], rates.get(operator.name)
        if arrival is not None and (rate is not None or arrival == 0):
            stations[operator.name] = Station(arrival, rate or 1.0, operator.min_parallelism, operator.max_parallelism)
    return stations


def _reason(view: View, name: str, plan: _Plan) -> str:
    label = f"'{name}': " if len(view.topologies) > 1 else ""
    given = ", ".join(f"{operator} {count}" for operator, count in plan.parallelism.items())
    measured = "" if plan.measured_s is None else f" (measured now: {plan.measured_s:.3g} s)"
    time = f"takes {plan.promised_s:.3g} s" if math.isfinite(plan.promised_s) else "does not keep up"
    return f"{label}the queueing network {time} with {given}, {view.objectives.latency_target_s:g} s allowed{measured}"
