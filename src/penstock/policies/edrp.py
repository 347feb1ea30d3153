"""EDRP: replication and placement of all operators at once, worth the downtime that the change to it costs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from penstock.analysis import ApplicationRates, OperatorRates, application_rates, newest
from penstock.errors import UsageError
from penstock.model import (
    Configuration,
    Decision,
    Expected,
    Keep,
    ParallelismChange,
    PlacementChange,
    Reconfigure,
    View,
    diff,
)
from penstock.placement import Evaluation, Placement, Problem, evaluate, solver
from penstock.policies.edrp_problem import Costs, Deployment, Wishes
from penstock.policies.edrp_units import Unit, units_of
from penstock.policies.senses import arriving

_ENOUGH = 1e-9


@dataclass(frozen=True, slots=True)
class Paused:
    """How many changes there were, and for how many seconds they paused an application."""

    changes: int = 0
    seconds: float = 0.0

    def mean_s(self, otherwise_s: float) -> float:
        """The length of one pause, or `otherwise_s` as long as nothing was changed."""
        return self.seconds / self.changes if self.changes else otherwise_s


@dataclass(frozen=True, slots=True)
class EdrpMemory:
    """The last assessment, the last known rates, and what changes have cost so far, without and with state."""

    assessed_at_s: float | None = None
    requested: Configuration | None = None
    seen_until_s: float | None = None
    moved_state: bool | None = None
    plain: Paused = field(default_factory=Paused)
    state: Paused = field(default_factory=Paused)
    rates: Mapping[str, Mapping[str, OperatorRates]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edrp:
    """Every `assessment_period_s` solves for the deployment with the least weighted sum of three shares.

    They are response time (critical path with M/M/1 queues and network delays) as a share of the latency target,
    replicas as a share of `max_instances` (None: of all slots that are allowed), and the downtime of the change as a
    share of `max_downtime_s`, weighted by `response_weight`, `cost_weight` and `downtime_weight`. None of them may
    exceed 1, unless nothing else is left. Solver `exact` finds the best deployment, `redrp` the best of those that
    change every operator by one replica at most.

    The downtime of a change is what changes were measured to pause an application on average, those that move state
    apart from the others; before the first one it is `pause_s`. State moves at `state_bytes_per_s`.

    Load and rates are averages of the last `window_s`; a load that has jumped by more than `tolerance` counts in full.
    Instances may be busy for the share `utilisation` of their
    time; one is given up only if that holds for a load higher by `tolerance`, and nothing changes for a gain below
    `min_gain`. An application that cannot keep up is assessed at once.

    Where workers are alike and without delays between them, the number of workers follows from the replicas; on a
    network every replica is placed, and all nodes stay in use. Members of a fused segment are deployed as one.

    Equal views give equal decisions as long as the solver proves its answer within `time_limit_s`; what it has found
    by then may differ from run to run.
    """

    response_weight: float = 0.3
    cost_weight: float = 0.3
    downtime_weight: float = 0.4
    max_downtime_s: float = 60.0
    max_instances: int | None = None
    solver: Literal["exact", "redrp"] = "exact"
    assessment_period_s: float = 60.0
    window_s: float = 30.0
    utilisation: float = 0.8
    tolerance: float = 0.1
    min_gain: float = 0.005
    pause_s: float = 0.25
    state_bytes_per_s: float = 12_500_000.0
    time_limit_s: float = 30.0

    def __post_init__(self) -> None:
        weights = (self.response_weight, self.cost_weight, self.downtime_weight)
        if min(weights) < 0 or abs(sum(weights) - 1.0) > 0.01:
            raise UsageError(f"EDRP needs weights of at least 0 that sum to 1, not to {sum(weights):g}.")
        if self.response_weight + self.cost_weight <= 0:
            raise UsageError("EDRP needs a response_weight or cost_weight above 0; with neither it would do nothing.")
        if not 0 < self.utilisation < 1:
            raise UsageError(f"EDRP needs a utilisation above 0 and below 1, not {self.utilisation:g}.")
        if min(self.max_downtime_s, self.window_s, self.state_bytes_per_s, self.time_limit_s) <= 0:
            raise UsageError("EDRP needs max_downtime_s, window_s, state_bytes_per_s and time_limit_s above 0.")
        if min(self.assessment_period_s, self.tolerance, self.min_gain, self.pause_s) < 0:
            raise UsageError("EDRP needs assessment_period_s, tolerance, min_gain and pause_s of at least 0.")
        if self.max_instances is not None and self.max_instances < 1:
            raise UsageError(f"EDRP needs max_instances of at least 1, not {self.max_instances}.")

    def start(self) -> EdrpMemory:
        """Nothing is known."""
        return EdrpMemory()

    def decide(self, view: View, memory: EdrpMemory) -> tuple[Decision, EdrpMemory]:
        """Learn what changes cost and, when it is time, solve."""
        memory = _noticed(view, memory)
        if not view.observations:
            return Keep("nothing was measured yet"), memory
        usable = newest(view.observations, self.window_s)
        lately = {name: application_rates(topology, usable) for name, topology in view.topologies.items()}
        rates = {name: _known(now, memory.rates.get(name)) for name, now in lately.items()}
        memory = replace(memory, rates=rates)
        units, flows = units_of(view, arriving(view, self.window_s, self.tolerance), rates)
        if all(unit.busy is None for unit in units):
            return Keep("no input rate or no instance's rate is known yet"), memory
        if memory.assessed_at_s is not None and not _overloaded(units):
            next_s = memory.assessed_at_s + self.assessment_period_s
            if view.now_s < next_s - 1e-6:
                return Keep(f"the next assessment is at {next_s:.0f} s"), memory
        memory = replace(memory, assessed_at_s=view.now_s)
        choices = {unit.name: unit.choices(self.utilisation, self.tolerance) for unit in units}
        return self._solved(view, Deployment(view, units, flows, choices), memory), memory

    def _solved(self, view: View, deployment: Deployment, memory: EdrpMemory) -> Decision:
        costs = Costs(memory.plain.mean_s(self.pause_s), memory.state.mean_s(self.pause_s), self.state_bytes_per_s)
        for bounded in (True, False):
            problem = deployment.problem(self._wishes(view), costs, bounded)
            name = self.solver if problem.current is not None else "exact"
            found = solver(name).solve(problem, self.time_limit_s)
            if found.placement is not None and found.evaluation is not None:
                return self._chosen(view, deployment, problem, found.placement, found.evaluation)
        return Keep("no deployment was found that keeps up with the load")

    def _wishes(self, view: View) -> Wishes:
        slots = view.cluster.slots(view.max_workers)
        return Wishes(
            (self.response_weight, self.cost_weight, self.downtime_weight),
            1000.0 * view.objectives.latency_target_s,
            float(self.max_instances or slots),
            self.max_downtime_s,
        )

    def _chosen(
        self, view: View, deployment: Deployment, problem: Problem, placement: Placement, found: Evaluation
    ) -> Decision:
        target = deployment.configuration(placement)
        if not diff(view.requested, target):
            return Keep(f"the deployment is the best: {_said(found)}")
        now = None if problem.current is None else evaluate(problem, problem.current)
        if now is not None and now.is_feasible and now.objective - found.objective < max(self.min_gain, _ENOUGH):
            gain = max(0.0, now.objective - found.objective)
            if problem.current == placement:
                # Only workers are left over, which can be given up without touching what runs.
                return self._moved(view, deployment, target, f"{target.workers} workers are enough")
            return Keep(f"a change would gain {gain:.3g}, too little: {_said(now)}")
        before = "" if now is None else f" instead of {_said(now)}"
        return self._moved(view, deployment, target, f"{_said(found)}{before}")

    def _moved(self, view: View, deployment: Deployment, target: Configuration, because: str) -> Decision:
        return Reconfigure(target, because, _expected(view, deployment.units, target))


def _noticed(view: View, memory: EdrpMemory) -> EdrpMemory:
    """The memory with changes and pauses since the last decision added up.

    A pause counts for the last change before it, even if it shows in a later window.
    """
    new = [o for o in view.observations if memory.seen_until_s is None or o.at_s > memory.seen_until_s + 1e-9]
    until_s = view.observations[-1].at_s if view.observations else memory.seen_until_s
    moved, plain, state = memory.moved_state, memory.plain, memory.state
    changes = () if memory.requested is None else diff(memory.requested, view.requested)
    changed = [c for c in changes if isinstance(c, ParallelismChange | PlacementChange)]
    if changed:
        moved = any(view.topologies[c.application].operator(c.operator).stateful for c in changed)
        plain, state = (plain, _more(state)) if moved else (_more(plain), state)
    if moved is not None:
        paused_s = sum(max((a.paused_s for a in o.applications.values()), default=0.0) for o in new)
        plain, state = (plain, _longer(state, paused_s)) if moved else (_longer(plain, paused_s), state)
    return replace(memory, requested=view.requested, seen_until_s=until_s, moved_state=moved, plain=plain, state=state)


def _more(paused: Paused) -> Paused:
    return replace(paused, changes=paused.changes + 1)


def _longer(paused: Paused, seconds: float) -> Paused:
    return replace(paused, seconds=paused.seconds + seconds)


def _known(lately: ApplicationRates, before: Mapping[str, OperatorRates] | None) -> dict[str, OperatorRates]:
    """The rates of all operators, with the last known ones where there are no new ones."""
    return {
        name: now if now.rate_per_s or before is None else before.get(name, now)
        for name, now in lately.operators.items()
    }


def _overloaded(units: Sequence[Unit]) -> bool:
    """Whether a unit cannot keep up with its load and more can be done about it."""
    return any(unit.usage(unit.current) > 1.0 and unit.current < unit.most for unit in units)


def _said(evaluation: Evaluation) -> str:
    """A deployment in words."""
    if math.isinf(evaluation.response_time_ms):
        return f"{evaluation.cost:.0f} instances that cannot keep up"
    down = "" if not evaluation.downtime_s else f", {evaluation.downtime_s:.2g} s of downtime"
    return f"{evaluation.response_time_ms / 1000:.3g} s with {evaluation.cost:.0f} instances{down}"


def _expected(view: View, units: Sequence[Unit], target: Configuration) -> Expected:
    """The promise: all that arrives is handled, unless bounds do not allow it."""
    throughput: dict[str, float] = {}
    latest = view.latest
    for name in view.topologies:
        seen = None if latest is None else latest.applications.get(name)
        if seen is None or seen.input_per_s is None:
            continue
        given = target.parallelism[name]
        usages = [u.usage(max(given[m.name] for m in u.members)) for u in units if u.application == name]
        throughput[name] = seen.input_per_s / max(1.0, *usages)
    return Expected(throughput)
