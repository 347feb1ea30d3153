"""Nothing lost, nothing twice: a stateful application is changed at random and, if asked, has processes killed.

Usage: python -m benchmarks.live.exactly_once [--changes 20] [--execution fused] [--kill-executors] [--kill-driver]

Parallelism of every operator and the number of executors are changed through the actuator while the load runs. Then the
load ends, and what it held is known from the event numbers alone, so every key's final count and sum of event numbers
must be exactly those. With --kill-executors one executor is killed every 20 s. With --kill-driver the whole run
happens in child processes that are killed in the middle of state rescales, at every step in turn, and started again.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.live.testbed import (
    SEED,
    Live,
    Setup,
    counting_pipeline,
    keep,
    live,
    say,
    schedule,
    session,
    wait_until,
)

from penstock.errors import ActionFailed
from penstock.model import Configuration
from penstock.spark.completion import SourceLoad
from penstock.spark.source import LoadOptions, encode_schedule, read_events
from penstock.workloads.curves import Constant

NAME = "counting"
START = {"numbers": 1, "check": 2, "count": 2}
MOST = {"numbers": 2, "check": 4, "count": 4}
EXECUTORS = (1, 3)
KILL_EVERY_S = 20.0
DRAIN_S = 600.0
CRASH_STEPS = ("stopped", "intent", "repartitioned", "started")
"""The steps of a state rescale after which the driver is killed, in turn. `stopped`: while the state is rewritten."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run, described such that a process that takes it up again finds everything in the folder."""

    folder: Path
    execution: str
    rate_per_s: float
    duration_s: float
    changes: int
    kill_executors: bool
    seed: int

    @property
    def record(self) -> Path:
        """What was changed, one line each."""
        return self.folder / "changes.jsonl"

    def load(self) -> SourceLoad:
        path = self.folder / "epoch.json"
        if not path.exists():
            path.write_text(json.dumps(time.time() + 3.0))
        end = self.folder / "end.json"
        duration_s = json.loads(end.read_text()) if end.exists() else None
        return SourceLoad(schedule(Constant(self.rate_per_s)), json.loads(path.read_text()), duration_s)

    def end_load(self, at_s: float) -> None:
        """Have the load end at that time: nothing is due later."""
        (self.folder / "end.json").write_text(json.dumps(at_s))

    def target(self) -> Configuration:
        """The configuration last asked for."""
        path = self.folder / "target.json"
        kept: dict[str, Any] = {"parallelism": START, "workers": 2}
        if path.exists():
            kept = json.loads(path.read_text())
        return Configuration({NAME: kept["parallelism"]}, kept["workers"])

    def aim(self, target: Configuration) -> None:
        aside = self.folder / "target.tmp"
        aside.write_text(json.dumps({"parallelism": dict(target.parallelism[NAME]), "workers": target.workers}))
        aside.rename(self.folder / "target.json")

    def done(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.record.read_text().splitlines()] if self.record.exists() else []


def targets(trial: Trial, current: Configuration) -> Iterator[Configuration]:
    """Random configurations, each other than the one before; now and then executors, or all operators at once."""
    # A run that was taken up again must not repeat the changes of its beginning.
    draw = random.Random(trial.seed * 1000 + len(trial.done()))
    operators = list(START)
    for number in range(1, 1_000_000):
        parallelism, workers = dict(current.parallelism[NAME]), current.workers
        chosen = [draw.choice([*operators, "count"])]
        if number % 3 == 0:
            chosen = ["executors"] if number % 2 else operators
        for name in chosen:
            if name == "executors":
                workers = draw.choice([n for n in range(EXECUTORS[0], EXECUTORS[1] + 1) if n != workers])
            else:
                parallelism[name] = draw.choice([n for n in range(1, MOST[name] + 1) if n != parallelism[name]])
        current = Configuration({NAME: parallelism}, workers)
        yield current


