"""All that is known about one application: what its streams carry, its instances cost, and its workers do beside."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model import Cluster, Observation, Topology
from penstock.profiling.overhead import OverheadProfile
from penstock.profiling.selectivity import SelectivityProfile
from penstock.profiling.usage import UsageProfile


@dataclass(frozen=True, slots=True)
class ApplicationProfile:
    """The three profiles with which an estimate is made (ELYSIUM: application description parameters)."""

    selectivity: SelectivityProfile
    usage: UsageProfile
    overhead: OverheadProfile

    @property
    def parts(self) -> tuple[SelectivityProfile, UsageProfile, OverheadProfile]:
        """The profiles one by one, in a fixed order."""
        return self.selectivity, self.usage, self.overhead

    @classmethod
    def train(
        cls, topology: Topology, cluster: Cluster, observations: Sequence[Observation], seed: int = 0
    ) -> "ApplicationProfile":
        """Learn all three from the same observations; raises `UsageError` when they do not suffice."""
        return cls(
            SelectivityProfile.train(topology, observations),
            UsageProfile.train(topology, observations, seed),
            OverheadProfile.train(topology.name, cluster, observations, seed),
        )

    def check(self, topology: Topology) -> None:
        """Raise `UsageError` when one of the profiles does not fit the application."""
        self.selectivity.check(topology)
        self.usage.check(topology)
