import numpy as np
import pytest

from penstock.analysis import stationary_distribution, transition_matrix


def test_moves_are_counted() -> None:
    matrix = transition_matrix([[0, 0, 1, 0, 2, 2, 2]], 3)
    assert matrix.tolist() == [[1 / 3, 1 / 3, 1 / 3], [1, 0, 0], [0, 0, 1]]


def test_a_state_that_was_never_left_is_stayed_in() -> None:
    assert transition_matrix([[0, 0]], 3).tolist() == np.eye(3).tolist()
    assert transition_matrix([[]], 2).tolist() == np.eye(2).tolist()


def test_there_is_no_move_between_histories() -> None:
    assert transition_matrix([[0, 0], [1, 1]], 2).tolist() == np.eye(2).tolist()


def test_the_stationary_distribution_solves_its_equation() -> None:
    matrix = np.array([[0.8, 0.15, 0.05], [0.3, 0.5, 0.2], [0.1, 0.3, 0.6]])
    values, vectors = np.linalg.eig(matrix.T)
    expected = np.real(vectors[:, np.argmax(np.real(values))])
    expected = expected / expected.sum()
    for start in range(3):
        shares = np.array(stationary_distribution(matrix, start))
        assert shares == pytest.approx(expected)
        assert shares @ matrix == pytest.approx(shares)


def test_a_chain_that_goes_round_in_circles_spends_the_same_time_everywhere() -> None:
    circle = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert stationary_distribution(circle, 1) == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_what_cannot_be_reached_from_the_start_has_no_share() -> None:
    matrix = transition_matrix([[0, 1, 0, 1]], 3)
    assert stationary_distribution(matrix, 0) == pytest.approx((0.5, 0.5, 0.0))
    assert stationary_distribution(matrix, 2) == pytest.approx((0.0, 0.0, 1.0))
