"""Applications as graphs: operators joined by streams."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from penstock.errors import InvalidModel, UnknownName


class Role(StrEnum):
    """What an operator is to its application."""

    SOURCE = "source"
    TRANSFORM = "transform"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator, and how far it may be scaled.

    `key` names the column by which a keyed operator is partitioned; `pins` the workers on which it must run.
    """

    name: str
    role: Role = Role.TRANSFORM
    min_parallelism: int = 1
    max_parallelism: int = 1
    stateful: bool = False
    key: str | None = None
    pins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidModel("An operator needs a name.")
        if self.min_parallelism < 1:
            raise InvalidModel(
                f"Operator '{self.name}' has min_parallelism {self.min_parallelism}; it must be at least 1."
            )
        if self.max_parallelism < self.min_parallelism:
            raise InvalidModel(
                f"Operator '{self.name}' has max_parallelism {self.max_parallelism} "
                f"below its min_parallelism {self.min_parallelism}."
            )

    def clip(self, parallelism: int) -> int:
        """The nearest parallelism that the bounds allow."""
        return min(max(parallelism, self.min_parallelism), self.max_parallelism)


@dataclass(frozen=True, slots=True)
class Stream:
    """A directed edge: what `upstream` emits, `downstream` receives."""

    upstream: str
    downstream: str


@dataclass(frozen=True)
class Topology:
    """The graph of one application.

    `segments` lists the operators that share one query and therefore take turns on their slots (fused
    execution). An operator that is in no segment has one of its own (pipelined execution).
    """

    name: str
    operators: tuple[Operator, ...]
    streams: tuple[Stream, ...]
    segments: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        names = [operator.name for operator in self.operators]
        twice = {name for name in names if names.count(name) > 1}
        if not names:
            raise InvalidModel(f"Application '{self.name}' has no operators.")
        if twice:
            raise InvalidModel(f"Application '{self.name}' defines operator '{min(twice)}' more than once.")
        for stream in self.streams:
            for end in (stream.upstream, stream.downstream):
                if end not in names:
                    raise InvalidModel(
                        f"Stream {stream.upstream} -> {stream.downstream} names '{end}', "
                        f"which is no operator of '{self.name}'."
                    )
        if len(set(self.streams)) < len(self.streams):
            raise InvalidModel(f"Application '{self.name}' has the same stream twice.")
        self._check_order()
        self._check_roles()
        self._check_segments(set(names))

    def _check_order(self) -> None:
        try:
            TopologicalSorter({name: self.upstream(name) for name in self.names}).prepare()
        except CycleError as error:
            raise InvalidModel(f"Application '{self.name}' has a cycle: {' -> '.join(error.args[1])}.") from None

    def _check_roles(self) -> None:
        for operator in self.operators:
            if operator.role is Role.SOURCE and self.upstream(operator.name):
                raise InvalidModel(f"Source '{operator.name}' of '{self.name}' must not have an upstream operator.")
            if operator.role is not Role.SOURCE and not self.upstream(operator.name):
                raise InvalidModel(f"Operator '{operator.name}' of '{self.name}' has no upstream operator.")
            if operator.role is Role.SINK and self.downstream(operator.name):
                raise InvalidModel(f"Sink '{operator.name}' of '{self.name}' must not have a downstream operator.")

    def _check_segments(self, names: set[str]) -> None:
        members = [name for segment in self.segments for name in segment]
        unknown = set(members) - names
        if unknown:
            raise InvalidModel(f"A segment of '{self.name}' names unknown operator '{min(unknown)}'.")
        if len(set(members)) < len(members):
            raise InvalidModel(f"An operator of '{self.name}' is in more than one segment.")
        if not all(self.segments):
            raise InvalidModel(f"A segment of '{self.name}' has no operators.")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all operators, in definition order."""
        return tuple(operator.name for operator in self.operators)

    @cached_property
    def _by_name(self) -> Mapping[str, Operator]:
        return {operator.name: operator for operator in self.operators}

    def operator(self, name: str) -> Operator:
        """The operator of that name, or `UnknownName`."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownName.of(f"operator of '{self.name}' called", name, self.names) from None

    @cached_property
    def _upstream(self) -> Mapping[str, tuple[str, ...]]:
        return {n: tuple(s.upstream for s in self.streams if s.downstream == n) for n in self.names}

    @cached_property
    def _downstream(self) -> Mapping[str, tuple[str, ...]]:
        return {n: tuple(s.downstream for s in self.streams if s.upstream == n) for n in self.names}

    def upstream(self, name: str) -> tuple[str, ...]:
        """Operators that feed `name`."""
        return self._upstream[name]

    def downstream(self, name: str) -> tuple[str, ...]:
        """Operators that `name` feeds."""
        return self._downstream[name]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All operators, every one after those that feed it."""
        return tuple(TopologicalSorter({name: self.upstream(name) for name in self.names}).static_order())

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Operators that nothing feeds."""
        return tuple(name for name in self.names if not self.upstream(name))

    @cached_property
    def sinks(self) -> tuple[str, ...]:
        """Operators that feed nothing."""
        return tuple(name for name in self.names if not self.downstream(name))

    @cached_property
    def all_segments(self) -> tuple[tuple[str, ...], ...]:
        """Every operator in exactly one segment, those without a declared one alone in theirs."""
        members = {name for segment in self.segments for name in segment}
        return self.segments + tuple((name,) for name in self.order if name not in members)

    def slots(self, parallelism: Mapping[str, int]) -> int:
        """Slots needed to run all instances at once: the widest operator of every segment, summed."""
        return sum(max(parallelism[name] for name in segment) for segment in self.all_segments)
