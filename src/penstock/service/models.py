"""Where learned models are kept, and how a policy gets them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.errors import UnknownName, UsageError
from penstock.forecasting import Chosen, LoadHistory, forecaster_from_json
from penstock.model import Observation, Topology
from penstock.policies import (
    AutraScale,
    AutraScaleMemory,
    Elysium,
    Policy,
    RateModel,
    models_from_json,
    models_to_json,
)
from penstock.profiling import ApplicationProfile, OverheadProfile, SelectivityProfile, UsageProfile
from penstock.stores import DataRange, ModelInfo, ModelLibrary, SavedModel

FORECAST = "input-load"
RATES = "rates"
_PARTS = ("selectivity", "usage", "overhead")


def model_name(live: bool, execution: str) -> str:
    """The name under which models are kept: what costs what depends on where and how an application runs."""
    return f"{'live' if live else 'simulated'}-{execution}"


def save_profile(
    library: ModelLibrary, name: str, profile: ApplicationProfile, observations: Sequence[Observation]
) -> tuple[Path, ...]:
    """Keep what was learned of costs, each part in a file of its own, in place of what has the same name."""
    created, application = datetime.now(UTC), profile.usage.application
    data = DataRange(observations[0].at_s - observations[0].window_s, observations[-1].at_s)
    return tuple(
        library.save(SavedModel(ModelInfo(application, part.kind, name, created, 1, data), part.to_json()))
        for part in profile.parts
    )


def save_forecast(library: ModelLibrary, name: str, application: str, forecast: Chosen | None) -> tuple[Path, ...]:
    """Keep a forecaster of an application's load in place of the one with the same name; None forgets that."""
    if forecast is None:
        library.remove(application, FORECAST, name)
        return ()
    payload = {
        "forecaster": forecast.forecaster.to_json(),
        "errors": dict(forecast.errors),
        "step_s": forecast.step_s,
        "recent": list(forecast.recent),
    }
    return (library.save(SavedModel(ModelInfo(application, FORECAST, name, datetime.now(UTC)), payload)),)


def load_profile(library: ModelLibrary, topology: Topology, name: str) -> ApplicationProfile:
    """The profile of an application; raises `UnknownName` when there is none, `UsageError` when it does not fit."""
    payloads = [library.load(topology.name, kind, name).payload for kind in _PARTS]
    profile = ApplicationProfile(
        SelectivityProfile.from_json(payloads[0]),
        UsageProfile.from_json(payloads[1]),
        OverheadProfile.from_json(payloads[2]),
    )
    profile.check(topology)
    return profile


def load_forecast(library: ModelLibrary, application: str, name: str, step_s: float = 60.0) -> Chosen | None:
    """The forecaster of an application's load in steps of `step_s`; None when none was learned.

    Raises `UsageError` when it was learned in other steps.
    """
    try:
        payload = library.load(application, FORECAST, name).payload
    except UnknownName:
        return None
    try:
        forecaster, learned_s = forecaster_from_json(payload["forecaster"]), float(payload["step_s"])
        errors = {method: float(error) for method, error in payload["errors"].items()}
        recent = tuple(float(load) for load in payload["recent"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UsageError(f"The saved forecaster of '{application}' is broken; profile the application again.") from None
    if learned_s != step_s:
        raise UsageError(
            f"The load of '{application}' was learned in steps of {learned_s:g} s and cannot be forecast in steps of "
            f"{step_s:g} s; give 'elysium' step_s={learned_s:g}, or profile the application with --step {step_s:g}."
        )
    return Chosen(forecaster, errors, learned_s, recent)


def load_rate_models(library: ModelLibrary, topology: Topology, name: str) -> tuple[RateModel, ...]:
    """What AuTraScale learned of an application, rate by rate; nothing when it was never in charge of it."""
    try:
        payload = library.load(topology.name, RATES, name).payload
    except UnknownName:
        return ()
    return models_from_json(topology.names, payload)


def keep_learned(folder: Path, memory: object, topologies: Mapping[str, Topology], name: str) -> tuple[Path, ...]:
    """Keep what a policy has learned in a run for the next one, and say where; only AuTraScale has such models."""
    if not isinstance(memory, AutraScaleMemory):
        return ()
    library, created = ModelLibrary(folder), datetime.now(UTC)
    return tuple(
        library.save(SavedModel(ModelInfo(app, RATES, name, created), models_to_json(topologies[app].names, models)))
        for app, models in memory.library.items()
    )


def with_saved_models(made: Policy[Any], folder: Path, topologies: Mapping[str, Topology], name: str) -> Policy[Any]:
    """The policy with what was learned before about every application.

    ELYSIUM needs what `penstock profile` has learned; where that is nothing but a forecaster, costs are learned on
    line. AuTraScale takes what it has learned itself in earlier runs, if anything. Raises `UsageError` for another
    policy, and when models are missing or do not fit.
    """
    library = ModelLibrary(folder)
    if isinstance(made, AutraScale):
        return made.with_library({app: load_rate_models(library, t, name) for app, t in topologies.items()})
    if not isinstance(made, Elysium):
        raise UsageError("Only the policies 'elysium' and 'autrascale' use saved models; leave out --models.")
    if not folder.is_dir():
        raise UsageError(f"There is no folder '{folder}'; make one with 'penstock profile', or leave out --models.")
    profiles = {
        app: load_profile(library, topology, name)
        for app, topology in topologies.items()
        if not _knows_load_alone(library.kinds(app, name))
    }
    if made.mode == "reactive":
        return made.with_models(profiles)
    found = {app: load_forecast(library, app, name, made.step_s) for app in topologies}
    known = {app: one for app, one in found.items() if one is not None}
    forecasters = {app: one.forecaster for app, one in known.items()}
    histories = {app: LoadHistory.before(one.step_s, one.recent) for app, one in known.items() if one.recent}
    return made.with_models(profiles, forecasters, histories)


def _knows_load_alone(kinds: set[str]) -> bool:
    return FORECAST in kinds and kinds.isdisjoint(_PARTS)
