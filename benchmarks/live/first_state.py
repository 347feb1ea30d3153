"""How long an application pauses when its state first moves to executors that never kept any.

Usage: python -m benchmarks.live.first_state [--trials 6] [--rate 40]

`top-words` (16 ms of declared service per tweet) runs on one executor. In every trial two more come, then the
operators with state get a second instance, then all that is taken back. In odd trials the new executors work with state
once before the query is stopped, as the actuator always has it; in even ones they do not.
"""

import argparse
import statistics
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.live.pauses import settle
from benchmarks.live.testbed import Live, Setup, keep, live, say, schedule, session, wait_until

from penstock.model import Configuration
from penstock.spark.actuator import SparkActuator
from penstock.spark.applications.registry import spark_pipeline
from penstock.spark.completion import SourceLoad
from penstock.workloads.curves import Constant

NAME = "top-words"
EXECUTORS = 3
HOT = ("splitter", "stop-word-filter")
WITH_STATE = ("counter", "intermediate-ranker", "total-ranker")
PATIENCE_S = 120.0


def configuration(hot: int, with_state: int, executors: int) -> Configuration:
    instances = {"source": 1} | dict.fromkeys(HOT, hot) | dict.fromkeys(WITH_STATE, with_state)
    return Configuration({NAME: instances}, executors)


def trial(at_work: Live, primed: bool) -> dict[str, Any]:
    at_work.actuator.apply(configuration(EXECUTORS, 1, EXECUTORS))
    grown = f"{EXECUTORS} warm executors"
    wait_until(lambda: at_work.running.parallelism[HOT[0]] == EXECUTORS, PATIENCE_S, grown)
    settle(at_work, batches=4)
    with nullcontext() if primed else patch.object(SparkActuator, "_prime_state", lambda *_: None):
        (action,) = at_work.actuator.apply(configuration(EXECUTORS, 2, EXECUTORS))
    settle(at_work, batches=2)
    at_work.actuator.apply(configuration(1, 1, 1))
    settle(at_work, batches=4)
    say(f"  {'primed' if primed else 'not primed':10} paused {action.pause_s:5.1f} s of {action.duration_s:5.1f} s")
    return {"primed": primed, "pause_s": round(action.pause_s, 2), "duration_s": round(action.duration_s, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--rate", type=float, default=40.0)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    given = parser.parse_args()
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="first-state-") as name, session(Path(name), 1, EXECUTORS) as (spark, own):
        load = SourceLoad(schedule(Constant(given.rate)), time.time() + 2.0)
        pipeline = spark_pipeline(f"{NAME}:service_ms=16")
        setup = Setup(pipeline, "fused", Path(name), load, configuration(1, 1, 1), EXECUTORS, trigger_s=3.0)
        with live(setup, spark, own) as at_work:
            settle(at_work, batches=8)
            for number in range(given.trials):
                found.append(trial(at_work, number % 2 == 0))
                keep("first_state", {"rate_per_s": given.rate, "trials": found}, given.out)
    for primed in (True, False):
        pauses = [one["pause_s"] for one in found if one["primed"] is primed]
        if pauses:
            text = f"median {statistics.median(pauses):.1f} s, {min(pauses):.1f} to {max(pauses):.1f} s"
            say(f"{'primed' if primed else 'not primed':10} {text}")


if __name__ == "__main__":
    main()
