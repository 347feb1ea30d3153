"""The solvers that there are, by name."""

import time
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.errors import UnknownName, UsageError
from penstock.placement.problem import Problem
from penstock.placement.result import Answer, Result, checked

_solvers: dict[str, "SolverInfo"] = {}

SOLVERS: Mapping[str, "SolverInfo"] = types.MappingProxyType(_solvers)
"""Every registered solver; always up to date, in the order of registration."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a solver may use: seconds, and a seed for whatever it decides by chance.

    Equal problems and budgets give equal answers, unless the time runs out.
    """

    time_limit_s: float = 60.0
    seed: int = 0
    started_s: float = field(default_factory=time.monotonic, compare=False)

    def __post_init__(self) -> None:
        if not self.time_limit_s > 0:
            raise UsageError(f"A time limit of {self.time_limit_s:g} s is no time; give more than 0.")
        if not 0 <= self.seed < 2**31:
            raise UsageError(f"The seed must be at least 0 and below 2^31, not {self.seed}.")

    @property
    def left_s(self) -> float:
        """Seconds until the limit, not below 0."""
        return max(0.0, self.time_limit_s - (time.monotonic() - self.started_s))

    @property
    def is_over(self) -> bool:
        """Whether the time has run out."""
        return self.left_s <= 0.0


Solve = Callable[[Problem, Budget], Answer]


@dataclass(frozen=True, slots=True)
class SolverInfo:
    """A solver that can be asked for by name: one line about it, and what it can deal with.

    `replication`: operators with more than one replica; `current`: a current deployment and its downtime.
    """

    name: str
    summary: str
    function: Solve
    replication: bool = False
    current: bool = False
    needs_current: bool = False

    def __str__(self) -> str:
        return self.summary

    def solve(self, problem: Problem, time_limit_s: float = 60.0, seed: int = 0) -> Result:
        """Solve `problem`; the placement that comes back is feasible, and what is called optimal is proven.

        Raises `UsageError` if the problem has something that this solver cannot deal with.
        """
        if problem.replicates and not self.replication:
            raise UsageError(f"Solver '{self.name}' places one replica of each operator; use 'exact' for more.")
        if problem.current is not None and not self.current:
            raise UsageError(f"Solver '{self.name}' knows nothing of a current deployment; use 'exact' for that.")
        if problem.current is None and self.needs_current:
            raise UsageError(f"Solver '{self.name}' changes a current deployment; give one as 'current'.")
        budget = Budget(time_limit_s, seed)
        answer = self.function(problem, budget)
        return checked(problem, self.name, answer, time.monotonic() - budget.started_s)


def register(info: SolverInfo) -> None:
    """Make a solver known by its name, which is registered once."""
    if info.name in _solvers:
        raise UsageError(f"There already is a solver '{info.name}'; register yours under another name.")
    _solvers[info.name] = info


def solver(name: str) -> SolverInfo:
    """The solver of that name, or `UnknownName`."""
    try:
        return _solvers[name]
    except KeyError:
        raise UnknownName.of("solver", name, _solvers) from None
