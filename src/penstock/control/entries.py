"""What a journal is made of. A run's measures, its report and its replay need nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from penstock.control.actions import Action
from penstock.control.settings import LoopSettings
from penstock.model import Cluster, Configuration, Decision, Objectives, Observation, Topology


@dataclass(frozen=True, slots=True)
class Started:
    """A run began, or went on after a crash (`resumed`)."""

    at_s: float
    run: Mapping[str, str]
    """What identifies the run: application, policy, load, duration_s, seed, live, execution."""
    topologies: tuple[Topology, ...]
    cluster: Cluster
    objectives: Objectives
    initial: Configuration
    settings: LoopSettings = field(default_factory=LoopSettings)
    resumed: bool = False
    kind: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class Observed:
    """A measurement was taken and found fit to act upon."""

    at_s: float
    observation: Observation
    kind: Literal["observed"] = "observed"


@dataclass(frozen=True, slots=True)
class Refused:
    """A measurement was not fit to act upon."""

    at_s: float
    because: str
    kind: Literal["refused"] = "refused"


@dataclass(frozen=True, slots=True)
class Requested:
    """The user asked for so many workers more (positive) or fewer (negative); the loop took note in this round."""

    at_s: float
    workers: int
    kind: Literal["requested"] = "requested"


@dataclass(frozen=True, slots=True)
class Decided:
    """The policy decided. `held_by` says which guard, if any, kept the loop from acting and why;
    `target` is what the loop then asked for (None: nothing)."""

    at_s: float
    decision: Decision
    target: Configuration | None
    held_by: str | None = None
    kind: Literal["decided"] = "decided"


@dataclass(frozen=True, slots=True)
class Acted:
    """The actuator was asked for `target`; `error` is set when it failed."""

    at_s: float
    target: Configuration
    actions: tuple[Action, ...]
    error: str | None = None
    kind: Literal["acted"] = "acted"


@dataclass(frozen=True, slots=True)
class Judged:
    """A change was compared with what it promised: `met`, `short` (better, but less than promised), or
    `worse`, which is followed by a rollback to `back_to`."""

    at_s: float
    verdict: Literal["met", "short", "worse"]
    because: str
    back_to: Configuration | None = None
    kind: Literal["judged"] = "judged"


STOPPED = "stopped by the user"
"""Why a run ended that somebody broke off."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The run came to its end (a journal without this entry was cut off)."""

    at_s: float
    because: str
    notes: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["ended"] = "ended"


Entry: TypeAlias = Started | Observed | Refused | Requested | Decided | Acted | Judged | Ended
