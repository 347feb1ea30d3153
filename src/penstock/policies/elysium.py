"""ELYSIUM: operators and workers scale independently, together only when needed (symbiotic scaling)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.analysis import application_rates, newest, source_inputs
from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Reconfigure, View, diff
from penstock.policies.assessment import DRAINING, Assessment, Load, Thresholds, scaled_to, total_per_s
from penstock.profiling import ApplicationProfile, Estimator, Learned


@dataclass(frozen=True, slots=True)
class ElysiumMemory:
    """What was learned on line, when the last assessment was, and what reconfigurations have cost so far.

    `changes` counts changes of the requested configuration, `paused_s` the seconds for which each application was
    paused since the first of them.
    """

    learned: Learned = field(default_factory=Learned)
    assessed_at_s: float | None = None
    requested: Configuration | None = None
    changes: int = 0
    paused_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Elysium:
    """x."""

    assessment_period_s: float = 60.0
    window_s: float = 20.0
    core_min: float | None = None
    core_max: float | None = None
    cpu_max: float | None = None
    drain_s: float = 120.0
    tolerance: float = 0.05
    eager: bool = False
    memory_s: float = 300.0
    spare: float = 0.0
    peak: bool = False

    def start(self) -> ElysiumMemory:
        """Nothing is known."""
        return ElysiumMemory()

    def decide(self, view: View, memory: ElysiumMemory) -> tuple[Decision, ElysiumMemory]:
        """Learn from what is new and, when it is time, assess."""
        memory = self._noticed(view, memory)
        last_s = memory.assessed_at_s
        if last_s is not None and view.now_s < last_s + self.assessment_period_s - 1e-6:
            return Keep(f"the next assessment is at {last_s + self.assessment_period_s:.0f} s"), memory
        estimator = Estimator(view.topologies, self._profiles(view, memory), view.cluster)
        thresholds = Thresholds.of(view.objectives, self.core_min, self.core_max, self.cpu_max)
        loads = self._loads(view, memory, thresholds)
        if not loads[0].sources:
            return Keep("no input rate is known yet"), memory
        assessment = Assessment(view, estimator, thresholds, loads)
        if not assessment.knows_usage:
            return Keep("no instance's usage is known yet"), memory
        hot = self.eager or not any(memory.paused_s.values())
        parallelism = assessment.instances(self.eager, hot)
        target = Configuration(parallelism, assessment.workers(parallelism, self.tolerance))
        if not hot and diff(view.requested, target):
            parallelism = assessment.instances(self.eager, True)
            target = Configuration(parallelism, assessment.workers(parallelism, self.tolerance))
        memory = replace(memory, assessed_at_s=view.now_s)
        if not diff(view.requested, target):
            return Keep("fits"), memory
        return Reconfigure(target, "x", assessment.expected(parallelism, target.workers)), memory

    def _noticed(self, view: View, memory: ElysiumMemory) -> ElysiumMemory:
        """The memory with all that is new in the view."""
        since_s = memory.learned.until_s
        new = [o for o in view.observations if since_s is None or o.at_s > since_s + 1e-9]
        changed = memory.requested is not None and bool(diff(memory.requested, view.requested))
        changes = memory.changes + changed
        paused_s = dict(memory.paused_s)
        for name in view.topologies if changes else ():
            seen = (o.applications[name].paused_s for o in new if name in o.applications)
            paused_s[name] = paused_s.get(name, 0.0) + sum(seen)
        learned = memory.learned.with_observations(view.topologies, view.cluster, view.observations, self.memory_s)
        return replace(memory, learned=learned, requested=view.requested, changes=changes, paused_s=paused_s)

    def _profiles(self, view: View, memory: ElysiumMemory) -> Mapping[str, ApplicationProfile]:
        return {name: memory.learned.profile(topology) for name, topology in view.topologies.items()}

    def _loads(self, view: View, memory: ElysiumMemory, thresholds: Thresholds) -> list[Load]:
        observations = newest(view.observations, self.window_s) if view.observations else ()
        sources, draining = {}, {}
        for name, topology in view.topologies.items():
            rates = application_rates(topology, observations)
            arriving = source_inputs(topology, rates)
            if all(rate is None for rate in arriving.values()):
                continue
            if self.peak:
                tops=[sum(r for r in source_inputs(topology, application_rates(topology,(o,))).values() if r is not None) for o in observations]
                arriving = scaled_to(arriving, max(tops))
            sources[name] = arriving
            total = total_per_s(arriving)
            pause_s = memory.paused_s.get(name, 0.0) / memory.changes if memory.changes else 0.0
            if self.drain_s:
                waiting = (rates.backlog or 0.0) + pause_s * total
                draining[name] = scaled_to(arriving, total + waiting / self.drain_s)
        loads = [Load(sources, thresholds.core_max, thresholds.cpu_max, {n: self.spare for n,p in memory.paused_s.items() if p>0})]
        if self.drain_s:
            loads.append(Load(draining, DRAINING, DRAINING))
        return loads
