"""Runs as in ELYSIUM's evaluation: its applications, loads, cluster, restarts and profiling phase.

The range of every load follows from the application alone: its peak is the highest load at which the over-provisioned
configuration is correct (no instance above core_max, no worker above cpu_max), its low is as far below that as the low
end of the application's own range is below its high end. No policy has a part in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean
from typing import Any, Literal, TypeAlias

import numpy as np

from penstock.analysis import desired_inputs
from penstock.control import Action, ControlLoop, LoopSettings, Observed, Plant, Ports
from penstock.evaluation.measures import measure
from penstock.forecasting import Calendar, Forecaster, ForecastSettings, LoadHistory, LoadSeries, best
from penstock.model import ApplicationObservation, Configuration, Objectives, Observation, largest, smallest
from penstock.policies import Elysium, Policy, Static, policy
from penstock.profiling import ApplicationProfile
from penstock.simulation import STORM_PAUSES, Pauses, World, WorldSettings
from penstock.stores import MemoryJournal, MemoryMetricStore
from penstock.workloads import (
    Application,
    Bursts,
    Clipped,
    Curve,
    Diurnal,
    Noisy,
    Sine,
    Square,
    Stair,
    Step,
    Sum,
    Trace,
    application,
)

T1, T2 = "top-words", "sentiment"
CALIBRATION = 1000
"""Seeds from here on are for profiling, training and tuning; those below for evaluation."""
_DAY_S = 1440.0
_NOISE = 0.05
Start: TypeAlias = Literal["small", "over-provisioned", "in operation"]
"""Where a run begins: with one instance of everything on as few workers as have a slot for each (two of them, as in the
publication's Figure 10a), with everything, or where the policy itself is after an earlier course of the same load."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a change costs, how often policies are asked and observations made, and over what time baselines average.

    ELYSIUM assesses every `assess_every_s`, the baselines once a minute, as published.
    """

    name: str
    pauses: Pauses
    restarts: bool
    decide_every_s: float
    window_s: float
    observe_every_s: float = 10.0
    assess_every_s: float = 60.0


RESTART = Costs("restarts of 5 to 8 s", STORM_PAUSES, True, 60.0, 60.0)
"""As published: whatever changes, the application restarts; policies are asked once a minute about the last minute."""
HOT = Costs("Penstock's costs", Pauses(hot_s=0.0, restart_s=2.0, state_s=3.0), False, 10.0, 20.0, assess_every_s=10.0)
"""As measured on Spark: workers and stateless operators change while the application runs, a restart pauses it for 2 s
and a rewrite of state for 3 s. Policies are asked after every observation. The publication's period weighs time in
a wrong configuration against the overhead of changing it; where most changes cost nothing, ELYSIUM need not wait."""
BRISK = replace(
    HOT, name="Penstock's costs, observed every 5 s", decide_every_s=5.0, observe_every_s=5.0, assess_every_s=5.0
)
"""The same with the period of `penstock run`."""


class Rebalancing:
    """A world in which every change restarts all applications, changes of workers included (a Storm rebalance)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = np.random.default_rng((world.settings.seed, 2))

    def requested(self) -> Configuration:
        """The configuration last asked for."""
        return self._world.requested()

    def apply(self, target: Configuration, release: Sequence[str] = ()) -> tuple[Action, ...]:
        """Go to `target` and restart."""
        actions = self._world.apply(target, release)
        pauses = self._world.settings.pauses
        pause_s = pauses.restart_s + float(self._rng.uniform(-1.0, 1.0)) * pauses.jitter_s
        for app in self._world.applications.values() if actions else ():
            app.pause(None, self._world.now_s() + pause_s)
        return actions


@dataclass(frozen=True, slots=True)
class Setting:
    """One application under one of the published curves; `share` scales its range (1: up to its peak)."""

    application: str
    load: str
    share: float = 1.0


DURATIONS_S: Mapping[str, float] = {
    "stair": 1800.0,
    "step": 720.0,
    "doubled": 480.0,
    "square": 1800.0,
    "sine": 1800.0,
    "twitter": 1800.0,
}
RISES_S: Mapping[str, float] = {"step": 60.0, "doubled": 240.0}
"""When a load rises at once."""


def work_per_event(app: Application) -> dict[str, float]:
    """Slot-seconds that one source event costs at each operator."""
    topology = app.topology
    ratios = {
        (stream.upstream, stream.downstream): app.costs[stream.upstream].selectivity.get(stream.downstream, 1.0)
        for stream in topology.streams
    }
    rates = desired_inputs(topology, {name: app.share(name) for name in topology.sources}, ratios)
    return {name: (rates[name] or 0.0) / cost.rate_per_s for name, cost in app.costs.items()}


def peak_per_s(app: Application) -> float:
    """The highest load at which every operator at its greatest parallelism on all workers is correct."""
    limits, work = Objectives(), work_per_event(app)
    by_instance = max(seconds / app.topology.operator(name).max_parallelism for name, seconds in work.items())
    by_worker = sum(work.values()) / app.cluster.slots(len(app.cluster.workers))
    return min(limits.core_max / by_instance, limits.cpu_max / by_worker)


def common_share(names: Sequence[str]) -> float:
    """The share of their peaks at which applications that run together are correct on all workers."""
    apps = [application(name) for name in names]
    slots = sum(peak_per_s(app) * sum(work_per_event(app).values()) for app in apps)
    return min(1.0, Objectives().cpu_max * apps[0].cluster.slots(len(apps[0].cluster.workers)) / slots)


def curve(setting: Setting, seed: int) -> Curve:
    """The load of a setting; the seed decides its noise, and the bursts of the Twitter-like one."""
    app = application(setting.application)
    high = setting.share * peak_per_s(app)
    low = high * app.low_per_s / app.high_per_s
    # Chance must not lift a load beyond what the over-provisioned configuration carries.
    return Clipped(Noisy(_shape(setting.load, low, high, seed), _NOISE, seed, 10.0), 0.0, high)


def _shape(name: str, low: float, high: float, seed: int) -> Curve:
    if name == "stair":
        return Stair(low, high, DURATIONS_S["stair"])
    if name == "step":
        rise = round(RISES_S["step"] / 60.0)
        minutes = tuple(high if rise <= minute < 6 else low for minute in range(12))
        return Trace(tuple(60.0 * minute for minute in range(12)), minutes, 60.0)
    if name == "doubled":
        return Step(high / 2.0, high, RISES_S["doubled"])
    if name == "square":
        return Square(low, high, 600.0)
    if name == "sine":
        return Sine(low, high, 900.0)
    bursts = Bursts(0.0, 0.3 * (high - low), 360.0, 120.0, seed)
    return Sum((Diurnal(low, low + 0.8 * (high - low), _DAY_S), bursts))


@dataclass(frozen=True, slots=True)
class Models:
    """What ELYSIUM has learned before it is evaluated, by application."""

    profiles: Mapping[str, ApplicationProfile]
    forecasters: Mapping[str, Forecaster]
    histories: Mapping[str, LoadHistory]


@cache
def profiled(name: str) -> tuple[ApplicationProfile, tuple[Observation, ...]]:
    """The profiling phase: 30 minutes under a stair on the over-provisioned configuration, with a seed of its own."""
    app = application(name)
    observations = observe(Setting(name, "stair"), 1800.0, CALIBRATION)
    return ApplicationProfile.train(app.topology, app.cluster, observations), observations


def observe(setting: Setting, duration_s: float, seed: int) -> tuple[Observation, ...]:
    """What is observed of an application in its over-provisioned configuration, as the metric store keeps it."""
    app = application(setting.application)
    topologies = {app.name: app.topology}
    world = World(
        [(app, curve(setting, seed))], app.cluster, largest(topologies, app.cluster), WorldSettings(seed, noise=0.02)
    )
    store = MemoryMetricStore()
    while world.now_s() < duration_s:
        world.sleep_until(world.now_s() + 10.0)
        store.add(world.observe())
    return store.window(0.0, duration_s)


@cache
def forecast_models(setting: Setting) -> tuple[Forecaster, LoadHistory]:
    """The best forecaster for a load, learned from twelve earlier courses of it, and the hour before the run."""
    length_s = DURATIONS_S[setting.load] if setting.load != "twitter" else _DAY_S
    steps = 12 * round(length_s / 60.0)
    past = curve(setting, CALIBRATION + 1)
    values = tuple(fmean(past.rate_per_s(60.0 * step + second) for second in range(5, 60, 10)) for step in range(steps))
    series = LoadSeries(-60.0 * steps, 60.0, values)
    chosen = best(series, ForecastSettings(calendar=Calendar(_DAY_S)))
    return chosen.forecaster, LoadHistory(60.0, -steps, values)


def models(settings: Sequence[Setting], proactive: bool) -> Models:
    """The models of these applications; forecasters only where they are needed."""
    profiles = {setting.application: profiled(setting.application)[0] for setting in settings}
    found = {setting.application: forecast_models(setting) for setting in settings} if proactive else {}
    return Models(profiles, {n: f for n, (f, _) in found.items()}, {n: h for n, (_, h) in found.items()})


def make_policy(text: str, settings: Sequence[Setting]) -> Policy[Any]:
    """The policy of that name; ELYSIUM gets what it has learned in its profiling phase."""
    made = policy(text)
    if not isinstance(made, Elysium):
        return made
    learned = models(settings, made.mode == "proactive")
    return made.with_models(learned.profiles, learned.forecasters, learned.histories)


@dataclass(frozen=True, slots=True)
class Course:
    """How a run goes: the policy is asked every `period_s` (None: as the costs say), for `duration_s` (None: as long as
    the load lasts). An earlier course, which is not measured, began small and was as long."""

    period_s: float | None = None
    duration_s: float | None = None
    start: Start = "small"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Means over several runs. `saved` is in per cent of all nodes; `recovery_s` is how long after it rose at once a
    load is sustained again (None where it never rose, or never was)."""

    degradation: float
    saved: float
    reconfigurations: float
    recovery_s: float | None


def evaluate(
    settings: Sequence[Setting], policy_text: str, costs: Costs, seeds: int, start: Start = "small"
) -> Outcome:
    """Run a policy under the same settings with several seeds; what never changes begins over-provisioned."""
    made = make_policy(policy_text, settings)
    course = Course(start="over-provisioned" if isinstance(made, Static) else start)
    journals = [run(settings, made, costs, seed, course) for seed in range(seeds)]
    found = [measure(journal.entries()) for journal in journals]
    recoveries = [one for journal in journals if (one := _recovery_s(journal, settings[0])) is not None]
    return Outcome(
        fmean(one.throughput_degradation or 0.0 for one in found),
        fmean(one.nodes_saved or 0.0 for one in found),
        fmean(one.reconfigurations for one in found),
        fmean(recoveries) if recoveries else None,
    )


@cache
def tried(cpu_max: float, seed: int) -> tuple[float, float]:
    """Degradation and nodes saved of Algorithm 1 as published with that threshold, on T1 under a sine."""
    settings = (Setting(T1, "sine"),)
    made = make_policy(f"elysium:plain=true,window_s=60,cpu_max={cpu_max:g}", settings)
    found = measure(run(settings, made, RESTART, seed).entries())
    return found.throughput_degradation or 0.0, found.nodes_saved or 0.0


def run(
    settings: Sequence[Setting], made: Policy[Any], costs: Costs, seed: int, course: Course | None = None
) -> MemoryJournal:
    """One run. No guard stands between the policy and the world, as in the publication."""
    course = course or Course()
    apps = [application(setting.application) for setting in settings]
    topologies, cluster = {app.name: app.topology for app in apps}, apps[0].cluster
    start = (largest if course.start == "over-provisioned" else smallest)(topologies, cluster)
    loads = [(app, curve(setting, seed)) for app, setting in zip(apps, settings, strict=True)]
    world = World(loads, cluster, start, WorldSettings(seed, noise=0.02, pauses=costs.pauses))
    unguarded = LoopSettings(
        observe_every_s=costs.observe_every_s,
        decide_every_s=course.period_s or costs.decide_every_s,
        cooldown_s=0.0,
        scale_down_after_s=0.0,
        settle_s=1e9,
    )
    ports = Ports(world, Rebalancing(world) if costs.restarts else world, world, MemoryJournal())
    loop = ControlLoop(Plant(topologies, cluster, Objectives()), made, ports, unguarded)
    duration_s = course.duration_s or max(DURATIONS_S[setting.load] for setting in settings)
    if course.start == "in operation":
        loop.run(duration_s)
    journal = MemoryJournal()
    loop.ports = replace(ports, journal=journal)
    loop.begin({"application": "+".join(topologies), "seed": str(seed)})
    loop.run(world.now_s() + duration_s)
    return journal


def _recovery_s(journal: MemoryJournal, setting: Setting) -> float | None:
    """How long after its rise a load is sustained again; up to the end of the first window that shows it."""
    if setting.load not in RISES_S:
        return None
    began_s = next(entry.at_s for entry in journal.entries())
    rise_s = began_s + RISES_S[setting.load]
    later = (entry.observation for entry in journal.entries() if isinstance(entry, Observed) and entry.at_s > rise_s)
    seen = [(one.at_s, _is_behind(one.applications[setting.application], one.window_s)) for one in later]
    behind = [at_s for at_s, late in seen if late]
    if not behind:
        return 0.0
    after = [at_s for at_s, late in seen if at_s > behind[0] and not late]
    return after[0] - rise_s if after else None


def _is_behind(seen: ApplicationObservation, window_s: float) -> bool:
    """Whether more than a second of the load waits, or clearly more came than was completed."""
    came, went = seen.arrived or 0.0, seen.completed or 0.0
    return (seen.backlog or 0.0) > came / window_s or went < (1.0 - _NOISE) * came
