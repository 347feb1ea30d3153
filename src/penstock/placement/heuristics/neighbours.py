"""Placements that differ a little from a given one: the exploration strategies of the thesis (section 5.5.2)."""

from collections.abc import Callable

import numpy as np

from penstock.placement.instance import Instance, Ints

Strategy = Callable[[Instance, Ints], Ints]
"""All neighbours of a placement, one in a row, operators only on nodes on which they may run."""


def co_locations(instance: Instance, assignment: Ints) -> Ints:
    """Two operators that communicate, both on the node of the one or of the other."""
    allowed = _allowed(instance)
    rows = []
    for tail, head in zip(instance.tails.tolist(), instance.heads.tolist(), strict=True):
        for mover, node in ((tail, assignment[head]), (head, assignment[tail])):
            if assignment[mover] != node and allowed[mover, node]:
                row = assignment.copy()
                row[mover] = node
                rows.append(row)
    return np.array(rows, dtype=np.int64).reshape(len(rows), instance.operators)


def node_swaps(instance: Instance, assignment: Ints) -> Ints:
    """A node that is used replaced by one that is not: everything on it that is not pinned goes there."""
    allowed = _allowed(instance)
    used = np.unique(assignment)
    unused = np.setdiff1d(np.arange(instance.nodes), used, assume_unique=True)
    parts = [np.zeros((0, instance.operators), dtype=np.int64)]
    for node in used.tolist():
        movers = np.flatnonzero((assignment == node) & ~_pinned(instance))
        if not len(movers):
            continue
        targets = unused[allowed[np.ix_(movers, unused)].all(axis=0)]
        rows = np.repeat(assignment[None, :], len(targets), axis=0)
        rows[:, movers] = targets[:, None]
        parts.append(rows)
    return np.concatenate(parts)


def moves(instance: Instance, assignment: Ints) -> Ints:
    """A single operator on another node."""
    operators = np.repeat(np.arange(instance.operators), [len(c) for c in instance.candidates])
    nodes = np.concatenate(instance.candidates)
    real = assignment[operators] != nodes
    operators, nodes = operators[real], nodes[real]
    rows = np.repeat(assignment[None, :], len(nodes), axis=0)
    rows[np.arange(len(nodes)), operators] = nodes
    return rows


STRATEGIES: tuple[Strategy, ...] = (co_locations, node_swaps, moves)


def _allowed(instance: Instance) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    allowed = np.zeros((instance.operators, instance.nodes), dtype=np.bool_)
    for operator, candidates in enumerate(instance.candidates):
        allowed[operator, candidates] = True
    return allowed


def _pinned(instance: Instance) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([len(candidates) == 1 for candidates in instance.candidates], dtype=np.bool_)
