"""What `penstock apps` lists: every application, simulated or on Spark or both."""

from collections.abc import Iterable, Mapping
from typing import Any


def application_rows() -> list[dict[str, Any]]:
    """One row per application; rates are None where it cannot be simulated or run on Spark."""
    from penstock.spark.applications.registry import SPARK_APPLICATIONS
    from penstock.workloads import APPLICATIONS

    return [_row(name) for name in dict.fromkeys((*APPLICATIONS, *SPARK_APPLICATIONS))]


def in_brief(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same rows for a narrow table."""
    return [
        {
            "name": row["name"],
            "simulated": _range(row["low_per_s"], row["high_per_s"]),
            "spark": _range(row["live_low_per_s"], row["live_high_per_s"]),
            "summary": row["summary"],
        }
        for row in rows
    ]


def _range(low_per_s: float | None, high_per_s: float | None) -> str:
    return "" if low_per_s is None or high_per_s is None else f"{low_per_s:g}-{high_per_s:g}"


def _row(name: str) -> dict[str, Any]:
    from penstock.spark.applications.registry import SPARK_APPLICATIONS
    from penstock.workloads import APPLICATIONS

    simulated, live = APPLICATIONS.get(name), SPARK_APPLICATIONS.get(name)
    return {
        "name": name,
        "summary": simulated.summary if simulated else _first_sentence(live.summary) if live else "",
        "operators": len(simulated.topology.operators) if simulated else None,
        "low_per_s": simulated.low_per_s if simulated else None,
        "high_per_s": simulated.high_per_s if simulated else None,
        "origin": simulated.origin if simulated else None,
        "live_low_per_s": live.low_per_s if live else None,
        "live_high_per_s": live.high_per_s if live else None,
        "live_summary": live.summary if live else None,
    }


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0]
