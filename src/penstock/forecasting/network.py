"""The Input Load Profiler (ILP) of ELYSIUM: a network of the calendar and the last loads (13-24-5).

Direct prediction: one output for every step ahead. Inputs and outputs are scaled to 0..1 by the range of the training
data. The output layer is linear, where the publication has tanh, so that a load may exceed what was seen before.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import UsageError
from penstock.forecasting.base import Calendar, Floats, ForecastSettings, lagged, saved
from penstock.forecasting.series import LoadSeries

_HIDDEN = 24
_MOST_ROWS = 3000
"""Of longer series an even selection is learned from; more takes minutes and gains little."""
_CALENDAR = np.array([6.0, 23.0, 59.0])


@dataclass(frozen=True, slots=True)
class LoadNetwork:
    """`hidden` and `output` hold one row of weights per neuron, its bias last; `low` and `high` scale loads."""

    hidden: tuple[tuple[float, ...], ...]
    output: tuple[tuple[float, ...], ...]
    low: float
    high: float
    calendar: Calendar

    @property
    def kind(self) -> str:
        """The method's name."""
        return "network"

    @property
    def lags(self) -> int:
        """Steps that it needs to see."""
        return len(self.hidden[0]) - 4

    @property
    def steps(self) -> int:
        """Steps that it predicts."""
        return len(self.output)

    def forecast(self, past: Floats, at_s: Floats) -> Floats:
        """One pass through the network."""
        hidden, output = np.array(self.hidden), np.array(self.output)
        inputs = _inputs(past, at_s, self.calendar, (self.low, self.high))
        inner = np.tanh(inputs @ hidden[:, :-1].T + hidden[:, -1])
        loads: Floats = self.low + (inner @ output[:, :-1].T + output[:, -1]) * (self.high - self.low)
        return loads

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        return {
            "kind": self.kind,
            "hidden": [list(row) for row in self.hidden],
            "output": [list(row) for row in self.output],
            "range": [self.low, self.high],
            "calendar": {"day_s": self.calendar.day_s, "start_s": self.calendar.start_s},
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "LoadNetwork":
        """The forecaster that was saved."""
        hidden, output, (low, high), calendar = saved(body, "hidden", "output", "range", "calendar")
        rows = [tuple(tuple(map(float, row)) for row in layer) for layer in (hidden, output)]
        return cls(rows[0], rows[1], float(low), float(high), Calendar(**calendar))


def train_network(series: LoadSeries, settings: ForecastSettings) -> LoadNetwork:
    """Learn from the whole series, from the settings' seed; raises `UsageError` when it is too short."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor
    from threadpoolctl import threadpool_limits

    past, at_s, future = lagged(series, settings.lags, settings.steps)
    if len(past) < 2 * _HIDDEN:
        least = 2 * _HIDDEN + settings.lags + settings.steps
        raise UsageError(f"The network needs at least {least} steps to learn from, not {len(series.values)}.")
    if len(past) > _MOST_ROWS:
        rows = np.linspace(0, len(past) - 1, _MOST_ROWS).astype(np.int64)
        past, at_s, future = past[rows], at_s[rows], future[rows]
    low, high = min(series.values), max(series.values)
    if high <= low:
        raise UsageError("The network cannot learn from a load that never changes.")
    model = MLPRegressor(
        hidden_layer_sizes=(_HIDDEN,),
        activation="tanh",
        solver="lbfgs",
        alpha=1e-3,
        max_iter=300,
        random_state=settings.seed,
    )
    # On matrices this small, threads of the linear algebra library take many times as long as one.
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(_inputs(past, at_s, settings.calendar, (low, high)), (future - low) / (high - low))
    layers = [
        tuple((*map(float, weights), float(bias)) for weights, bias in zip(w.T, b, strict=True))
        for w, b in zip(model.coefs_, model.intercepts_, strict=True)
    ]
    return LoadNetwork(layers[0], layers[1], low, high, settings.calendar)


def _inputs(past: Floats, at_s: Floats, calendar: Calendar, over: tuple[float, float]) -> Floats:
    low, high = over
    return np.hstack([calendar.parts(at_s) / _CALENDAR, (past - low) / (high - low)])
