"""Functions of one variable that are learned from samples: three lines, and the small network of ELYSIUM.

Each predicts with numpy alone and is saved as plain lists; scikit-learn is needed for training only.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError

Floats: TypeAlias = npt.NDArray[np.float64]

FOLDS = 10
"""Parts in which samples are held out in turn, as in ELYSIUM."""
_HIDDEN = 3


class Function(Protocol):
    """A learned function; for a not negative input it is never negative."""

    @property
    def kind(self) -> str:
        """The name under which it is saved."""
        ...

    def __call__(self, x: Floats) -> Floats:
        """Its value at every point."""
        ...

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """`slope` x + `intercept`, and 0 where that is negative."""

    slope: float
    intercept: float = 0.0

    @property
    def kind(self) -> str:
        """The name under which it is saved."""
        return "line"

    def __call__(self, x: Floats) -> Floats:
        """Its value at every point."""
        return np.maximum(0.0, self.slope * x + self.intercept)

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        return {"kind": self.kind, "slope": self.slope, "intercept": self.intercept}


@dataclass(frozen=True, slots=True)
class TanhNetwork:
    """One input, a hidden layer of tanh neurons, one output (1-3-1 in ELYSIUM), on scaled data.

    `hidden` holds (weight, bias, output weight) of every neuron; `x_range` and `y_range` the samples' ranges, scaled
    to -1..1. Such a network levels off outside the samples, so beyond them it goes on in proportion.
    """

    hidden: tuple[tuple[float, float, float], ...]
    bias: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    @property
    def kind(self) -> str:
        """The name under which it is saved."""
        return "tanh-network"

    def __call__(self, x: Floats) -> Floats:
        """Its value at every point."""
        low, high = self.x_range
        inside = np.clip(x, low, high)
        weights, biases, outputs = np.array(self.hidden).T
        scaled = np.tanh(_to_unit(inside, self.x_range)[..., None] * weights + biases) @ outputs + self.bias
        y = np.maximum(0.0, _from_unit(scaled, self.y_range))
        return np.where(x > inside, y * x / max(high, 1e-12), y)

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        return {
            "kind": self.kind,
            "hidden": [list(neuron) for neuron in self.hidden],
            "bias": self.bias,
            "x_range": list(self.x_range),
            "y_range": list(self.y_range),
        }


def function_from_json(body: Mapping[str, Any]) -> Function:
    """The function that was saved, or `UsageError`."""
    try:
        if body["kind"] == "line":
            return Line(float(body["slope"]), float(body["intercept"]))
        if body["kind"] == "tanh-network":
            hidden = tuple((float(w), float(b), float(o)) for w, b, o in body["hidden"])
            ranges = [(float(low), float(high)) for low, high in (body["x_range"], body["y_range"])]
            return TanhNetwork(hidden, float(body["bias"]), ranges[0], ranges[1])
    except (KeyError, TypeError, ValueError):
        raise UsageError("A saved function is not complete; learn the profile again.") from None
    raise UsageError(f"A saved function is of unknown kind '{body['kind']}'; learn the profile again.")


@dataclass(frozen=True, slots=True)
class Fitted:
    """The function that was chosen, its held-out relative error, and that of every candidate by name."""

    function: Function
    error: float
    errors: Mapping[str, float]
    chosen: str


def proportional(x: Floats, y: Floats, seed: int = 0) -> Line:
    """The line through the origin with the least squared error."""
    square = float(x @ x)
    return Line(float(x @ y) / square if square > 0 else 0.0)


def affine(x: Floats, y: Floats, seed: int = 0) -> Line:
    """The line with the least squared error; through the origin where the samples do not determine more."""
    if np.ptp(x) <= 1e-12 * max(1.0, float(np.max(np.abs(x)))):
        return proportional(x, y)
    slope, intercept = np.polyfit(x, y, 1)
    return Line(float(slope), float(intercept))


def median(x: Floats, y: Floats, seed: int = 0) -> Line:
    """The line with the least absolute error, on which a few samples that others disturbed have no pull."""
    from sklearn.linear_model import QuantileRegressor

    largest = float(np.max(np.abs(x)))
    if np.ptp(x) <= 1e-12 * max(1.0, largest):
        return proportional(x, y)
    model = QuantileRegressor(quantile=0.5, alpha=0.0).fit((x / largest)[:, None], y)
    return Line(float(model.coef_[0]) / largest, float(model.intercept_))


def network(x: Floats, y: Floats, seed: int = 0) -> TanhNetwork | Line:
    """The 1-3-1 network of ELYSIUM, trained from the given seed; a line where the samples do not vary."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor
    from threadpoolctl import threadpool_limits

    x_range, y_range = (float(x.min()), float(x.max())), (float(y.min()), float(y.max()))
    if min(x_range[1] - x_range[0], y_range[1] - y_range[0]) <= 0:
        return proportional(x, y)
    model = MLPRegressor(
        hidden_layer_sizes=(_HIDDEN,),
        activation="tanh",
        solver="lbfgs",
        alpha=1e-5,
        max_iter=400,
        tol=1e-7,
        random_state=seed,
    )
    # On matrices this small, threads of the linear algebra library take thirty times as long as one.
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(_to_unit(x, x_range)[:, None], _to_unit(y, y_range))
    hidden = zip(model.coefs_[0][0], model.intercepts_[0], model.coefs_[1][:, 0], strict=True)
    neurons = tuple((float(w), float(b), float(o)) for w, b, o in hidden)
    return TanhNetwork(neurons, float(model.intercepts_[1][0]), x_range, y_range)


