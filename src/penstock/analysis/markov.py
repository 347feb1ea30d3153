"""Finite Markov chains: transition probabilities from what was seen, and where the chain ends up in the long run."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]


def transition_matrix(histories: Iterable[Sequence[int]], states: int) -> Matrix:
    """Row i holds the share of moves from state i to each state. A state that was never left is stayed in.

    Between the end of one history and the beginning of the next there is no move.
    """
    counts = np.zeros((states, states))
    for history in histories:
        for before, after in pairwise(history):
            counts[before, after] += 1
    never_left = np.flatnonzero(counts.sum(axis=1) == 0)
    counts[never_left, never_left] = 1
    matrix: Matrix = counts / counts.sum(axis=1, keepdims=True)
    return matrix


def stationary_distribution(matrix: Matrix, start: int, doublings: int = 20) -> tuple[float, ...]:
    """The long-run share of time in each state for a chain that begins in `start`.

    By the Chapman-Kolmogorov equation the probabilities after n steps are the n-th power of the matrix; squaring it
    `doublings` times covers 2 ** doublings steps. Half of every step is spent staying, which changes nothing in the
    long run and makes chains that go round in circles converge as well.
    """
    lazy = (matrix + np.eye(len(matrix))) / 2
    for _ in range(doublings):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)  # Rounding must not add up over the squarings.
    return tuple(float(share) for share in lazy[start])
