"""What ELYSIUM and its relatives take from the views they see: loads, costs, and what changes cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from penstock.analysis import newest, weighted_mean
from penstock.model import Configuration, Keep, Observation, Parallelism, Topology, View, diff
from penstock.policies.assessment import Assessment
from penstock.policies.limits import DRAINING, Load, Thresholds
from penstock.policies.loads import scaled_to, total_per_s
from penstock.profiling import Estimator, Learned, Loads

_RISES = 3
"""How many times in a row a load must be higher (or lower) than before to be taken to rise (or fall)."""
_EVEN = 0.25
"""How large the smallest of these steps must be, as a share of their mean."""
_MOST_RISE = 2.0
"""By which factor a load is expected to rise at the most."""
_NEGLIGIBLE_S = 0.5
"""A pause that does not matter: executors are removed between two batches, which may hold the next one up a little."""


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
        """Whether changes have been seen to pause an application for a time that matters."""
        return any(self.pause_s(application) > _NEGLIGIBLE_S for application in self.paused_s)

    def pause_s(self, application: str) -> float:
        """How long a change pauses the application, on average."""
        return self.paused_s.get(application, 0.0) / self.changes if self.changes else 0.0


def arriving(view: View, window_s: float, noise: float | None = None) -> dict[str, dict[str, float | None]]:
    """What arrives at each source: the mean over the newest `window_s`.

    With `noise` it is the highest load in that time, if that is above the mean by more than this share.

    Applications of which nothing is known are missing.
    """
    observations = newest(view.observations, window_s) if view.observations else ()
    found = {}
    for name, topology in view.topologies.items():
        sources = _sources(topology, observations)
        if all(rate is None for rate in sources.values()):
            continue
        highest = max(total_per_s(_sources(topology, (o,))) for o in observations)
        jumped = noise is not None and highest > (1.0 + noise) * total_per_s(sources)
        found[name] = scaled_to(sources, highest) if jumped else sources
    return found


def _sources(topology: Topology, observations: tuple[Observation, ...]) -> dict[str, float | None]:
    """The mean input of each source: the application's where there is one source, else their own."""
    seen = [(o.applications[topology.name], o.window_s) for o in observations if topology.name in o.applications]
    whole = weighted_mean((application.input_per_s, window_s) for application, window_s in seen)
    if len(topology.sources) == 1 and whole is not None:
        return {topology.sources[0]: whole}
    return {
        source: weighted_mean((a.operators[source].input_per_s, w) for a, w in seen if source in a.operators)
        for source in topology.sources
    }


def rising_on(view: View, sources: Loads, lead_s: float) -> dict[str, float]:
    """What every application whose load has risen evenly gets in `lead_s`, at that pace; at most twice what it gets."""
    found = {}
    for name, loads in _latest_loads(view, sources).items():
        if _is_slope([after - before for before, after in pairwise(loads)]):
            seen = view.observations[-1 - _RISES :]
            pace = (loads[-1] - loads[0]) / (seen[-1].at_s - seen[0].at_s)
            found[name] = min(loads[-1] + lead_s * pace, _MOST_RISE * loads[-1])
    return found


def fallen_to(view: View, sources: Loads) -> dict[str, float]:
    """What every application whose load has fallen evenly gets now."""
    return {
        name: loads[-1]
        for name, loads in _latest_loads(view, sources).items()
        if _is_slope([before - after for before, after in pairwise(loads)])
    }


def _latest_loads(view: View, sources: Loads) -> dict[str, list[float]]:
    """The loads of the last observations by application; nothing while there are too few of them."""
    seen = view.observations[-1 - _RISES :]
    return {
        name: [total_per_s(_sources(view.topologies[name], (observation,))) for observation in seen]
        for name in (sources if len(seen) > _RISES else ())
    }


def _is_slope(steps: Sequence[float]) -> bool:
    """Whether all steps lead in one direction and about evenly: a jump, which falls into one or two windows, is no
    slope, whatever small steps there were before it."""
    return min(steps) > _EVEN * sum(steps) / len(steps) > 0


def in_time(view: View) -> bool:
    """Whether no application was last seen to be later than the target."""
    seen = view.latest.applications.values() if view.latest is not None else ()
    target_s = view.objectives.latency_target_s
    return all(one.latency is None or one.latency.p95_s <= target_s for one in seen)


