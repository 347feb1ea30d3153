"""What a batch takes when Spark and its Python workers talk through files, and when they talk through the network.

Usage: python -m benchmarks.live.python_sockets [--rounds 2] [--rate 20]

`top-words` on one executor with one instance of every operator, batches of 3 s, in turns.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.live.pauses import settle
from benchmarks.live.testbed import Setup, keep, live, say, schedule, session

from penstock.model import Configuration
from penstock.spark.applications.registry import spark_pipeline
from penstock.spark.completion import SourceLoad
from penstock.workloads.curves import Constant

NAME = "top-words"
BATCHES = 12
WARM_UP = 5
WAYS = {"files": {}, "network": {"spark.python.unix.domain.socket.enabled": "false"}}


def batch_ms(way: str, rate: float) -> float:
    """The median of the last batches."""
    pipeline = spark_pipeline(NAME)
    start = Configuration({NAME: {operator.name: 1 for operator in pipeline.topology("fused").operators}}, 1)
    with (
        tempfile.TemporaryDirectory(prefix="sockets-") as name,
        session(Path(name), 1, 1, conf=WAYS[way]) as (spark, own),
    ):
        load = SourceLoad(schedule(Constant(rate)), time.time() + 2.0)
        with live(Setup(pipeline, "fused", Path(name), load, start, 1, trigger_s=3.0), spark, own) as at_work:
            settle(at_work, WARM_UP + BATCHES)
            (segment,) = at_work.running.segments.values()
            assert segment.query is not None
            taken = [progress["durationMs"]["triggerExecution"] for progress in segment.query.recentProgress[-BATCHES:]]
    return float(statistics.median(taken))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    given = parser.parse_args()
    found: list[dict[str, Any]] = []
    for _ in range(given.rounds):
        one = {way: batch_ms(way, given.rate) for way in WAYS}
        found.append(one)
        said = ", ".join(f"{way} {median_ms:.0f} ms" for way, median_ms in one.items())
        say(f"  {said}, ratio {one['files'] / one['network']:.2f}")
    keep("python_sockets", {"rate_per_s": given.rate, "rounds": found}, given.out)


if __name__ == "__main__":
    main()
