"""Effective Throughput Percentage: how much of an application's throughput an operator can still change (Stela)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.model import Topology


@dataclass(frozen=True, slots=True)
class OperatorFlow:
    """What arrives at one operator, what its `instances` handle, and what they send downstream, per second.

    `capacity_per_s` is what they could handle if enough arrived; None where that is not known.
    """

    instances: int
    input_per_s: float
    processed_per_s: float
    output_per_s: Mapping[str, float] = field(default_factory=dict)
    capacity_per_s: float | None = None

    @property
    def most_per_s(self) -> float:
        """The most that it is known to handle."""
        return max(self.processed_per_s, self.capacity_per_s or 0.0)


def congested(flows: Mapping[str, OperatorFlow], rate: float) -> frozenset[str]:
    """Operators at which more than `rate` times as much arrives as they handle, or could (CONGESTIONDETECTION)."""
    return frozenset(name for name, flow in flows.items() if flow.input_per_s > rate * flow.most_per_s)


def effective_throughput(
    topology: Topology, processed_per_s: Mapping[str, float], congested: Iterable[str]
) -> dict[str, float]:
    """The share of the sinks' throughput that each operator has an effect on, from 0 to 1 (FINDETP).

    An operator has an effect on a sink that it reaches by a path on which nothing after it is congested: through a
    congested operator nothing more would get. A sink that is reached by several such paths counts once, as the
    definition says (Algorithm 1, a recursive sum, is the same where paths do not meet again). While no sink handles
    anything every sink counts the same.
    """
    blocked = set(congested)
    sinks = {name: processed_per_s.get(name, 0.0) for name in topology.sinks}
    total = sum(sinks.values())
    if total <= 0:
        sinks, total = dict.fromkeys(sinks, 1.0), float(len(sinks))
    reached: dict[str, frozenset[str]] = {}
    for name in reversed(topology.order):
        below = [reached[child] for child in topology.downstream(name) if child not in blocked]
        reached[name] = frozenset({name}) if name in sinks else frozenset().union(*below)
    return {name: sum(sinks[sink] for sink in reached[name]) / total for name in topology.names}


def with_one_more(topology: Topology, flows: Mapping[str, OperatorFlow], name: str) -> dict[str, OperatorFlow]:
    """The flows projected for one more instance of `name`.

    It handles and sends (k + 1) / k times as much, and its children receive that much more. What they handle stays as
    it is, because they have no more to handle it with; only those whose capacity is known handle more, up to that, and
    so on downstream. One of known capacity handles no more than arrives.
    """
    flow = flows[name]
    growth = (flow.instances + 1) / flow.instances
    capacity = None if flow.capacity_per_s is None else flow.capacity_per_s * growth
    projected = {**flows, name: replace(flow, instances=flow.instances + 1, capacity_per_s=capacity)}
    handled = flow.processed_per_s * growth
    changed = {name: handled if capacity is None else min(handled, max(flow.input_per_s, flow.processed_per_s))}
    for operator in topology.order:
        if operator in changed:
            changed.update(_sent_on(topology, projected, operator, changed[operator]))
    return projected


def with_one_fewer(flows: Mapping[str, OperatorFlow], name: str) -> dict[str, OperatorFlow] | None:
    """The flows with one instance of `name` fewer; None unless the others are known to handle all that arrives."""
    flow = flows[name]
    if flow.capacity_per_s is None or flow.instances < 2:
        return None
    capacity = flow.capacity_per_s * (flow.instances - 1) / flow.instances
    if flow.input_per_s > capacity:
        return None
    return {**flows, name: replace(flow, instances=flow.instances - 1, capacity_per_s=capacity)}


def _sent_on(topology: Topology, flows: dict[str, OperatorFlow], name: str, processed_per_s: float) -> dict[str, float]:
    """Let `name` handle that much; returns what the children of known capacity handle then."""
    flow = flows[name]
    growth = processed_per_s / flow.processed_per_s if flow.processed_per_s > 0 else 1.0
    sent = {child: rate * growth for child, rate in flow.output_per_s.items()}
    flows[name] = replace(flow, processed_per_s=processed_per_s, output_per_s=sent)
    handled = {}
    for child in (child for child in topology.downstream(name) if child in flows):
        more = sent.get(child, 0.0) - flow.output_per_s.get(child, 0.0)
        fed = flows[child] = replace(flows[child], input_per_s=flows[child].input_per_s + more)
        if fed.capacity_per_s is not None:
            handled[child] = max(fed.processed_per_s, min(fed.input_per_s, fed.capacity_per_s))
    return handled
