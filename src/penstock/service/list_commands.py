"""The commands that list what there is: `penstock apps`, `policies`, `loads` and `solvers`."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.service.options import Json


def apps(as_json: Json = False) -> None:
    """List the applications and the range of their load per second: simulated, and on Spark with two cores."""
    from penstock.service.application_list import application_rows, in_brief

    rows = application_rows()
    _show_list(rows if as_json else in_brief(rows), ("name", "simulated", "spark", "summary"), as_json)


def policies(as_json: Json = False) -> None:
    """List the policies with their parameters."""
    from penstock.policies import POLICIES

    rows = [
        {
            "name": name,
            "summary": info.summary,
            "parameters": {key: str(value) for key, value in info.parameters.items()},
        }
        for name, info in POLICIES.items()
    ]
    _show_described(rows, as_json)


def loads(as_json: Json = False) -> None:
    """List the load curves with their parameters."""
    from penstock.workloads import LOAD_INFOS

    rows = [
        {"name": info.name, "summary": info.summary, "parameters": dict(info.parameters)}
        for info in LOAD_INFOS.values()
    ]
    _show_described(rows, as_json)


def solvers(as_json: Json = False) -> None:
    """List the solvers of placement problems and what they can deal with."""
    from penstock.service.place import solver_rows

    _show_list(solver_rows(), ("name", "replication", "current_deployment", "summary"), as_json)


def _show_list(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    from penstock.service import show

    if as_json:
        show.print_json(rows)
        return
    show.print_table(columns, [[_cell(row[column]) for column in columns] for row in rows])


def _show_described(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    """Names with a line about each and, below it, the parameters."""
    from penstock.service import show

    if as_json:
        show.print_json(rows)
    else:
        show.print_described([(row["name"], row["summary"], row["parameters"]) for row in rows])


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
