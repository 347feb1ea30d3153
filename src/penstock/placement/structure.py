"""Shapes of applications that allow more than a general search: independent operators, chains, diamonds, layers."""

from dataclasses import dataclass

from penstock.placement.costs import Costs
from penstock.placement.instance import Instance


def free_operators(instance: Instance) -> list[int]:
    """Operators that have a choice of nodes."""
    return [operator for operator in range(instance.operators) if instance.pinned(operator) is None]


def are_independent(costs: Costs) -> bool:
    """Whether no two operators that have a choice matter to each other, except for room and for the critical path.

    Then no stream that matters joins two of them and, if response time counts, no path leads through two of them.
    """
    instance = costs.instance
    if not costs.streams_matter and costs.per_ms == 0:
        return True
    free = set(free_operators(instance))
    if any(int(tail) in free and int(head) in free for tail, head in zip(instance.tails, instance.heads, strict=True)):
        return False
    return costs.per_ms == 0 or _most_on_path(instance, free) <= 1


def _most_on_path(instance: Instance, chosen: set[int]) -> int:
    """The most operators of `chosen` on any path."""
    most = [0] * instance.operators
    for operator in instance.problem.order:
        before = max((most[int(instance.tails[stream])] for stream in instance.incoming[operator]), default=0)
        most[operator] = before + (operator in chosen)
    return max(most)


def chain_of(instance: Instance) -> list[int] | None:
    """All operators in their order if they form one chain, else None."""
    joined = all(len(streams) <= 1 for streams in (*instance.incoming, *instance.outgoing))
    if not joined or instance.streams != instance.operators - 1:
        return None
    # With one stream fewer than operators and no branches, no cycle is possible and there is one chain.
    return list(instance.problem.order)


@dataclass(frozen=True, slots=True)
class Diamond:
    """A source that feeds every operator of `middle`, each of which feeds a sink."""

    source: int
    middle: tuple[int, ...]
    sink: int


def diamond_of(instance: Instance) -> Diamond | None:
    """The parts of an application that has this shape, else None."""
    ends = _ends_of(instance)
    if ends is None or ends[0] == ends[1]:
        return None
    source, sink = ends
    middle = tuple(operator for operator in range(instance.operators) if operator not in ends)
    expected = {(source, one) for one in middle} | {(one, sink) for one in middle}
    links = set(zip(instance.tails.tolist(), instance.heads.tolist(), strict=True))
    return Diamond(source, middle, sink) if middle and links == expected else None


def _ends_of(instance: Instance) -> tuple[int, int] | None:
    """The source and the sink if there is one of each, else None."""
    sources = [operator for operator in range(instance.operators) if not instance.incoming[operator]]
    sinks = [operator for operator in range(instance.operators) if not instance.outgoing[operator]]
    return (sources[0], sinks[0]) if len(sources) == len(sinks) == 1 else None


@dataclass(frozen=True, slots=True)
class Layers:
    """A pinned source that feeds every operator of `first`, each of which feeds all of `second`, which feed a pinned
    sink.

    Operators of a layer can stand for one another.
    """

    source: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    sink: int


def layers_of(costs: Costs) -> Layers | None:
    """The layers of an application that has this shape, else None."""
    instance = costs.instance
    ends = _ends_of(instance)
    if ends is None:
        return None
    source, sink = ends
    first = tuple(sorted(int(instance.heads[stream]) for stream in instance.outgoing[source]))
    second = tuple(sorted(int(instance.tails[stream]) for stream in instance.incoming[sink]))
    expected = {(source, one) for one in first} | {(one, other) for one in first for other in second}
    expected |= {(other, sink) for other in second}
    links = set(zip(instance.tails.tolist(), instance.heads.tolist(), strict=True))
    whole = len({source, sink, *first, *second}) == instance.operators == 2 + len(first) + len(second)
    if links != expected or not whole or instance.pinned(source) is None or instance.pinned(sink) is None:
        return None
    alike = _are_twins(costs, first) and _are_twins(costs, second) and _same_flow(instance, first, second)
    return Layers(source, first, second, sink) if alike else None


def _are_twins(costs: Costs, operators: tuple[int, ...]) -> bool:
    """Whether operators of a layer have the same needs, costs and flows to the pinned end."""
    one = operators[0]
    return all(
        costs.instance.demand[one] == costs.instance.demand[other]
        and (costs.node[one] == costs.node[other]).all()
        and (costs.execution_ms[one] == costs.execution_ms[other]).all()
        for other in operators
    )


def _same_flow(instance: Instance, first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether all streams between the same two layers carry the same."""
    flows: dict[str, set[tuple[float, float]]] = {"in": set(), "between": set(), "out": set()}
    for stream, (tail, head) in enumerate(zip(instance.tails.tolist(), instance.heads.tolist(), strict=True)):
        where = "in" if tail not in first and tail not in second else "between" if head in second else "out"
        flows[where].add((float(instance.rate[stream]), float(instance.volume[stream])))
    return all(len(kinds) == 1 for kinds in flows.values())
