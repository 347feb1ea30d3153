"""What a link costs compared with an ideal one: the resource penalty function (thesis, section 5.3)."""

from functools import lru_cache

import numpy as np

from penstock.placement.instance import Floats, Instance, Ints, instance_of
from penstock.placement.problem import Problem

_REFERENCE_MS = 1.0
"""Execution time of the two reference operators at the ends of a link."""


@lru_cache(maxsize=16)
def link_penalty(problem: Problem) -> Floats:
    """The penalty of every link, from 0 for the best to 1 for the worst, weighted like the objective.

    A link from a node to itself stands for two operators on that node. Beyond the thesis the price of links counts
    too, by the weight of cost.
    """
    instance, weights = instance_of(problem), problem.weights
    parts = (
        (weights.response_time, _response_ms(instance)),
        (weights.availability, _log_loss(instance)),
        (weights.network, instance.network_factor),
        (weights.cost, instance.link_cost),
    )
    total = np.zeros((instance.nodes, instance.nodes))
    for weight, matrix in parts:
        if weight > 0 and matrix is not None:
            total += weight * _normalised(matrix)
    total.setflags(write=False)
    return total


def distance_to(problem: Problem, nodes: Ints) -> Floats:
    """For every node the sum of its penalties to and from `nodes`, each direction by half."""
    penalty = link_penalty(problem)
    return np.asarray(0.5 * (penalty[:, nodes].sum(axis=1) + penalty[nodes, :].sum(axis=0)))


def anchors(instance: Instance) -> Ints:
    """The nodes of pinned operators; if nothing is pinned, the node nearest to all others.

    The heuristics of the thesis start from sources and sinks, whose nodes they take as given.
    """
    pinned = {node for operator in range(instance.operators) if (node := instance.pinned(operator)) is not None}
    if not pinned:
        penalty = link_penalty(instance.problem)
        pinned = {int(np.argmin(penalty.sum(axis=0) + penalty.sum(axis=1)))}
    return np.array(sorted(pinned), dtype=np.int64)


def _response_ms(instance: Instance) -> Floats:
    execution = _REFERENCE_MS / instance.speedup
    return np.asarray(instance.delay_ms + execution[:, None] + execution[None, :])


def _log_loss(instance: Instance) -> Floats:
    nodes = -instance.log_node
    loss = nodes[:, None] + nodes[None, :] - (0.0 if instance.log_link is None else instance.log_link)
    np.fill_diagonal(loss, nodes)
    return np.asarray(loss)


def _normalised(matrix: Floats) -> Floats:
    low, high = float(matrix.min()), float(matrix.max())
    return np.asarray((matrix - low) / (high - low)) if high > low else np.zeros_like(matrix)
