"""A pipeline as a value: what was declared, checked as a whole."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, TypeAlias, get_args

from penstock.errors import InvalidModel

Mode: TypeAlias = Literal["append", "update", "complete"]
"""What a stateful operator emits per batch, in the words of Spark's output modes."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def check_name(what: str, name: str) -> None:
    """Refuse a name that cannot be the name of a folder."""
    if not _NAME.fullmatch(name):
        raise InvalidModel(
            f"{what} cannot be called '{name}'; use letters, digits, '-', '_' and '.', starting with a letter or digit."
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """The parallelism that an operator may have."""

    least: int
    most: int

    @classmethod
    def of(cls, name: str, declared: "int | tuple[int, int] | None") -> "Bounds | None":
        """What was declared for the operator `name`, or `InvalidModel` if it makes no sense."""
        if declared is None:
            return None
        least, most = (declared, declared) if isinstance(declared, int) else declared
        if least < 1:
            raise InvalidModel(f"Operator '{name}' has a least parallelism of {least}; it must be at least 1.")
        if most < least:
            raise InvalidModel(
                f"Operator '{name}' has the bounds ({least}, {most}); the first must not be above the second."
            )
        return cls(least, most)

    def clip(self, parallelism: int) -> int:
        """The nearest parallelism within the bounds."""
        return min(max(parallelism, self.least), self.most)


@dataclass(frozen=True, slots=True)
class SourceNode:
    """A source: `load` is a payload's name or a function from a session to a streaming DataFrame."""

    name: str
    load: "str | Callable[..., Any]"
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """An operator: a function of DataFrames. `joins` says that it takes one of each upstream and not their union."""

    name: str
    function: Callable[..., Any]
    after: tuple[str, ...]
    bounds: Bounds | None = None
    key: tuple[str, ...] = ()
    stateful: bool = False
    mode: Mode | None = None
    cut: bool = False
    joins: bool = False

    def __post_init__(self) -> None:
        if self.stateful and not self.key:
            raise InvalidModel(
                f"Operator '{self.name}' is stateful and has no key; say by which column its state is divided."
            )
        if self.key and not self.elastic:
            raise InvalidModel(
                f"Operator '{self.name}' has a key and no parallelism; a chained operator is not partitioned."
            )
        if self.mode is not None and not self.stateful:
            raise InvalidModel(f"Operator '{self.name}' has a mode and is not stateful; only state has an output mode.")
        _check_mode(f"Operator '{self.name}'", self.mode)

    @property
    def elastic(self) -> bool:
        """Whether it has its own exchange, and hence its own stage; a stateful operator always has."""
        return self.stateful or self.bounds is not None


@dataclass(frozen=True, slots=True)
class SinkNode:
    """A sink: a function of (batch, batch number), or a format with a path and options."""

    name: str
    after: str
    mode: Mode | None = None
    function: Callable[..., Any] | None = None
    format: str | None = None
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_mode(f"Sink '{self.name}'", self.mode)


Node: TypeAlias = SourceNode | OperatorNode | SinkNode


def _check_mode(what: str, mode: str | None) -> None:
    if mode is not None and mode not in get_args(Mode):
        raise InvalidModel(f"{what} has the mode '{mode}'; choose one of: {', '.join(get_args(Mode))}.")


@dataclass(frozen=True)
class Graph:
    """Sources, operators and sinks of a pipeline; complete, free of cycles, and every part of it leads to a sink."""

    name: str
    sources: tuple[SourceNode, ...]
    operators: tuple[OperatorNode, ...]
    sinks: tuple[SinkNode, ...]

    def __post_init__(self) -> None:
        if not self.sources:
            raise InvalidModel(f"Pipeline '{self.name}' has no source.")
        if not self.sinks:
            raise InvalidModel(f"Pipeline '{self.name}' has no sink.")
        for node in self.nodes.values():
            self._check_upstream(node)
        self._check_order()
        for fed in self.nodes.values():
            if not isinstance(fed, SinkNode) and not self.downstream(fed.name):
                raise InvalidModel(
                    f"'{fed.name}' of pipeline '{self.name}' feeds nothing; add an operator or a sink after it."
                )
        for operator in self.operators:
            if operator.stateful:
                self.mode(operator.name)
        for sink in self.sinks:
            if sink.mode == "complete" and not self._has_state(sink.after):
                raise InvalidModel(
                    f"Sink '{sink.name}' wants all results of every batch, but nothing before it keeps any."
                )

    def _check_upstream(self, node: Node) -> None:
        sinks = {sink.name for sink in self.sinks}
        for name in upstream_of(node):
            if name in sinks:
                raise InvalidModel(
                    f"'{node.name}' of pipeline '{self.name}' comes after sink '{name}', which feeds nothing."
                )
            if name not in self.nodes:
                raise InvalidModel(
                    f"'{node.name}' of pipeline '{self.name}' comes after '{name}', which is not defined."
                )

    def _check_order(self) -> None:
        try:
            TopologicalSorter({name: self.upstream(name) for name in self.nodes}).prepare()
        except CycleError as error:
            raise InvalidModel(f"Pipeline '{self.name}' has a cycle: {' -> '.join(reversed(error.args[1]))}.") from None

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Everything by name, in order of definition."""
        every: tuple[Node, ...] = (*self.sources, *self.operators, *self.sinks)
        return {node.name: node for node in every}

    def upstream(self, name: str) -> tuple[str, ...]:
        """What feeds `name`."""
        return upstream_of(self.nodes[name])

    @cached_property
    def _downstream(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(other for other in self.nodes if name in self.upstream(other)) for name in self.nodes}

    def downstream(self, name: str) -> tuple[str, ...]:
        """What `name` feeds."""
        return self._downstream[name]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All names, every one after those that feed it."""
        return tuple(TopologicalSorter({name: self.upstream(name) for name in self.nodes}).static_order())

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """Sources and elastic operators: what has a stage of its own, in order of definition."""
        elastic = tuple(operator.name for operator in self.operators if operator.elastic)
        return tuple(source.name for source in self.sources) + elastic

    def bounds(self, name: str) -> Bounds:
        """The parallelism that a listed operator may have: 1 where nothing was declared."""
        node = self.nodes[name]
        declared = None if isinstance(node, SinkNode) else node.bounds
        return declared or Bounds(1, 1)

    def mode(self, name: str) -> Mode:
        """What the stateful operator `name` emits: as declared for it or for the sinks behind it, else "update"."""
        node = self.nodes[name]
        assert isinstance(node, OperatorNode)
        wanted = {sink.mode for sink in self._sinks_behind(name) if sink.mode is not None}
        if node.mode is not None:
            wanted.add(node.mode)
        if len(wanted) > 1:
            raise InvalidModel(
                f"Operator '{name}' of pipeline '{self.name}' cannot emit in several modes "
                f"({', '.join(sorted(wanted))}); give one to it or to the sinks behind it."
            )
        return wanted.pop() if wanted else "update"

    def _has_state(self, name: str) -> bool:
        """Whether `name` or anything before it is stateful."""
        node = self.nodes[name]
        return isinstance(node, OperatorNode) and (node.stateful or any(map(self._has_state, node.after)))

    def _sinks_behind(self, name: str) -> tuple[SinkNode, ...]:
        found: list[SinkNode] = []
        for below in self.downstream(name):
            node = self.nodes[below]
            if isinstance(node, SinkNode):
                found.append(node)
            elif isinstance(node, OperatorNode) and not node.stateful:
                found.extend(self._sinks_behind(below))
        return tuple(found)


def upstream_of(node: Node) -> tuple[str, ...]:
    """What feeds a node, by name."""
    if isinstance(node, SourceNode):
        return ()
    return node.after if isinstance(node, OperatorNode) else (node.after,)
