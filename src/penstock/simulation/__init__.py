"""The same ports as the Spark runtime, in virtual time."""

from penstock.simulation.settings import STORM_PAUSES, Pauses, WorldSettings
from penstock.simulation.world import World

__all__ = ["STORM_PAUSES", "Pauses", "World", "WorldSettings"]
