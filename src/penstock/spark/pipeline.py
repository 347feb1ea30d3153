"""Applications as their authors write them: plain PySpark functions, joined into a graph.

    pipeline = Pipeline("word-count")
    sentences = pipeline.source("sentences", load="text")

    @pipeline.operator(after=sentences, parallelism=(1, 8))
    def split(df):
        return df.select(F.explode(F.split("text", " ")).alias("word"))

    @pipeline.operator(after=split, key="word", stateful=True, parallelism=(1, 4))
    def count(df):
        return df.groupBy("word").count()

    pipeline.sink("counts", after=count, format="batches", path="counts")

A decorated function stays what it was: it can be called with any DataFrame, streaming or not, and it serves as
the handle of its operator in `after`. An operator with a declared `parallelism` is elastic: it gets its own exchange
and hence its own stage. One without is chained to what feeds it, at no cost, and counts as part of it.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from penstock.errors import InvalidModel
from penstock.model import Topology
from penstock.spark.graph import Bounds, Graph, Mode, OperatorNode, SinkNode, SourceNode, check_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Reader: TypeAlias = Callable[[SparkSession], DataFrame]

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Handle:
    """Stands for a source in `after`."""

    pipeline: str
    name: str


Upstream: TypeAlias = "str | Handle | Callable[..., Any]"


class Pipeline:
    """A streaming application: sources, operators and sinks.

    A mistake that can be seen when something is added is refused there and then; what needs the whole graph (a name
    that was never defined, a cycle, an operator that leads nowhere) is refused by `graph()`, which everything else
    calls first. Either way it is `InvalidModel`, with one sentence that names the culprit.
    """

    def __init__(self, name: str) -> None:
        check_name("A pipeline", name)
        self.name = name
        self._sources: dict[str, SourceNode] = {}
        self._operators: dict[str, OperatorNode] = {}
        self._sinks: dict[str, SinkNode] = {}
        self._handles: dict[Callable[..., Any], list[str]] = {}

    def source(self, name: str, load: "str | Reader", *, parallelism: "int | tuple[int, int] | None" = None) -> Handle:
        """Add a source; return its handle.

        `load` is the name of a payload, generated at the rate that the run asks for, or a function from a session
        to a streaming DataFrame. `parallelism` is how many partitions a generated load arrives in.
        """
        self._check_new("Source", name)
        if callable(load) and not _takes(load, 1):
            raise InvalidModel(f"The function of source '{name}' must take one argument, the session.")
        self._sources[name] = SourceNode(name, load, Bounds.of(name, parallelism))
        return Handle(self.name, name)

    def operator(
        self,
        name: str | None = None,
        *,
        after: "Upstream | Sequence[Upstream]",
        parallelism: "int | tuple[int, int] | None" = None,
        key: str | Sequence[str] = (),
        stateful: bool = False,
        mode: Mode | None = None,
        cut: bool = False,
    ) -> Callable[[Function], Function]:
        """Make the decorated function an operator, named like the function where `name` is not given.

        With several operators in `after` the function gets one DataFrame of each if it takes as many, or their union
        (by column names) if it takes one. `parallelism` is a number or the bounds within which it may be changed.
        A `stateful` operator needs the `key` columns by which its state is divided. `mode` is what it emits per batch,
        in Spark's words: "update" (default), "append" or "complete". `cut` asks for a query of its own from here on.
        """

        def define(function: Function) -> Function:
            named = name if name is not None else function.__name__
            self._check_new("Operator", named)
            upstream = self._upstream(f"Operator '{named}'", after)
            node = OperatorNode(
                name=named,
                function=function,
                after=upstream,
                bounds=Bounds.of(named, parallelism),
                key=(key,) if isinstance(key, str) else tuple(key),
                stateful=stateful,
                mode=mode,
                cut=cut,
                joins=_joins(named, function, len(upstream)),
            )
            self._operators[named] = node
            self._handles.setdefault(function, []).append(named)
            return function

        return define

    @overload
    def sink(
        self,
        name: str,
        *,
        after: Upstream,
        mode: Mode | None = None,
        format: str,
        path: str | None = None,
        **options: str,
    ) -> None: ...

    @overload
    def sink(
        self, name: str | None = None, *, after: Upstream, mode: Mode | None = None
    ) -> Callable[[Function], Function]: ...

    def sink(
        self,
        name: str | None = None,
        *,
        after: Upstream,
        mode: Mode | None = None,
        format: str | None = None,  # noqa: A002 (PySpark's own word)
        path: str | None = None,
        **options: str,
    ) -> Callable[[Function], Function] | None:
        """Add a sink: a decorated function of (DataFrame, batch number), called for every batch, or a `format`.

        The format is any that Spark can stream to, or one that writes a batch once however often it is tried:
        "batches", one Parquet folder per batch, or "database", a table in sqlite or at the option `url` (further
        options: `table`, `key`, `writes_per_s`, `counter`). A relative `path` lies in the folder of the run. `mode` is
        that of the stateful operator before the sink and may be given here or there.
        """
        if format is not None:
            if name is None:
                raise InvalidModel(f"A sink of format '{format}' needs a name.")
            self._check_new("Sink", name)
            (upstream,) = self._upstream(f"Sink '{name}'", after)
            self._sinks[name] = SinkNode(name, upstream, mode, None, format, path, options)
            return None

        def define(function: Function) -> Function:
            named = name if name is not None else function.__name__
            self._check_new("Sink", named)
            if not _takes(function, 2):
                raise InvalidModel(f"The function of sink '{named}' must take two arguments, the batch and its number.")
            (upstream,) = self._upstream(f"Sink '{named}'", after)
            self._sinks[named] = SinkNode(named, upstream, mode, function)
            return function

        return define

    def graph(self) -> Graph:
        """The whole pipeline as a checked, frozen value."""
        return Graph(
            self.name,
            tuple(self._sources.values()),
            tuple(self._operators.values()),
            tuple(self._sinks.values()),
        )

    def topology(self, execution: str = "fused") -> Topology:
        """What policies see: sources and elastic operators, and which of them share a query under `execution`."""
        from penstock.spark.compiler import compile_pipeline, topology_of

        return topology_of(self.graph(), compile_pipeline(self, execution))

    def _check_new(self, what: str, name: str) -> None:
        check_name(f"{what} of pipeline '{self.name}'", name)
        if name in self._sources or name in self._operators or name in self._sinks:
            raise InvalidModel(f"Pipeline '{self.name}' defines '{name}' more than once.")

    def _upstream(self, what: str, after: "Upstream | Sequence[Upstream]") -> tuple[str, ...]:
        several = (after,) if isinstance(after, str) or not isinstance(after, Sequence) else after
        names = tuple(self._name_of(what, one) for one in several)
        if not names:
            raise InvalidModel(f"{what} of pipeline '{self.name}' comes after nothing; say what feeds it.")
        if len(set(names)) < len(names):
            raise InvalidModel(f"{what} of pipeline '{self.name}' comes after the same operator twice.")
        return names

    def _name_of(self, what: str, upstream: Upstream) -> str:
        if isinstance(upstream, str):
            return upstream
        if isinstance(upstream, Handle):
            if upstream.pipeline != self.name:
                raise InvalidModel(f"{what} comes after '{upstream.name}' of another pipeline, '{upstream.pipeline}'.")
            return upstream.name
        names = self._handles.get(upstream, [])
        called = getattr(upstream, "__name__", repr(upstream))
        if not names:
            raise InvalidModel(f"{what} comes after '{called}', which is no operator of pipeline '{self.name}'.")
        if len(names) > 1:
            raise InvalidModel(f"{what} comes after '{called}', which is the function of several operators; name one.")
        return names[0]


def _takes(function: Callable[..., Any], arguments: int) -> bool:
    """Whether `function` can be called with that many positional arguments."""
    try:
        inspect.signature(function).bind(*range(arguments))
    except TypeError:
        return False
    return True


def _joins(name: str, function: Callable[..., Any], upstreams: int) -> bool:
    """Whether the operator's function takes one DataFrame of each upstream (and not their union)."""
    if upstreams > 1 and _takes(function, upstreams):
        return True
    if _takes(function, 1):
        return False
    wanted = "one DataFrame" if upstreams == 1 else f"one DataFrame (the union) or {upstreams} (one of each upstream)"
    raise InvalidModel(f"The function of operator '{name}' must take {wanted}.")
