"""What stands between a decision and the cluster.

The guards are asked in the order of `GUARDS`. Each returns the target it lets pass, which may be a smaller
change than was asked for, or `Held` with a reason, which ends the round without an action:

1. `bounds`           clips every operator to its own least and greatest parallelism;
2. `quota`            clips the workers to the pool and the user's quota;
3. `block`            holds a change that was tried a while ago under such a load and made things worse;
4. `cool-down`        holds every change that follows an action too soon, except growth that follows a scale-down or
                      that a load calls for which has risen a lot since;
5. `excluded period`  holds every change in a period in which nothing may change;
6. `dry run`          holds every change;
7. `late scale-down`  gives up nothing that was needed within the last `scale_down_after_s`, unless that was for a load
                      which has fallen a lot since.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from penstock.control.settings import LoopSettings
from penstock.model import Change, Cluster, Configuration, Objectives, ParallelismChange, Topology, WorkersChange, diff

ANOTHER_LOAD = 0.25
"""A load that has changed by more than this share is another one: what was bad under the old may be good under it."""


@dataclass(frozen=True, slots=True)
class Held:
    """The change must wait."""

    because: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """Changes that made things worse under `loads_per_s` and must not be repeated under them before `until_s`."""

    changes: tuple[Change, ...]
    until_s: float
    loads_per_s: Mapping[str, float] = field(default_factory=dict)

    def holds(self, now_s: float, loads_per_s: Mapping[str, float]) -> bool:
        """Whether the time is not over and the load of no application has become another one."""
        common = self.loads_per_s.keys() & loads_per_s.keys()
        return now_s < self.until_s and all(
            abs(loads_per_s[name] - self.loads_per_s[name]) <= ANOTHER_LOAD * self.loads_per_s[name] for name in common
        )


@dataclass(frozen=True, slots=True)
class Need:
    """A target that was asked for at some time, under these loads."""

    at_s: float
    target: Configuration
    loads_per_s: Mapping[str, float] = field(default_factory=dict)

    def is_past(self, loads_per_s: Mapping[str, float]) -> bool:
        """Whether the loads that called for it have all become other ones, and lower."""
        before = self.loads_per_s
        if not before or before.keys() != loads_per_s.keys():
            return False
        return all(load < (1 - ANOTHER_LOAD) * before[name] for name, load in loads_per_s.items())


@dataclass(frozen=True, slots=True)
class Situation:
    """What the guards know: `needs` are the targets asked for lately, oldest first.

    `gave_up` is whether the last action only gave up instances or workers, and `acted_on_per_s` the loads it was for.
    """

    now_s: float
    topologies: Mapping[str, Topology]
    cluster: Cluster
    objectives: Objectives
    settings: LoopSettings
    requested: Configuration
    last_action_s: float | None = None
    needs: tuple[Need, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    loads_per_s: Mapping[str, float] = field(default_factory=dict)
    gave_up: bool = False
    acted_on_per_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def risen(self) -> bool:
        """Whether some load has become another one, and higher, since the last action."""
        before = self.acted_on_per_s
        return any(
            load > (1 + ANOTHER_LOAD) * before[name] for name, load in self.loads_per_s.items() if name in before
        )


Guard: TypeAlias = Callable[[Configuration, Situation], Configuration | Held]


def bounds(target: Configuration, situation: Situation) -> Configuration | Held:
    """Clip every operator to its own bounds."""
    clipped = {
        name: {
            operator: topology.operator(operator).clip(target.parallelism[name][operator])
            for operator in topology.names
        }
        for name, topology in situation.topologies.items()
    }
    return target if clipped == target.parallelism else replace(target, parallelism=clipped, placement=None)


def quota(target: Configuration, situation: Situation) -> Configuration | Held:
    """Clip the workers to the pool and to the user's quota."""
    pool = len(situation.cluster.workers)
    most = min(pool, situation.objectives.max_workers or pool)
    workers = min(max(target.workers, min(situation.objectives.min_workers, most)), most)
    return target if workers == target.workers else target.with_workers(workers)


def block(target: Configuration, situation: Situation) -> Configuration | Held:
    """Hold what repeats a change that made things worse, as long as the load is about the same."""
    for blocked in situation.blocked:
        if not blocked.holds(situation.now_s, situation.loads_per_s):
            continue
        for change in diff(situation.requested, target):
            if any(_repeats(change, earlier) for earlier in blocked.changes):
                return Held(f"{describe(change)} made things worse before and is blocked until {blocked.until_s:.0f} s")
    return target


