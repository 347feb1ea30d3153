"""Wiring of the profiling phase: an application under a varying load, what is learned from it, and where it is kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from penstock.control import LoopSettings, Observed, began
from penstock.errors import UsageError
from penstock.evaluation.profile_plots import percent, usage_error, usage_fits, write_profile_report
from penstock.forecasting import Chosen, LoadSeries, SeasonalNaive, best
from penstock.model import Cluster, Observation, Topology
from penstock.profiling import ApplicationProfile
from penstock.service.models import model_name, save_forecast, save_profile
from penstock.service.requests import RunRequest
from penstock.service.runs import METRICS, kept_entries, was_stopped
from penstock.service.simulated import simulate
from penstock.stores import MemoryJournal, MemoryMetricStore, ModelLibrary, SqliteMetricStore, average
from penstock.workloads import Curve, Trace

MODELS = "models"
"""The folder of the model library below the output folder."""


_WARM_S, _MINUTE_S, _LEAST_LIVE_S = 60.0, 60.0, 180.0
_HISTORY_STEPS = 200
_PARTS = tuple((number + 0.5) / 20 for number in range(20))
"""Where within a step of a history the load is looked up. A timetable of its events would take minutes for months."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What there is to learn from: an application, the pool it ran on, and all that was observed.

    On Spark (`live`) usage is learned from sliding averages over a minute, as ELYSIUM takes them, because a window of
    ten seconds cuts batches in two; the first minute, in which everything is slow, has no part in them.
    """

    topology: Topology
    cluster: Cluster
    observations: tuple[Observation, ...]
    live: bool = False

    def samples(self) -> tuple[Observation, ...]:
        """The observations from which usage is learned."""
        if not self.live:
            return self.observations
        settled = [one for one in self.observations if one.at_s > _WARM_S]
        ends_s = [one.at_s for one in settled if one.at_s >= _WARM_S + _MINUTE_S]
        averages = (average([o for o in settled if o.at_s <= at_s], at_s, _MINUTE_S) for at_s in ends_s)
        return tuple(one for one in averages if one is not None)


Source: TypeAlias = Callable[[str, int], Watched]
"""Runs the application under a load with a seed and gives what was observed of it."""


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """A profiling phase: which application, under which load, for how long (ELYSIUM: 30 minutes suffice).

    It runs over-provisioned or, if `initial` is "smallest", with one instance of every operator, which must be able to
    carry the load. The models are judged by a second run under `check_load`, with another seed. The load is forecast in
    steps of `step_s`, by what the run shows of it or, where it is given, by a `history` of `history_steps` steps (as
    long as it is, if it is a trace, else 200), which runs with these models continue.
    """

    application: str
    load: str = "stair"
    duration_s: float = 1800.0
    seed: int = 0
    execution: str = "pipelined"
    check_load: str = "sine"
    live: bool = False
    period_s: float = 10.0
    trigger_s: float = 0.5
    step_s: float = 60.0
    history: str | None = None
    history_steps: int | None = None
    initial: str = "largest"

    def __post_init__(self) -> None:
        if not self.step_s >= self.period_s:
            raise UsageError(f"A step of the forecast lasts at least {self.period_s:g} s, not {self.step_s:g} s.")
        if "+" in self.application:
            raise UsageError("Applications are profiled one at a time; name one.")
        if self.history_steps is not None and self.history_steps < 1:
            raise UsageError(f"A history needs at least 1 step, not {self.history_steps}.")
        for load in (self.load, self.check_load):
            _run(self, load, self.seed)
        if self.live and self.duration_s < _LEAST_LIVE_S:
            raise UsageError(
                f"A live run must last at least {_LEAST_LIVE_S:g} s to be learned from, not {self.duration_s:g} s: "
                "its first minute does not count."
            )


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """What was learned, how far off it is in a run it was not learned from, and where it is kept.

    Errors of usage are those of operators and of segments whose operators take turns; `usage_error` is the mean over
    operators, each weighted by what it does itself.
    """

    application: str
    profile: ApplicationProfile | None
    forecast: Chosen | None
    usage_errors: Mapping[str, float]
    usage_error: float | None
    library: Path
    saved: tuple[Path, ...]
    report: Path | None

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """(what, of what, learned, error, error in the second run) of everything that was learned, for a table."""
        found = [] if self.profile is None else self._costs(self.profile)
        if self.forecast is None:
            return [*found, ("forecast", "input load", "no pattern was found", "", "")]
        for method, error in self.forecast.errors.items():
            used = " (used)" if method == self.forecast.forecaster.kind else ""
            found.append(("forecast", "input load", method + used, f"{error:.1%}", ""))
        return found

    def _costs(self, profile: ApplicationProfile) -> list[tuple[str, str, str, str, str]]:
        found = [
            ("selectivity", f"{up} -> {down}", f"{ratio.mean:.3g} ± {ratio.deviation:.2g}", "", "")
            for (up, down), ratio in profile.selectivity.ratios.items()
        ]
        for name, learned in profile.usage.operators.items():
            again = percent(self.usage_errors.get(name))
            found.append(("usage", name, learned.chosen, percent(learned.error), again))
        segments = {name: error for name, error in self.usage_errors.items() if name not in profile.usage.operators}
        found += [("usage", name, "sum", "", percent(error)) for name, error in segments.items()]
        overall = percent(profile.usage.error), percent(self.usage_error)
        found.append(("usage", "all operators", "weighted by their work", *overall))
        overhead = profile.overhead
        return [*found, ("overhead", "workers", overhead.function.kind, f"{overhead.error:.1%}", "")]

    def as_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        ratios = self.profile.selectivity.ratios if self.profile else {}
        usages = self.profile.usage.operators if self.profile else {}
        return {
            "application": self.application,
            "selectivity": {f"{u} -> {d}": r.mean for (u, d), r in ratios.items()},
            "usage_errors": dict(self.usage_errors),
            "usage_error": self.usage_error,
            "usage_validation_error": None if self.profile is None else self.profile.usage.error,
            "usage_validation_errors": {name: learned.error for name, learned in usages.items()},
            "usage_functions": {name: learned.chosen for name, learned in usages.items()},
            "overhead_error": self.profile.overhead.error if self.profile else None,
            "forecast_errors": {} if self.forecast is None else dict(self.forecast.errors),
            "forecast": None if self.forecast is None else self.forecast.forecaster.kind,
            "saved": [str(path) for path in self.saved],
            "models": str(self.library),
            "report": None if self.report is None else str(self.report),
        }


def profile(request: ProfileRequest, watch: Source, out: Path, history: LoadSeries | None = None) -> ProfileResult:
    """Run the profiling phase, keep what was learned in the library below `out`, and write a page beside it."""
    seen = watch(request.load, request.seed)
    learned = ApplicationProfile.train(seen.topology, seen.cluster, seen.samples(), request.seed)
    application = seen.topology.name
    if history is None:
        forecast = _forecast(LoadSeries.of(seen.observations, application, request.step_s))
    else:
        forecast = _continued(history)
    check = watch(request.check_load, request.seed + 1).samples()
    fits = usage_fits(seen.topology, learned, check)
    errors = {fit.of: fit.error for fit in fits if fit.error is not None}
    page = out / f"profile-{application}.html"
    write_profile_report(seen.topology, seen.cluster, learned, check, page)
    library, name = ModelLibrary(out / MODELS), model_name(request.live, request.execution)
    saved = save_profile(library, name, learned, seen.observations)
    saved += save_forecast(library, name, application, forecast)
    error = usage_error(fits, learned.usage.operators)
    return ProfileResult(application, learned, forecast, errors, error, out / MODELS, saved, page)


def profile_load(request: ProfileRequest, history: LoadSeries, out: Path) -> ProfileResult:
    """Learn and keep nothing but how the load goes on, without running the application."""
    application, forecast = request.application, _continued(history)
    if request.live:
        from penstock.spark.applications.registry import spark_pipeline

        application = spark_pipeline(application).name
    name = model_name(request.live, request.execution)
    saved = save_forecast(ModelLibrary(out / MODELS), name, application, forecast)
    return ProfileResult(application, None, forecast, {}, None, out / MODELS, saved, None)


def simulated_source(request: ProfileRequest) -> Source:
    """The application in virtual time."""

    def watch(load: str, seed: int) -> Watched:
        journal, store = MemoryJournal(), MemoryMetricStore()
        simulate(_run(request, load, seed), journal)
        entries = list(journal.entries())
        for entry in entries:
            if isinstance(entry, Observed):
                store.add(entry.observation)
        started = began(entries)
        (topology,) = started.topologies
        return Watched(topology, started.cluster, store.window(0.0, request.duration_s + 1.0))

    return watch


def live_source(request: ProfileRequest, out: Path, workers: int, master: str | None) -> Source:
    """The application on Spark."""
    from penstock.service.live_view import run_in_view

    def watch(load: str, seed: int) -> Watched:
        folder = run_in_view(replace(_run(request, load, seed), workers=workers), out, master)
        entries = kept_entries(folder)
        if was_stopped(entries):
            raise KeyboardInterrupt  # What was broken off is not learned from, nor followed by a second run.
        started = began(entries)
        (topology,) = started.topologies
        with SqliteMetricStore(folder / METRICS) as store:
            return Watched(topology, started.cluster, store.window(0.0, request.duration_s + 1.0), live=True)

    return watch


def history_of(request: ProfileRequest) -> LoadSeries | None:
    """What the load has been until now, where the request tells."""
    if request.history is None:
        return None
    steps = request.history_steps or _HISTORY_STEPS
    curve = _history_curve(request, request.history, steps * request.step_s)
    if request.history_steps is None and isinstance(curve, Trace):
        steps = max(1, int(curve.length_s / request.step_s))
    starts_s = (request.step_s * number for number in range(steps))
    loads = tuple(fmean(curve.rate_per_s(start_s + request.step_s * part) for part in _PARTS) for start_s in starts_s)
    return LoadSeries(-request.step_s * steps, request.step_s, loads)


def _history_curve(request: ProfileRequest, load: str, lasts_s: float) -> Curve:
    if request.live:
        from penstock.service.live import load_curve
        from penstock.spark.applications.registry import spark_pipeline

        return load_curve(spark_pipeline(request.application), load, lasts_s)
    run = replace(_run(request, load, request.seed), duration_s=lasts_s)
    (simulated,) = run.applications()
    return run.curve(simulated)


def _run(request: ProfileRequest, load: str, seed: int) -> RunRequest:
    """The application as it begins under a load, with nobody in charge."""
    settings = LoopSettings(observe_every_s=request.period_s, decide_every_s=request.duration_s)
    return RunRequest(
        request.application,
        "static",
        load,
        request.duration_s,
        seed,
        request.execution,
        live=request.live,
        initial=request.initial,
        settings=settings,
        trigger_s=request.trigger_s,
    )


def _continued(series: LoadSeries) -> Chosen | None:
    """The best forecaster, with what it needs to go on where the series ends."""
    chosen = _forecast(series)
    return None if chosen is None else replace(chosen, recent=series.values[-chosen.forecaster.lags :])


def _forecast(series: LoadSeries) -> Chosen | None:
    """The best forecaster; None when the load is too short, or nothing says more than its last value does."""
    try:
        chosen = best(series)
    except UsageError:
        return None
    naive = isinstance(chosen.forecaster, SeasonalNaive) and chosen.forecaster.period == 1
    return None if naive else chosen