Fit: TypeAlias = Callable[[Floats, Floats, int], Function]

CANDIDATES: Mapping[str, Fit] = {
    "proportional": proportional,
    "affine": affine,
    "median": median,
    "network": network,
}
"""Ways to learn a function, the simplest first: of two that are equally good, the first is used."""


def choose(x: Sequence[float], y: Sequence[float], candidates: Mapping[str, Fit] = CANDIDATES, seed: int = 0) -> Fitted:
    """The candidate with the least error on samples held out in turn, then learned from all samples.

    Samples are dealt to ten parts at random from `seed` (to fewer where there are fewer samples).
    """
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(xs) < 2:
        raise UsageError(f"A function cannot be learned from {len(xs)} samples; observe for longer.")
    part = np.random.default_rng(seed).permutation(len(xs)) % min(FOLDS, len(xs))
    errors = {name: _held_out(fit, xs, ys, part, seed) for name, fit in candidates.items()}
    chosen = min(errors, key=errors.__getitem__)
    return Fitted(candidates[chosen](xs, ys, seed), errors[chosen], errors, chosen)


def _held_out(fit: Fit, x: Floats, y: Floats, part: npt.NDArray[np.int64], seed: int) -> float:
    estimated = np.empty_like(y)
    for fold in np.unique(part):
        held = part == fold
        estimated[held] = fit(x[~held], y[~held], seed)(x[held])
    return relative_error(estimated, y)


def relative_error(estimated: Floats, measured: Floats) -> float:
    """The sum of all deviations over the sum of what was measured; 0 where nothing was."""
    total = float(np.abs(measured).sum())
    return float(np.abs(estimated - measured).sum()) / total if total > 0 else 0.0


def percentage_error(estimated: Sequence[float], measured: Sequence[float], least: float = 0.0) -> float:
    """The mean of |estimate - measurement| / measurement over all measurements above `least`."""
    parts = [abs(e - m) / m for e, m in zip(estimated, measured, strict=True) if m > least]
    return math.fsum(parts) / len(parts) if parts else 0.0


def _to_unit(x: Floats, over: tuple[float, float]) -> Floats:
    low, high = over
    return 2.0 * (x - low) / max(high - low, 1e-12) - 1.0


def _from_unit(x: Floats, over: tuple[float, float]) -> Floats:
    low, high = over
    return low + (x + 1.0) / 2.0 * (high - low)
