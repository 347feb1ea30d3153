"""Problems that cannot have a solution, seen without searching for one."""

import numpy as np

from penstock.errors import InvalidModel
from penstock.placement.instance import UNITS, instance_of
from penstock.placement.problem import Problem


def refuse_hopeless(problem: Problem) -> None:
    """Raise `InvalidModel`, naming the culprit, if capacities or service rates plainly cannot suffice."""
    instance = instance_of(problem)
    needed = np.zeros(instance.nodes, dtype=np.int64)
    total = 0
    for index, operator in enumerate(problem.operators):
        if not len(instance.candidates[index]):
            raise InvalidModel(
                f"Operator '{operator.name}' needs {operator.resources:g} resources, "
                "more than any of its candidates has."
            )
        stable = np.flatnonzero(np.isfinite(instance.latency_ms[index]))
        if not len(stable):
            raise InvalidModel(
                f"Operator '{operator.name}' cannot keep up with its load even with {instance.most[index]} replicas."
            )
        least = int(instance.demand[index]) * (int(stable[0]) + 1)
        total += least
        node = instance.pinned(index)
        if node is not None:
            needed[node] += least
    for short in np.flatnonzero(needed > instance.capacity):
        node_name, has = problem.nodes[short].name, problem.nodes[short].resources
        raise InvalidModel(
            f"Node '{node_name}' has {has:g} resources, and operators that run nowhere else need "
            f"{needed[short] / UNITS:g}."
        )
    if total > int(instance.capacity.sum()):
        raise InvalidModel(
            f"The operators need {total / UNITS:g} resources in all, more than the {instance.capacity.sum() / UNITS:g} "
            "of the nodes."
        )
