"""ELYSIUM: operators and workers scale independently, together only when needed (symbiotic scaling)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from penstock.errors import UsageError
from penstock.forecasting import (
    QUICK,
    ErrorTrack,
    Forecaster,
    ForecastSettings,
    LoadHistory,
    LoadSeries,
    SeasonalNaive,
    best,
    predict,
)
from penstock.model import Configuration, Decision, Keep, Reconfigure, View, diff
from penstock.policies.assessment import Assessment
from penstock.policies.limits import Thresholds
from penstock.policies.loads import scaled_to, total_per_s
from penstock.policies.senses import Senses, arriving, fallen_to, in_time, rising_on, to_carry
from penstock.profiling import ApplicationProfile, Estimator, Loads

_LAGS = 6
"""Steps from which a forecast is made on line; fewer than in the publication, so that it can begin sooner."""


@dataclass(frozen=True, slots=True)
class ElysiumMemory:
    """What was sensed, the load so far, and how good the forecasts were, by application."""

    senses: Senses = field(default_factory=Senses)
    histories: Mapping[str, LoadHistory] = field(default_factory=dict)
    tracks: Mapping[str, ErrorTrack] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Elysium:
    """Every `assessment_period_s` the configuration for the load: instances first, then workers (Algorithm 1).

    How busy instances and workers will be is estimated from selectivities and costs, which are learned from the
    observations (what is older than `memory_s` counts little). Every operator gets the fewest instances that are busy
    for at most `core_max` of their time, then the cluster the fewest workers of which none is busier than `cpu_max`;
    any number of both, for all applications at once. Thresholds that are not given are those of the objectives.

    The load is the mean of the last `window_s`. In mode `proactive` it is the highest that is forecast for the next
    `horizon_s`, if that is more. Forecasts are made from the loads of past steps of `step_s`; as long as no pattern
    is found, or while they were off by more than `max_error` lately, it is reactive and says so.

    Some things go beyond the publication; `plain` switches all of them off. With `early` a load that is more than the
    configuration can carry is assessed at once, not only at the end of the period. A load that has jumped by more than
    the share `tolerance` counts in full. One that has been rising evenly for a while is taken to rise on for `lead_s`,
    which should be as long as workers take to come, and of one that has been falling evenly only what arrives now
    counts (0: no regard for either). As long as a fused application is not yet warm, which makes its costs look high,
    nothing changes unless it is late. A backlog, and what will arrive while the change pauses the application, must be
    worked off within `drain_s` (0: no regard for it). An operator whose instances are between `core_min` and `core_max`
    keeps them, unless it keeps no state and giving some up saves a worker. Where operators take turns, those without
    state get more where a worker would otherwise have no task. Workers are given up only if that is right even for a
    load that is higher by `tolerance`. And where changes have been seen to pause an application, there should be few of
    them: idle instances, which cost nothing, are given up only together with something that does, and whenever
    something changes, instances are sized for a load that is higher by the share `spare`.
    """

    mode: Literal["reactive", "proactive"] = "reactive"
    assessment_period_s: float = 60.0
    horizon_s: float = 60.0
    window_s: float = 30.0
    core_min: float | None = None
    core_max: float | None = None
    cpu_max: float | None = None
    drain_s: float = 120.0
    tolerance: float = 0.05
    spare: float = 0.25
    lead_s: float = 0.0
    early: bool = True
    plain: bool = False
    step_s: float = 60.0
    max_error: float = 0.25
    memory_s: float = 300.0

    def __post_init__(self) -> None:
        if min(self.assessment_period_s, self.drain_s, self.tolerance, self.spare, self.lead_s, self.max_error) < 0:
            raise UsageError("ELYSIUM needs times, tolerance, spare and max_error of at least 0.")
        if min(self.window_s, self.horizon_s, self.step_s, self.memory_s) <= 0:
            raise UsageError("ELYSIUM needs a window_s, horizon_s, step_s and memory_s above 0.")
        for name in ("core_min", "core_max", "cpu_max"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"ELYSIUM needs a {name} from 0 to 1, not {value:g}.")

    def with_models(
        self,
        profiles: Mapping[str, ApplicationProfile],
        forecasters: Mapping[str, Forecaster] | None = None,
        histories: Mapping[str, LoadHistory] | None = None,
    ) -> "ProfiledElysium":
        """The same policy with what was learned before, by application; what is missing is learned on line."""
        given = {f.name: getattr(self, f.name) for f in fields(Elysium)}
        return ProfiledElysium(**given, profiles=profiles, forecasters=forecasters or {}, histories=histories or {})

    def start(self) -> ElysiumMemory:
        """Nothing is known."""
        return ElysiumMemory()

    def decide(self, view: View, memory: ElysiumMemory) -> tuple[Decision, ElysiumMemory]:
        """Learn from what is new and, when it is time, assess."""
        memory = self._updated(view, memory)
        later_s = memory.senses.next_assessment_s(view.now_s, self.assessment_period_s)
        later = Keep("" if later_s is None else f"the next assessment is at {later_s:.0f} s")
        if later_s is not None and (self.plain or not self.early):
            return later, memory
        sources: Loads = arriving(view, self.window_s, None if self.plain else self.tolerance)
        if not sources:
            return Keep("no input rate is known yet"), memory
        if not self.plain and self._is_guess(view, memory.senses) and in_time(view):
            return Keep("what operators cost is not known well before they are warm"), memory
        now = sources = self._falling(view, sources)
        sources, notes = self._rising(view, now)
        if later_s is not None and not self._assessment(view, memory, sources, now).overloaded():
            return later, memory
        if self.mode == "proactive":
            sources, notes, tracks = self._ahead(view, memory, now, (sources, notes))
            memory = replace(memory, tracks=tracks)
        assessment = self._assessment(view, memory, sources, now)
        if not assessment.knows_usage:
            return Keep("no instance's usage is known yet"), memory
        memory = replace(memory, senses=memory.senses.assessed(view.now_s))
        return self._decision(view, assessment, memory.senses.pausing, notes), memory

    def _assessment(self, view: View, memory: ElysiumMemory, sources: Loads, now: Loads) -> Assessment:
        thresholds = Thresholds.of(view.objectives, self.core_min, self.core_max, self.cpu_max)
        estimator = Estimator(view.topologies, self._profiles(view, memory.senses), view.cluster)
        loads = to_carry(view, memory.senses, estimator, sources, thresholds, 0.0 if self.plain else self.drain_s)
        return Assessment(view, estimator, thresholds, loads, now)

    def _decision(self, view: View, assessment: Assessment, pausing: bool, notes: Mapping[str, str]) -> Decision:
        shrink = self.plain or not pausing
        target = self._target(assessment, shrink)
        if not shrink and diff(view.requested, target):
            target = self._target(assessment, True, self.spare)
        said = "".join(f"; {name}: {note}" if len(view.topologies) > 1 else f"; {note}" for name, note in notes.items())
        if not diff(view.requested, target):
            return Keep(assessment.fits() + said)
        expected = assessment.expected(target.parallelism, target.workers)
        return Reconfigure(target, assessment.reasons(target) + said, expected)

    def _target(self, assessment: Assessment, shrink: bool, spare: float = 0.0) -> Configuration:
        reserve = 0.0 if self.plain else self.tolerance
        parallelism = assessment.instances(self.plain, shrink, spare)
        workers = assessment.workers(parallelism, reserve)
        if self.plain:
            return Configuration(parallelism, workers)
        if shrink:
            tight = assessment.without_spare_instances(parallelism)
            fewer = assessment.workers(tight, reserve)
            if fewer < workers:
                parallelism, workers = tight, fewer
        return assessment.occupied(parallelism, workers)

    def _updated(self, view: View, memory: ElysiumMemory) -> ElysiumMemory:
        """The memory with all that is new in the view."""
        since_s = memory.senses.learned.until_s
        senses = memory.senses.updated(view, self.memory_s)
        if self.mode == "reactive":
            return replace(memory, senses=senses)
        new = [o for o in view.observations if since_s is None or o.at_s > since_s + 1e-9]
        histories, tracks = dict(memory.histories), dict(memory.tracks)
        for name in view.topologies:
            history = histories.get(name, LoadHistory(self.step_s))
            for observation in new:
                history = history.with_observation(observation, name)
            histories[name] = history
            tracks[name] = tracks.get(name, ErrorTrack()).with_loads(history.first, history.values)
        return ElysiumMemory(senses, histories, tracks)

    def _falling(self, view: View, sources: Loads) -> Loads:
        """The loads as they are now, where they fall."""
        reached = {} if self.plain or self.lead_s == 0 else fallen_to(view, sources)
        return {**sources, **{name: scaled_to(sources[name], load) for name, load in reached.items()}}

    def _rising(self, view: View, sources: Loads) -> tuple[Loads, dict[str, str]]:
        """The loads raised to where they are going, if they rise, and what there is to say about that."""
        reached = {} if self.plain or self.lead_s == 0 else rising_on(view, sources, self.lead_s)
        higher = {name: load for name, load in reached.items() if load > total_per_s(sources[name])}
        raised = {name: scaled_to(sources[name], load) for name, load in higher.items()}
        return {**sources, **raised}, {
            name: f"{load:.0f} events/s are expected in {self.lead_s:g} s, as the load rises"
            for name, load in higher.items()
        }

    def _ahead(
        self, view: View, memory: ElysiumMemory, now: Loads, guessed: tuple[Loads, dict[str, str]]
    ) -> tuple[Loads, dict[str, str], dict[str, ErrorTrack]]:
        """The loads raised to what is forecast, what there is to say about that, and the forecasts to be kept.

        Where nothing reliable is forecast it is what was guessed from how the load rises.
        """
        raised, notes = dict(guessed[0]), dict(guessed[1])
        tracks = dict(memory.tracks)
        for name, rates in now.items():
            history = memory.histories[name]
            steps = math.ceil((view.now_s + self.horizon_s) / self.step_s - history.end - 1e-9)
            expected = self._forecast(name, history.series, max(1, steps))
            said = f"{notes[name]}; " if name in notes else ""
            if expected is None:
                notes[name] = f"{said}reactive, as no pattern of the load is known yet"
                continue
            error = tracks[name].error
            tracks[name] = tracks[name].with_predictions(history.end, expected)
            highest = Estimator.predict_input_load(expected)
            if error is not None and error > self.max_error:
                notes[name] = f"{said}reactive, as the forecast was off by {error:.0%} lately"
            elif highest is not None and highest > total_per_s(rates):
                notes[name] = f"{highest:.0f} events/s are forecast within {self.horizon_s:g} s"
                raised[name] = scaled_to(rates, highest)
            else:
                notes.pop(name, None)
                raised[name] = rates
        return raised, notes, tracks

    def _forecast(self, application: str, series: LoadSeries, steps: int) -> tuple[float, ...] | None:
        """The loads of the next steps; None while nothing can be said that the last load does not say."""
        if len(series.values) < 2 * _LAGS:
            return None
        try:
            chosen = best(series, ForecastSettings(lags=_LAGS, steps=steps), QUICK).forecaster
        except UsageError:
            return None  # For a horizon of that many steps the series is too short as yet.
        if isinstance(chosen, SeasonalNaive) and chosen.period == 1:
            return None
        return predict(chosen, series)

    def _is_guess(self, view: View, senses: Senses) -> bool:
        """Whether what is known of some application's costs is from the time before it was warm."""
        return senses.learned.provisional

    def _profiles(self, view: View, senses: Senses) -> dict[str, ApplicationProfile]:
        return {name: senses.learned.profile(topology) for name, topology in view.topologies.items()}


