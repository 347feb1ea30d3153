"""Joint scaling, the baseline of ELYSIUM: whoever adds an instance adds a worker, one unit at a time."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.analysis import OperatorRates, application_rates, newest, weighted_mean
from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Observation, Operator, Reconfigure, View, diff
from penstock.policies.limits import Thresholds
from penstock.policies.sizing import allowed_workers


@dataclass(frozen=True, slots=True)
class JointMemory:
    """When the last assessment was."""

    assessed_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Joint:
    """Adds an instance to every operator whose instances are busier than `core_max`, and with them one worker.

    Every `assessment_period_s` it looks at usages averaged over `window_s`. An operator below `core_min` gives up one
    instance, which does not touch the workers. When no operator is scaled, a worker above `cpu_max` brings one more,
    and one is given up when the mean is below `cpu_min` (default: the same as `core_min`, the one lower threshold
    that is published; half of `cpu_max` is the highest with which the last of two never overloads the other).
    Thresholds that are not given are those of the objectives.
    """

    assessment_period_s: float = 60.0
    window_s: float = 20.0
    core_min: float | None = None
    core_max: float | None = None
    cpu_max: float | None = None
    cpu_min: float | None = None

    def __post_init__(self) -> None:
        if self.assessment_period_s < 0 or self.window_s <= 0:
            raise UsageError("Joint scaling needs an assessment_period_s of at least 0 and a window_s above 0.")

    def start(self) -> JointMemory:
        """No assessment yet."""
        return JointMemory()

    def decide(self, view: View, memory: JointMemory) -> tuple[Decision, JointMemory]:
        """Scale operators by one, else workers by one."""
        last_s = memory.assessed_at_s
        if last_s is not None and view.now_s < last_s + self.assessment_period_s - 1e-6:
            return Keep(f"the next assessment is at {last_s + self.assessment_period_s:.0f} s"), memory
        observations = newest(view.observations, self.window_s)
        thresholds = Thresholds.of(view.objectives, self.core_min, self.core_max, self.cpu_max)
        rates = {name: application_rates(t, observations).operators for name, t in view.topologies.items()}
        if all(rate.usage is None for operators in rates.values() for rate in operators.values()):
            return Keep("no operator's usage is known yet"), memory
        target, because = self._operators(view, thresholds, rates)
        if not because:
            target, because = self._workers(view, thresholds, observations)
        if not diff(view.requested, target):
            return Keep(because or "no operator and no worker is in stress or idle"), JointMemory(view.now_s)
        return Reconfigure(target, because), JointMemory(view.now_s)

    def _operators(
        self, view: View, thresholds: Thresholds, rates: Mapping[str, Mapping[str, OperatorRates]]
    ) -> tuple[Configuration, str]:
        """Every operator one up or down, and one more worker if any went up."""
        target, reasons, grew = view.requested, [], False
        for name, topology in view.topologies.items():
            for operator in topology.operators:
                current = target.parallelism[name][operator.name]
                after, why = _step(operator, current, rates[name][operator.name].usage, thresholds)
                if after != current:
                    target = target.with_parallelism(name, operator.name, after)
                    label = operator.name if len(view.topologies) == 1 else f"{name}/{operator.name}"
                    reasons.append(f"usage of {label} is {why}: {current} -> {after}")
                    grew = grew or after > current
        if grew:
            target = target.with_workers(allowed_workers(view, target.workers + 1))
        return target, "; ".join(reasons)

    def _workers(
        self, view: View, thresholds: Thresholds, observations: tuple[Observation, ...]
    ) -> tuple[Configuration, str]:
        """One worker more or fewer, by the usage of the workers."""
        seen = observations[-1].workers
        usages = [
            usage
            for name in seen
            if (usage := weighted_mean((o.workers[name].usage, o.window_s) for o in observations if name in o.workers))
            is not None
        ]
        if not usages:
            return view.requested, ""
        cpu_min = thresholds.core_min if self.cpu_min is None else self.cpu_min
        mean, most, workers = sum(usages) / len(usages), max(usages), view.requested.workers
        if most > thresholds.cpu_max:
            after, why = workers + 1, f"a worker's usage is {most:.2f}, above {thresholds.cpu_max:g}"
        elif mean < cpu_min:
            after, why = workers - 1, f"the workers' mean usage is {mean:.2f}, below {cpu_min:g}"
        else:
            return view.requested, ""
        return view.requested.with_workers(allowed_workers(view, max(1, after))), why


def _step(operator: Operator, current: int, usage: float | None, thresholds: Thresholds) -> tuple[int, str]:
    if usage is not None and usage > thresholds.core_max:
        return operator.clip(current + 1), f"{usage:.2f}, above {thresholds.core_max:g}"
    if usage is not None and usage < thresholds.core_min:
        return operator.clip(current - 1), f"{usage:.2f}, below {thresholds.core_min:g}"
    return current, ""
