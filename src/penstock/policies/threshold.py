"""Thresholds on the usage of instances, as in Elastic Storm (QoS-aware deployment and adaptation thesis, chapter 7)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.analysis import OperatorRates, application_rates, newest
from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Operator, Reconfigure, View, diff
from penstock.policies.sizing import on_fewest_workers


@dataclass(frozen=True, slots=True)
class ThresholdMemory:
    """What was requested last, and for how many rounds each application still cools down."""

    requested: Configuration | None = None
    cooling: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Step:
    """What one operator should do: its new parallelism and why; None where nothing needs to change."""

    instances: int
    because: str | None = None


@dataclass(frozen=True, slots=True)
class Threshold:
    """Scales an operator by the usage of its instances, one application per round.

    Scale-out: one more instance for each that is busier than `upper`. Observations tell the mean usage and the skew,
    so when the mean is above, all are taken to be (the operator doubles); when only the busiest is above, one is
    added. Scale-in: half of the instances, rounded up, when all are below `lower` and the projected usage stays
    `gap` below `upper` (the stability gap). After a change of its parallelism, whoever asked for it, an application
    cools down for `cooldown_rounds` rounds. The workers are the fewest that hold all instances.

    Operators of a fused segment take turns on the same slots. A member is idle while the others work, so its own busy
    time says little: a member's usage is the busy time of its whole segment against its instances x window.

    `window_s` is how far back usage is averaged. An operator of unknown usage is left as it is.
    """

    upper: float = 0.7
    lower: float = 0.2
    gap: float = 0.2
    cooldown_rounds: int = 12
    window_s: float = 20.0

    def __post_init__(self) -> None:
        if not 0 <= self.lower < self.upper <= 1:
            raise UsageError(f"Thresholds need 0 <= lower < upper <= 1, not {self.lower:g} and {self.upper:g}.")
        if not 0 <= self.gap < self.upper:
            raise UsageError(f"The stability gap must be at least 0 and below upper, not {self.gap:g}.")
        if self.cooldown_rounds < 0 or self.window_s <= 0:
            raise UsageError("A threshold policy needs cooldown_rounds of at least 0 and a window_s above 0.")

    def start(self) -> ThresholdMemory:
        """Nothing cools down."""
        return ThresholdMemory()

    def decide(self, view: View, memory: ThresholdMemory) -> tuple[Decision, ThresholdMemory]:
        """Scale the first application that needs it, scale-out and scale-in together."""
        cooling = self._cooling(view, memory)
        after = ThresholdMemory(view.requested, {name: left for name, left in cooling.items() if left > 0})
        observations = newest(view.observations, self.window_s)
        notes = [f"'{name}' cools down for {left} more rounds" for name, left in after.cooling.items()]
        known = False
        for name, topology in view.topologies.items():
            rates = application_rates(topology, observations).operators
            known = known or any(rate.usage is not None for rate in rates.values())
            if name in after.cooling:
                continue
            current = view.requested.parallelism[name]
            steps = {o.name: self._step(o, current[o.name], rates[o.name]) for o in topology.operators}
            target = on_fewest_workers(
                view, {**view.requested.parallelism, name: {o: step.instances for o, step in steps.items()}}
            )
            reasons = [step.because for step in steps.values() if step.because is not None]
            if reasons:
                label = f"'{name}': " if len(view.topologies) > 1 else ""
                return Reconfigure(target, label + "; ".join(reasons)), after
        if not known:
            return Keep("no operator's usage is known yet"), after
        return self._keep(view, notes), after

    def _cooling(self, view: View, memory: ThresholdMemory) -> dict[str, int]:
        """Rounds left, this one included, per application."""
        cooling = {}
        for name, operators in view.requested.parallelism.items():
            before = memory.requested.parallelism.get(name) if memory.requested is not None else operators
            changed = before != operators
            cooling[name] = self.cooldown_rounds if changed else memory.cooling.get(name, 0) - 1
        return cooling

    def _step(self, operator: Operator, instances: int, rates: OperatorRates) -> _Step:
        if rates.usage is None:
            return _Step(instances)
        busiest = rates.usage * max(1.0, rates.skew or 1.0)
        if busiest > self.upper:
            overloaded = instances if rates.usage > self.upper else 1
            after = operator.clip(instances + overloaded)
            said = f"usage of {operator.name} is {busiest:.2f}, above {self.upper:g}"
        elif busiest < self.lower:
            after = min(instances, operator.clip(math.ceil(instances / 2)))
            projected = busiest * instances / after
            if projected > self.upper - self.gap:
                return _Step(instances)
            said = f"usage of {operator.name} is {busiest:.2f}, below {self.lower:g}"
        else:
            return _Step(instances)
        return _Step(after, f"{said}: {instances} -> {after}") if after != instances else _Step(instances)

    def _keep(self, view: View, notes: list[str]) -> Decision:
        """Nothing to scale; give back or take workers if the instances do not fit the workers, else keep."""
        target = on_fewest_workers(view, view.requested.parallelism)
        if not notes and diff(view.requested, target):
            slots = target.slots(view.topologies)
            return Reconfigure(target, f"{target.workers} workers are the fewest for {slots} slots")
        return Keep("; ".join(notes) or f"usage is between {self.lower:g} and {self.upper:g} or at a bound")