@dataclass(frozen=True, slots=True)
class ProfiledElysium(Elysium):
    """ELYSIUM with models from a profiling phase, as published; an application without one is learned on line.

    `histories` are loads from before the run, so that forecasts can begin with it. Raises `UsageError` at its first
    assessment when a profile does not fit its application.
    """

    profiles: Mapping[str, ApplicationProfile] = field(default_factory=dict)
    forecasters: Mapping[str, Forecaster] = field(default_factory=dict)
    histories: Mapping[str, LoadHistory] = field(default_factory=dict)

    def start(self) -> ElysiumMemory:
        """Nothing but the loads from before is known."""
        return ElysiumMemory(histories=self.histories)

    def _is_guess(self, view: View, senses: Senses) -> bool:
        return senses.learned.provisional and not set(view.topologies) <= set(self.profiles)

    def _profiles(self, view: View, senses: Senses) -> dict[str, ApplicationProfile]:
        found = Elysium._profiles(self, view, senses)
        for name, profile in self.profiles.items():
            if name in view.topologies:
                profile.check(view.topologies[name])
                found[name] = profile
        return found

    def _forecast(self, application: str, series: LoadSeries, steps: int) -> tuple[float, ...] | None:
        given = self.forecasters.get(application)
        if given is None:
            return Elysium._forecast(self, application, series, steps)
        expected = predict(given, series)
        return None if expected is None else expected[:steps]
