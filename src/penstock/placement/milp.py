"""Mixed-integer linear programmes as sparse arrays, and HiGHS to solve them: here, or apart in a process of its own."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from penstock.placement.instance import Floats, Ints

_GRACE_S = 2.0
_START_S = 5.0


@dataclass(frozen=True, eq=False)
class Milp:
    """Minimise `cost` times the variables, which lie between `lower` and `upper`, as do the rows between theirs.

    `start` may hold a solution to start from, NaN for variables whose value is not known; it is empty without one.
    """

    cost: Floats
    lower: Floats
    upper: Floats
    integer: Ints
    row_lower: Floats
    row_upper: Floats
    starts: Ints
    columns: Ints
    values: Floats
    start: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class MilpAnswer:
    """The best solution found, if any, a bound on all solutions, if known, and whether there is none at all."""

    solution: Floats | None = None
    bound: float | None = None
    infeasible: bool = False


@dataclass
class MilpBuilder:
    """Collects variables and rows."""

    cost: list[Floats] = field(default_factory=list)
    upper: list[Floats] = field(default_factory=list)
    integer: list[Ints] = field(default_factory=list)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)
    columns: list[Ints] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    variables: int = 0

    def add(self, cost: Floats, upper: float, integer: bool) -> Ints:
        """As many variables from 0 to `upper` as there are costs; their positions."""
        flat = np.ravel(cost)
        self.cost.append(flat)
        self.upper.append(np.full(len(flat), upper))
        self.integer.append(np.full(len(flat), int(integer), dtype=np.int64))
        positions = np.arange(self.variables, self.variables + len(flat), dtype=np.int64)
        self.variables += len(flat)
        return positions.reshape(np.shape(cost))

    def row(self, columns: Ints, values: Floats, lower: float, upper: float) -> None:
        """The sum of `values` times the variables at `columns` lies between `lower` and `upper`."""
        self.columns.append(np.ravel(columns))
        self.values.append(np.ravel(values))
        self.row_lower.append(lower)
        self.row_upper.append(upper)

    def build(self) -> Milp:
        """The programme of all that was added."""
        lengths = np.array([0, *(len(row) for row in self.columns)], dtype=np.int64)
        joined = np.concatenate(self.columns) if self.columns else np.zeros(0, dtype=np.int64)
        return Milp(
            np.concatenate(self.cost),
            np.zeros(self.variables),
            np.concatenate(self.upper),
            np.concatenate(self.integer),
            np.array(self.row_lower),
            np.array(self.row_upper),
            np.cumsum(lengths),
            joined,
            np.concatenate(self.values) if self.values else np.zeros(0),
        )


def solve_here(
    milp: Milp, time_limit_s: float, seed: int = 0, improved: Callable[[Floats], None] | None = None
) -> MilpAnswer:
    """Solve in this process; HiGHS may overrun the limit. `improved` is told of every better solution."""
    import highspy

    highs = highspy.Highs()
    for option, value in {
        "output_flag": False,
        "time_limit": time_limit_s,
        "random_seed": seed,
        "threads": 1,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 1e-7,
        "mip_feasibility_tolerance": 1e-9,
        "primal_feasibility_tolerance": 1e-9,
    }.items():
        highs.setOptionValue(option, value)
    highs.passModel(_lp(highspy, milp))
    known = np.flatnonzero(~np.isnan(milp.start)).astype(np.int32)
    if known.size:
        highs.setSolution(known.size, known, milp.start[known])
    if improved is not None:
        tell = improved
        highs.cbMipImprovingSolution.subscribe(lambda event: tell(np.array(event.data_out.mip_solution)))
    highs.run()
    return _answer(highspy, highs)


def _lp(highspy, milp: Milp):  # type: ignore[no-untyped-def]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(milp.cost), len(milp.row_lower)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = milp.cost, milp.lower, milp.upper
    lp.row_lower_, lp.row_upper_ = milp.row_lower, milp.row_upper
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(flag)] for flag in milp.integer]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = milp.starts, milp.columns, milp.values
    return lp


def _answer(highspy, highs) -> MilpAnswer:  # type: ignore[no-untyped-def]
    status, info = highs.getModelStatus(), highs.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return MilpAnswer(infeasible=True)
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    solution = np.array(highs.getSolution().col_value) if found else None
    bound = float(info.mip_dual_bound)
    return MilpAnswer(solution, bound if np.isfinite(bound) else None)


def solve_apart(milp: Milp, time_limit_s: float, seed: int = 0) -> MilpAnswer:
    """Solve in a child process, which is ended soon after the limit; then the best solution so far is returned."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as name:
        folder = Path(name)
        np.savez(folder / "milp.npz", **{key: getattr(milp, key) for key in Milp.__dataclass_fields__})
        command = [sys.executable, "-m", "penstock.placement.milp", name, str(time_limit_s), str(seed)]
        quiet = subprocess.DEVNULL
        child = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
        try:
            child.wait(time_limit_s + _START_S + _GRACE_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            child.kill()
            child.wait()
        for result in (folder / "done.npz", folder / "best.npz"):
            if result.exists():
                return _load(result)
    return MilpAnswer()


def _save(folder: Path, name: str, answer: MilpAnswer) -> None:
    """Written aside and moved into place, so that the parent never reads half a file."""
    solution = np.zeros(0) if answer.solution is None else answer.solution
    bound = np.nan if answer.bound is None else answer.bound
    np.savez(folder / f"{name}.part.npz", solution=solution, bound=bound, infeasible=answer.infeasible)
    (folder / f"{name}.part.npz").replace(folder / f"{name}.npz")


def _load(path: Path) -> MilpAnswer:
    with np.load(path) as stored:
        solution, bound = stored["solution"], float(stored["bound"])
        return MilpAnswer(
            solution if len(solution) else None, None if np.isnan(bound) else bound, bool(stored["infeasible"])
        )


def _main(folder: Path, time_limit_s: float, seed: int) -> None:
    with np.load(folder / "milp.npz") as stored:
        milp = Milp(**{key: stored[key] for key in Milp.__dataclass_fields__})
    answer = solve_here(milp, time_limit_s, seed, lambda solution: _save(folder, "best", MilpAnswer(solution)))
    _save(folder, "done", answer)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
