"""The simulator against reality: the same application, load and policy, simulated with measured costs and run live.

Usage: python -m benchmarks.live.simulated_and_real [--policy ds2] [--low 150] [--high 700] [--duration 180]

The live run comes first. Its journal gives the cost of every operator (mean true rate, by busy time), the fixed part of
a batch and the pauses; with these the run is simulated. Throughput and workers over time go side by side into one
picture. Printed is the mean absolute difference, of throughput (over 20 s) as a share of the mean load, and of workers.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from benchmarks.live.reaction import Step, reaction, run
from benchmarks.live.testbed import keep, say

from penstock.analysis import application_rates
from penstock.control import Acted, ControlLoop, Entry, Level, Observed, Plant, Ports, Started
from penstock.policies import policy as make_policy
from penstock.service.live import BATCH_S
from penstock.simulation import World, WorldSettings
from penstock.simulation.settings import Pauses
from penstock.stores import MemoryJournal
from penstock.workloads import Application, parse_load
from penstock.workloads.application import OperatorCost

SMOOTH_S = 20.0
Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def measured_application(entries: Sequence[Entry]) -> Application:
    """The application as the live run has shown it."""
    started = next(entry for entry in entries if isinstance(entry, Started))
    (topology,) = started.topologies
    rates = application_rates(topology, [entry.observation for entry in entries if isinstance(entry, Observed)])
    costs = {}
    for operator in topology.operators:
        found = rates.operators[operator.name]
        say(f"  {operator.name:10} {found.true_rate_per_s or 0.0:10.0f} events/s and instance")
        # What was never seen at work costs next to nothing.
        costs[operator.name] = OperatorCost(rate_per_s=found.true_rate_per_s or 1e6)
    return Application(topology, costs, "as measured", "a live run", 0.0, 1e6, started.cluster)


def measured_pauses(entries: Sequence[Entry]) -> Pauses:
    actions = [action for entry in entries if isinstance(entry, Acted) for action in entry.actions]

    def mean(level: Level, otherwise: float) -> float:
        pauses = [action.pause_s for action in actions if action.level is level and action.application]
        return float(np.mean(pauses)) if pauses else otherwise

    default = Pauses()
    return Pauses(restart_s=mean(Level.RESTART, default.restart_s), state_s=mean(Level.STATE, default.state_s))


def start_up_s(entries: Sequence[Entry]) -> float:
    """How long executors took to come: from asking for them to the first observation in which they are there."""
    waits = []
    for number, entry in enumerate(entries):
        if isinstance(entry, Acted) and any(a.application is None and a.pause_s == 0 for a in entry.actions):
            came = (e.at_s for e in entries[number:] if isinstance(e, Observed))
            there = (len(e.observation.workers) for e in entries[number:] if isinstance(e, Observed))
            waits += [at_s - entry.at_s for at_s, n in zip(came, there, strict=True) if n == entry.target.workers][:1]
    return float(np.median(waits)) if waits else WorldSettings().start_up_s


def batch_overhead_s(entries: Sequence[Entry], step: Step) -> float:
    """The fixed part of a batch, from the time before the step, when the load is low and nothing queues.

    An event waits for half a trigger interval, or half a batch where batches are longer, and then for its own batch.
    """
    found = []
    for entry in entries:
        seen = entry.observation.applications[step.name] if isinstance(entry, Observed) else None
        if seen is None or seen.latency is None or entry.at_s > step.at_s:
            continue
        shares = [o.parallel_share for o in seen.operators.values() if o.parallel_share is not None]
        batch_s = max(seen.latency.p50_s - step.trigger_s / 2, seen.latency.p50_s / 1.5)
        found += [batch_s * (1.0 - max(shares))] if shares else []
    return float(np.median(found)) if found else WorldSettings().batch_overhead_s


def simulated(entries: Sequence[Entry], policy: str, step: Step) -> list[Entry]:
    """The same run in virtual time."""
    started = next(entry for entry in entries if isinstance(entry, Started))
    application = measured_application(entries)
    curve = parse_load(step.load, step.low_per_s, step.high_per_s, step.duration_s)
    overhead_s = batch_overhead_s(entries, step)
    say(f"  {overhead_s:.2f} s of every batch are fixed")
    settings = WorldSettings(
        pauses=measured_pauses(entries),
        start_up_s=start_up_s(entries),
        batch_overhead_s=overhead_s,
        batch_limit=BATCH_S * step.high_per_s,
    )
    world = World([(application, curve)], started.cluster, started.initial, settings)
    plant = Plant({application.name: application.topology}, started.cluster, started.objectives)
    journal = MemoryJournal()
    loop = ControlLoop(plant, make_policy(policy), Ports(world, world, world, journal), started.settings)
    loop.begin({**started.run, "live": "false"})
    loop.run(step.duration_s)
    return list(journal.entries())


def series(entries: Sequence[Entry], step: Step) -> dict[str, Numbers]:
    """Load, throughput and workers every second, each averaged over `SMOOTH_S`.

    Rates are differences of what has arrived or been completed in all: micro-batches come in lumps, and a window of
    observation may hold two of them or none.
    """
    windows = [e.observation for e in entries if isinstance(e, Observed) and e.observation.at_s <= step.duration_s]
    at_s = np.array([0.0, *(window.at_s for window in windows)])
    seen = [window.applications[step.name] for window in windows]
    grid = np.arange(0.0, step.duration_s + 1.0)
    half = int(SMOOTH_S / 2)

    def rate(counts: Sequence[float]) -> Numbers:
        total = np.interp(grid, at_s, np.cumsum([0.0, *counts]))
        first, last = np.maximum(0, np.arange(len(grid)) - half), np.minimum(len(grid) - 1, np.arange(len(grid)) + half)
        return np.asarray((total[last] - total[first]) / (grid[last] - grid[first]))

    workers = np.array([float(len(windows[0].workers)), *(float(len(window.workers)) for window in windows)])
    return {
        "at_s": grid,
        "load": rate([a.arrived or 0.0 for a in seen]),
        "throughput": rate([a.completed or 0.0 for a in seen]),
        "workers": workers[np.searchsorted(at_s, grid).clip(max=len(at_s) - 1)],
    }


def difference(live: Sequence[Entry], virtual: Sequence[Entry], step: Step) -> dict[str, float]:
    """Mean absolute differences between the two runs: throughput relative to the mean load, and workers."""
    one, other = series(live, step), series(virtual, step)
    throughput = np.abs(one["throughput"] - other["throughput"]).mean() / one["load"].mean()
    return {
        "throughput_mean_error": round(float(throughput), 3),
        "workers_mean_error": round(float(np.abs(one["workers"] - other["workers"]).mean()), 2),
    }


def plot(live: Sequence[Entry], virtual: Sequence[Entry], step: Step, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(9, 6), layout="constrained")
    for name, entries, style in (("live", live, "-"), ("simulated", virtual, "--")):
        found = series(entries, step)
        above.plot(found["at_s"], found["throughput"], style, label=f"throughput, {name}")
        below.step(found["at_s"], found["workers"], style, where="post", label=f"workers, {name}")
    above.plot(found["at_s"], found["load"], ":", color="grey", label="load")
    above.set_ylabel(f"events per second, over {SMOOTH_S:g} s")
    below.set_ylabel("workers")
    below.set_xlabel("seconds")
    for axes in (above, below):
        axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="ds2")
    parser.add_argument("--low", type=float, default=150.0)
    parser.add_argument("--high", type=float, default=700.0)
    parser.add_argument("--duration", type=float, default=180.0)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    given = parser.parse_args()
    step = Step(given.low, given.high, given.duration)
    with tempfile.TemporaryDirectory(prefix="real-") as name:
        live = run(given.policy, step, Path(name))
    virtual = simulated(live, given.policy, step)
    result: dict[str, Any] = {"policy": given.policy, "load": step.load, **difference(live, virtual, step)}
    kinds = {"live": live, "simulated": virtual}
    result["reaction"] = {name: reaction(entries, step) for name, entries in kinds.items()}
    keep(f"simulated_and_real-{given.policy}", result, given.out)
    plot(live, virtual, step, given.out / f"simulated_and_real-{given.policy}.png")
    for name, found in result["reaction"].items():
        say(f"{name:10} { {key: value for key, value in found.items() if key != 'windows'} }")
    say(f"throughput differs by {result['throughput_mean_error']:.1%} of the load on average")
    say(f"workers differ by {result['workers_mean_error']:.2f} on average")


if __name__ == "__main__":
    main()