def run(trial: Trial) -> None:
    """Run, or take up, a trial until all events of its load are processed."""
    start = trial.target()
    with session(trial.folder, start.workers, EXECUTORS[1]) as (spark, cluster):
        pipeline, most = counting_pipeline(), EXECUTORS[1]
        setup = Setup(pipeline, trial.execution, trial.folder, trial.load(), start, most, trigger_s=0.3)
        with live(setup, spark, cluster) as at_work:
            killed: list[int] = []
            ended = threading.Event()
            if trial.kill_executors:
                threading.Thread(target=_kill_executors, args=(cluster.marker, killed, ended), daemon=True).start()
            _change(trial, at_work, start)
            ended.set()
            if setup.load.duration_s is None:
                at_work.running.stop()
                trial.end_load(at_work.clock.now_s())
                setup.load = trial.load()
                at_work.running.start()
            wait_until(lambda: _complete(at_work, setup.load), DRAIN_S, "The end of the load")
            (trial.folder / "killed.json").write_text(json.dumps(len(killed)))


def _change(trial: Trial, at_work: Live, start: Configuration) -> None:
    """Change the application at random until the load has ended and changes are enough."""
    # The load begins before the first batch is done, which on a busy machine takes a while.
    end_s = at_work.clock.now_s() + trial.duration_s * (1.0 - len(trial.done()) / max(1, trial.changes))
    gap_s = max(0.5, trial.duration_s / max(1, trial.changes) - 6.0)
    for target in targets(trial, start):
        done = sum(not change["failed"] for change in trial.done())
        if at_work.clock.now_s() > end_s and done >= trial.changes:
            return
        at_work.supervisor.look()
        trial.aim(target)
        error = None
        try:
            actions = at_work.actuator.apply(target, ())
        except ActionFailed as failure:
            actions, error = (), str(failure).splitlines()[0]
        line: dict[str, Any] = {
            "at_s": round(at_work.clock.now_s(), 1),
            "what": [action.what for action in actions],
            "levels": [str(action.level) for action in actions],
            "pause_s": [round(action.pause_s, 2) for action in actions],
            "failed": error,
        }
        with trial.record.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        say(f"  {line['at_s']:6.1f} s  {', '.join(line['what']) or error}  {line['levels']} {line['pause_s']}")
        time.sleep(gap_s)


def _complete(at_work: Live, load: SourceLoad) -> bool:
    at_work.supervisor.look()
    return at_work.running.position().get("numbers", 0) >= load.due(time.time()) > 0


