"""Where operators run: workers and the links between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.errors import InvalidModel, UnknownName


@dataclass(frozen=True, slots=True)
class Worker:
    """A node of the cluster (on Spark: one executor); one slot is one core."""

    name: str
    slots: int = 1
    speedup: float = 1.0
    availability: float = 1.0
    price_per_h: float = 0.0

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise InvalidModel(f"Worker '{self.name}' has {self.slots} slots; it must have at least 1.")
        if self.speedup <= 0:
            raise InvalidModel(f"Worker '{self.name}' has speed-up {self.speedup:g}; it must be above 0.")
        if not 0 < self.availability <= 1:
            raise InvalidModel(
                f"Worker '{self.name}' has availability {self.availability:g}; it must be above 0 and at most 1."
            )


@dataclass(frozen=True, slots=True)
class Link:
    """A directed connection between two workers; no declared link costs no time."""

    source: str
    target: str
    delay_s: float = 0.0
    bandwidth_per_s: float | None = None
    availability: float = 1.0
    price: float = 0.0

    def __post_init__(self) -> None:
        if self.delay_s < 0:
            raise InvalidModel(f"Link {self.source} -> {self.target} has a negative delay.")


@dataclass(frozen=True)
class Cluster:
    """The pool of workers that may be used; a configuration says how many of them are."""

    workers: tuple[Worker, ...]
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        if not self.workers:
            raise InvalidModel("A cluster needs at least one worker.")
        names = [worker.name for worker in self.workers]
        if len(set(names)) < len(names):
            raise InvalidModel("Two workers of the cluster have the same name.")
        known = set(names)
        for link in self.links:
            for end in (link.source, link.target):
                if end not in known:
                    raise InvalidModel(f"Link {link.source} -> {link.target} names unknown worker '{end}'.")

    @classmethod
    def homogeneous(cls, workers: int, slots: int, speedup: float = 1.0) -> "Cluster":
        """`workers` equal workers called w1, w2, ... without network delay."""
        return cls(tuple(Worker(f"w{i + 1}", slots, speedup) for i in range(workers)))

    @cached_property
    def _by_name(self) -> Mapping[str, Worker]:
        return {worker.name: worker for worker in self.workers}

    def worker(self, name: str) -> Worker:
        """The worker of that name, or `UnknownName`."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownName.of("worker called", name, self._by_name) from None

    @cached_property
    def _delays(self) -> Mapping[tuple[str, str], float]:
        return {(link.source, link.target): link.delay_s for link in self.links}

    def delay_s(self, source: str, target: str) -> float:
        """Network delay between two workers; 0 within one worker."""
        return 0.0 if source == target else self._delays.get((source, target), 0.0)

    def slots(self, workers: int) -> int:
        """Slots of the first `workers` workers."""
        return sum(worker.slots for worker in self.workers[:workers])

    def workers_for(self, slots: int) -> int:
        """The fewest workers, taken in order, with at least `slots` slots; all of them if they do not suffice."""
        return next((n for n in range(1, len(self.workers)) if self.slots(n) >= slots), len(self.workers))
