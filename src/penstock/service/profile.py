"""Wiring of the profiling phase: an application under a varying load, what is learned from it, and where it is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.control import LoopSettings, Observed, Started, began
from penstock.errors import UnknownName, UsageError
from penstock.evaluation.profile_plots import operator_fits, write_profile_report
from penstock.forecasting import Chosen, Forecaster, LoadSeries, SeasonalNaive, best, forecaster_from_json
from penstock.model import Observation, Topology
from penstock.profiling import ApplicationProfile, OverheadProfile, SelectivityProfile, UsageProfile
from penstock.service.requests import RunRequest
from penstock.service.simulated import simulate
from penstock.stores import DataRange, MemoryJournal, MemoryMetricStore, ModelInfo, ModelLibrary, SavedModel

NAME = "default"
"""The name under which a profile is kept; profiling again replaces it."""
FORECAST = "input-load"


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """A profiling phase: which application, under which load, for how long (ELYSIUM: 30 minutes suffice).

    The models are judged by a second run under `check_load`, with another seed.
    """

    application: str
    load: str = "stair"
    duration_s: float = 1800.0
    seed: int = 0
    execution: str = "pipelined"
    check_load: str = "sine"

    def __post_init__(self) -> None:
        if "+" in self.application:
            raise UsageError("Applications are profiled one at a time; name one.")


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """What was learned, how far off it is in a run it was not learned from, and where it is kept."""

    profile: ApplicationProfile
    forecast: Chosen | None
    operator_errors: Mapping[str, float]
    saved: tuple[Path, ...] = field(default=())
    report: Path | None = None

    def rows(self) -> list[tuple[str, str, str]]:
        """(what, learned, error) of everything that was learned, for a table."""
        found = [
            (f"selectivity {up} -> {down}", f"{ratio.mean:.3g} (deviation {ratio.deviation:.2g})", "")
            for (up, down), ratio in self.profile.selectivity.ratios.items()
        ]
        for name, learned in self.profile.usage.operators.items():
            found.append((f"usage of {name}", learned.chosen, f"{self.operator_errors.get(name, learned.error):.1%}"))
        overhead = self.profile.overhead
        found.append(("overhead of workers", overhead.function.kind, f"{overhead.error:.1%}"))
        if self.forecast is None:
            return [*found, ("input load", "no pattern found, or too short to find one", "")]
        for method, error in self.forecast.errors.items():
            used = "used" if method == self.forecast.forecaster.kind else ""
            found.append((f"input load, {method}", used, f"{error:.1%}"))
        return found

    def as_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        return {
            "application": self.profile.usage.application,
            "selectivity": {f"{u} -> {d}": r.mean for (u, d), r in self.profile.selectivity.ratios.items()},
            "usage_errors": dict(self.operator_errors),
            "usage_functions": {name: learned.chosen for name, learned in self.profile.usage.operators.items()},
            "overhead_error": self.profile.overhead.error,
            "forecast_errors": {} if self.forecast is None else dict(self.forecast.errors),
            "forecast": None if self.forecast is None else self.forecast.forecaster.kind,
            "saved": [str(path) for path in self.saved],
            "report": None if self.report is None else str(self.report),
        }


def profile_simulated(request: ProfileRequest, library: ModelLibrary, out: Path) -> ProfileResult:
    """Run the profiling phase in virtual time, keep what was learned in `library`, and write plots below `out`."""
    started, observations = _observed(request, request.load, request.seed)
    (topology,) = started.topologies
    profile = ApplicationProfile.train(topology, started.cluster, observations, request.seed)
    forecast = _forecast(observations, topology.name)
    _, others = _observed(request, request.check_load, request.seed + 1)
    errors = {fit.operator: fit.error for fit in operator_fits(topology, profile, others)}
    report = write_profile_report(topology, started.cluster, profile, others, out / f"profile-{topology.name}.html")
    saved = save_models(library, profile, forecast, observations)
    return ProfileResult(profile, forecast, errors, saved, report)


def save_models(
    library: ModelLibrary,
    profile: ApplicationProfile,
    forecast: Chosen | None,
    observations: tuple[Observation, ...],
) -> tuple[Path, ...]:
    """Keep what was learned, each part in a file of its own, and say where."""
    created = datetime.now(UTC)
    data = DataRange(observations[0].at_s - observations[0].window_s, observations[-1].at_s)
    payloads: dict[str, dict[str, Any]] = {part.kind: part.to_json() for part in profile.parts}
    if forecast is not None:
        payloads[FORECAST] = {"forecaster": forecast.forecaster.to_json(), "errors": dict(forecast.errors)}
    application = profile.usage.application
    return tuple(
        library.save(SavedModel(ModelInfo(application, kind, NAME, created, 1, data), payload))
        for kind, payload in payloads.items()
    )


def load_profile(library: ModelLibrary, topology: Topology) -> ApplicationProfile:
    """The profile of an application; raises `UnknownName` when there is none, `UsageError` when it does not fit."""
    payloads = [library.load(topology.name, kind, NAME).payload for kind in ("selectivity", "usage", "overhead")]
    profile = ApplicationProfile(
        SelectivityProfile.from_json(payloads[0]),
        UsageProfile.from_json(payloads[1]),
        OverheadProfile.from_json(payloads[2]),
    )
    profile.check(topology)
    return profile


def load_forecaster(library: ModelLibrary, application: str) -> Forecaster | None:
    """The forecaster of an application's load; None when none was learned."""
    try:
        payload = library.load(application, FORECAST, NAME).payload
    except UnknownName:
        return None
    if "forecaster" not in payload:
        raise UsageError(f"The saved forecaster of '{application}' is broken; profile the application again.")
    return forecaster_from_json(payload["forecaster"])


def _observed(request: ProfileRequest, load: str, seed: int) -> tuple[Started, tuple[Observation, ...]]:
    """What the metric store holds after the over-provisioned application has run under a load."""
    journal, store = MemoryJournal(), MemoryMetricStore()
    run = RunRequest(
        request.application,
        "static",
        load,
        request.duration_s,
        seed,
        execution=request.execution,
        settings=LoopSettings(decide_every_s=request.duration_s),
    )
    simulate(run, journal)
    entries = list(journal.entries())
    for entry in entries:
        if isinstance(entry, Observed):
            store.add(entry.observation)
    return began(entries), store.window(0.0, request.duration_s + 1.0)


def _forecast(observations: tuple[Observation, ...], application: str) -> Chosen | None:
    """The best forecaster; None when the load is too short, or nothing says more than its last value does."""
    try:
        chosen = best(LoadSeries.of(observations, application))
    except UsageError:
        return None
    naive = isinstance(chosen.forecaster, SeasonalNaive) and chosen.forecaster.period == 1
    return None if naive else chosen
