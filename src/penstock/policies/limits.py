"""How busy instances and workers may be, and under which loads."""

from dataclasses import dataclass

from penstock.model import Objectives
from penstock.profiling import Loads

DRAINING = 0.95
"""How busy instances and workers may be while a backlog is worked off."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Shares of time: an instance is in stress above `core_max` and idle below `core_min`, a worker in stress above
    `cpu_max`."""

    core_min: float
    core_max: float
    cpu_max: float

    @classmethod
    def of(
        cls, objectives: Objectives, core_min: float | None, core_max: float | None, cpu_max: float | None
    ) -> "Thresholds":
        """Those given, and those of the objectives for the rest."""
        return cls(
            objectives.core_min if core_min is None else core_min,
            objectives.core_max if core_max is None else core_max,
            objectives.cpu_max if cpu_max is None else cpu_max,
        )


@dataclass(frozen=True, slots=True)
class Load:
    """What each application must take in at its sources, and how busy that may make instances and workers."""

    sources: Loads
    core: float
    cpu: float
