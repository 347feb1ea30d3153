"""Where operators run and with how many replicas: problems, solvers, and the evaluator that judges their answers."""

from penstock.placement.counts_solver import solve_restricted
from penstock.placement.evaluator import Evaluation, evaluate
from penstock.placement.exact import solve_exact
from penstock.placement.heuristics import HEURISTICS
from penstock.placement.ilp import solve_ilp
from penstock.placement.problem import (
    AvailabilityModel,
    Bounds,
    DowntimeModel,
    Network,
    NetworkMetric,
    Node,
    Normalisation,
    Operator,
    Placement,
    Problem,
    Reconfiguration,
    Stream,
    Weights,
)
from penstock.placement.registry import SOLVERS, Budget, SolverInfo, register, solver
from penstock.placement.result import Answer, Result, Status, WrongAnswer

register(
    SolverInfo(
        "exact",
        "the proven best, by the method that fits the problem's shape",
        solve_exact,
        replication=True,
        current=True,
    )
)
register(
    SolverInfo(
        "redrp",
        "the best of all that change every operator by one replica at most",
        solve_restricted,
        replication=True,
        current=True,
        needs_current=True,
    )
)
register(
    SolverInfo(
        "ilp", "the integer programme of the thesis, literally, with HiGHS", solve_ilp, replication=True, current=True
    )
)
for _heuristic in HEURISTICS:
    register(_heuristic)

__all__ = [
    "SOLVERS",
    "Answer",
    "AvailabilityModel",
    "Bounds",
    "Budget",
    "DowntimeModel",
    "Evaluation",
    "Network",
    "NetworkMetric",
    "Node",
    "Normalisation",
    "Operator",
    "Placement",
    "Problem",
    "Reconfiguration",
    "Result",
    "SolverInfo",
    "Status",
    "Stream",
    "Weights",
    "WrongAnswer",
    "evaluate",
    "register",
    "solver",
]
