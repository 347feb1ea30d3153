"""Gradient-boosted trees on the last loads and the time of day, one ensemble for every step ahead.

Learned with scikit-learn, then kept as plain lists of splits, so that predicting needs numpy alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from penstock.errors import UsageError
from penstock.forecasting.base import Calendar, Floats, ForecastSettings, lagged, saved
from penstock.forecasting.series import LoadSeries

_TREES = 60
_DEPTH = 3
_RATE = 0.1
_LEAST_ROWS = 40

Node: TypeAlias = tuple[int, float, int, int, float]
"""The input that is compared (-1 in a leaf), with what, the node if it is at most that, the node if not, the value."""
Tree: TypeAlias = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """Predicts by how many `unit`s a load will differ from the last one: `starts` and all trees added up."""

    trees: tuple[tuple[Tree, ...], ...]
    starts: tuple[float, ...]
    unit: float
    lags: int
    calendar: Calendar

    @property
    def kind(self) -> str:
        """The method's name."""
        return "boosting"

    @property
    def steps(self) -> int:
        """Steps that it predicts."""
        return len(self.trees)

    def forecast(self, past: Floats, at_s: Floats) -> Floats:
        """The last load and what the trees add to it."""
        inputs = _inputs(past, at_s, self.calendar, self.unit)
        rows = [
            start + sum((_walk(tree, inputs) for tree in trees), np.zeros(len(inputs)))
            for trees, start in zip(self.trees, self.starts, strict=True)
        ]
        return past[:, -1:] + self.unit * np.stack(rows, axis=1)

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        return {
            "kind": self.kind,
            "trees": [[[list(node) for node in tree] for tree in trees] for trees in self.trees],
            "starts": list(self.starts),
            "unit": self.unit,
            "lags": self.lags,
            "calendar": {"day_s": self.calendar.day_s, "start_s": self.calendar.start_s},
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "BoostedTrees":
        """The forecaster that was saved."""
        trees, starts, unit, lags, calendar = saved(body, "trees", "starts", "unit", "lags", "calendar")
        grown = tuple(tuple(tuple(_node(node) for node in tree) for tree in part) for part in trees)
        return cls(grown, tuple(map(float, starts)), float(unit), int(lags), Calendar(**calendar))


def train_boosting(series: LoadSeries, settings: ForecastSettings) -> BoostedTrees:
    """Learn from the whole series, from the settings' seed; raises `UsageError` when it is too short."""
    from sklearn.ensemble import GradientBoostingRegressor

    past, at_s, future = lagged(series, settings.lags, settings.steps)
    if len(past) < _LEAST_ROWS:
        least = _LEAST_ROWS + settings.lags + settings.steps - 1
        raise UsageError(f"Boosted trees need at least {least} steps to learn from, not {len(series.values)}.")
    unit = float(np.std(series.values)) or 1.0
    inputs = _inputs(past, at_s, settings.calendar, unit)
    trees, starts = [], []
    for step in range(settings.steps):
        model = GradientBoostingRegressor(
            n_estimators=_TREES, max_depth=_DEPTH, learning_rate=_RATE, subsample=0.8, random_state=settings.seed
        )
        model.fit(inputs, (future[:, step] - past[:, -1]) / unit)
        trees.append(tuple(_grown(one[0].tree_) for one in model.estimators_))
        starts.append(float(model.init_.constant_.ravel()[0]))
    return BoostedTrees(tuple(trees), tuple(starts), unit, settings.lags, settings.calendar)


def _inputs(past: Floats, at_s: Floats, calendar: Calendar, unit: float) -> Floats:
    """How the loads differ from the last one, the last one itself, weekday and time of day, as precise as splits."""
    weekday, hour, minute = calendar.parts(at_s).T
    turn = 2.0 * np.pi * (hour + minute / 60.0) / 24.0
    last = past[:, -1:]
    columns = [
        (past[:, :-1] - last) / unit,
        last / unit,
        weekday[:, None],
        np.cos(turn)[:, None],
        np.sin(turn)[:, None],
    ]
    return np.hstack(columns).astype(np.float32).astype(np.float64)


def _grown(tree: Any) -> Tree:
    return tuple(
        (
            int(tree.feature[i]) if tree.children_left[i] >= 0 else -1,
            float(tree.threshold[i]) if tree.children_left[i] >= 0 else 0.0,
            int(tree.children_left[i]),
            int(tree.children_right[i]),
            _RATE * float(tree.value[i].ravel()[0]),
        )
        for i in range(tree.node_count)
    )


def _walk(tree: Tree, inputs: Floats) -> Floats:
    """The value of the leaf to which each row comes."""
    features = np.array([node[0] for node in tree])
    splits = np.array([node[1] for node in tree])
    children = np.array([[node[2], node[3]] for node in tree])
    values = np.array([node[4] for node in tree])
    at = np.zeros(len(inputs), dtype=np.int64)
    rows = np.arange(len(inputs))
    for _ in range(_DEPTH):
        inner = features[at] >= 0
        right = (inputs[rows, np.maximum(features[at], 0)] > splits[at]).astype(np.int64)
        at = np.where(inner, children[at, right], at)
    return values[at]


def _node(row: Sequence[Any]) -> Node:
    feature, split, left, right, value = row
    return int(feature), float(split), int(left), int(right), float(value)
