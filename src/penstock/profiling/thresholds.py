"""Thresholds learned by Q-learning (ELYSIUM, section 5.1), from nothing but what happens when one is tried.

The states are the candidate thresholds; an action goes one lower, stays, or goes one higher. The reward of a threshold
is the threshold itself less the throughput degradation that it leads to: as much use of a node as throughput allows.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.errors import UsageError

Environment: TypeAlias = Callable[[float, int], float]
"""The throughput degradation under a threshold when it is tried for the n-th time, counted from 0."""

CPU_MAX_CANDIDATES = (0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90)
"""The candidates of ELYSIUM's Table 1."""

_MOVES = (-1, 0, 1)


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """How to learn: `steps` trials, each a move; the usual three coefficients of Q-learning; and the seed."""

    steps: int = 100
    rate: float = 0.5
    discount: float = 0.5
    exploration: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1 or not all(0 <= x < 1 for x in (self.rate, self.discount, self.exploration)):
            raise UsageError(
                "Q-learning needs at least 1 step, and a rate, discount and exploration from 0 to below 1."
            )


@dataclass(frozen=True, slots=True)
class Reward:
    """What one threshold was worth: its mean reward and degradation over `trials`, and the value of staying there."""

    threshold: float
    reward: float
    degradation: float
    trials: int
    value: float


@dataclass(frozen=True, slots=True)
class LearnedThreshold:
    """The table, in increasing order of thresholds, and the threshold with the highest reward."""

    table: tuple[Reward, ...]

    @property
    def best(self) -> float:
        """The threshold to use."""
        return max(self.table, key=lambda row: (row.reward, -row.threshold)).threshold


def learn_threshold(
    environment: Environment,
    candidates: Sequence[float] = CPU_MAX_CANDIDATES,
    settings: LearningSettings | None = None,
) -> LearnedThreshold:
    """Try thresholds and learn what each is worth; every candidate is tried at least once.

    Starts with no knowledge at a candidate that the seed decides. Raises `UsageError` without candidates.
    """
    if not candidates:
        raise UsageError("There is no threshold to try; name some.")
    learner = _Learner(environment, sorted(set(candidates)), settings or LearningSettings())
    learner.run()
    return LearnedThreshold(learner.table())


class _Learner:
    """The values of all (threshold, move) pairs while they are being learned."""

    def __init__(self, environment: Environment, candidates: Sequence[float], settings: LearningSettings) -> None:
        self._environment = environment
        self._candidates = candidates
        self._settings = settings
        self._rng = random.Random(settings.seed)
        # No reward is above 1, so this is more than any move can be worth: what was not tried yet looks best.
        hope = 1.0 / max(1e-9, 1.0 - settings.discount)
        self._values = [dict.fromkeys(self._moves(state), hope) for state in range(len(candidates))]
        self._degradations: list[list[float]] = [[] for _ in candidates]

    def _moves(self, state: int) -> list[int]:
        return [move for move in _MOVES if 0 <= state + move < len(self._candidates)]

    def run(self) -> None:
        settings = self._settings
        state = self._rng.randrange(len(self._candidates))
        for _ in range(settings.steps):
            move = self._choose(state)
            after = state + move
            target = self._try(after) + settings.discount * max(self._values[after].values())
            self._values[state][move] += settings.rate * (target - self._values[state][move])
            state = after
        for state, tried in enumerate(self._degradations):
            if not tried:
                self._try(state)

    def _choose(self, state: int) -> int:
        """A move at random now and then, else the best one known."""
        moves = self._values[state]
        if self._rng.random() < self._settings.exploration:
            return self._rng.choice(list(moves))
        return max(moves, key=moves.__getitem__)

    def _try(self, state: int) -> float:
        threshold, tried = self._candidates[state], self._degradations[state]
        tried.append(self._environment(threshold, len(tried)))
        return threshold - tried[-1]

    def table(self) -> tuple[Reward, ...]:
        rows = []
        for state, threshold in enumerate(self._candidates):
            tried = self._degradations[state]
            mean = sum(tried) / len(tried)
            rows.append(Reward(threshold, threshold - mean, mean, len(tried), self._values[state][0]))
        return tuple(rows)