def to_carry(
    view: View, senses: Senses, estimator: Estimator, sources: Loads, thresholds: Thresholds, drain_s: float
) -> list[Load]:
    """The load itself and, with `drain_s` above 0, the load with all that waits worked off in that time.

    What waits is the backlog, but for what comes while one batch is worked on, which is there however fast all is, and
    what will arrive while the change pauses the application. Meanwhile instances and workers may be almost fully busy,
    so that only a large backlog calls for more than the load itself does; but where more waits than a batch takes,
    not in the time that batches lose (see `_Batch`). What cannot be worked off in time with everything that is allowed
    is worked off as fast as can be.
    """
    loads = [Load(sources, thresholds.core_max, thresholds.cpu_max)]
    if drain_s <= 0 or view.latest is None:
        return loads
    wanted, lost = {}, 0.0
    for name, rates in sources.items():
        total, seen = total_per_s(rates), view.latest.applications.get(name)
        backlog = (seen.backlog or 0.0) if seen is not None else 0.0
        batches = _batches(view, name)
        waiting = max(0.0, backlog - (batches[-1].lasts_s * total if batches else 0.0))
        wanted[name] = total + (waiting + senses.pause_s(name) * total) / drain_s
        if batches and waiting > batches[-1].events:
            lost = max(lost, wanted[name] * min(batch.lost_s_per_event for batch in batches))
    draining = _within_reach(view, estimator, sources, wanted)
    busy = max(0.0, DRAINING - lost)
    return [*loads, Load(draining, busy, busy)]


@dataclass(frozen=True, slots=True)
class _Batch:
    """How long batches were in a window, how many events one took from the sources, and how much of their time was lost
    on each of these: while a batch is planned and committed no instance is at work. An application that takes all that
    waits makes up for that with longer batches; where they hold as many events as they may, it does not."""

    lasts_s: float
    events: float = math.inf
    lost_s_per_event: float = 0.0


def _batches(view: View, application: str) -> list[_Batch]:
    """The batches of all windows in which the end of one was seen; none where nothing is done in batches."""
    found = []
    for observation in view.observations:
        seen = observation.applications.get(application)
        operators = seen.operators if seen is not None else {}
        paces = [o.batches_per_s for o in operators.values() if o.batches_per_s]
        if not paces:
            continue
        pace = min(paces)
        sources = [operators[name] for name in view.topologies[application].sources if name in operators]
        taken = sum(source.processed_per_s or 0.0 for source in sources)
        shares = [source.parallel_share for source in sources if source.parallel_share is not None]
        if taken > 0 and shares:
            found.append(_Batch(1.0 / pace, taken / pace, (1.0 - min(shares)) / taken))
        else:
            found.append(_Batch(1.0 / pace))
    return found


def _within_reach(view: View, estimator: Estimator, sources: Loads, wanted: Mapping[str, float]) -> Loads:
    """The sources with as much of what is wanted as fits into everything that is allowed."""
    widest = {name: {o.name: o.max_parallelism for o in t.operators} for name, t in view.topologies.items()}
    reached = {}
    for name, rates in sources.items():
        total = total_per_s(rates)
        usage = estimator.busiest(name, widest[name], estimator.operator_input_rates(name, rates))[0]
        most = total * DRAINING / usage if usage > 0 else wanted[name]
        reached[name] = scaled_to(rates, max(total, min(wanted[name], most)))
    least, most = (_work(estimator, loads, widest) for loads in (sources, reached))
    room = view.cluster.slots(view.max_workers) * DRAINING
    if most <= room:
        return reached
    part = max(0.0, (room - least) / (most - least)) if most > least else 0.0
    totals = {name: (total_per_s(sources[name]), total_per_s(reached[name])) for name in sources}
    return {name: scaled_to(sources[name], low + part * (high - low)) for name, (low, high) in totals.items()}


def _work(estimator: Estimator, loads: Loads, parallelism: Parallelism) -> float:
    """Slots that are busy under these loads."""
    own = estimator.own_usages(loads, parallelism)
    return sum(usage * parallelism[application][name] for (application, name), usage in own.items())


def assess(view: View, senses: Senses, thresholds: Thresholds, period_s: float, window_s: float) -> Assessment | Keep:
    """An assessment of the mean load of the last `window_s` with what was learned on line.

    `Keep` when it is not yet time for one, or too little is known.
    """
    later_s = senses.next_assessment_s(view.now_s, period_s)
    if later_s is not None:
        return Keep(f"the next assessment is at {later_s:.0f} s")
    sources = arriving(view, window_s)
    if not sources:
        return Keep("no input rate is known yet")
    profiles = {name: senses.learned.profile(topology) for name, topology in view.topologies.items()}
    estimator = Estimator(view.topologies, profiles, view.cluster)
    assessment = Assessment(view, estimator, thresholds, [Load(sources, thresholds.core_max, thresholds.cpu_max)])
    return assessment if assessment.knows_usage else Keep("no instance's usage is known yet")
