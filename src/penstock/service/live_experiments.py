"""Published comparisons on a real Spark, at the scale of a few executors: the applications, loads and policies are the
published ones, the rates are what four executors with one slot each can carry."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.control import Entry, LoopSettings
from penstock.errors import UsageError
from penstock.evaluation import Measures, measure
from penstock.evaluation.papers import Row
from penstock.evaluation.papers.elysium_comparison import COMPARISONS, JOINT, REACTIVE, Comparison, together
from penstock.service.live_view import run_in_view
from penstock.service.policy_list import LIVE_ELYSIUM
from penstock.service.requests import RunRequest
from penstock.service.runs import kept_entries, was_stopped

_T1, _T2 = "top-words:service_ms=16", "sentiment:service_ms=16"
_POLICIES = {
    JOINT: "joint:assessment_period_s=5,window_s=10",
    REACTIVE: LIVE_ELYSIUM,
}
_DURATION_S = 150.0
_NOTE = "four executors of one slot, one run"


@dataclass(frozen=True, slots=True)
class _Case:
    """One published comparison, and how it is run here."""

    published: Comparison
    application: str
    load: str


def _cases() -> Mapping[str, tuple[_Case, ...]]:
    named = {comparison.name: comparison for comparison in (*COMPARISONS, *together())}
    step, sine = "step:low=40,high=80,at=50", f"sine:low=10,high=100,period={_DURATION_S:g}"
    small = f"sine:low=10,high=50,period={_DURATION_S:g}"
    return {
        "elysium-figure-9": (
            _Case(named["T1 step"], _T1, step),
            _Case(named["T1 sine"], _T1, sine),
            _Case(named["T2 sine"], _T2, sine),
        ),
        "elysium-figure-12": (_Case(named["T1 sine + T2 sine"], f"{_T1}+{_T2}", small),),
    }


def reproduce_live(name: str, quick: bool, out: Path) -> list[Row]:
    """Run an experiment on Spark; quick: its first comparison only. Raises `UsageError` if it cannot be run live.

    Of an experiment that the user breaks off come the rows that are complete.
    """
    cases = _cases()
    if name not in cases:
        raise UsageError(f"'{name}' is not run live; leave out --live, or choose one of: {', '.join(cases)}.")
    rows: list[Row] = []
    for case in cases[name][:1] if quick else cases[name]:
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
        trigger_s=3.0,
    )
    return kept_entries(run_in_view(request, out))


def _rows(case: _Case, scaling: str, ours: Measures) -> list[Row]:
    degradation, saved = case.published.published[scaling]
    where = f"live: {case.published.name}, {scaling}"
    return [
        Row(f"{where}: degradation", degradation, ours.throughput_degradation, _NOTE),
        Row(f"{where}: nodes saved %", saved, ours.nodes_saved, _NOTE),
    ]
