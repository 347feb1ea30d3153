"""What ELYSIUM and its relatives take from the views they see: loads, costs, and what changes cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.analysis import application_rates, newest, source_inputs
from penstock.model import Configuration, Keep, Observation, Topology, View, diff
from penstock.policies.assessment import DRAINING, Assessment, Load, Thresholds, scaled_to, total_per_s
from penstock.profiling import Estimator, Learned, Loads


@dataclass(frozen=True, slots=True)
class Senses:
    """What was learned on line, when the last assessment was, and what changes have cost.

    `changes` counts changes of the requested configuration, `paused_s` the seconds for which each application was
    paused since the first of them.
    """

    learned: Learned = field(default_factory=Learned)
    assessed_at_s: float | None = None
    requested: Configuration | None = None
    changes: int = 0
    paused_s: Mapping[str, float] = field(default_factory=dict)

    def updated(self, view: View, memory_s: float) -> "Senses":
        """The same with all that is new in the view; what was learned loses weight with the age `memory_s`."""
        since_s = self.learned.until_s
        new = [o for o in view.observations if since_s is None or o.at_s > since_s + 1e-9]
        changed = self.requested is not None and bool(diff(self.requested, view.requested))
        changes = self.changes + changed
        paused_s = dict(self.paused_s)
        for name in view.topologies if changes else ():
            seen = (o.applications[name].paused_s for o in new if name in o.applications)
            paused_s[name] = paused_s.get(name, 0.0) + sum(seen)
        learned = self.learned.with_observations(view.topologies, view.cluster, view.observations, memory_s)
        return Senses(learned, self.assessed_at_s, view.requested, changes, paused_s)

    def next_assessment_s(self, now_s: float, period_s: float) -> float | None:
        """When the next assessment is; None if it is now."""
        if self.assessed_at_s is None or now_s >= self.assessed_at_s + period_s - 1e-6:
            return None
        return self.assessed_at_s + period_s

    def assessed(self, at_s: float) -> "Senses":
        """The same after an assessment."""
        return replace(self, assessed_at_s=at_s)

    @property
    def pausing(self) -> bool:
        """Whether changes have been seen to pause an application."""
        return any(seconds > 0 for seconds in self.paused_s.values())

    def pause_s(self, application: str) -> float:
        """How long a change pauses the application, on average."""
        return self.paused_s.get(application, 0.0) / self.changes if self.changes else 0.0


def arriving(view: View, window_s: float, peak: bool) -> dict[str, dict[str, float | None]]:
    """What arrives at each source: the mean over the newest `window_s`, raised to its highest total if `peak`.

    Applications of which nothing is known are missing.
    """
    observations = newest(view.observations, window_s) if view.observations else ()
    found = {}
    for name, topology in view.topologies.items():
        sources = source_inputs(topology, application_rates(topology, observations))
        if all(rate is None for rate in sources.values()):
            continue
        found[name] = scaled_to(sources, _highest(topology, observations)) if peak else sources
    return found


def _highest(topology: Topology, observations: tuple[Observation, ...]) -> float:
    totals = (total_per_s(source_inputs(topology, application_rates(topology, (o,)))) for o in observations)
    return max(totals, default=0.0)


def to_carry(view: View, senses: Senses, sources: Loads, thresholds: Thresholds, drain_s: float) -> list[Load]:
    """The load itself and, with `drain_s` above 0, the load with all that waits worked off in that time.

    What waits is the backlog, and what will arrive while the change pauses the application. Meanwhile instances and
    workers may be almost fully busy, so that only a large backlog calls for more than the load itself does.
    """
    loads = [Load(sources, thresholds.core_max, thresholds.cpu_max)]
    if drain_s <= 0 or view.latest is None:
        return loads
    draining = {}
    for name, rates in sources.items():
        total, seen = total_per_s(rates), view.latest.applications.get(name)
        waiting = (seen.backlog or 0.0) if seen is not None else 0.0
        draining[name] = scaled_to(rates, total + (waiting + senses.pause_s(name) * total) / drain_s)
    return [*loads, Load(draining, DRAINING, DRAINING)]


def assess(view: View, senses: Senses, thresholds: Thresholds, period_s: float, window_s: float) -> Assessment | Keep:
    """An assessment of the mean load of the last `window_s` with what was learned on line.

    `Keep` when it is not yet time for one, or too little is known.
    """
    later_s = senses.next_assessment_s(view.now_s, period_s)
    if later_s is not None:
        return Keep(f"the next assessment is at {later_s:.0f} s")
    sources = arriving(view, window_s, peak=False)
    if not sources:
        return Keep("no input rate is known yet")
    profiles = {name: senses.learned.profile(topology) for name, topology in view.topologies.items()}
    estimator = Estimator(view.topologies, profiles, view.cluster)
    assessment = Assessment(view, estimator, thresholds, to_carry(view, senses, sources, thresholds, 0.0))
    return assessment if assessment.knows_usage else Keep("no instance's usage is known yet")
