"""What EDRP deploys, and what each of it has to carry: operators by themselves, fused segments as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.analysis import OperatorRates, desired_inputs, selectivities
from penstock.model import Operator, Topology, View
from penstock.profiling import Loads

Known = Mapping[str, Mapping[str, OperatorRates]]
"""The last known rates of every operator of every application."""

_FULL = 0.99
"""The usage from which on a queue is not modelled: it would be endless."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Operators that are deployed together, with the same number of replicas as far as each allows.

    `busy` are the instances that each member keeps busy, None if the load or its rates are not known; `entering_per_s`
    is what comes in from outside. `current` is what is requested now.
    """

    application: str
    members: tuple[Operator, ...]
    current: int
    entering_per_s: float
    busy: Mapping[str, float] | None
    state_bytes: float = 0.0

    @property
    def name(self) -> str:
        """The unit in a problem: its application and its first member."""
        return f"{self.application}/{self.members[0].name}"

    @property
    def stateful(self) -> bool:
        """Whether any member has state."""
        return any(member.stateful for member in self.members)

    @property
    def most(self) -> int:
        """The most replicas that any member may have."""
        return max(member.max_parallelism for member in self.members)

    def usage(self, replicas: int) -> float:
        """The share of the time that the unit is busy; above 1 it cannot keep up. 0 if that is not known."""
        return sum((self.busy or {}).get(m.name, 0.0) / m.clip(replicas) for m in self.members)

    def latency_ms(self, replicas: int) -> float:
        """The time that an event spends in a replica, which is an M/M/1 queue (6.1)."""
        if not self.busy or not self.entering_per_s:
            return 0.0
        service_ms = 1000.0 * sum(self.busy.values()) / self.entering_per_s
        return service_ms / (1.0 - min(self.usage(replicas), _FULL))

    def choices(self, utilisation: float, tolerance: float) -> list[int]:
        """The numbers of replicas to choose from: those that keep up, or what runs now if nothing is known.

        Fewer than now must keep up with a load that is higher by the share `tolerance`. If none keeps up, the most.
        """
        if self.busy is None:
            return [self.current]
        numbers = range(min(member.min_parallelism for member in self.members), self.most + 1)
        enough = [h for h in numbers if self.usage(h) * (1.0 + tolerance * (h < self.current)) <= utilisation]
        return enough or [self.most]


@dataclass(frozen=True, slots=True)
class Flow:
    """Events per second from one unit to another, by their names."""

    source: str
    target: str
    rate_per_s: float


def units_of(view: View, sources: Loads, known: Known) -> tuple[list[Unit], list[Flow]]:
    """All units of all applications under what arrives at their sources, and what flows between them."""
    units: list[Unit] = []
    flows: list[Flow] = []
    for name, topology in view.topologies.items():
        # Selectivity does not depend on parallelism, so all observations count.
        ratios = selectivities(topology, view.observations)
        desired = desired_inputs(topology, sources.get(name, {}), ratios)
        own = [_unit(view, topology, segment, desired, known[name]) for segment in topology.all_segments]
        units.extend(own)
        flows.extend(_flows(topology, own, desired, ratios))
    return units, flows


def _unit(
    view: View,
    topology: Topology,
    segment: Sequence[str],
    desired: Mapping[str, float | None],
    known: Mapping[str, OperatorRates],
) -> Unit:
    requested = view.requested.parallelism[topology.name]
    outside = [n for n in segment if not topology.upstream(n) or set(topology.upstream(n)) - set(segment)]
    seen = None if view.latest is None else view.latest.applications.get(topology.name)
    states = [seen.operators[n].state_bytes for n in segment if n in seen.operators] if seen is not None else []
    return Unit(
        topology.name,
        tuple(topology.operator(name) for name in segment),
        max(requested[name] for name in segment),
        sum(desired[name] or 0.0 for name in outside),
        _busy(segment, desired, known),
        float(sum(state for state in states if state is not None)),
    )


def _busy(
    segment: Sequence[str], desired: Mapping[str, float | None], known: Mapping[str, OperatorRates]
) -> dict[str, float] | None:
    """The instances that each member keeps busy, None if too little is known.

    Rates are effective ones, per second of useful time of the whole segment, so each member says how many instances
    the whole keeps busy; their shares of the segment's time divide that.
    """
    if any(desired[name] is None for name in segment):
        return None
    if not any(desired[name] for name in segment):
        return dict.fromkeys(segment, 0.0)
    wholes = [(desired[n] or 0.0) / rate for n in segment if (rate := known[n].rate_per_s)]
    if not wholes:
        return None
    shares = {n: 1.0 if len(segment) == 1 else (known[n].share or 0.0) for n in segment}
    total = sum(shares.values())
    if total <= 0:
        shares, total = dict.fromkeys(segment, 1.0), float(len(segment))
    return {name: max(wholes) * share / total for name, share in shares.items()}


def _flows(
    topology: Topology,
    units: Sequence[Unit],
    desired: Mapping[str, float | None],
    ratios: Mapping[tuple[str, str], float],
) -> list[Flow]:
    unit_of = {member.name: unit.name for unit in units for member in unit.members}
    reached = list(dict.fromkeys(unit_of[name] for name in topology.order))
    rates: dict[tuple[str, str], float] = {}
    for stream in topology.streams:
        ends = unit_of[stream.upstream], unit_of[stream.downstream]
        # A stream may leave a segment and come back to it; on a path it counts only forwards.
        if reached.index(ends[0]) < reached.index(ends[1]):
            rate = (desired[stream.upstream] or 0.0) * ratios.get((stream.upstream, stream.downstream), 0.0)
            rates[ends] = rates.get(ends, 0.0) + rate
    return [Flow(source, target, rate) for (source, target), rate in rates.items()]
