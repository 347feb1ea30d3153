"""The contract of a placement solver, with the problems and the brute force that it is held against."""

from collections.abc import Iterator
from itertools import combinations_with_replacement, product

from penstock.placement import (
    Placement,
    Problem,
    evaluate,
)
from penstock.placement.instance import instance_of


def every_placement(problem: Problem) -> Iterator[Placement]:
    """All placements, of any number of replicas, of a problem that must be tiny."""
    instance = instance_of(problem)
    names = [node.name for node in problem.nodes]
    choices = [
        [
            tuple(names[node] for node in nodes)
            for replicas in range(1, instance.most[index] + 1)
            for nodes in combinations_with_replacement(instance.candidates[index].tolist(), replicas)
        ]
        for index in range(instance.operators)
    ]
    for nodes in product(*choices):
        yield {operator.name: at for operator, at in zip(problem.operators, nodes, strict=True)}


def brute_force(problem: Problem) -> float | None:
    """The least objective of all placements that keep the constraints, or None if there is none."""
    evaluations = (evaluate(problem, placement) for placement in every_placement(problem))
    return min((e.objective for e in evaluations if e.is_feasible), default=None)
