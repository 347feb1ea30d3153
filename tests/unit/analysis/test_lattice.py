from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.analysis import best_of_lattice


def peak(*at: int) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    centre = np.asarray(at, dtype=float)

    def value(points: NDArray[np.int64]) -> NDArray[np.float64]:
        result: NDArray[np.float64] = -((points - centre) ** 2).sum(axis=1)
        return result

    return value


def test_a_small_lattice_is_searched_completely() -> None:
    assert best_of_lattice((1, 1), (40, 40), peak(17, 3), 0) == ((17, 3), 0.0)


@pytest.mark.parametrize("at", [(3, 5, 12, 10), (40, 40, 40, 40), (20, 7, 33, 11)])
def test_a_large_one_is_sampled_and_refined(at: tuple[int, ...]) -> None:
    assert best_of_lattice((3, 4, 10, 9), (40, 40, 40, 40), peak(*at), 1) == (at, 0.0)


def test_many_dimensions_near_the_low_end() -> None:
    low, at = (2,) * 30, (2,) * 28 + (5, 9)
    found = best_of_lattice(low, (40,) * 30, peak(*at), 3)
    assert found is not None
    assert sum(abs(a - b) for a, b in zip(found[0], at, strict=True)) <= 3


def test_the_same_seed_gives_the_same_point() -> None:
    def rough(points: NDArray[np.int64]) -> NDArray[np.float64]:
        result: NDArray[np.float64] = np.sin(points @ np.arange(1.0, 7.0))
        return result

    first = best_of_lattice((1,) * 6, (40,) * 6, rough, 5)
    assert first == best_of_lattice((1,) * 6, (40,) * 6, rough, 5)


def test_what_is_forbidden_is_not_found() -> None:
    def even_only(points: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(points.sum(axis=1) % 2 == 0, points.sum(axis=1).astype(float), -np.inf)

    assert best_of_lattice((1, 1), (4, 3), even_only, 0) == ((3, 3), 6.0)
    assert best_of_lattice((1, 1), (4, 3), lambda points: np.full(len(points), -np.inf), 0) is None


def test_among_equal_points_the_smallest_is_taken() -> None:
    assert best_of_lattice((2, 3), (9, 9), lambda points: np.zeros(len(points)), 0) == ((2, 3), 0.0)


def test_known_good_points_are_looked_at() -> None:
    def needle(points: NDArray[np.int64]) -> NDArray[np.float64]:
        there: NDArray[np.float64] = (points == np.array([7, 31, 2, 19, 28])).all(axis=1).astype(float)
        return there

    found = best_of_lattice((1,) * 5, (40,) * 5, needle, 0, [(7, 31, 2, 19, 28)])
    assert found == ((7, 31, 2, 19, 28), 1.0)
