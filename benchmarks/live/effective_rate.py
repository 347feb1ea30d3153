"""The claim behind effective rates: they tell beforehand at which parallelism an application just sustains a load.

Usage: python -m benchmarks.live.effective_rate [--rate 600] [--service-ms 2] [--window 25]

Two operators that wait per row run fused (they take turns) and pipelined (side by side). With more instances than
needed their effective rates are measured, and load over effective rate, rounded up, is the prediction. Then instances
are taken away one by one until the application no longer keeps up: the last number that did is the measured one. It
keeps up when it completes at least 97 % of what arrives and its backlog does not grow by a second's worth of load.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.live.testbed import Live, Setup, keep, live, say, schedule

from penstock.analysis import application_rates
from penstock.model import Configuration, Observation
from penstock.spark.applications.synthetic import synthetic
from penstock.spark.cluster import LocalCluster
from penstock.spark.completion import SourceLoad
from penstock.spark.monitor import SparkMonitor
from penstock.spark.session import start_session, stop_session
from penstock.workloads.curves import Constant

SLOTS = 12
MOST = 6
SETTLE_S = 12.0
OPERATORS = ("wait-1", "wait-2")


def observed(monitor: SparkMonitor, seconds: float) -> list[Observation]:
    """What happens in the next `seconds`, in windows of 5 s."""
    monitor.observe()
    end_s = time.monotonic() + seconds
    found = []
    while time.monotonic() < end_s:
        time.sleep(5.0)
        found.append(monitor.observe())
    return found


def sustains(windows: list[Observation], rate_per_s: float) -> bool:
    seen = [window.applications["synthetic"] for window in windows]
    arrived, completed = sum(a.arrived or 0 for a in seen), sum(a.completed or 0 for a in seen)
    first, last = seen[0].backlog or 0.0, seen[-1].backlog or 0.0
    say(f"    arrived {arrived:.0f}, completed {completed:.0f}, backlog {first:.0f} -> {last:.0f}")
    return completed >= 0.97 * arrived and last - first < rate_per_s


def set_instances(at_work: Live, instances: Mapping[str, int]) -> None:
    target = {"source": 1, **instances}
    at_work.actuator.apply(Configuration({"synthetic": target}, 1), ())
    time.sleep(SETTLE_S)


def predict(at_work: Live, monitor: SparkMonitor, rate_per_s: float, window_s: float) -> dict[str, int]:
    rates = application_rates(at_work.running.topology, observed(monitor, window_s)).operators
    found = {name: rates[name] for name in OPERATORS}
    for name, rate in found.items():
        say(f"    {name}: true {rate.true_rate_per_s or 0:.0f}/s, effective {rate.effective_rate_per_s or 0:.0f}/s")
    return {name: math.ceil(rate_per_s / (rate.rate_per_s or math.nan)) for name, rate in found.items()}


def measure(at_work: Live, monitor: SparkMonitor, start: int, rate_per_s: float, window_s: float) -> int | None:
    """The least number of instances of every operator that keeps up."""
    least = None
    for instances in range(start, 0, -1):
        set_instances(at_work, dict.fromkeys(OPERATORS, instances))
        say(f"  {instances} instances each")
        if not sustains(observed(monitor, window_s), rate_per_s):
            return least
        least = instances
    return least


def trial(execution: str, rate_per_s: float, service_ms: float, window_s: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="effective-") as name, LocalCluster(SLOTS) as cluster:
        folder = Path(name)
        spark = start_session(cluster, "effective", folder / "session")
        try:
            pipeline = synthetic({"service_ms": str(service_ms), "stateful": "no", "max": str(MOST), "sink": "noop"})
            start = {"source": 1, **dict.fromkeys(OPERATORS, MOST)}
            load = SourceLoad(schedule(Constant(rate_per_s)), time.time() + 10.0)
            setup = Setup(pipeline, execution, folder, load, Configuration({"synthetic": start}, 1), 1, trigger_s=1.0)
            with live(setup, spark, cluster) as at_work:
                time.sleep(SETTLE_S)
                monitor = at_work.monitor()
                predicted = predict(at_work, monitor, rate_per_s, window_s)
                say(f"  predicted: {predicted}")
                # Pipelined or fused, both operators cost the same, so the larger prediction is that of both.
                first = min(MOST, max(predicted.values()) + 1)
                measured = measure(at_work, monitor, first, rate_per_s, window_s)
        finally:
            stop_session(spark)
    return {"execution": execution, "predicted": predicted, "measured": measured}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=600.0)
    parser.add_argument("--service-ms", type=float, default=2.0)
    parser.add_argument("--window", type=float, default=25.0)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    given = parser.parse_args()
    results: dict[str, Any] = {"rate_per_s": given.rate, "service_ms": given.service_ms}
    for execution in ("fused", "pipelined"):
        say(execution)
        results[execution] = trial(execution, given.rate, given.service_ms, given.window)
        keep("effective_rate", results, given.out)
        say(f"  predicted {results[execution]['predicted']}, measured {results[execution]['measured']}")


if __name__ == "__main__":
    main()
