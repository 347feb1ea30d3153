"""What is to be placed, where it can be placed, and what a good placement is: frozen values, checked when made."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InvalidModel, UnknownName

Placement = Mapping[str, tuple[str, ...]]
"""The nodes of every operator, one entry for each replica."""

WEIGHT_TOLERANCE = 0.01
"""How far the weights may be from one in sum: thirds are often written as 0.33."""

_LEAST_WIDTH = 1e-9


def check_unique(kind: str, names: Sequence[str]) -> None:
    """Raise `InvalidModel` if a name is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidModel(f"There is more than one {kind} '{name}'; name each once.")
        seen.add(name)


def _check_not_negative(value: Any, whose: str) -> None:
    for item in fields(value):
        number = getattr(value, item.name)
        if isinstance(number, float | int) and not 0 <= number < math.inf:
            raise InvalidModel(f"The {item.name} of {whose} is {number:g}; it must be a number that is not negative.")


class NetworkMetric(StrEnum):
    """What the network is judged by (thesis, equations 4.19 to 4.21)."""

    TRAFFIC = "traffic"
    USAGE = "usage"
    ELASTIC_ENERGY = "elastic_energy"


class AvailabilityModel(StrEnum):
    """What has to be up: every operator and stream by itself (4.5), or every used node and link once (6.15)."""

    OPERATORS = "operators"
    NODES = "nodes"