def executor_pids(marker: str) -> list[int]:
    """The executors of the cluster with that marker, youngest last."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if marker.encode() in command and b"CoarseGrainedExecutorBackend" in command:
            found.append(int(entry.name))
    return sorted(found)


def _kill_executors(marker: str, killed: list[int], ended: threading.Event) -> None:
    while not ended.wait(KILL_EVERY_S):
        for pid in executor_pids(marker)[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
            say(f"          executor {pid} killed")


def run_with_crashes(trial: Trial, crashes: int) -> list[str]:
    """Run a trial in child processes of which `crashes` are killed in state rescales; return where they were."""
    at: list[str] = []
    while True:
        child = subprocess.Popen([sys.executable, "-m", "benchmarks.live.exactly_once", *_child_arguments(trial)])
        step = CRASH_STEPS[len(at) % len(CRASH_STEPS)] if len(at) < crashes else None
        while child.poll() is None:
            if step is not None and _in_rescale(trial.folder / "intents.jsonl", step):
                child.send_signal(signal.SIGKILL)
                child.wait()
                at.append(step)
                say(f"  driver killed after step '{step}' of a state rescale")
                break
            time.sleep(0.002)
        else:
            if child.returncode != 0:
                raise ActionFailed(f"A driver that was not killed ended with {child.returncode}.")
            return at


def _in_rescale(intents: Path, step: str) -> bool:
    """Whether the newest line says that a state rescale has come to `step` and is not recovered from a crash."""
    if not intents.exists():
        return False
    lines = intents.read_bytes().splitlines()[-1:]
    try:
        newest = json.loads(lines[0]) if lines else {}
    except ValueError:
        return False
    return bool(newest.get("level") == "state" and newest.get("step") == step)


def _child_arguments(trial: Trial) -> list[str]:
    arguments = ["--child", str(trial.folder), "--execution", trial.execution, "--changes", str(trial.changes)]
    arguments += ["--rate", str(trial.rate_per_s), "--duration", str(trial.duration_s), "--seed", str(trial.seed)]
    return [*arguments, "--kill-executors"] if trial.kill_executors else arguments


def expected(load: SourceLoad) -> dict[int, tuple[int, int]]:
    """Count and sum of event numbers of every key."""
    options = LoadOptions(encode_schedule(load.schedule), load.epoch_s, "numbers", SEED, duration_s=load.duration_s)
    total = load.due(time.time())
    counts: Counter[int] = Counter()
    sums: Counter[int] = Counter()
    for batch in read_events(options, 0, total):
        keys, events = batch.column("key").to_numpy(), batch.column("event_id").to_numpy()
        for key in np.unique(keys):
            mine = events[keys == key]
            counts[int(key)] += len(mine)
            sums[int(key)] += int(mine.sum())
    return {key: (counts[key], sums[key]) for key in counts}


def found(sink: Path) -> dict[int, tuple[int, int]]:
    """The last count and sum of every key in the folders of batches."""
    import pyarrow.parquet as pq

    latest: dict[int, tuple[int, int]] = {}
    for folder in sorted(sink.glob("batch-*")):
        for file in folder.glob("*.parquet"):
            for row in pq.ParquetFile(file).read().to_pylist():
                latest[row["key"]] = (row["count"], row["total"])
    return latest


def verify(trial: Trial) -> dict[str, Any]:
    """Compare what the sink holds with what the load has generated."""
    wanted, seen = expected(trial.load()), found(trial.folder / "run" / "sinks" / "counts")
    done = trial.done()
    levels = Counter(level for change in done for level in change["levels"])
    killed, revived = trial.folder / "killed.json", trial.folder / "revived.txt"
    return {
        "execution": trial.execution,
        "events": sum(count for count, _ in wanted.values()),
        "counted": sum(count for count, _ in seen.values()),
        "lost": sum(max(0, count - seen.get(key, (0, 0))[0]) for key, (count, _) in wanted.items()),
        "twice": sum(max(0, count - wanted.get(key, (0, 0))[0]) for key, (count, _) in seen.items()),
        "wrong_sums": sum(seen.get(key, (0, 0))[1] != total for key, (_, total) in wanted.items()),
        "changes": sum(not change["failed"] for change in done),
        "actions": sum(levels.values()),
        "levels": dict(levels),
        "failed_changes": [change["failed"] for change in done if change["failed"]],
        "executors_killed": json.loads(killed.read_text()) if killed.exists() else 0,
        "queries_revived": revived.read_text().splitlines() if revived.exists() else [],
        "load_lasted_s": round(trial.load().duration_s or 0.0),
        "batches": len(list((trial.folder / "run" / "sinks" / "counts").glob("batch-*"))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=20)
    parser.add_argument("--execution", choices=("fused", "pipelined"), default="fused")
    parser.add_argument("--rate", type=float, default=400.0)
    parser.add_argument("--duration", type=float, default=180.0)
    parser.add_argument("--kill-executors", action="store_true")
    parser.add_argument("--kill-driver", type=int, nargs="?", const=4, default=0, metavar="TIMES")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"))
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = given.child or Path(tempfile.mkdtemp(prefix="exactly-once-"))
    trial = Trial(folder, given.execution, given.rate, given.duration, given.changes, given.kill_executors, given.seed)
    if given.child is not None:
        run(trial)
        return
    crashes: list[str] = []
    if given.kill_driver:
        crashes = run_with_crashes(trial, given.kill_driver)
    else:
        run(trial)
    result = {**verify(trial), "driver_killed_after": crashes}
    variant = "-kill-driver" if given.kill_driver else "-kill-executors" if given.kill_executors else ""
    keep(f"exactly_once-{given.execution}{variant}", result, given.out)
    say(json.dumps(result, indent=1))
    shutil.rmtree(folder, ignore_errors=True)
    if result["lost"] or result["twice"] or result["wrong_sums"]:
        sys.exit("Events were lost or counted twice.")


if __name__ == "__main__":
    main()
