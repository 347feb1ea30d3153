"""Greedy First-fit (thesis, section 5.5.1): nodes in the order of their penalty, operators breadth first."""

from collections import deque
from functools import lru_cache

import numpy as np

from penstock.placement.heuristics.judge import judged
from penstock.placement.heuristics.penalty import anchors, distance_to
from penstock.placement.instance import Instance, Ints, instance_of
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer


def solve_greedy(problem: Problem, _: Budget) -> Answer:
    """Every operator goes to the first node with room, nodes sorted by their penalty to the pinned operators."""
    return _solve(problem, by_penalty=True)


def solve_greedy_no_penalty(problem: Problem, _: Budget) -> Answer:
    """The same with nodes in the order in which the problem lists them."""
    return _solve(problem, by_penalty=False)


def _solve(problem: Problem, by_penalty: bool) -> Answer:
    judge = judged(problem)
    if judge is None:
        return Answer(infeasible=True)
    instance = judge.instance
    nodes = nodes_by_penalty(instance) if by_penalty else np.arange(instance.nodes)
    return judge.answer(first_fit(instance, nodes), "greedy first-fit")


def nodes_by_penalty(instance: Instance) -> Ints:
    """All nodes, those with the least penalty to the pinned operators first."""
    return np.argsort(distance_to(instance.problem, anchors(instance)), kind="stable")


def first_fit(instance: Instance, nodes: Ints) -> Ints:
    """The placement that results; an operator that fits nowhere overloads the node with the most room left."""
    room, demand, preferred = instance.capacity.tolist(), instance.demand.tolist(), nodes.tolist()
    assignment = np.full(instance.operators, -1, dtype=np.int64)
    for operator in _pinned_first(instance):
        candidates = instance.candidates[operator].tolist()
        possible = preferred
        if len(candidates) < instance.nodes:
            allowed = set(candidates)
            possible = [node for node in preferred if node in allowed]
        node = next((node for node in possible if room[node] >= demand[operator]), None)
        if node is None:
            node = max(candidates, key=room.__getitem__)
        assignment[operator] = node
        room[node] -= demand[operator]
    return assignment


@lru_cache(maxsize=16)
def _pinned_first(instance: Instance) -> tuple[int, ...]:
    """In which order operators are placed: the pinned ones, then the others breadth first; made once."""
    pinned = [operator for operator in range(instance.operators) if instance.pinned(operator) is not None]
    return (*pinned, *(operator for operator in breadth_first(instance) if instance.pinned(operator) is None))


def breadth_first(instance: Instance) -> list[int]:
    """All operators, sources first, then by their distance from them in streams."""
    waiting = deque(operator for operator in range(instance.operators) if not instance.incoming[operator])
    seen = set(waiting)
    visited: list[int] = []
    while waiting:
        operator = waiting.popleft()
        visited.append(operator)
        for stream in instance.outgoing[operator]:
            head = int(instance.heads[stream])
            if head not in seen:
                seen.add(head)
                waiting.append(head)
    return visited


def greedy_start(problem: Problem) -> Ints:
    """Where searches start."""
    instance = instance_of(problem)
    return first_fit(instance, nodes_by_penalty(instance))
