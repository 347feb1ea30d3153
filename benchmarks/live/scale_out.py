"""What more executors bring when the user asks for them: Stela against round robin, on three shapes.

Usage: python -m benchmarks.live.scale_out [--shapes star,linear,diamond] [--strategies etp,round-robin] [--rate 300]

Runs `penstock run synthetic:shape=...` pipelined, with an executor for every operator and more load than they can
carry, for each shape and strategy. After a while the user asks for three more executors. Printed is the throughput of
the time before (without the first seconds) and of the last 60 s.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.live.testbed import keep, run_penstock, say

from penstock.control import Acted, Entry, Observed

OPERATORS = {"linear": 2, "star": 3, "diamond": 4}
"""How many operators each shape has, two of them side by side where it has sides."""
ADDED = 3
SETTLED_S, ASKED_S, AFTER_S, DURATION_S = 15.0, 60.0, 100.0, 160.0


def run(shape: str, by: str, rate_per_s: float, service_ms: float, out: Path) -> list[Entry]:
    """One live run; all entries of its journal."""
    application = f"synthetic:shape={shape},operators=2,service_ms={service_ms:g},stateful=no"
    arguments = [application, "--policy", f"stela:by={by},window_s=40", "--execution", "pipelined"]
    arguments += ["--workers", str(OPERATORS[shape] + ADDED), "--request", f"{ASKED_S:g}:out:{ADDED}"]
    arguments += ["--load", f"constant:rate={rate_per_s:g}", "--duration", f"{DURATION_S:g}"]
    return run_penstock(arguments, out)


def completed_per_s(entries: Sequence[Entry], begin_s: float, end_s: float) -> float:
    """Mean throughput of the windows that lie between two times."""
    windows = [entry.observation for entry in entries if isinstance(entry, Observed)]
    seen = [w for w in windows if begin_s <= w.at_s - w.window_s and w.at_s <= end_s]
    total = sum(a.completed or 0.0 for w in seen for a in w.applications.values())
    return total / max(1e-9, sum(w.window_s for w in seen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="star,linear,diamond")
    parser.add_argument("--strategies", default="etp,round-robin")
    parser.add_argument("--rate", type=float, default=300.0)
    parser.add_argument("--service-ms", type=float, default=6.0)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    given = parser.parse_args()
    results: dict[str, Any] = {}
    for shape in given.shapes.split(","):
        for by in given.strategies.split(","):
            with tempfile.TemporaryDirectory(prefix="scale-out-") as name:
                entries = run(shape, by, given.rate, given.service_ms, Path(name))
            before = completed_per_s(entries, SETTLED_S, ASKED_S)
            after = completed_per_s(entries, AFTER_S, DURATION_S)
            changes = [a.what for entry in entries if isinstance(entry, Acted) for a in entry.actions]
            results[f"{shape}, {by}"] = {"before": round(before), "after": round(after), "changes": changes}
            keep("scale_out", results, given.out)
            say(f"{shape:8} {by:12} {before:.0f} -> {after:.0f} events/s ({'; '.join(changes)})")


if __name__ == "__main__":
    main()
