"""Wiring of `penstock place` and `penstock solvers`: a problem file in, a placement out."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import EnvironmentMissing, UnknownName, UsageError
from penstock.placement import SOLVERS, Problem, Result, Status, solver
from penstock.placement.objective import normalisation_of
from penstock.placement.problem_file import parse_problem, problem_document, read_problem
from penstock.workloads.placements import EXAMPLES

STDIN = "-"

_MEANING = {
    Status.OPTIMAL: "no placement is better",
    Status.FEASIBLE: "a better placement may exist",
    Status.INFEASIBLE: "no placement keeps all constraints",
    Status.TIMEOUT: "no placement was found in the time",
}


def example_document(name: str) -> dict[str, Any]:
    """The problem file of an example."""
    if name not in EXAMPLES:
        raise UnknownName.of("example", name, EXAMPLES)
    return problem_document(EXAMPLES[name]())


def problem_at(file: str | None) -> Problem:
    """The problem in a file, or on standard input if the file is called `-`."""
    if file is None:
        raise UsageError("No problem file is named; give one, or see one with --example debs2015.")
    return parse_problem(sys.stdin.buffer.read()) if file == STDIN else read_problem(Path(file))


def place(
    problem: Problem, name: str, time_limit_s: float, seed: int, say: Callable[[str], None] = lambda _: None
) -> Result:
    """Solve `problem` with the solver of that name; `say` hears what is going on."""
    chosen = solver(name)
    operators, nodes = len(problem.operators), len(problem.nodes)
    say(f"Placing {operators} operators on {nodes} nodes with '{name}', for up to {time_limit_s:g} s ...")
    return chosen.solve(problem, time_limit_s, seed)


def draw(problem: Problem, result: Result, path: Path) -> None:
    """Draw the placement into a picture file."""
    from penstock.evaluation.placement_plot import draw_placement

    if result.placement is None:
        raise UsageError(f"There is no placement to draw: {_MEANING[result.status]}.")
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UsageError(f"A picture is a .png, .svg or .pdf file, not '{path.name}'.")
    try:
        draw_placement(problem, result, path)
    except OSError as error:
        raise EnvironmentMissing(f"The picture {path} cannot be written: {error.strerror or error}.") from None


def as_json(result: Result) -> dict[str, Any]:
    """Plain values with stable keys; None for what is not known."""
    found = result.evaluation
    return {
        "solver": result.solver,
        "status": str(result.status),
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "runtime_s": round(result.runtime_s, 6),
        "placement": None if result.placement is None else {name: list(at) for name, at in result.placement.items()},
        "response_time_ms": None if found is None else found.response_time_ms,
        "availability": None if found is None else found.availability,
        "network": None if found is None else found.network,
        "cost": None if found is None else found.cost,
        "downtime_s": None if found is None else found.downtime_s,
    }


def verdict(result: Result) -> str:
    """How the search ended, in one line."""
    line = (
        f"{result.status}: {_MEANING[result.status]} ('{result.solver}' by {result.method}, {result.runtime_s:.2f} s)"
    )
    if result.status is not Status.FEASIBLE:
        return line
    return f"{line}; " + ("nothing is proven" if result.gap is None else f"at most {100 * result.gap:.2g} % better")


def placement_rows(result: Result) -> list[tuple[str, str]]:
    """(operator, nodes) for a table; several replicas on a node are counted."""
    rows = []
    for operator, nodes in (result.placement or {}).items():
        counted = {node: nodes.count(node) for node in nodes}
        rows.append((operator, ", ".join(node if n == 1 else f"{node} x{n}" for node, n in counted.items())))
    return rows


def metric_rows(problem: Problem, result: Result) -> list[tuple[str, str, str, str]]:
    """(metric, value, weight, range that the objective takes as 0 to 1) for a table."""
    found, weights, ranges = result.evaluation, problem.weights, normalisation_of(problem)
    if found is None:
        return []
    rows: Sequence[tuple[str, float | None, str, float, tuple[float, float] | None]] = (
        ("response time", found.response_time_ms, "ms", weights.response_time, ranges.response_time_ms),
        ("availability", found.availability, "", weights.availability, ranges.availability),
        (f"network ({problem.network_metric})", found.network, "", weights.network, ranges.network),
        ("cost", found.cost, "", weights.cost, ranges.cost),
        ("downtime", found.downtime_s, "s", weights.downtime, ranges.downtime_s),
    )
    return [
        (name, f"{value:.5g} {unit}".strip(), f"{weight:g}", "" if ends is None else f"{ends[0]:.4g} to {ends[1]:.4g}")
        for name, value, unit, weight, ends in rows
        if value is not None
    ]


def solver_rows() -> list[Mapping[str, Any]]:
    """What every solver is and can deal with."""
    return [
        {
            "name": info.name,
            "summary": info.summary,
            "replication": info.replication,
            "current_deployment": "needed" if info.needs_current else "allowed" if info.current else "no",
        }
        for info in SOLVERS.values()
    ]
