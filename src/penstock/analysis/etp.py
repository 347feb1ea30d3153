"""Effective Throughput Percentage: how much of an application's throughput an operator can still change (Stela)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.model import Topology


@dataclass(frozen=True, slots=True)
class OperatorFlow:
    """What arrives at one operator, what its `instances` handle, and what they send downstream, per second."""

    instances: int
    input_per_s: float
    processed_per_s: float
    output_per_s: Mapping[str, float] = field(default_factory=dict)


def congested(flows: Mapping[str, OperatorFlow], rate: float) -> frozenset[str]:
    """Operators at which more than `rate` times as much arrives as is handled (CONGESTIONDETECTION)."""
    return frozenset(name for name, flow in flows.items() if flow.input_per_s > rate * flow.processed_per_s)


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
    it is, because they have no more to handle it with.
    """
    flow = flows[name]
    growth = (flow.instances + 1) / flow.instances
    sent = {child: rate * growth for child, rate in flow.output_per_s.items()}
    projected = dict(flows)
    projected[name] = replace(
        flow, instances=flow.instances + 1, processed_per_s=flow.processed_per_s * growth, output_per_s=sent
    )
    for child in topology.downstream(name):
        if child in projected:
            more = sent.get(child, 0.0) - flow.output_per_s.get(child, 0.0)
            projected[child] = replace(projected[child], input_per_s=projected[child].input_per_s + more)
    return projected
