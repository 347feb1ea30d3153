"""An application as the simulator knows it: a topology and what its operators cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import InvalidModel
from penstock.model import Cluster, Topology


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """What one operator costs and yields.

    `rate_per_s` is what one instance handles per second of useful time on a worker of speed-up 1;
    `selectivity` the events sent to each downstream operator per event handled (1 where not given).
    `contention` and `coherence` are the two coefficients of the universal scalability law. `key_skew` is the
    exponent of the Zipf law by which a hashed key spreads events over instances (0: evenly).
    `fixed_s` is what every instance costs per batch whatever it handles (state commits). `slot_share` is the part of
    a slot that an instance keeps busy while it works; for the rest it waits, and others on its worker may have the slot
    (not in a fused segment, where a task holds its slot until it ends).
    """

    rate_per_s: float
    selectivity: Mapping[str, float] = field(default_factory=dict)
    contention: float = 0.0
    coherence: float = 0.0
    key_skew: float = 0.0
    fixed_s: float = 0.0
    state_bytes: float = 0.0
    slot_share: float = 1.0

    def __post_init__(self) -> None:
        if self.rate_per_s <= 0:
            raise InvalidModel(f"An operator's rate must be above 0 events per second, not {self.rate_per_s:g}.")
        if not 0 < self.slot_share <= 1:
            raise InvalidModel(f"An instance keeps more than 0 and at most 1 of a slot busy, not {self.slot_share:g}.")
        for downstream, ratio in self.selectivity.items():
            if ratio < 0:
                raise InvalidModel(f"The selectivity towards '{downstream}' is {ratio:g}; it must not be negative.")


@dataclass(frozen=True)
class Application:
    """A topology with costs, the load range in which it is interesting, and the cluster of its publication.

    `origin` says where the figures come from and which of them are assumed. `source_share` splits the load
    over several sources (evenly where not given).
    """

    topology: Topology
    costs: Mapping[str, OperatorCost]
    summary: str
    origin: str
    low_per_s: float
    high_per_s: float
    cluster: Cluster
    latency_target_s: float = 5.0
    source_share: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = set(self.topology.names)
        if set(self.costs) != names:
            odd = min(set(self.costs) ^ names)
            raise InvalidModel(f"The costs of application '{self.name}' do not match its operators: see '{odd}'.")
        for name, cost in self.costs.items():
            unknown = set(cost.selectivity) - set(self.topology.downstream(name))
            if unknown:
                raise InvalidModel(
                    f"Operator '{name}' of '{self.name}' has a selectivity to '{min(unknown)}' but no stream to it."
                )
        if not 0 <= self.low_per_s <= self.high_per_s:
            raise InvalidModel(f"Application '{self.name}' needs 0 <= low_per_s <= high_per_s.")

    @property
    def name(self) -> str:
        """The topology's name."""
        return self.topology.name

    def share(self, source: str) -> float:
        """The part of the application's load that arrives at `source`."""
        return self.source_share.get(source, 1.0 / len(self.topology.sources))

    def inputs_per_s(self, load_per_s: float) -> dict[str, float]:
        """What arrives at every operator under that load when everything is handled."""
        arriving = {source: load_per_s * self.share(source) for source in self.topology.sources}
        for name in self.topology.order:
            for downstream in self.topology.downstream(name):
                sent = arriving[name] * self.costs[name].selectivity.get(downstream, 1.0)
                arriving[downstream] = arriving.get(downstream, 0.0) + sent
        return arriving
