"""How long an application pauses when it is changed: hot, by a restart, and by a rewrite of its state.

Usage: python -m benchmarks.live.pauses [--repetitions 20] [--large-repetitions 20] [--rows 1000000]

ELYSIUM reports 5 to 8 s for a rebalance of Storm, in which the whole topology stands still. The pause of a hot change
is not taken from the actuator, which knows it to be 0, but from the query: by how much the distance between the two
commits around the change exceeds the usual one.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.live.testbed import Live, Setup, counting_pipeline, keep, live, say, schedule, session, wait_until

from penstock.model import Configuration
from penstock.spark.checkpoints import last_committed
from penstock.spark.completion import SourceLoad
from penstock.spark.status import batches_of_run
from penstock.workloads.curves import Constant, Curve, Sum

START = {"numbers": 1, "check": 2, "count": 2}
CHANGES: Mapping[str, tuple[str, int, int]] = {
    "hot": ("check", 2, 3),
    "restart": ("numbers", 1, 2),
    "state": ("count", 2, 3),
}
RATE_PER_S = 300.0
STORM_REBALANCE_S = (5.0, 8.0)
PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Burst:
    """`events` in the first `length_s` seconds and nothing later."""

    events: int
    length_s: float

    def rate_per_s(self, at_s: float) -> float:
        return self.events / self.length_s if at_s < self.length_s else 0.0


@dataclass
class Measured:
    """Pauses and durations of one kind of change."""

    pauses_s: list[float] = field(default_factory=list)
    durations_s: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        return {
            "repetitions": len(self.pauses_s),
            "pause_median_s": round(statistics.median(self.pauses_s), 2),
            "pause_worst_s": round(max(self.pauses_s), 2),
            "duration_median_s": round(statistics.median(self.durations_s), 2),
            "duration_worst_s": round(max(self.durations_s), 2),
            "pauses_s": [round(pause, 2) for pause in self.pauses_s],
        }


def measure(at_work: Live, kind: str, repetitions: int) -> Measured:
    """Change one operator back and forth."""
    operator, low, high = CHANGES[kind]
    measured = Measured()
    for number in range(repetitions):
        settle(at_work, batches=4)
        wanted = {**START, operator: high if number % 2 == 0 else low}
        begin_s = time.time()
        (action,) = at_work.actuator.apply(Configuration({"counting": wanted}, 2), ())
        assert action.level == kind, action
        pause_s = _observed_pause_s(at_work, begin_s) if kind == "hot" else action.pause_s
        measured.pauses_s.append(pause_s)
        measured.durations_s.append(action.duration_s)
        say(f"  {kind:8} {action.what:16} pause {pause_s:5.2f} s, done in {action.duration_s:5.2f} s")
    if repetitions % 2:
        at_work.actuator.apply(Configuration({"counting": START}, 2), ())
    return measured


def settle(at_work: Live, batches: int) -> None:
    """Wait for a few batches of the last query, so that every change meets one at work."""
    *_, segment = at_work.running.segments.values()
    begin = last_committed(segment.checkpoint) or 0
    wait_until(lambda: (last_committed(segment.checkpoint) or 0) >= begin + batches, PATIENCE_S, "A batch")


def _observed_pause_s(at_work: Live, changed_s: float) -> float:
    """By how much the commits around `changed_s` are farther apart than the median of the five distances before."""
    query = at_work.running.segments["count"].query
    assert query is not None

    def commits() -> Sequence[float]:
        return [batch.committed_at_s for batch in batches_of_run(query)]

    wait_until(lambda: any(at_s > changed_s for at_s in commits()), PATIENCE_S, "A batch after the change")
    before = [at_s for at_s in commits() if at_s <= changed_s][-6:]
    after_s = next(at_s for at_s in commits() if at_s > changed_s)
    usual_s = statistics.median(second - first for first, second in pairwise(before))
    return max(0.0, after_s - before[-1] - usual_s)


def run(folder: Path, curve: Curve, keys: int | None, task: Callable[[Live], dict[str, Any]]) -> dict[str, Any]:
    with session(folder, 2, 2, memory="1g") as (spark, cluster):
        load = SourceLoad(schedule(curve), time.time() + 2.0)
        setup = Setup(counting_pipeline(keys), "fused", folder, load, Configuration({"counting": START}, 2), 2)
        with live(setup, spark, cluster) as at_work:
            return task(at_work)


def small(at_work: Live, repetitions: int) -> dict[str, Any]:
    return {kind: measure(at_work, kind, repetitions).summary() for kind in CHANGES}


def large(at_work: Live, repetitions: int, rows: int) -> dict[str, Any]:
    """The levels that pause, with many rows of state."""
    running = at_work.running
    wait_until(lambda: running.position().get("numbers", 0) >= rows, PATIENCE_S, f"State of {rows} rows")
    query = running.segments["count"].query
    assert query is not None
    progress: Any = query.lastProgress
    state_rows = progress["stateOperators"][0]["numRowsTotal"]
    say(f"  {state_rows} rows of state")
    return {
        f"{kind}_large": {"state_rows": state_rows, **measure(at_work, kind, repetitions).summary()}
        for kind in ("restart", "state")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--large-repetitions", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    given = parser.parse_args()
    result: dict[str, Any] = {"storm_rebalance_s": STORM_REBALANCE_S}
    with tempfile.TemporaryDirectory(prefix="pauses-") as name:
        result |= run(Path(name) / "small", Constant(RATE_PER_S), None, lambda at: small(at, given.repetitions))
        keep("pauses", result, given.out)
        if given.large_repetitions:
            curve = Sum((Burst(given.rows, 10.0), Constant(RATE_PER_S)))
            result |= run(
                Path(name) / "large", curve, given.rows, lambda at: large(at, given.large_repetitions, given.rows)
            )
    keep("pauses", result, given.out)
    say(f"{'level':12}{'n':>4}{'median':>9}{'worst':>9}   (Storm rebalance in ELYSIUM: 5 to 8 s)")
    for kind, found in result.items():
        if isinstance(found, dict):
            line = f"{found['repetitions']:>4}{found['pause_median_s']:>7.2f} s{found['pause_worst_s']:>7.2f} s"
            say(f"{kind:12}{line}")
    say(json.dumps(result))


if __name__ == "__main__":
    main()
