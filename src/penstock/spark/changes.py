"""What leads from one configuration to another on the cluster, in which order, and what it keeps waiting."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.control.actions import Level
from penstock.model import Configuration
from penstock.spark.compiler import SegmentPlan
from penstock.spark.progress import ExecutorRecord


@dataclass(frozen=True, slots=True)
class ExecutorsChange:
    """The cluster goes from `before` to `after` executors."""

    before: int
    after: int

    def __str__(self) -> str:
        return f"executors {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class SegmentChange:
    """One segment goes from one parallelism to another, all its changes at once, at the deepest level any needs."""

    application: str
    segment: str
    level: Level
    before: Mapping[str, int]
    after: Mapping[str, int]

    def __str__(self) -> str:
        changed = (f"{name} {self.before[name]} -> {n}" for name, n in self.after.items() if self.before[name] != n)
        return ", ".join(changed)


Planned: TypeAlias = ExecutorsChange | SegmentChange


def plan_actions(
    current: Configuration, target: Configuration, plans: Mapping[str, Sequence[SegmentPlan]]
) -> tuple[Planned, ...]:
    """What leads from one configuration to the other, in the order in which it should be done.

    What changes hot goes before what pauses a segment. Executors are added in between, so that nobody pauses until they
    have come, and removed last, when fewer tasks want them. Operators that share one number get the largest asked for
    (see `SegmentPlan.resolve`), so a target may ask for differences that make no change. Placement is Spark's affair.
    """
    changes = [
        SegmentChange(application, plan.name, level, before, after)
        for application, segments in plans.items()
        for plan in segments
        for before in [plan.resolve(current.parallelism[application])]
        for after in [plan.resolve(target.parallelism[application])]
        for level in [plan.level(before, after)]
        if level is not None
    ]
    changes.sort(key=lambda change: list(Level).index(change.level))
    executors = ExecutorsChange(current.workers, target.workers)
    if executors.after > executors.before:
        hot = [change for change in changes if change.level is Level.HOT]
        return (*hot, executors, *changes[len(hot) :])
    if executors.after < executors.before:
        return (*changes, executors)
    return tuple(changes)


def choose_victims(
    executors: Sequence[ExecutorRecord], count: int, order: Mapping[str, int], state_bytes: Mapping[str, float]
) -> tuple[str, ...]:
    """The executors to give up: those with a place in `order`, then those that hold least state, then the newest."""
    ranked = sorted(
        executors,
        key=lambda e: (order.get(e.name, len(order)), state_bytes.get(e.name, 0.0), e.running_tasks, -e.added_at_s),
    )
    return tuple(executor.name for executor in ranked[: max(count, 0)])


@dataclass(frozen=True, slots=True)
class Pause:
    """A time in which a reconfiguration kept an application from working."""

    application: str
    start_s: float
    end_s: float


def overlap_s(pauses: Iterable[Pause], start_s: float, end_s: float) -> float:
    """The time between `start_s` and `end_s` that lies in any of the pauses."""
    total_s, reached_s = 0.0, start_s
    for pause in sorted(pauses, key=lambda pause: pause.start_s):
        total_s += max(0.0, min(pause.end_s, end_s) - max(pause.start_s, reached_s))
        reached_s = max(reached_s, pause.end_s)
    return total_s
