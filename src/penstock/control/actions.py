"""What an actuator does, and how deep each change cuts."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How deep an action cuts: `hot` pauses nothing, `restart` one query, `state` one query and its state."""

    HOT = "hot"
    RESTART = "restart"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that was done: what, at which level, how long it took and how long it kept events waiting."""

    what: str
    level: Level
    application: str | None
    duration_s: float
    pause_s: float