class DowntimeModel(StrEnum):
    """Pause only what changes (appendix 8.A.1), or restart the whole application (8.A.2)."""

    PAUSE_AND_RESUME = "pause_and_resume"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: what a replica needs, how fast it is on a reference node, and where it may run.

    The latency is that of an M/M/1 queue if `service_rate_per_s` is given, the interpolated `latency_profile` (pairs
    of input rate per replica and milliseconds) if that is given, and `execution_time_ms` otherwise.
    `input_rate_per_s` is None for the sum of what flows in, or for a source the largest of what flows out.
    `candidates` is None for all nodes. `cost` is the price of one unit of resources.
    """

    name: str
    resources: float = 1.0
    execution_time_ms: float = 0.0
    candidates: tuple[str, ...] | None = None
    max_replicas: int = 1
    service_rate_per_s: float | None = None
    cost: float = 1.0
    state_bytes: float = 0.0
    code_bytes: float = 0.0
    input_rate_per_s: float | None = None
    latency_profile: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidModel("An operator has no name; give it one.")
        _check_not_negative(self, f"operator '{self.name}'")
        if self.max_replicas < 1:
            raise InvalidModel(f"Operator '{self.name}' has max_replicas {self.max_replicas}; it must be at least 1.")
        if self.service_rate_per_s is not None and self.service_rate_per_s <= 0:
            raise InvalidModel(
                f"Operator '{self.name}' has service rate {self.service_rate_per_s:g}; it must be above 0."
            )
        if self.candidates is not None and not self.candidates:
            raise InvalidModel(f"Operator '{self.name}' has no candidates; name some or leave them out for all nodes.")
        if self.candidates is not None and len(set(self.candidates)) < len(self.candidates):
            raise InvalidModel(f"Operator '{self.name}' names a candidate twice; name each once.")
        if self.latency_profile is not None:
            self._check_profile(self.latency_profile)

    def _check_profile(self, profile: tuple[tuple[float, float], ...]) -> None:
        rising = all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(profile))
        if not profile or not rising or min(min(point) for point in profile) < 0:
            raise InvalidModel(
                f"The latency profile of operator '{self.name}' must be a list of rates and latencies that both rise."
            )


@dataclass(frozen=True, slots=True)
class Stream:
    """What flows from one operator to another."""

    source: str
    target: str
    rate_per_s: float = 0.0
    bytes_per_tuple: float | None = None

    def __post_init__(self) -> None:
        _check_not_negative(self, f"stream {self.source} -> {self.target}")

    @property
    def volume_per_s(self) -> float:
        """Bytes per second, or tuples per second if the size of a tuple is not known."""
        return self.rate_per_s * (1.0 if self.bytes_per_tuple is None else self.bytes_per_tuple)


@dataclass(frozen=True, slots=True)
class Node:
    """A place to run operators; `spawn_s` is the time to start a replica on it."""

    name: str
    resources: float = 1.0
    speedup: float = 1.0
    availability: float = 1.0
    spawn_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidModel("A node has no name; give it one.")
        _check_not_negative(self, f"node '{self.name}'")
        if self.speedup <= 0:
            raise InvalidModel(f"Node '{self.name}' has speed-up {self.speedup:g}; it must be above 0.")
        if not 0 < self.availability <= 1:
            raise InvalidModel(
                f"Node '{self.name}' has availability {self.availability:g}; it must be above 0 and at most 1."
            )


@dataclass(frozen=True, eq=False)
class Network:
    """The links between all pairs of nodes as square matrices, rows the sources; what a node sends to itself is free.

    `availability` None means always up, `bandwidth_per_s` None unlimited (in bytes, or in tuples if sizes are not
    known), `cost` None free of charge (otherwise the price of one tuple per second).
    """

    delay_ms: NDArray[np.float64]
    availability: NDArray[np.float64] | None = None
    bandwidth_per_s: NDArray[np.float64] | None = None
    cost: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        size = len(self.delay_ms)
        for name in ("delay_ms", "availability", "bandwidth_per_s", "cost"):
            matrix = getattr(self, name)
            if matrix is None:
                continue
            if matrix.shape != (size, size) or np.isnan(matrix).any() or (matrix < 0).any():
                raise InvalidModel(f"The network's {name} must be a square matrix of numbers that are not negative.")
            matrix.setflags(write=False)
        if self.availability is not None and ((self.availability <= 0) | (self.availability > 1)).any():
            raise InvalidModel("The availability of a link must be above 0 and at most 1.")
        for free in (self.delay_ms, self.cost):
            if free is not None and np.diagonal(free).any():
                raise InvalidModel("A link from a node to itself must cost nothing.")

    def __len__(self) -> int:
        return len(self.delay_ms)


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each objective counts; they sum to one (to within 0.01)."""

    response_time: float = 0.0
    availability: float = 0.0
    network: float = 0.0
    cost: float = 0.0
    downtime: float = 0.0

    def __post_init__(self) -> None:
        _check_not_negative(self, "the weights")
        total = sum(getattr(self, item.name) for item in fields(self))
        if abs(total - 1.0) > WEIGHT_TOLERANCE + 1e-9:
            raise InvalidModel(f"The weights sum to {total:g}; they must sum to 1.")


Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Normalisation:
    """The least and the most of each metric, which become 0 and 1; None for one that is computed."""

    response_time_ms: Range | None = None
    availability: Range | None = None
    network: Range | None = None
    cost: Range | None = None
    downtime_s: Range | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            ends: Range | None = getattr(self, item.name)
            if ends is not None and not ends[0] < ends[1]:
                raise InvalidModel(f"The normalisation of {item.name} must be two numbers, the smaller first.")
            if ends is not None and ends[1] - ends[0] < _LEAST_WIDTH * max(1.0, abs(ends[1])):
                raise InvalidModel(f"The normalisation of {item.name} is too narrow; give numbers further apart.")
        if self.availability is not None and not 0 < self.availability[0] < self.availability[1] <= 1:
            raise InvalidModel("The normalisation of availability must lie above 0 and not above 1.")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a placement must not exceed (8.15 to 8.17); None for no bound."""

    response_time_ms: float | None = None
    cost: float | None = None
    downtime_s: float | None = None

    def __post_init__(self) -> None:
        _check_not_negative(self, "the bounds")


@dataclass(frozen=True, slots=True)
class Reconfiguration:
    """What changing the deployment takes: synchronisation, and the store through which code and state move.

    `local_rate_bytes_per_s` is the speed of the local swapping area of the restart model (8.40); None if it takes no
    time.
    """

    sync_s: float = 0.0
    store_delay_ms: float = 0.0
    store_rate_bytes_per_s: float = 12_500_000.0
    model: DowntimeModel = DowntimeModel.PAUSE_AND_RESUME
    local_rate_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        _check_not_negative(self, "the reconfiguration")
        if self.store_rate_bytes_per_s <= 0 or self.local_rate_bytes_per_s == 0:
            raise InvalidModel("The rates of the reconfiguration must be above 0.")


@dataclass(frozen=True, eq=False)
class Problem:
    """An application, an infrastructure, and what is wanted; consistent in itself, though perhaps without a solution.

    With `max_replicas` above one the number of replicas is decided too (ODRP), with `current` a deployment is changed
    at the price of downtime (EDRP). `availability_model` None follows the thesis: nodes if anything may be
    replicated, operators otherwise.
    """

    operators: tuple[Operator, ...]
    streams: tuple[Stream, ...]
    nodes: tuple[Node, ...]
    network: Network
    weights: Weights = field(default_factory=lambda: Weights(response_time=1.0))
    network_metric: NetworkMetric = NetworkMetric.USAGE
    normalisation: Normalisation = Normalisation()
    bounds: Bounds = Bounds()
    current: Placement | None = None
    reconfiguration: Reconfiguration | None = None
    availability_model: AvailabilityModel | None = None

    def __post_init__(self) -> None:
        if not self.operators:
            raise InvalidModel("There are no operators to place; name at least one.")
        if not self.nodes:
            raise InvalidModel("There are no nodes to place operators on; name at least one.")
        check_unique("operator", [operator.name for operator in self.operators])
        check_unique("node", [node.name for node in self.nodes])
        if len(self.network) != len(self.nodes):
            raise InvalidModel(f"The network links {len(self.network)} nodes; there are {len(self.nodes)}.")
        self._check_streams()
        for operator in self.operators:
            for name in operator.candidates or ():
                self._check_node(f"operator '{operator.name}'", name)
        self._check_current()

    def _check_streams(self) -> None:
        for stream in self.streams:
            for end in (stream.source, stream.target):
                if end not in self.operator_index:
                    raise InvalidModel(f"Stream {stream.source} -> {stream.target} names unknown operator '{end}'.")
        check_unique("stream", [f"{stream.source} -> {stream.target}" for stream in self.streams])
        try:
            self.order  # noqa: B018 - computing it finds cycles
        except CycleError as error:
            raise InvalidModel(f"The streams form a cycle: {' -> '.join(error.args[1])}.") from None

    def _check_node(self, whose: str, name: str) -> None:
        if name not in self.node_index:
            raise UnknownName.of(f"node (named by {whose}) called", name, self.node_index)

    def _check_current(self) -> None:
        if self.current is None:
            if self.weights.downtime > 0:
                raise InvalidModel("The weight of downtime is above 0 without a current deployment; give one.")
            return
        for name, nodes in self.current.items():
            if name not in self.operator_index:
                raise UnknownName.of("operator (named by the current deployment) called", name, self.operator_index)
            for node in nodes:
                self._check_node("the current deployment", node)
        for operator in self.operators:
            if not self.current.get(operator.name):
                raise InvalidModel(f"The current deployment has no node for operator '{operator.name}'.")

    @cached_property
    def operator_index(self) -> Mapping[str, int]:
        """Position of every operator by name."""
        return {operator.name: index for index, operator in enumerate(self.operators)}

    @cached_property
    def node_index(self) -> Mapping[str, int]:
        """Position of every node by name."""
        return {node.name: index for index, node in enumerate(self.nodes)}

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Positions of all operators, every one after those that feed it."""
        before: dict[int, list[int]] = {index: [] for index in range(len(self.operators))}
        for stream in self.streams:
            before[self.operator_index[stream.target]].append(self.operator_index[stream.source])
        try:
            return tuple(TopologicalSorter(before).static_order())
        except CycleError as error:
            names = [self.operators[index].name for index in error.args[1]]
            raise CycleError(error.args[0], names) from None

    @property
    def replicates(self) -> bool:
        """Whether an operator may have more than one replica."""
        return any(operator.max_replicas > 1 for operator in self.operators)

    @property
    def available_by(self) -> AvailabilityModel:
        """The model of availability that applies."""
        if self.availability_model is not None:
            return self.availability_model
        return AvailabilityModel.NODES if self.replicates else AvailabilityModel.OPERATORS
