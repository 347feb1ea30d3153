"""Published experiments on a real Spark, at the scale of a few executors: the applications, loads and policies are the
published ones, the rates are what four executors with one slot each can carry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from penstock.control import Entry, LoopSettings
from penstock.errors import UsageError
from penstock.evaluation import Measures, measure
from penstock.evaluation.papers import Row
from penstock.evaluation.papers.elysium import selectivity_rows
from penstock.evaluation.papers.elysium_comparison import (
    COMPARISONS,
    JOINT,
    PROACTIVE,
    REACTIVE,
    Comparison,
    together,
)
from penstock.profiling import SelectivityProfile
from penstock.service.live_view import run_in_view
from penstock.service.policy_list import LIVE_ELYSIUM
from penstock.service.profile import (
    MODELS,
    ProfileRequest,
    ProfileResult,
    history_of,
    live_source,
    profile,
    profile_load,
)
from penstock.service.requests import RunRequest
from penstock.service.runs import kept_entries, was_stopped

LiveExperiment: TypeAlias = Callable[[bool, Path], list[Row]]
"""Gives the rows of an experiment, `quick` or whole, and keeps its runs in a folder."""

_T1, _T2 = "top-words:service_ms=16", "sentiment:service_ms=16"
_T1_PROFILED = "top-words:scale=0.7"
"""T1 as it is profiled: every operator takes its time, in the proportions of the simulated one."""
_BATCHES_NOTE = "published: under 3 %; batches of 10 s, declared service; shorter batches: docs/results.md"
_STEP_S = 10.0
_POLICIES = {
    JOINT: "joint:assessment_period_s=5,window_s=10",
    REACTIVE: LIVE_ELYSIUM,
    PROACTIVE: f"{LIVE_ELYSIUM},mode=proactive,step_s={_STEP_S:g},horizon_s=15",
}
_DURATION_S = 150.0
_COURSES = 12
"""How many earlier courses of its load proactive scaling knows, as in the simulated experiments."""
_WAVE_S = 100.0
"""The period of the load under which proactive scaling is run: a history must end where a course does."""
_NOTE = "four executors of one slot, one run"


@dataclass(frozen=True, slots=True)
class _Case:
    """One published comparison, and how it is run here."""

    published: Comparison
    application: str
    load: str


def reproduce_live(name: str, quick: bool, out: Path) -> list[Row]:
    """Run an experiment on Spark; quick: its first comparison only, or shorter. Raises `UsageError` if it cannot be
    run live.

    Of a comparison that the user breaks off come the rows that are complete.
    """
    experiments = _experiments()
    if name not in experiments:
        raise UsageError(f"'{name}' is not run live; leave out --live, or choose one of: {', '.join(experiments)}.")
    return experiments[name](quick, out)


def _experiments() -> Mapping[str, LiveExperiment]:
    named = {comparison.name: comparison for comparison in (*COMPARISONS, *together())}
    step, sine = "step:low=40,high=80,at=50", f"sine:low=10,high=100,period={_DURATION_S:g}"
    small, square = f"sine:low=10,high=50,period={_DURATION_S:g}", f"square:low=20,high=80,period={_WAVE_S:g}"
    figure_9 = (
        _Case(named["T1 step"], _T1, step),
        _Case(named["T1 sine"], _T1, sine),
        _Case(named["T2 sine"], _T2, sine),
    )
    return {
        "elysium-table-2": _table_2,
        "elysium-figure-7": _figure_7,
        "elysium-figure-9": partial(_compared, figure_9),
        "elysium-figure-12": partial(_compared, (_Case(named["T1 sine + T2 sine"], f"{_T1}+{_T2}", small),)),
        "elysium-figure-13": partial(_compared, (_Case(named["T1 square"], _T1, square),)),
    }


def _profiling(quick: bool) -> ProfileRequest:
    """The profiling phase of T1 on one executor, which carries these loads with one instance of every operator.

    A batch lasts as long as the publication measures: what operators cost in every batch, however little it holds, is
    the overhead of batches, which Storm does not have.
    """
    return ProfileRequest(
        _T1_PROFILED,
        load="stair:low=5,high=40",
        check_load="sine:low=5,high=40,period=150",
        duration_s=180.0 if quick else 300.0,
        execution="fused",
        live=True,
        trigger_s=10.0,
        initial="smallest",
    )


def _table_2(quick: bool, out: Path) -> list[Row]:
    request = _profiling(quick)
    seen = live_source(request, out, workers=1, master=None)(request.load, request.seed)
    learned = SelectivityProfile.train(seen.topology, seen.samples())
    note = "of generated tweets, not of the published ones"
    return selectivity_rows(learned, note, "in every batch for the words in it", "live: ")


def _figure_7(quick: bool, out: Path) -> list[Row]:
    request = _profiling(quick)
    return usage_rows(profile(request, live_source(request, out, workers=1, master=None), out))


def usage_rows(found: ProfileResult) -> list[Row]:
    """How far off estimated usages are in a second run: of every operator, of segments, and on average over operators,
    plain, as published, and weighted by the time that each works."""
    known = found.profile.usage.operators if found.profile is not None else {}
    plain = [error for name, error in found.usage_errors.items() if name in known]
    errors = [(name, None, error, "") for name, error in found.usage_errors.items()]
    averages = [
        ("average over operators", 3.0, fmean(plain) if plain else None, _BATCHES_NOTE),
        ("weighted average over operators", None, found.usage_error, "each weighted by the time that it works"),
    ]
    return [
        Row(f"live: {of}: mean error %", published, None if error is None else 100.0 * error, note)
        for of, published, error, note in [*errors, *averages]
    ]


def _compared(cases: tuple[_Case, ...], quick: bool, out: Path) -> list[Row]:
    rows: list[Row] = []
    for case in cases[:1] if quick else cases:
        for scaling in [scaling for scaling in _POLICIES if scaling in case.published.published]:
            entries = _run(case, scaling, out)
            if was_stopped(entries):
                return rows
            rows += _rows(case, scaling, measure(entries))
    return rows


def _run(case: _Case, scaling: str, out: Path) -> list[Entry]:
    request = RunRequest(
        case.application,
        _POLICIES[scaling],
        case.load,
        _DURATION_S,
        execution="fused",
        live=True,
        workers=4,
        initial="smallest",
        latency_target_s=10.0,
        settings=LoopSettings.every(2.5),
        models=_forecast(case, out) if scaling == PROACTIVE else None,
        trigger_s=3.0,
    )
    return kept_entries(run_in_view(request, out))


def _forecast(case: _Case, out: Path) -> Path:
    """The folder with a forecaster that knows earlier courses of the load; costs are learned on line."""
    request = ProfileRequest(
        case.application,
        execution="fused",
        live=True,
        step_s=_STEP_S,
        history=case.load,
        history_steps=round(_COURSES * _WAVE_S / _STEP_S),
    )
    history = history_of(request)
    assert history is not None
    profile_load(request, history, out)
    return out / MODELS


def _rows(case: _Case, scaling: str, ours: Measures) -> list[Row]:
    degradation, saved = case.published.published[scaling]
    where = f"live: {case.published.name}, {scaling}"
    return [
        Row(f"{where}: degradation", degradation, ours.throughput_degradation, _NOTE),
        Row(f"{where}: nodes saved %", saved, ours.nodes_saved, _NOTE),
    ]
