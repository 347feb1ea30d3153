"""The best point of an integer lattice: all of them are looked at where they are few, the promising ones elsewhere."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Points: TypeAlias = NDArray[np.int64]
Values: TypeAlias = NDArray[np.float64]

COMPLETE = 20_000
"""Lattices of up to this many points are searched completely."""
_DRAWN = 1_500
_REFINED = 4
_ROUNDS = 12


def best_of_lattice(
    low: Sequence[int],
    high: Sequence[int],
    value: Callable[[Points], Values],
    seed: int,
    begin: Sequence[Sequence[int]] = (),
) -> tuple[tuple[int, ...], float] | None:
    """The point between `low` and `high` of the greatest value, and that value; None if no point has a finite one.

    `value` takes points as rows; minus infinity forbids one. A large lattice is sampled (with `seed`; half of the
    samples lie near `low`, and `begin` is among them), and the best samples are improved step by step in every
    direction. Among equal points that with the smallest sum is taken.
    """
    least, most = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
    size = float(np.prod((most - least + 1).astype(float)))
    if size <= COMPLETE:
        axes = [np.arange(a, b + 1, dtype=np.int64) for a, b in zip(least, most, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        return _best(points, value(points))
    points = np.concatenate([_drawn(least, most, seed), _rows(begin, least, most)])
    values = value(points)
    found = [_best(points, values)]
    for index in np.argsort(-values, kind="stable")[:_REFINED]:
        if np.isfinite(values[index]):
            found.append(_climbed(points[index], float(values[index]), least, most, value))
    known = [one for one in found if one is not None]
    return max(known, key=lambda one: (one[1], -sum(one[0])), default=None)


def _drawn(least: Points, most: Points, seed: int) -> Points:
    rng = np.random.default_rng(seed)
    spans = most - least + 1
    anywhere = least + (rng.random((_DRAWN // 2, len(spans))) * spans).astype(np.int64)
    near = least + (rng.random((_DRAWN - _DRAWN // 2, len(spans))) ** 4 * spans).astype(np.int64)
    # In many dimensions a point that differs from the least one everywhere is never near it.
    kept = rng.random(near.shape) < min(1.0, 3.0 / len(spans))
    drawn: Points = np.concatenate([least[None, :], anywhere, np.where(kept, near, least)])
    return drawn


def _rows(points: Sequence[Sequence[int]], least: Points, most: Points) -> Points:
    rows: Points = np.asarray(points, dtype=np.int64).reshape(-1, len(least))
    return np.clip(rows, least, most)


def _climbed(
    start: Points, value_there: float, least: Points, most: Points, value: Callable[[Points], Values]
) -> tuple[tuple[int, ...], float]:
    """The end of the steepest way up from `start`, by steps of up to an eighth of a side."""
    at, here = start, value_there
    units = np.eye(len(start), dtype=np.int64)
    strides = sorted({1, 2, *(max(1, int((most - least).max()) // part) for part in (8, 16))})
    moves = np.concatenate([sign * stride * units for stride in strides for sign in (-1, 1)])
    for _ in range(_ROUNDS):
        around = np.clip(at + moves, least, most)
        best = _best(around, value(around))
        if best is None or best[1] <= here:
            break
        at, here = np.asarray(best[0], dtype=np.int64), best[1]
    return tuple(int(x) for x in at), here


def _best(points: Points, values: Values) -> tuple[tuple[int, ...], float] | None:
    if not values.size or not np.isfinite(top := float(values.max())):
        return None
    equal = points[values >= top]
    return tuple(int(x) for x in equal[np.argmin(equal.sum(axis=1))]), top
