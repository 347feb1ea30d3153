"""How soon policies follow a step of the load: from the step to sustained throughput again, on a live application.

Usage: python -m benchmarks.live.reaction [--application synthetic] [--policies ds2,threshold] [--low 150] [--high 700]
                                          [--duration 180] [--trigger 0.5]

Runs the application under a step for each policy and reads its journal. The throughput is sustained again at
the end of the first window from which on the application completes, in the next 15 s, at least 95 % of what arrives,
and for good when the backlog that the step has built up is gone as well.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.live.testbed import keep, run_penstock, say

from penstock.control import Acted, Entry, Observed
from penstock.model import ApplicationObservation
from penstock.service.policy_list import split_policies

SUSTAINED = 0.95
SPAN_S = 15.0
"""Throughput is told over at least so long: a shorter window holds now one batch, now two."""


@dataclass(frozen=True, slots=True)
class Step:
    """The load, and how it is run."""

    low_per_s: float
    high_per_s: float
    duration_s: float
    period_s: float = 5.0
    application: str = "synthetic"
    trigger_s: float = 0.5

    @property
    def at_s(self) -> float:
        return round(self.duration_s / 3)

    @property
    def name(self) -> str:
        return self.application.split(":")[0]

    @property
    def load(self) -> str:
        return f"step:low={self.low_per_s:g},high={self.high_per_s:g},at={self.at_s:g}"


def run(policy: str, step: Step, out: Path, workers: int = 4) -> list[Entry]:
    """One live run; all entries of its journal."""
    arguments = [step.application, "--policy", policy, "--load", step.load, "--duration", f"{step.duration_s:g}"]
    return run_penstock(
        [*arguments, "--period", f"{step.period_s:g}", "--workers", str(workers), "--trigger", str(step.trigger_s)], out
    )


def reaction(entries: Sequence[Entry], step: Step) -> dict[str, Any]:
    """Seconds from the step to the first action, to sustained throughput, and to an empty backlog."""
    step_s = step.at_s
    windows = [entry.observation for entry in entries if isinstance(entry, Observed)]
    after = [(w.at_s, w.window_s, w.applications[step.name]) for w in windows if w.at_s - w.window_s >= step_s - 1]
    acted = [entry.at_s for entry in entries if isinstance(entry, Acted) and entry.at_s >= step_s and not entry.error]
    sustained = [after[i][0] for i in range(len(after)) if _keeps_up(after[i:])]
    drained = [
        at_s
        for at_s, _, a in after
        if sustained and at_s >= sustained[0] and (a.backlog or 0.0) <= 3.0 * (a.input_per_s or 0.0)
    ]
    return {
        "first_action_s": round(acted[0] - step_s, 1) if acted else None,
        "sustained_s": round(sustained[0] - step_s, 1) if sustained else None,
        "drained_s": round(drained[0] - step_s, 1) if drained else None,
        "actions": len([entry for entry in entries if isinstance(entry, Acted)]),
        "windows": [
            {
                "at_s": round(w.at_s, 1),
                "input_per_s": w.applications[step.name].input_per_s,
                "throughput_per_s": w.applications[step.name].throughput_per_s,
                "backlog": w.applications[step.name].backlog,
                "workers": len(w.workers),
            }
            for w in windows
        ],
    }


def _keeps_up(windows: Sequence[tuple[float, float, ApplicationObservation]]) -> bool:
    """Whether what arrives is completed, from the first of these windows on."""
    seconds = arrived = completed = 0.0
    for _, window_s, seen in windows:
        seconds, arrived, completed = (
            seconds + window_s,
            arrived + (seen.arrived or 0.0),
            completed + (seen.completed or 0.0),
        )
        if seconds >= SPAN_S:
            return completed >= SUSTAINED * arrived
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--application", default="synthetic")
    parser.add_argument("--policies", default="ds2,threshold")
    parser.add_argument("--low", type=float, default=150.0)
    parser.add_argument("--high", type=float, default=700.0)
    parser.add_argument("--duration", type=float, default=180.0)
    parser.add_argument("--trigger", type=float, default=0.5)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    given = parser.parse_args()
    step = Step(given.low, given.high, given.duration, application=given.application, trigger_s=given.trigger)
    results: dict[str, Any] = {"application": step.application, "load": step.load}
    for policy in split_policies(given.policies):
        with tempfile.TemporaryDirectory(prefix="reaction-") as name:
            results[policy] = reaction(run(policy, step, Path(name)), step)
        found = {name: value for name, value in results[policy].items() if name != "windows"}
        keep(f"reaction-{step.name}", results, given.out)
        say(f"{policy:12} {found}")


if __name__ == "__main__":
    main()
