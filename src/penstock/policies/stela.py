"""Stela: scale-out and scale-in when the user asks for it, guided by Effective Throughput Percentage."""

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from penstock.analysis import (
    OperatorFlow,
    application_rates,
    centrality,
    congested,
    descendants,
    effective_throughput,
    link_load,
    nearness_to_sinks,
    nearness_to_sources,
    newest,
    offered_inputs,
    selectivities,
    with_one_fewer,
    with_one_more,
)
from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Observation, Reconfigure, ScaleRequest, Topology, View
from penstock.policies.hosting import Hosts, Instance, are_complete, free_workers, hosts, placed
from penstock.policies.sizing import allowed_workers

Strategy: TypeAlias = Literal[
    "etp",
    "round-robin",
    "random",
    "near-source",
    "near-sink",
    "descendants",
    "centrality",
    "least-link-load",
    "most-link-load",
]
Flows: TypeAlias = Mapping[str, Mapping[str, OperatorFlow]]
"""The flows of every operator of every application of which they are known."""


@dataclass(frozen=True, slots=True)
class StelaMemory:
    """How many of the user's requests are settled, and the number of workers that the next one was turned into."""

    settled: int = 0
    asked: int | None = None


@dataclass(frozen=True, slots=True)
class Stela:
    """Does nothing until the user asks for more or fewer workers, then serves the requests one after the other.

    Scale-out (`by=etp`, Algorithm 2): every new worker gets as many new instances as the others have on average. Each
    goes to the congested operator of the highest ETP; its rates are projected to one instance more, and ETP is
    reckoned anew for the next. When nothing is congested a source gets it. An operator is congested when more than
    `congestion` times as much arrives as it handles, averaged over `window_s`. What runs already stays where it is.

    As published, nothing but arrivals and departures is known: whoever gets a quarter more than it was seen to handle
    is taken to be congested at once. With `capacity` what an operator could handle, by its true rate, counts instead.
    With `exchange`, which goes beyond the publication, instances without state that the others of their operator can
    do without make room for more of what is still congested when all new workers are full.

    Scale-in (Algorithm 3): the worker whose instances have the lowest sum of ETP goes, among equal ones that with the
    least state. The decision names the workers. `dealing` says who gets its instances: with `turn` the others in turn,
    those with low sums first, as published; with `idle` whoever is least busy then, so that a worker which is the
    bottleneck is left alone.

    The other strategies are what Stela is compared with. They add no instances. `round-robin` deals all instances anew
    (as Storm does) and gives up random workers; `random` differs from `etp` only in giving up random workers; all
    others rank operators by another measure than ETP: the first move to the new worker, and the worker with the lowest
    sum is given up. `seed` decides what is random.

    A request that is held back (by a guard, or because nothing is measured yet) is tried again in every round. Where
    nobody knows which instance runs on which worker the scheduler places new ones, and chooses whom to release.
    """

    SERVES_REQUESTS: ClassVar[bool] = True

    by: Strategy = "etp"
    congestion: float = 1.2
    window_s: float = 20.0
    seed: int = 0
    capacity: bool = True
    exchange: bool = False
    dealing: Literal["idle", "turn"] = "idle"

    def __post_init__(self) -> None:
        if self.congestion < 1 or self.window_s <= 0:
            raise UsageError("Stela needs a congestion of at least 1 and a window_s above 0.")

    def start(self) -> StelaMemory:
        """Nothing was asked for."""
        return StelaMemory()

    def decide(self, view: View, memory: StelaMemory) -> tuple[Decision, StelaMemory]:
        """Serve the oldest request that is not settled."""
        settled = memory.settled + (memory.asked is not None and memory.asked == view.requested.workers)
        if settled >= len(view.requests):
            return Keep("the user asked for nothing more"), StelaMemory(settled)
        request = view.requests[settled]
        workers = allowed_workers(view, view.requested.workers + request.workers)
        if workers == view.requested.workers:
            return Keep(f"{_words(request)} cannot be served: quota and pool allow no change"), StelaMemory(settled + 1)
        flows = self._flows(view)
        if not flows:
            return Keep(f"{_words(request)} waits: no operator's rates are known yet"), StelaMemory(settled)
        scale = self._scale_out if workers > view.requested.workers else self._scale_in
        return scale(view, flows, workers, request), StelaMemory(settled, workers)

    def _flows(self, view: View) -> Flows:
        observations = newest(view.observations, self.window_s)
        return {
            name: flows
            for name, topology in view.topologies.items()
            if (flows := self._flows_of(topology, view.requested.parallelism[name], observations))
        }

    def _work(self, view: View) -> dict[Instance, float]:
        """The slots that one instance of each operator keeps busy, as far as that is known."""
        work = {}
        for observation in newest(view.observations, self.window_s)[-1:]:
            for application, seen in observation.applications.items():
                for name, operator in seen.operators.items():
                    usage = operator.usage(observation.window_s)
                    if usage is not None:
                        work[application, name] = usage
        return work

    def _flows_of(
        self, topology: Topology, instances: Mapping[str, int], seen: Sequence[Observation]
    ) -> dict[str, OperatorFlow]:
        """The flows of one application; empty while those of some operator are not known."""
        averages = application_rates(topology, seen)
        rates, ratios = averages.operators, selectivities(topology, seen)
        offered = offered_inputs(topology, averages, ratios)
        flows: dict[str, OperatorFlow] = {}
        for name in topology.names:
            arriving, handled, rate = offered[name], rates[name].processed_per_s, rates[name].rate_per_s
            if arriving is None or handled is None:
                return {}
            sent = {to: handled * ratios.get((name, to), 0.0) for to in topology.downstream(name)}
            most = None
            if self.capacity and rate is not None:
                # One that is behind already does what it can, which is less where instances share slots.
                most = handled if arriving > self.congestion * handled else rate * instances[name]
            flows[name] = OperatorFlow(instances[name], arriving, handled, sent, most)
        return flows

    def _importance(self, topology: Topology, flows: Mapping[str, OperatorFlow]) -> dict[str, float]:
        """How much each operator of one application matters, by the chosen measure."""
        if self.by == "near-source":
            return nearness_to_sources(topology)
        if self.by == "near-sink":
            return nearness_to_sinks(topology)
        if self.by == "descendants":
            return descendants(topology)
        if self.by == "centrality":
            return centrality(topology)
        if self.by in ("least-link-load", "most-link-load"):
            inputs = {name: flow.input_per_s / flow.instances for name, flow in flows.items()}
            outputs = {
                name: {to: rate / flow.instances for to, rate in flow.output_per_s.items()}
                for name, flow in flows.items()
            }
            load = link_load(topology, inputs, outputs)
            return load if self.by == "most-link-load" else {name: 1.0 / (1.0 + value) for name, value in load.items()}
        processed = {name: flow.processed_per_s for name, flow in flows.items()}
        return effective_throughput(topology, processed, congested(flows, self.congestion))

    def _importances(self, view: View, flows: Flows) -> dict[Instance, float]:
        return {
            (application, name): value
            for application, known in flows.items()
            for name, value in self._importance(view.topologies[application], known).items()
        }

    def _scale_out(self, view: View, flows: Flows, workers: int, request: ScaleRequest) -> Decision:
        parallelism = {name: dict(operators) for name, operators in view.requested.parallelism.items()}
        added = workers - view.requested.workers
        slots = max(1, view.requested.slots(view.topologies) * added // view.requested.workers)
        before = hosts(view)
        new = free_workers(view, before)[:added]
        after: Hosts = {}
        if self.by in ("etp", "random"):
            chosen, projected = self._chosen(view, flows, slots)
            after = {**before, **{worker: tuple(chosen[index::added]) for index, worker in enumerate(new)}}
            how = _described(view, chosen)
            swaps = self._swaps(view, projected) if self.exchange else []
            if swaps:
                how += f"; instead of idle ones {_described(view, [taker for _, taker in swaps])}"
            for giver, taker in swaps:
                parallelism[giver[0]][giver[1]] -= 1
                after = _swapped(after, giver, taker)
                chosen.append(taker)
            for application, name in chosen:
                parallelism[application][name] += 1
        elif self.by == "round-robin":
            how = "all instances are dealt anew"
        else:
            after = self._moved(view, flows, before, new, slots)
            how = f"{self.by} decides which instances move"
        known = bool(after) and len(new) == added and are_complete(view, before)
        target = placed(parallelism, workers, after) if known else Configuration(parallelism, workers)
        return Reconfigure(target, f"{_words(request)}: {how}", on_request=True)

    def _chosen(self, view: View, flows: Flows, slots: int) -> tuple[list[Instance], Flows]:
        """Who gets the new instances, in the order in which they are given, and the flows that result."""
        projected = {name: dict(known) for name, known in flows.items()}
        chosen: list[Instance] = []
        for _ in range(slots):
            target = self._most_wanted(view, projected, _growing(view, projected))
            if target is None:
                break
            application, name = target
            projected[application] = with_one_more(view.topologies[application], projected[application], name)
            chosen.append(target)
        return chosen, projected

    def _swaps(self, view: View, flows: Flows) -> list[tuple[Instance, Instance]]:
        """Who gives an instance up and who gets one for it, as long as that leaves nobody short who has given any."""
        swaps: list[tuple[Instance, Instance]] = []
        while swap := self._swap(view, flows, {giver for giver, _ in swaps}):
            pair, flows = swap
            swaps.append(pair)
        return swaps

    def _swap(
        self, view: View, flows: Flows, givers: Collection[Instance]
    ) -> tuple[tuple[Instance, Instance], Flows] | None:
        """The congested operator of the highest ETP and whoever has most to spare, with the flows after the swap."""
        crowded = _short(flows, self.congestion)
        taker = self._most_wanted(view, flows, [one for one in _growing(view, flows) if one in crowded])
        if taker is None:
            return None
        for giver in sorted(_shrinking(view, flows), key=lambda one: _fullness(flows[one[0]][one[1]])):
            fewer = with_one_fewer(flows[giver[0]], giver[1])
            if fewer is None:
                continue
            after = {**flows, giver[0]: fewer}
            after[taker[0]] = with_one_more(view.topologies[taker[0]], after[taker[0]], taker[1])
            if _short(after, 1.0).isdisjoint({*givers, giver}):
                return (giver, taker), after
        return None

    def _most_wanted(self, view: View, flows: Flows, candidates: Sequence[Instance]) -> Instance | None:
        """The congested candidate of the highest ETP; if there is none, the source with the most to do."""
        crowded = _short(flows, self.congestion)
        values = self._importances(view, flows)
        wanted = [instance for instance in candidates if instance in crowded]
        if wanted:
            return max(wanted, key=values.__getitem__)
        sources = [instance for instance in candidates if instance[1] in view.topologies[instance[0]].sources]
        return max(sources, key=lambda source: _per_instance(flows[source[0]][source[1]]), default=None)

    def _moved(
        self, view: View, flows: Flows, before: Hosts, new: Sequence[str], slots: int
    ) -> dict[str, tuple[Instance, ...]]:
        """The instances on every worker after the most important ones have moved to the new workers.

        By link load, operators that are connected to those already there come first.
        """
        values = self._importances(view, flows)
        left = {worker: list(instances) for worker, instances in before.items()}
        there: dict[str, list[Instance]] = {worker: [] for worker in new}
        for turn in range(slots if new else 0):
            target = there[new[turn % len(new)]]
            movable = {instance for instances in left.values() for instance in instances if instance in values}
            if not movable:
                break
            ranked = sorted(movable, key=lambda instance: (self._near(view, instance, target), values[instance]))
            crowded = [worker for worker, instances in left.items() if ranked[-1] in instances]
            left[max(crowded, key=lambda worker: len(left[worker]))].remove(ranked[-1])
            target.append(ranked[-1])
        return {worker: tuple(instances) for worker, instances in (*left.items(), *there.items())}

    def _near(self, view: View, instance: Instance, there: Sequence[Instance]) -> int:
        """Instances on the new worker that this one exchanges events with, where that counts."""
        if not self.by.endswith("link-load"):
            return 0
        topology = view.topologies[instance[0]]
        adjacent = {*topology.upstream(instance[1]), *topology.downstream(instance[1])}
        return sum(application == instance[0] and name in adjacent for application, name in there)

    def _scale_in(self, view: View, flows: Flows, workers: int, request: ScaleRequest) -> Decision:
        before = hosts(view)
        values = self._importances(view, flows)
        drawn = random.Random(f"{self.seed}/{request.at_s}/{request.workers}")
        work = self._work(view)
        after = dict(before)

        def busy(on_it: Sequence[Instance], worker: str) -> float:
            return sum(work.get(instance, 0.0) for instance in on_it) / _slots(view, worker)

        released: list[str] = []
        while len(released) < view.requested.workers - workers and len(after) > 1:
            sums = {worker: sum(values.get(instance, 0.0) for instance in on_it) for worker, on_it in after.items()}
            order = sorted(after, key=lambda worker: (sums[worker], _state_bytes(view, worker)))
            victim = drawn.choice(sorted(after)) if self.by in ("random", "round-robin") else order[0]
            order.remove(victim)
            for index, instance in enumerate(after.pop(victim)):
                receiver = order[index % len(order)]
                if self.dealing == "idle":
                    receiver = min(order, key=lambda worker: busy(after[worker], worker))
                after[receiver] = (*after[receiver], instance)
            released.append(victim)
        target = view.requested.with_workers(workers)
        if self.by != "round-robin" and are_complete(view, before):
            target = placed(view.requested.parallelism, workers, after)
        how = f"{self.by} gives up {', '.join(released) or 'whom the scheduler chooses'}"
        return Reconfigure(target, f"{_words(request)}: {how}", release=tuple(released), on_request=True)


def _short(flows: Flows, rate: float) -> set[Instance]:
    """Operators at which more than `rate` times as much arrives as they can handle."""
    return {(application, name) for application, known in flows.items() for name in congested(known, rate)}


def _growing(view: View, flows: Flows) -> list[Instance]:
    """Operators that may have more instances."""
    return [
        (application, name)
        for application, known in flows.items()
        for name in view.topologies[application].names
        if known[name].instances < view.topologies[application].operator(name).max_parallelism
    ]


def _shrinking(view: View, flows: Flows) -> list[Instance]:
    """Operators without state that may have fewer instances."""
    return [
        (application, operator.name)
        for application, known in flows.items()
        for operator in view.topologies[application].operators
        if not operator.stateful and known[operator.name].instances > operator.min_parallelism
    ]


def _fullness(flow: OperatorFlow) -> float:
    return flow.input_per_s / flow.most_per_s if flow.most_per_s > 0 else math.inf


def _swapped(found: Hosts, giver: Instance, taker: Instance) -> dict[str, tuple[Instance, ...]]:
    """The hosts with one instance of `taker` where one of `giver` was."""
    after = dict(found)
    for worker, instances in found.items():
        if giver in instances:
            place = instances.index(giver)
            after[worker] = (*instances[:place], taker, *instances[place + 1 :])
            return after
    return after


def _slots(view: View, worker: str) -> int:
    """The slots of a worker; of one beyond the pool, as many as the first has."""
    return next((w.slots for w in view.cluster.workers if w.name == worker), view.cluster.workers[0].slots)


def _words(request: ScaleRequest) -> str:
    count = abs(request.workers)
    return f"the request for {count} {'more' if request.workers > 0 else 'fewer'} worker{'s' if count > 1 else ''}"


def _described(view: View, chosen: Sequence[Instance]) -> str:
    if not chosen:
        return "no operator may have more instances"
    parts = []
    for application, name in dict.fromkeys(chosen):
        label = f"{application}/{name}" if len(view.topologies) > 1 else name
        parts.append(f"{chosen.count((application, name))} more of {label}")
    return ", ".join(parts)


def _per_instance(flow: OperatorFlow) -> float:
    return flow.processed_per_s / flow.instances


def _state_bytes(view: View, worker: str) -> int:
    return 0 if view.latest is None else view.latest.workers[worker].state_bytes or 0
