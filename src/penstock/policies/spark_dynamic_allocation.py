"""Spark's own dynamic allocation of executors: what a user has without a controller, as a baseline on live runs."""

from dataclasses import dataclass

from penstock.model import Decision, Keep, View

NAME = "spark-dynamic-allocation"


@dataclass(frozen=True, slots=True)
class SparkDynamicAllocation:
    """Never changes anything: whoever runs it lets Spark add and remove executors."""

    def start(self) -> None:
        """It remembers nothing."""

    def decide(self, view: View, memory: None) -> tuple[Decision, None]:
        """Leave everything to Spark."""
        return Keep("Spark allocates executors itself"), None
