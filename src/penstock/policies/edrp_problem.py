"""The placement problem behind an assessment of EDRP, and the way from its solution back to a configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np

from penstock.model import Cluster, Configuration, View
from penstock.placement import (
    Bounds,
    Network,
    Node,
    Normalisation,
    Operator,
    Placement,
    Problem,
    Reconfiguration,
    Stream,
    Weights,
)
from penstock.placement.infrastructure import network_of, nodes_of
from penstock.policies.edrp_units import Flow, Unit
from penstock.policies.sizing import allowed_workers, on_fewest_workers

_WHOLE = "cluster"
_NEARNESS, _ORDER = 0.005, 1e-4
"""What decides between deployments that are equally good: little traffic, and fewer replicas of later operators."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a change costs: seconds of pause without and with state, and the speed at which state moves."""

    pause_s: float
    state_pause_s: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Wishes:
    """The weights of response time, cost and downtime, and what none of them should exceed."""

    weights: tuple[float, float, float]
    response_ms: float
    instances: float
    downtime_s: float


def is_uniform(cluster: Cluster) -> bool:
    """Whether it makes no difference on which worker something runs."""
    return not cluster.links and len({worker.speedup for worker in cluster.workers}) == 1


@dataclass(frozen=True, eq=False)
class Deployment:
    """Units on a cluster: makes the problem, and reads its solutions.

    Where it makes no difference on which worker something runs, the cluster is a single node with all the slots.
    """

    view: View
    units: Sequence[Unit]
    flows: Sequence[Flow]
    choices: Mapping[str, Sequence[int]]

    @property
    def uniform(self) -> bool:
        """Whether there is nothing to place."""
        return is_uniform(self.view.cluster)

    def problem(self, wishes: Wishes, costs: Costs, bounded: bool) -> Problem:
        """What to solve; with `bounded` nothing may exceed the wishes, otherwise they only set the scale."""
        current = self.current()
        response, cost, downtime = wishes.weights
        if current is None and response + cost > 0:
            # Nothing is known to run, so nothing can be paused.
            response, cost, downtime = response / (response + cost), cost / (response + cost), 0.0
        nearness = 0.0 if self.uniform else _NEARNESS
        bounds = Bounds(wishes.response_ms, wishes.instances, wishes.downtime_s if current is not None else None)
        return Problem(
            tuple(self._operator(index, unit, costs) for index, unit in enumerate(self.units)),
            tuple(Stream(flow.source, flow.target, flow.rate_per_s) for flow in self.flows),
            self._nodes(),
            self._network(),
            Weights(response_time=response, cost=cost, downtime=downtime, network=nearness),
            normalisation=Normalisation(
                response_time_ms=(0.0, wishes.response_ms),
                cost=(0.0, wishes.instances),
                downtime_s=(0.0, wishes.downtime_s),
            ),
            bounds=bounds if bounded else Bounds(),
            current=current,
            reconfiguration=Reconfiguration(sync_s=costs.pause_s, store_rate_bytes_per_s=costs.bytes_per_s),
        )

    def _operator(self, index: int, unit: Unit, costs: Costs) -> Operator:
        choices = sorted(self.choices[unit.name])
        load = unit.entering_per_s or 1.0
        # Only these numbers of replicas have a latency, so that the solver chooses among them.
        profile = tuple((load / replicas, unit.latency_ms(replicas)) for replicas in reversed(choices))
        extra_s = max(0.0, costs.state_pause_s - costs.pause_s) if unit.stateful else 0.0
        return Operator(
            unit.name,
            candidates=self._candidates(unit),
            max_replicas=choices[-1],
            cost=1.0 + _ORDER * index,
            # A change moves half of the state when it doubles or halves the replicas.
            state_bytes=unit.state_bytes + 2.0 * extra_s * costs.bytes_per_s,
            input_rate_per_s=load,
            latency_profile=profile,
        )

    def _candidates(self, unit: Unit) -> tuple[str, ...] | None:
        pins = {pin for member in unit.members for pin in member.pins} & {node.name for node in self._nodes()}
        return tuple(sorted(pins)) or None

    def _nodes(self) -> tuple[Node, ...]:
        """The workers that are allowed, or all of them in one; where there are too few slots, instances share them."""
        view = self.view
        workers = view.cluster.workers[: view.max_workers]
        slots = sum(worker.slots for worker in workers)
        least = sum(min(self.choices[unit.name]) for unit in self.units)
        sharing = max(1, -(-least // slots))
        if self.uniform:
            return (Node(_WHOLE, float(slots * sharing), workers[0].speedup),)
        nodes = nodes_of(Cluster(workers))
        return tuple(Node(n.name, n.resources * sharing, n.speedup, n.availability) for n in nodes)

    def _network(self) -> Network:
        if self.uniform:
            return Network(np.zeros((1, 1)))
        allowed = {node.name for node in self._nodes()}
        cluster = self.view.cluster
        links = tuple(link for link in cluster.links if {link.source, link.target} <= allowed)
        network = network_of(Cluster(cluster.workers[: self.view.max_workers], links))
        return Network(network.delay_ms, bandwidth_per_s=network.bandwidth_per_s)

    def current(self) -> Placement | None:
        """Where every unit runs now, None if that is not known."""
        if self.uniform:
            return {unit.name: (_WHOLE,) * unit.current for unit in self.units}
        allowed = {node.name for node in self._nodes()}
        found = {unit.name: self._seen_at(unit) for unit in self.units}
        if not all(nodes and set(nodes) <= allowed for nodes in found.values()):
            return None
        return found

    def _seen_at(self, unit: Unit) -> tuple[str, ...]:
        """The workers of the widest member: as they were asked for, or else as they were observed."""
        requested = (self.view.requested.placement or {}).get(unit.application)
        if requested is not None:
            return max((requested.get(member.name, ()) for member in unit.members), key=len)
        if self.view.latest is None:
            return ()
        seen = self.view.latest.workers.items()
        at = [
            tuple(n for n, worker in seen for _ in range(worker.operators.get(f"{unit.application}/{member.name}", 0)))
            for member in unit.members
        ]
        return max(at, key=len)

    def configuration(self, placement: Placement) -> Configuration:
        """The configuration that a placement of the units amounts to."""
        view = self.view
        parallelism = {name: dict(operators) for name, operators in view.requested.parallelism.items()}
        placed: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in parallelism}
        for unit in self.units:
            nodes = placement[unit.name]
            for member in unit.members:
                instances = member.clip(len(nodes))
                parallelism[unit.application][member.name] = instances
                placed[unit.application][member.name] = tuple(sorted(islice(cycle(nodes), instances)))
        if self.uniform:
            return on_fewest_workers(view, parallelism)
        # Nodes of a network are there anyway: what costs is what runs on them.
        return Configuration(parallelism, allowed_workers(view, view.max_workers), placed)
