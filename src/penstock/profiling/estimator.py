"""The Estimator of ELYSIUM: how busy every instance and every worker would be under a load in a configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.analysis import desired_inputs
from penstock.model import Cluster, Parallelism, Topology
from penstock.profiling.functions import Floats
from penstock.profiling.profile import ApplicationProfile

Loads: TypeAlias = Mapping[str, Mapping[str, float | None]]
"""What arrives at each source of each application per second."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """Which worker hosts each instance: the instances of every operator stand together, in a fixed order."""

    operators: tuple[tuple[str, str], ...]
    instances: npt.NDArray[np.int64]
    hosts: npt.NDArray[np.int64]
    workers: int


def round_robin(topologies: Mapping[str, Topology], parallelism: Parallelism, workers: int) -> Allocation:
    """Instances dealt to workers in turn, as Storm's even scheduler and the simulator do."""
    operators = tuple((name, operator) for name, topology in topologies.items() for operator in topology.order)
    instances = np.array([parallelism[name][operator] for name, operator in operators], dtype=np.int64)
    return Allocation(operators, instances, np.arange(int(instances.sum())) % workers, workers)


@dataclass(frozen=True, slots=True)
class Estimator:
    """Answers from profiles alone. Where a profile does not know an operator or stream, the answer is None."""

    topologies: Mapping[str, Topology]
    profiles: Mapping[str, ApplicationProfile]
    cluster: Cluster

    def operator_input_rates(self, application: str, sources: Mapping[str, float | None]) -> dict[str, float | None]:
        """What every operator takes in per second when nothing queues, given what arrives at the sources."""
        means = self.profiles[application].selectivity.means
        return desired_inputs(self.topologies[application], sources, means)

    def operator_input_rate(self, application: str, operator: str, sources: Mapping[str, float | None]) -> float | None:
        """What one operator takes in per second when nothing queues."""
        return self.operator_input_rates(application, sources)[operator]

    def instance_usage(self, application: str, operator: str, rate_per_s: float, instances: int) -> float | None:
        """The share of its time for which the slot of one of `instances` is taken, at that rate for all of them."""
        known = self.profiles[application].usage.operators.get(operator)
        if rate_per_s == 0:
            return 0.0
        return None if known is None else known.usage(rate_per_s / instances)

    def instance_usages(self, application: str, operator: str, rate_per_s: float, most: int) -> Floats | None:
        """The same for 1, 2, ... `most` instances at once."""
        known = self.profiles[application].usage.operators.get(operator)
        if rate_per_s == 0:
            return np.zeros(most)
        return None if known is None else known.usages(rate_per_s / np.arange(1, most + 1))

    def share(self, application: str, operator: str) -> float:
        """The operator's part of what its segment does; 1 where that is not known."""
        known = self.profiles[application].usage.operators.get(operator)
        return 1.0 if known is None else known.share

    def segment_usage(
        self, application: str, instances: Mapping[str, int], rates: Mapping[str, float | None]
    ) -> float | None:
        """How busy the slots of a segment's operators are: what its members do in turn; None if one is unknown."""
        operators = self.profiles[application].usage.operators
        total = 0.0
        for name, count in instances.items():
            rate, known = rates[name], operators.get(name)
            if rate is None or (known is None and rate > 0):
                return None
            if known is not None and rate > 0:
                total += known.usage(rate / count) if len(instances) == 1 else known.own_usage(rate / count)
        return total

    def busiest(
        self, application: str, instances: Mapping[str, int], rates: Mapping[str, float | None]
    ) -> tuple[float, str]:
        """How busy the slots of an application's busiest segment are, and which that is; (0, "") if none is known."""
        found = [(0.0, "")]
        for members in self.topologies[application].all_segments:
            usage = self.segment_usage(application, {name: instances[name] for name in members}, rates)
            if usage is not None:
                found.append((usage, ", ".join(members)))
        return max(found)

    def own_usages(self, loads: Loads, parallelism: Parallelism) -> dict[tuple[str, str], float]:
        """What one instance of every operator does itself, as a share of a slot; unknown ones are missing."""
        own = {}
        for application, sources in loads.items():
            operators = self.profiles[application].usage.operators
            for name, rate in self.operator_input_rates(application, sources).items():
                known = operators.get(name)
                if rate is not None and (known is not None or rate == 0):
                    each = rate / parallelism[application][name]
                    own[application, name] = 0.0 if known is None or rate == 0 else known.own_usage(each)
        return own

    def worker_usages(self, allocation: Allocation, own: Mapping[tuple[str, str], float]) -> Floats:
        """How busy every worker is, with what it does beside its instances; instances that are not in `own` count 0."""
        usages = np.array([own.get(key, 0.0) for key in allocation.operators])
        work = np.bincount(allocation.hosts, np.repeat(usages, allocation.instances), minlength=allocation.workers)
        slots = np.array([worker.slots for worker in self.cluster.workers[: allocation.workers]], dtype=np.float64)
        shares: Floats = work / slots
        busy: Floats = np.max([profile.overhead.worker_usages(shares) for profile in self.profiles.values()], axis=0)
        return busy

    @staticmethod
    def predict_input_load(forecast: Sequence[float]) -> float | None:
        """The load to be ready for, given what is forecast for each step of the horizon: the highest of them."""
        return max(forecast, default=None)
