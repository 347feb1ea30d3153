"""Two full layers of interchangeable operators between a pinned source and a pinned sink, exact.

Only the smaller layer is branched upon, as a multiset of nodes. Once it is placed, the larger layer takes the cheapest
slots, faster ones if response time asks for it. While r operators of the smaller layer are still to place, each pays
at least its own cost plus that of the cheapest slots for the larger layer, in which the known costs of a slot are
shared among the r. The search goes on with whatever promises most until nothing promises to be better than the best
placement found.
"""

import numpy as np

from penstock.placement.costs import Costs, costs_of
from penstock.placement.layers_search import Layer, LayerSearch, LayerTables
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer
from penstock.placement.structure import Layers, layers_of

METHOD = "layers"


def fits_layers(problem: Problem) -> bool:
    """Whether `solve_layers` can solve `problem`, which must be separable."""
    return layers_of(costs_of(problem)) is not None


def solve_layers(problem: Problem, budget: Budget) -> Answer:
    """The optimum; if time or memory run out, the best placement that was found and a bound."""
    costs = costs_of(problem)
    layers = layers_of(costs)
    assert layers is not None
    tables = _tables(costs, layers)
    if tables is None:
        return Answer(infeasible=True, method=METHOD)
    search = LayerSearch(tables, costs.per_ms, budget)
    least = search.run()
    if search.best is None:
        return Answer(infeasible=search.complete, bound=None, method=METHOD)
    small, large = search.best
    assignment = np.empty(costs.instance.operators, dtype=np.int64)
    assignment[layers.source] = costs.instance.candidates[layers.source][0]
    assignment[layers.sink] = costs.instance.candidates[layers.sink][0]
    first, second = (large, small) if tables.large_first else (small, large)
    assignment[list(layers.first)], assignment[list(layers.second)] = first, second
    bound = min(tables.fixed + least, costs.objective(assignment))
    return Answer(costs.instance.named(assignment), bound, method=METHOD)


def _tables(costs: Costs, layers: Layers) -> LayerTables | None:
    """The tables of a problem; None if the pinned operators do not fit."""
    instance, per_ms = costs.instance, costs.per_ms
    source, sink = (int(instance.candidates[end][0]) for end in (layers.source, layers.sink))
    room = instance.capacity.copy()
    for operator, node in ((layers.source, source), (layers.sink, sink)):
        room[node] -= instance.demand[operator]
    one, other = layers.first[0], layers.second[0]
    into, between, out = (
        costs.stream(_stream(costs, *ends)) for ends in ((layers.source, one), (one, other), (other, layers.sink))
    )
    ends = [float(costs.node[layers.source, source]), float(costs.node[layers.sink, sink])]
    if (room < 0).any() or not np.isfinite(ends).all():
        return None
    # What the two ends take is on every path: it counts as a fixed cost, and paths begin and end with a delay.
    ends_ms = float(costs.execution_ms[layers.source, source] + costs.execution_ms[layers.sink, sink])
    first, second = costs.node[one] + into[source], costs.node[other] + out[:, sink]
    first_ms = instance.delay_ms[source] + costs.execution_ms[one]
    second_ms = costs.execution_ms[other] + instance.delay_ms[:, sink]
    first_layer = Layer(len(layers.first), first, first_ms, int(instance.demand[one]))
    second_layer = Layer(len(layers.second), second, second_ms, int(instance.demand[other]))
    large_first = len(layers.first) >= len(layers.second)
    large, small = (first_layer, second_layer) if large_first else (second_layer, first_layer)
    return LayerTables(
        costs.constant + sum(ends) + (per_ms * ends_ms if per_ms else 0.0),
        small,
        large,
        between if large_first else between.T,
        instance.delay_ms if large_first else instance.delay_ms.T,
        room,
        large_first,
    )


def _stream(costs: Costs, tail: int, head: int) -> int:
    return next(stream for stream in costs.instance.outgoing[tail] if costs.instance.heads[stream] == head)