def cool_down(target: Configuration, situation: Situation) -> Configuration | Held:
    """Hold what follows an action too soon.

    But what turns out to be needed need not wait for what was given up, nor for what was added for a lower load.
    """
    if situation.last_action_s is None:
        return target
    if (situation.gave_up or situation.risen) and only_grows(situation.requested, target):
        return target
    ends_s = situation.last_action_s + situation.settings.cooldown_s
    return Held(f"the last action was at {situation.last_action_s:.0f} s") if situation.now_s < ends_s else target


def excluded_periods(target: Configuration, situation: Situation) -> Configuration | Held:
    """Hold what falls into an excluded period."""
    for start_s, end_s in situation.settings.excluded:
        if start_s <= situation.now_s < end_s:
            return Held(f"nothing may change from {start_s:g} to {end_s:g} s")
    return target


def dry_run(target: Configuration, situation: Situation) -> Configuration | Held:
    """Hold everything in a dry run."""
    return Held("this is a dry run") if situation.settings.dry_run else target


def late_scale_down(target: Configuration, situation: Situation) -> Configuration | Held:
    """Give up nothing that such a load needed a moment ago, nor the workers for what is therefore kept."""
    requested = situation.requested
    since_s = situation.now_s - situation.settings.scale_down_after_s
    loads_per_s = situation.loads_per_s
    recent = [need.target for need in situation.needs if need.at_s > since_s and not need.is_past(loads_per_s)]
    kept = target
    for change in diff(requested, target):
        if isinstance(change, ParallelismChange):
            needed = max((n.parallelism[change.application][change.operator] for n in recent), default=change.after)
            least = min(change.before, needed)
            if least > change.after:
                kept = kept.with_parallelism(change.application, change.operator, least)
    workers = max((need.workers for need in recent), default=target.workers)
    if kept is not target:
        workers = max(workers, situation.cluster.workers_for(kept.slots(situation.topologies)))
    least = min(requested.workers, workers)
    kept = kept.with_workers(least) if least > target.workers else kept
    if not diff(requested, kept) and diff(requested, target):
        return Held(f"more was needed within the last {situation.settings.scale_down_after_s:.0f} s")
    return kept


GUARDS: tuple[tuple[str, Guard], ...] = (
    ("bounds", bounds),
    ("quota", quota),
    ("block", block),
    ("cool-down", cool_down),
    ("excluded period", excluded_periods),
    ("dry run", dry_run),
    ("late scale-down", late_scale_down),
)


def admit(target: Configuration, situation: Situation) -> Configuration | Held:
    """Ask all guards in their order; a `Held` names the guard that held."""
    for name, guard in GUARDS:
        passed = guard(target, situation)
        if isinstance(passed, Held):
            return Held(f"{name}: {passed.because}")
        target = passed
    return target


def describe(change: Change) -> str:
    """A change in words: `split 2 -> 3`, `workers 1 -> 2`."""
    if isinstance(change, ParallelismChange):
        return f"{change.operator} {change.before} -> {change.after}"
    if isinstance(change, WorkersChange):
        return f"workers {change.before} -> {change.after}"
    return f"{change.operator} to {', '.join(change.after or ())}"


def only_grows(before: Configuration, after: Configuration) -> bool:
    """Whether instances or workers are added and none given up."""
    changes = [change for change in diff(before, after) if isinstance(change, ParallelismChange | WorkersChange)]
    return bool(changes) and all(change.after > change.before for change in changes)


def _repeats(change: Change, earlier: Change) -> bool:
    """The same thing in the same direction, at least as far."""
    if isinstance(change, ParallelismChange) and isinstance(earlier, ParallelismChange):
        same = (change.application, change.operator) == (earlier.application, earlier.operator)
        return same and _as_far(change.before, change.after, earlier.before, earlier.after)
    if isinstance(change, WorkersChange) and isinstance(earlier, WorkersChange):
        return _as_far(change.before, change.after, earlier.before, earlier.after)
    return change == earlier


def _as_far(before: int, after: int, earlier_before: int, earlier_after: int) -> bool:
    if earlier_after > earlier_before:
        return after > before and after >= earlier_after
    return after < before and after <= earlier_after
