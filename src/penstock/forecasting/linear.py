"""Linear autoregression: the next loads as weighted sums of the last ones, learned by ridge regression."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import UsageError
from penstock.forecasting.base import Floats, ForecastSettings, lagged, saved
from penstock.forecasting.series import LoadSeries

_RIDGE = 1e-2
"""Pull towards 0 of all weights, per row and relative to the variance of what they weigh."""


@dataclass(frozen=True, slots=True)
class Autoregression:
    """For every step ahead, by how much the load differs from the last one: weights of the differences before it."""

    weights: tuple[tuple[float, ...], ...]
    intercepts: tuple[float, ...]

    @property
    def kind(self) -> str:
        """The method's name."""
        return "linear"

    @property
    def lags(self) -> int:
        """Steps that it needs to see."""
        return len(self.weights[0])

    @property
    def steps(self) -> int:
        """Steps that it predicts."""
        return len(self.weights)

    def forecast(self, past: Floats, at_s: Floats) -> Floats:
        """The last load and the weighted sum of how the loads before it differed from it."""
        last = past[:, -1:]
        loads: Floats = last + (past - last) @ np.array(self.weights).T + np.array(self.intercepts)
        return loads

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        return {
            "kind": self.kind,
            "weights": [list(row) for row in self.weights],
            "intercepts": list(self.intercepts),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Autoregression":
        """The forecaster that was saved."""
        weights, intercepts = saved(body, "weights", "intercepts")
        return cls(tuple(tuple(map(float, row)) for row in weights), tuple(map(float, intercepts)))


def train_linear(series: LoadSeries, settings: ForecastSettings) -> Autoregression:
    """Learn one row of weights for every step ahead; raises `UsageError` when the series is too short."""
    past, _, future = lagged(series, settings.lags, settings.steps)
    if len(past) < settings.lags + 1:
        raise UsageError(f"A linear forecast needs more than {2 * settings.lags + settings.steps} steps to learn from.")
    last = past[:, -1:]
    x, y = past - last, future - last
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    centred = x - mean_x
    gram = centred.T @ centred
    scale = float(np.trace(gram)) / len(gram)
    solved = np.linalg.solve(gram + (_RIDGE * scale + 1e-9) * np.eye(len(gram)), centred.T @ (y - mean_y))
    intercepts = mean_y - mean_x @ solved
    return Autoregression(
        tuple(tuple(float(w) for w in row) for row in solved.T), tuple(float(value) for value in intercepts)
    )
