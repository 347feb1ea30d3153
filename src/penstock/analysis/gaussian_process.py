"""Gaussian process regression with a Matern kernel, for a few dozen samples at a time.

It is written out here, rather than taken from a library, because a policy fits one in every decision: the length scale
is chosen from a fixed grid, so that a fit takes a few milliseconds, always converges, and is the same every time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InvalidModel

Vector: TypeAlias = NDArray[np.float64]

_LENGTHS = tuple(float(length) for length in np.geomspace(0.05, 10.0, 14))
_NOISES = (1e-6, 1e-4, 1e-2)


@dataclass(frozen=True, eq=False, slots=True)
class GaussianProcess:
    """A fitted process: `length` and `noise` (share of the variance) were the likeliest ones."""

    length: float
    noise: float
    scale: float
    _points: Vector
    _mean: float
    _weights: Vector
    _vectors: Vector
    """Eigenvectors of the covariance between the points, each over the root of its eigenvalue."""

    def predict(self, points: Vector) -> tuple[Vector, Vector]:
        """Mean and standard deviation of the value at each of the points."""
        across = matern(_distances(points, self._points), self.length)
        known = ((across @ self._vectors) ** 2).sum(axis=1)
        return self._mean + across @ self._weights, np.sqrt(self.scale * np.maximum(0.0, 1.0 - known))


def fit_gaussian_process(
    points: Sequence[Sequence[float]] | Vector, values: Sequence[float] | Vector
) -> GaussianProcess:
    """The process of highest marginal likelihood; its mean and its variance follow from the values."""
    at: Vector = np.atleast_2d(np.asarray(points, dtype=np.float64))
    known: Vector = np.asarray(values, dtype=np.float64)
    if at.shape[0] != known.size or not known.size:
        raise InvalidModel(f"A Gaussian process needs as many values as points, not {known.size} and {at.shape[0]}.")
    distances = _distances(at, at)
    centred = known - known.mean()
    fitted = [_fitted(at, matern(distances, length), length, centred) for length in _LENGTHS]
    # Among equally likely ones the smoothest is taken.
    _, process = max(fitted, key=lambda one: (round(one[0], 9), one[1].length))
    return replace(process, _mean=float(known.mean()))


def _fitted(at: Vector, kernel: Vector, length: float, centred: Vector) -> tuple[float, GaussianProcess]:
    """The process with the likeliest noise for one length, and its logarithmic likelihood but for a constant.

    With the eigenvalues of the covariance at hand, every level of noise costs next to nothing.
    """
    values, vectors = np.linalg.eigh(kernel)
    rotated = vectors.T @ centred
    spectra = [np.maximum(values, 0.0) + noise for noise in _NOISES]
    scales = [max(float((rotated**2 / spectrum).mean()), 1e-12) for spectrum in spectra]
    likelihoods = [
        -0.5 * (centred.size * math.log(scale) + float(np.log(spectrum).sum()))
        for scale, spectrum in zip(scales, spectra, strict=True)
    ]
    best = max(range(len(_NOISES)), key=likelihoods.__getitem__)
    weights: Vector = vectors @ (rotated / spectra[best])
    process = GaussianProcess(length, _NOISES[best], scales[best], at, 0.0, weights, vectors / np.sqrt(spectra[best]))
    return likelihoods[best], process


def matern(distances: Vector, length: float) -> Vector:
    """The Matern covariance with smoothness 5/2 and variance 1."""
    scaled = math.sqrt(5.0) * distances / length
    kernel: Vector = (1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled)
    return kernel


def _distances(left: Vector, right: Vector) -> Vector:
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2.0 * left @ right.T
    distances: Vector = np.sqrt(np.maximum(squares, 0.0))
    return distances


def expected_improvement(mean: Vector, deviation: Vector, best: float, xi: float) -> Vector:
    """How much better than `best` a value is expected to be, less `xi`; 0 where nothing is uncertain."""
    gain = mean - best - xi
    certain = deviation <= 0
    z = np.divide(gain, deviation, out=np.zeros_like(gain), where=~certain)
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    improvement: Vector = gain * _normal_cdf(z) + deviation * density
    return np.where(certain, 0.0, np.maximum(improvement, 0.0))


def probability_below(mean: Vector, deviation: Vector, limit: float) -> Vector:
    """How likely a value is at most `limit`; 0 or 1 where nothing is uncertain."""
    z = np.divide(limit - mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
    return np.where(deviation > 0, _normal_cdf(z), (mean <= limit).astype(float))


def _normal_cdf(z: Vector) -> Vector:
    cdf: Vector = 0.5 * (1.0 + np.vectorize(math.erf, otypes=[float])(z / math.sqrt(2.0)))
    return cdf
