"""Wiring of threshold learning: Q-learning on simulated runs, as in ELYSIUM's section 5.1."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import UsageError
from penstock.evaluation import measure
from penstock.evaluation.threshold_page import write_threshold_page
from penstock.profiling import LearnedThreshold, LearningSettings, learn_threshold
from penstock.service.requests import RunRequest
from penstock.service.simulated import simulate
from penstock.simulation import STORM_PAUSES, Pauses, WorldSettings
from penstock.stores import MemoryJournal

CANDIDATES: dict[str, tuple[float, ...]] = {
    "cpu_max": (0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90),
    "core_max": (0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85),
}
"""Thresholds that can be learned, with their candidates."""

_COSTS: dict[str, Pauses] = {"hot": Pauses(), "restart": STORM_PAUSES}


@dataclass(frozen=True, slots=True)
class TuneRequest:
    """Which threshold of ELYSIUM to learn for which application, under which load and costs of a change.

    `costs` is `hot` (as on Spark) or `restart` (every change restarts the application, as published). Every candidate
    is tried with at most `seeds` different seeds; trying it again with one of them takes no time.
    """

    application: str
    threshold: str = "cpu_max"
    load: str = "sine"
    duration_s: float = 1800.0
    costs: str = "hot"
    steps: int = 100
    seeds: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.threshold not in CANDIDATES:
            raise UsageError(f"The threshold to tune is {' or '.join(CANDIDATES)}, not '{self.threshold}'.")
        if self.costs not in _COSTS:
            raise UsageError(f"The costs of a change are {' or '.join(_COSTS)}, not '{self.costs}'.")
        if min(self.seeds, self.steps) < 1:
            raise UsageError(f"At least 1 seed and 1 step are needed, not {self.seeds} and {self.steps}.")
        _run(self, CANDIDATES[self.threshold][0], self.seed)


def tune(request: TuneRequest, say: Callable[[str], None] = lambda _: None) -> LearnedThreshold:
    """Learn the threshold; `say` hears of every simulation."""
    known: dict[tuple[float, int], float] = {}

    def environment(threshold: float, trial: int) -> float:
        key = (threshold, trial % request.seeds)
        if key not in known:
            known[key] = _degradation(request, *key)
            say(f"{request.threshold} {threshold:.2f}: throughput degradation {known[key]:.3f}")
        return known[key]

    settings = LearningSettings(request.steps, seed=request.seed)
    return learn_threshold(environment, CANDIDATES[request.threshold], settings)


def table_rows(request: TuneRequest, learned: LearnedThreshold) -> list[tuple[str, str, str, str]]:
    """(threshold, reward, degradation, trials) of every candidate, the best one marked, for a table."""
    return [
        (
            f"{row.threshold:.2f}{' *' if row.threshold == learned.best else ''}",
            f"{row.reward:.3f}",
            f"{row.degradation:.3f}",
            str(row.trials),
        )
        for row in learned.table
    ]


def as_json(request: TuneRequest, learned: LearnedThreshold) -> dict[str, Any]:
    """Plain values with stable keys."""
    rows = [
        {
            "threshold": row.threshold,
            "reward": round(row.reward, 6),
            "throughput_degradation": round(row.degradation, 6),
            "trials": row.trials,
        }
        for row in learned.table
    ]
    return {"application": request.application, "threshold": request.threshold, "best": learned.best, "rewards": rows}


def write_page(request: TuneRequest, learned: LearnedThreshold, out: Path) -> Path:
    """Write a page with the rewards as a table and as a picture, and return its path."""
    path = out / f"tune-{request.application}-{request.threshold}.html"
    return write_threshold_page(f"{request.threshold} of {request.application}", learned, path)


def _run(request: TuneRequest, threshold: float, seed: int) -> RunRequest:
    text = f"elysium:{request.threshold}={threshold:g}"
    return RunRequest(request.application, text, request.load, request.duration_s, seed)


def _degradation(request: TuneRequest, threshold: float, trial: int) -> float:
    seed = request.seed + trial
    run = _run(request, threshold, seed)
    journal = MemoryJournal()
    simulate(run, journal, world_settings=WorldSettings(seed, noise=0.02, pauses=_COSTS[request.costs]))
    return measure(journal.entries()).throughput_degradation or 0.0
