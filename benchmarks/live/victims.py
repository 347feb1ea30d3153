"""What it costs to give up an executor: the one that Stela names against one at random, in turns.

Usage: python -m benchmarks.live.victims [--trials 20] [--rows 500000]

An application with `rows` rows of state in two partitions runs on four executors. In every trial one executor is given
up, in odd trials the one that policy `stela` names (the least ETP, then the least state), in even ones a random one.
The downtime is by how much the longest distance between two commits around the change exceeds the usual one. Then a
fourth executor is brought back and warms up for a while.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.live.pauses import Burst, settle
from benchmarks.live.testbed import Live, Setup, counting_pipeline, keep, live, say, schedule, session, wait_until

from penstock.model import Cluster, Configuration, Objectives, Observation, Reconfigure, ScaleRequest, View
from penstock.policies import policy
from penstock.spark.completion import SourceLoad
from penstock.spark.monitor import SparkMonitor
from penstock.spark.status import batches_of_run
from penstock.workloads.curves import Constant, Sum

NAME = "counting"
RATE_PER_S = 300.0
INSTANCES = {"numbers": 1, "check": 2, "count": 2}
EXECUTORS = 4
LOOK_S = 10.0
"""How long commits are followed before and after a change."""
WARM_UP_S = 20.0
PATIENCE_S = 300.0


def seen(monitor: SparkMonitor) -> Observation:
    monitor.observe()
    time.sleep(LOOK_S)
    return monitor.observe()


def victim(by: str, at_work: Live, observation: Observation, number: int) -> str:
    """Whom policy `stela` gives up when asked for one executor fewer; `random` has it choose by lot."""
    current = Configuration({NAME: INSTANCES}, EXECUTORS)
    pool = Cluster.homogeneous(EXECUTORS, 1)
    view = View(
        observation.at_s,
        {NAME: at_work.running.topology},
        pool,
        Objectives(),
        current,
        current,
        current,
        (observation,),
        (ScaleRequest(observation.at_s, -1),),
    )
    chosen = policy(f"stela:by={by},seed={number}")
    decision, _ = chosen.decide(view, chosen.start())
    assert isinstance(decision, Reconfigure), decision
    (name,) = decision.release
    return name


def downtime_s(at_work: Live, changed_s: float) -> float:
    """By how much the longest distance of commits in the seconds after `changed_s` exceeds the usual one before."""
    query = at_work.running.segments["count"].query
    assert query is not None

    def commits() -> list[float]:
        return [batch.committed_at_s for batch in batches_of_run(query)]

    wait_until(lambda: commits()[-1] > changed_s + LOOK_S, PATIENCE_S, "A batch after the change")
    known = commits()
    before = [at_s for at_s in known if at_s <= changed_s]
    usual_s = statistics.median(second - first for first, second in pairwise(before[-8:]))
    around = [before[-1], *(at_s for at_s in known if at_s > changed_s)]
    return max(0.0, max(second - first for first, second in pairwise(around)) - usual_s)


def trial(at_work: Live, monitor: SparkMonitor, by: str, number: int) -> dict[str, Any]:
    settle(at_work, batches=4)
    observation = seen(monitor)
    name = victim(by, at_work, observation, number)
    state_bytes = observation.workers[name].state_bytes or 0
    changed_s = time.time()
    at_work.actuator.apply(Configuration({NAME: INSTANCES}, EXECUTORS - 1), (name,))
    paused_s = downtime_s(at_work, changed_s)
    say(f"  {by:8} gives up {name} with {state_bytes / 1e6:5.1f} MB of state: {paused_s:5.2f} s")
    at_work.actuator.apply(Configuration({NAME: INSTANCES}, EXECUTORS), ())
    time.sleep(WARM_UP_S)
    return {"by": by, "state_bytes": state_bytes, "downtime_s": round(paused_s, 2)}


def summary(trials: list[dict[str, Any]]) -> dict[str, Mapping[str, float]]:
    found: dict[str, Mapping[str, float]] = {}
    for by in ("etp", "random"):
        times_s = [trial["downtime_s"] for trial in trials if trial["by"] == by]
        if times_s:
            found[by] = {
                "trials": len(times_s),
                "median_s": statistics.median(times_s),
                "mean_s": round(statistics.mean(times_s), 2),
                "least_s": min(times_s),
                "worst_s": max(times_s),
            }
    return found


def run(folder: Path, trials: int, rows: int, out: Path) -> None:
    curve = Sum((Burst(rows, 10.0), Constant(RATE_PER_S)))
    start = Configuration({NAME: INSTANCES}, EXECUTORS)
    with session(folder, EXECUTORS, EXECUTORS) as (spark, cluster):
        load = SourceLoad(schedule(curve), time.time() + 2.0)
        setup = Setup(counting_pipeline(rows), "fused", folder, load, start, EXECUTORS)
        with live(setup, spark, cluster) as at_work:
            running = at_work.running
            wait_until(lambda: running.position().get("numbers", 0) >= rows, PATIENCE_S, f"State of {rows} rows")
            time.sleep(WARM_UP_S)
            monitor = at_work.monitor()
            found: list[dict[str, Any]] = []
            for number in range(trials):
                found.append(trial(at_work, monitor, ("etp", "random")[number % 2], number))
                keep("victims", {"rows": rows, "summary": summary(found), "trials": found}, out)
    for by, figures in summary(found).items():
        say(f"{by:8} {figures}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="victims-") as name:
        run(Path(name), given.trials, given.rows, given.out)


if __name__ == "__main__":
    main()
