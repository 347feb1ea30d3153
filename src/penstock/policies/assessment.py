"""The two stages of ELYSIUM's Algorithm 1, for every policy that uses them: instances first, then workers.

Both ask an `Estimator`, so any number of instances and workers can change in one decision.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from penstock.analysis import make_up_for_limits
from penstock.model import (
    Configuration,
    Expected,
    Parallelism,
    ParallelismChange,
    Role,
    Topology,
    View,
    diff,
)
from penstock.policies.limits import DRAINING, Load, Thresholds
from penstock.policies.loads import total_per_s
from penstock.profiling import Estimator, Loads, round_robin

_WORTH = 0.05
"""By how much less of its time a segment must be busy for an instance with state to be worth its pause."""
_Rates: TypeAlias = Mapping[str, Mapping[str, float | None]]
"""What every operator of every application takes in per second."""
_SAID = 6
"""Operators that a reason names before it only counts the rest."""


class Assessment:
    """What one view needs. `loads` must all be carried; the first is the load itself, others add backlog to it.

    `arriving` is what arrives now, if the load itself is what is only expected.
    """

    def __init__(
        self,
        view: View,
        estimator: Estimator,
        thresholds: Thresholds,
        loads: Sequence[Load],
        arriving: Loads | None = None,
    ) -> None:
        self._view = view
        self._estimator = estimator
        self._thresholds = thresholds
        self._loads = loads
        self._rates = [self._rates_of(load.sources) for load in loads]
        self._rates_now = self._rates[0] if arriving is None else self._rates_of(arriving)

    def _rates_of(self, sources: Loads) -> dict[str, dict[str, float | None]]:
        return {name: self._estimator.operator_input_rates(name, rates) for name, rates in sources.items()}

    @property
    def knows_usage(self) -> bool:
        """Whether the usage of any operator can be estimated."""
        return any(
            rate == 0 or (rate is not None and name in self._estimator.profiles[application].usage.operators)
            for application, rates in self._rates[0].items()
            for name, rate in rates.items()
        )

    def overloaded(self) -> bool:
        """Whether the load itself is more than the configuration can carry, as far as that is known."""
        given = self._view.requested
        if any(
            self._estimator.busiest(a, given.parallelism[a], rates)[0] > DRAINING for a, rates in self._rates[0].items()
        ):
            return True
        own = self._estimator.own_usages(self._loads[0].sources, given.parallelism)
        allocation = round_robin(self._view.topologies, given.parallelism, given.workers)
        return float(self._estimator.worker_usages(allocation, own).max()) > DRAINING

    def instances(self, eager: bool = False, shrink: bool = True, spare: float = 0.0) -> dict[str, dict[str, int]]:
        """Instances of every operator (stage 1).

        An operator in stress gets the fewest with which it is not, an idle one gives up what it does not need (unless
        `shrink` forbids it), any other stays as it is; with `eager` all get the fewest, as Algorithm 1 has it. With
        `spare` they are sized for a load that is higher by this share.
        """
        result = {name: dict(operators) for name, operators in self._view.requested.parallelism.items()}
        for application in self._loads[0].sources:
            topology = self._view.topologies[application]
            for segment in topology.all_segments:
                current = {name: result[application][name] for name in segment}
                result[application].update(self._segment(topology, current, eager, shrink, spare))
        return result

    def without_spare_instances(self, parallelism: Parallelism) -> dict[str, dict[str, int]]:
        """The same, but with no more instances of operators without state than they need not to be in stress."""
        fewest = self.instances(eager=True)
        return {
            application: {
                name: count if self._view.topologies[application].operator(name).stateful else min(count, needed[name])
                for name, count in operators.items()
            }
            for application, operators in parallelism.items()
            for needed in [fewest[application]]
        }

    def _segment(
        self, topology: Topology, current: Mapping[str, int], eager: bool, shrink: bool, spare: float
    ) -> dict[str, int]:
        """The members of one segment that change."""
        needs: dict[str, int] = {}
        limits = [load.core / (1.0 + spare) if load is self._loads[0] else load.core for load in self._loads]
        for rates, limit in zip(self._rates, limits, strict=True):
            for name, need in self._needs(topology, current, rates[topology.name], limit).items():
                needs[name] = max(need, needs.get(name, 1))
        if eager:
            return needs
        if self._is_stressed(topology, current, limits):
            return self._raised(topology, current, needs, limits)
        usage = self._estimator.segment_usage(topology.name, current, self._rates[0][topology.name])
        if shrink and usage is not None and usage < self._thresholds.core_min:
            return {name: topology.operator(name).clip(min(need, current[name])) for name, need in needs.items()}
        return {}

    def _raised(
        self, topology: Topology, current: Mapping[str, int], needs: Mapping[str, int], limits: Sequence[float]
    ) -> dict[str, int]:
        """The members of a segment in stress that get more instances.

        Instances with state cannot be added without a pause and cost something in every batch, so it is seen first
        whether the others suffice. Where there are others, only what arrives now and could not be carried at all is
        worth the pause, not what makes them busier than wished, waits to be worked off, or is only expected; nor what
        was just seen to be carried; and nothing is before all that was asked for is there and shows what it can do. As
        many with state are added as are needed, or as are worth it.
        """
        raised = {name: max(need, current[name]) for name, need in needs.items()}
        best = {name: n for name, n in raised.items() if not topology.operator(name).stateful}
        if best and (self._keeps_up(topology.name) or self._awaits(topology)):
            return best
        kept = {name: current[name] for name in raised if name not in best}
        within = [(self._rates_now, DRAINING)] if best else list(zip(self._rates, limits, strict=True))
        excess = self._excess(topology, {**current, **best}, within)
        for more in range(1, 1 + max((raised[name] - count for name, count in kept.items()), default=0)):
            tried = best | {name: min(raised[name], count + more) for name, count in kept.items()}
            left = self._excess(topology, {**current, **tried}, within)
            if excess <= 1e-9 or excess - left < _WORTH:
                break
            best, excess = tried, left
        return best

    def _keeps_up(self, application: str) -> bool:
        """Whether the application completed at least as much as arrived when it was last seen to complete anything."""
        for observation in reversed(self._view.observations):
            seen = observation.applications.get(application)
            if seen is not None and seen.throughput_per_s and seen.input_per_s is not None:
                return seen.throughput_per_s >= seen.input_per_s
        return False

    def _awaits(self, topology: Topology) -> bool:
        """Whether workers, or instances without state, that were asked for have not been seen yet."""
        asked, seen = self._view.requested, self._view.observed
        if seen is None or topology.name not in seen.parallelism:
            return False
        there = seen.parallelism[topology.name]
        return seen.workers < asked.workers or any(
            there.get(o.name, 0) < asked.parallelism[topology.name][o.name]
            for o in topology.operators
            if not o.stateful
        )

    def _excess(
        self, topology: Topology, instances: Mapping[str, int], within: Sequence[tuple[_Rates, float]]
    ) -> float:
        """By how much a segment is busier than its limit at the worst of some rates, as far as that is known."""
        usages = [
            (self._estimator.segment_usage(topology.name, instances, rates[topology.name]), limit)
            for rates, limit in within
        ]
        return max((usage - limit for usage, limit in usages if usage is not None), default=0.0)

    def _is_stressed(self, topology: Topology, instances: Mapping[str, int], limits: Sequence[float]) -> bool:
        """Whether any of the loads makes a segment busier than its limit, as far as that is known."""
        return self._excess(topology, instances, list(zip(self._rates, limits, strict=True))) > 1e-9

    def _needs(
        self, topology: Topology, current: Mapping[str, int], rates: Mapping[str, float | None], most: float
    ) -> dict[str, int]:
        """The fewest instances of each operator that are at most `most` busy, within its bounds.

        Operators without state that take turns are given the same number, with state as it is.
        """
        found = self._own_needs(topology, tuple(current), rates, most)
        plain = [topology.operator(name) for name in current if not topology.operator(name).stateful]
        if len(current) == 1 or not plain:
            return found
        for instances in range(1, max(operator.max_parallelism for operator in plain) + 1):
            shared = {operator.name: operator.clip(instances) for operator in plain}
            usage = self._estimator.segment_usage(topology.name, {**current, **shared}, rates)
            if usage is None:
                return found
            if usage <= most + 1e-9:
                break
        return found | shared

    def _own_needs(
        self, topology: Topology, segment: tuple[str, ...], rates: Mapping[str, float | None], most: float
    ) -> dict[str, int]:
        """The fewest instances of each operator in whose slots the whole segment would be at most `most` busy."""
        found: dict[str, int] = {}
        exact: dict[str, float] = {}
        for name in segment:
            limit, rate = topology.operator(name).max_parallelism, rates[name]
            usages = None if rate is None else self._estimator.instance_usages(topology.name, name, rate, limit)
            if usages is None:
                continue
            fits = np.flatnonzero(usages <= most + 1e-9)
            found[name] = int(fits[0]) + 1 if fits.size else limit
            exact[name] = found[name] if fits.size else limit * float(usages[-1]) / most
        if len(segment) > 1 and any(exact[name] > found[name] for name in found):
            # A member that may not have what it needs takes longer than its turn; the others must make up for it.
            shares = {name: self._estimator.share(topology.name, name) for name in found}
            limits = {name: topology.operator(name).max_parallelism for name in found}
            for name, need in make_up_for_limits(exact, shares, limits).items():
                found[name] = limits[name] if need > limits[name] else math.ceil(need - 1e-9)
        return {name: topology.operator(name).clip(need) for name, need in found.items()}

    def workers(self, parallelism: Parallelism, spare: float = 0.0) -> int:
        """The fewest workers on which none is in stress under any of the loads (stage 2).

        As long as something is not known, none are given up. Workers are given up only when that would be right even
        if the load were higher by the share `spare`.
        """
        current = self._view.requested.workers
        wanted = self._fewest(parallelism, 1.0)
        if wanted >= current:
            return wanted
        if self._is_unknown():
            return current
        return min(current, self._fewest(parallelism, 1.0 + spare)) if spare else wanted

    def occupied(self, parallelism: Parallelism, workers: int) -> Configuration:
        """The same, with a task for every worker.

        Where operators take turns, those without state get more instances as long as workers have none, and what
        cannot be occupied even so is not asked for.
        """
        found = {name: dict(instances) for name, instances in parallelism.items()}
        topologies, fewest = self._view.topologies, self._view.objectives.min_workers
        narrow = [
            (found[name], hot)
            for name, topology in topologies.items()
            for segment in topology.segments
            if (hot := [o for o in map(topology.operator, segment) if not o.stateful and o.role is not Role.SOURCE])
        ]
        while (slots := sum(topology.slots(found[name]) for name, topology in topologies.items())) < workers and narrow:
            instances, hot = narrowest = min(narrow, key=lambda one: max(one[0][o.name] for o in one[1]))
            more = {operator.name: operator.clip(instances[operator.name] + 1) for operator in hot}
            if more.items() <= instances.items():
                narrow.remove(narrowest)
            instances |= more
        return Configuration(found, max(min(fewest, workers), min(workers, slots)))

    def _fewest(self, parallelism: Parallelism, factor: float) -> int:
        view = self._view
        own = [
            self._estimator.own_usages(self._carried(load, rates, parallelism, factor), parallelism)
            for load, rates in zip(self._loads, self._rates, strict=True)
        ]
        fewest = min(view.objectives.min_workers, view.max_workers)
        for workers in range(fewest, view.max_workers):
            allocation = round_robin(view.topologies, parallelism, workers)
            if all(
                float(self._estimator.worker_usages(allocation, usages).max()) <= load.cpu + 1e-9
                and self._waves(parallelism, workers, usages) <= load.cpu + 1e-9
                for load, usages in zip(self._loads, own, strict=True)
            ):
                return workers
        return view.max_workers

    def _carried(
        self, load: Load, rates: Mapping[str, Mapping[str, float | None]], parallelism: Parallelism, factor: float
    ) -> Loads:
        """A load times `factor`, but no more than the instances can take in: what they cannot needs no worker."""
        carried = {}
        for application, sources in load.sources.items():
            usage = factor * self._estimator.busiest(application, parallelism[application], rates[application])[0]
            part = factor / max(1.0, usage)
            carried[application] = {name: None if rate is None else rate * part for name, rate in sources.items()}
        return carried

    def _waves(self, parallelism: Parallelism, workers: int, own: Mapping[tuple[str, str], float]) -> float:
        """How busy the busiest fused segment is whose stages run in several waves, for want of slots."""
        topologies = self._view.topologies
        if not any(topology.segments for topology in topologies.values()):
            return 0.0
        slots = self._view.cluster.slots(workers)
        wanted = {name: topology.slots(parallelism[name]) for name, topology in topologies.items()}
        part = min(1.0, slots / max(1, sum(wanted.values())))
        busiest = 0.0
        for application, topology in topologies.items():
            own_slots = max(1.0, wanted[application] * part)
            for segment in topology.segments:
                waves = {name: math.ceil(parallelism[application][name] / own_slots - 1e-9) for name in segment}
                if max(waves.values()) > 1:
                    busiest = max(busiest, sum(own.get((application, name), 0.0) * waves[name] for name in segment))
        return busiest

    def _is_unknown(self) -> bool:
        """Whether some operator's work cannot be estimated."""
        loads = self._loads[0].sources
        if set(loads) < set(self._view.topologies):
            return True
        known = self._estimator.own_usages(loads, self._view.requested.parallelism)
        return any((name, o) not in known for name, topology in self._view.topologies.items() for o in topology.names)

    def reasons(self, target: Configuration) -> str:
        """What changes and why, in words."""
        current, several = self._view.requested, len(self._view.topologies) > 1
        said = []
        for change in diff(current, target):
            if isinstance(change, ParallelismChange):
                label = f"{change.application}/{change.operator}" if several else change.operator
                usage = self._usage_of(change.application, change.operator, change.before)
                busy = "" if usage is None else f" at {usage:.2f} of its time"
                unstressed = change.after > change.before and (usage or 0.0) <= self._thresholds.core_max
                why = self._why_more(change, target.workers > current.workers) if unstressed else ""
                said.append(f"{label}{busy}: {change.before} -> {change.after}{why}")
        if len(said) > _SAID:
            said = [*said[:_SAID], f"and {len(said) - _SAID} more operators"]
        if target.workers != current.workers:
            limit = self._thresholds.cpu_max
            said.append(f"{target.workers} instead of {current.workers} workers stay at or below {limit:g}")
        return "; ".join(said)

    def _why_more(self, change: ParallelismChange, more_workers: bool) -> str:
        """Why an operator gets more instances though the load itself does not put it in stress."""
        for load, rates in zip(self._loads[1:], self._rates[1:], strict=True):
            rate = rates.get(change.application, {}).get(change.operator)
            known = self._estimator.instance_usage
            usage = None if rate is None else known(change.application, change.operator, rate, change.before)
            if usage is not None and usage > load.core:
                return " to work off what waits"
        takes_turns = any(change.operator in segment for segment in self._view.topologies[change.application].segments)
        return ", as every worker needs a task" if takes_turns and more_workers else " to have some to spare"

    def fits(self) -> str:
        """Why nothing needs to change: how busy the busiest segment is."""
        usage, names = max(
            self._estimator.busiest(application, self._view.requested.parallelism[application], rates)
            for application, rates in self._rates[0].items()
        )
        if not names:
            return "nothing is known that would call for a change"
        limit = self._thresholds.core_max
        if usage > limit:
            return f"nothing more can be given; {names} would be busy for {usage:.2f} of the time, {limit:g} allowed"
        return f"the configuration fits; {names} will be busy for {usage:.2f} of the time, {limit:g} allowed"

    def _usage_of(self, application: str, name: str, instances: int) -> float | None:
        rate = self._rates[0].get(application, {}).get(name)
        return None if rate is None else self._estimator.instance_usage(application, name, rate, instances)

    def expected(self, parallelism: Parallelism, workers: int) -> Expected:
        """The promise: all that arrives is handled, unless bounds or slots do not allow it."""
        sources = self._loads[0].sources
        own = self._estimator.own_usages(sources, parallelism)
        allocation = round_robin(self._view.topologies, parallelism, workers)
        crowding = float(self._estimator.worker_usages(allocation, own).max())
        throughput: dict[str, float] = {}
        usage: dict[str, float] = {}
        for application, rates in sources.items():
            given = parallelism[application]
            reached = 1.0 / max(
                1.0, crowding, self._estimator.busiest(application, given, self._rates[0][application])[0]
            )
            throughput[application] = reached * total_per_s(rates)
            known = [(o, own[application, o]) for o in given if (application, o) in own]
            instances = sum(given[o] for o, _ in known)
            usage[application] = reached * sum(given[o] * u for o, u in known) / instances if instances else 0.0
        return Expected(throughput, usage)
