import math

import numpy as np
import pytest

from penstock.analysis import expected_improvement, fit_gaussian_process, probability_below
from penstock.analysis.gaussian_process import matern
from penstock.errors import InvalidModel

RNG = np.random.default_rng(7)
POINTS = RNG.random((25, 3))
VALUES = np.sin(3 * POINTS[:, 0]) + POINTS[:, 1] ** 2


def test_the_kernel_is_the_matern_kernel() -> None:
    from sklearn.gaussian_process.kernels import Matern

    distances = np.linalg.norm(POINTS[:, None, :] - POINTS[None, :, :], axis=2)
    assert matern(distances, 0.7) == pytest.approx(Matern(0.7, nu=2.5)(POINTS))


def test_predictions_are_those_of_scikit_learn_with_the_same_parameters() -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern

    ours = fit_gaussian_process(POINTS, VALUES)
    kernel = ConstantKernel(ours.scale, "fixed") * Matern(ours.length, "fixed", nu=2.5)
    theirs = GaussianProcessRegressor(kernel, alpha=ours.noise * ours.scale, optimizer=None)
    theirs.fit(POINTS, VALUES - VALUES.mean())
    new = RNG.random((40, 3))
    mean, deviation = ours.predict(new)
    expected, spread = theirs.predict(new, return_std=True)
    assert mean == pytest.approx(expected + VALUES.mean(), abs=1e-6)
    assert deviation == pytest.approx(spread, abs=1e-4)


def test_it_goes_through_smooth_samples_and_is_unsure_elsewhere() -> None:
    process = fit_gaussian_process(POINTS, VALUES)
    mean, deviation = process.predict(POINTS)
    assert mean == pytest.approx(VALUES, abs=0.02)
    assert process.predict(np.array([[5.0, 5.0, 5.0]]))[1][0] > 10 * deviation.max()


def test_it_predicts_what_it_has_not_seen() -> None:
    new = RNG.random((200, 3))
    error = fit_gaussian_process(POINTS, VALUES).predict(new)[0] - (np.sin(3 * new[:, 0]) + new[:, 1] ** 2)
    assert float(np.sqrt((error**2).mean())) < 0.1 * float(VALUES.std())


def test_noise_is_recognised() -> None:
    assert fit_gaussian_process(POINTS, VALUES).noise < 1e-2
    assert fit_gaussian_process(POINTS, RNG.standard_normal(25)).noise == 1e-2


def test_one_sample_and_equal_samples_are_enough() -> None:
    for points, values in (([[0.5]], [2.0]), ([[0.1], [0.2]], [3.0, 3.0]), ([[0.1], [0.1]], [1.0, 2.0])):
        mean, deviation = fit_gaussian_process(points, values).predict(np.array([[0.5]]))
        assert np.isfinite(mean).all()
        assert np.isfinite(deviation).all()


def test_points_and_values_must_match() -> None:
    with pytest.raises(InvalidModel, match="as many values as points"):
        fit_gaussian_process([[0.0], [1.0]], [1.0])


def test_expected_improvement_is_that_of_the_normal_distribution() -> None:
    mean, deviation = np.array([1.0, 0.4, 2.0]), np.array([0.5, 0.2, 1.0])
    drawn = RNG.standard_normal((200_000, 3)) * deviation + mean
    simulated = np.maximum(drawn - 0.9 - 0.05, 0.0).mean(axis=0)
    assert expected_improvement(mean, deviation, 0.9, 0.05) == pytest.approx(simulated, abs=0.01)


def test_where_nothing_is_uncertain_there_is_no_improvement() -> None:
    assert expected_improvement(np.array([5.0, 0.0]), np.array([0.0, 0.0]), 1.0, 0.0).tolist() == [0.0, 0.0]


def test_more_exploration_needs_more_to_gain() -> None:
    at, spread = np.array([1.0]), np.array([0.3])
    gains = [float(expected_improvement(at, spread, 1.0, xi)[0]) for xi in (0.0, 0.1, 0.5)]
    assert gains == sorted(gains, reverse=True)


def test_probabilities() -> None:
    below = probability_below(np.array([0.0, 1.0, 1.0, -1.0]), np.array([1.0, 0.5, 0.0, 0.0]), 0.0)
    assert below == pytest.approx([0.5, 0.5 * (1 + math.erf(-2 / math.sqrt(2))), 0.0, 1.0])
