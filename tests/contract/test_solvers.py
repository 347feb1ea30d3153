"""Every registered solver keeps the contract of a solver."""

import pytest

from penstock.placement import SOLVERS, SolverInfo, solver
from penstock.testing.solvers import SolverContract

SLOW = ("ilp", "ilp-timeout")
"""These start a process for every problem."""


class TestRegisteredSolvers(SolverContract):
    """New solvers are picked up by themselves."""

    @pytest.fixture(autouse=True, params=sorted(SOLVERS))
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param
        self.seeds = (0, 1) if self.name in SLOW else SolverContract.seeds

    def make_solver(self) -> SolverInfo:
        return solver(self.name)
