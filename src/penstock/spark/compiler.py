"""Which operators share a query: a pipeline and an execution mode become segments joined by channels.

Every segment is one Structured Streaming query. Nodes with several consumers end their segment in a channel, from
which all of them read; so every segment is a tree that ends in one channel or one sink. `fused` execution makes no
other cuts than these, those asked for with `cut=True`, and those that Spark needs: a query holds a second stateful
operator only if both emit in append mode (Spark chains no others) and have the same bounds (they share one number
of state partitions). `pipelined` execution gives every elastic operator a segment of its own; a source without a
declared parallelism stays with the operator it feeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from penstock.control.actions import Level
from penstock.errors import UsageError
from penstock.model import Operator, Role, Stream, Topology
from penstock.spark.graph import Bounds, Graph, Mode, OperatorNode, SinkNode, SourceNode
from penstock.spark.pipeline import Pipeline

Execution: TypeAlias = Literal["fused", "pipelined"]


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """One query of a pipeline.

    `nodes` are all its sources, operators and sinks, in order of flow; `operators` those that the topology lists.
    `inputs` are its sources and the channels it reads, in the order in which the query has them; a channel is called
    like the node that writes it. What ends in no channel (`writes`) ends in `sink`. Parallelism comes in three kinds:

    - `sources`: how many partitions a generated load arrives in; changed by a restart.
    - `hot`: stateless operators. They share one number, `spark.sql.shuffle.partitions` of the running query, which can
      be changed between two batches, in segments with state as well; an operator whose upper bound is lower has only
      that many instances. Operators with one allowed parallelism (`pinned`) have it in the plan.
    - `stateful`: they share the number of state partitions, which is fixed in the checkpoint; changed by a rewrite of
      the state.
    """

    name: str
    nodes: tuple[str, ...]
    operators: tuple[str, ...]
    mode: Mode
    inputs: tuple[str, ...]
    writes: str | None = None
    sink: str | None = None
    sources: tuple[str, ...] = ()
    hot: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    stateful: tuple[str, ...] = ()
    bounds: Mapping[str, Bounds] = field(default_factory=dict)

    @property
    def reads(self) -> tuple[str, ...]:
        """The channels it reads."""
        return tuple(name for name in self.inputs if name not in self.nodes)

    def resolve(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """The parallelism that this segment can really have when it is asked for `wanted`.

        Everything is brought within its bounds and what shares a number gets the largest of those asked for.
        """
        resolved = {name: self.bounds[name].clip(wanted[name]) for name in self.operators}
        hot = self.hot_number(resolved)
        resolved |= {name: min(hot, self.bounds[name].most) for name in self.hot}
        state = max((resolved[name] for name in self.stateful), default=1)
        return resolved | dict.fromkeys(self.stateful, state)

    def hot_number(self, parallelism: Mapping[str, int]) -> int:
        """`spark.sql.shuffle.partitions` for a resolved parallelism."""
        return max((max(parallelism[name], self.bounds[name].least) for name in self.hot), default=1)

    def state_number(self, parallelism: Mapping[str, int]) -> int | None:
        """The number of state partitions for a resolved parallelism; None without state."""
        return parallelism[self.stateful[0]] if self.stateful else None

    def level(self, before: Mapping[str, int], after: Mapping[str, int]) -> Level | None:
        """How deep a change between two resolved parallelisms cuts; None if they are the same."""
        changed = {name for name in self.operators if before[name] != after[name]}
        if changed & set(self.stateful):
            return Level.STATE
        if changed & set(self.sources):
            return Level.RESTART
        return Level.HOT if changed else None


def compile_pipeline(pipeline: Pipeline, execution: str) -> tuple[SegmentPlan, ...]:
    """The segments of a pipeline, each after those whose channels it reads."""
    if execution not in get_args(Execution):
        raise UsageError(f"There is no execution mode '{execution}'; choose one of: {', '.join(get_args(Execution))}.")
    graph = pipeline.graph()
    members = _components(graph, execution == "pipelined")
    return tuple(_plan(graph, nodes) for nodes in members)


def topology_of(graph: Graph, plans: tuple[SegmentPlan, ...]) -> Topology:
    """Sources and elastic operators with the streams between them; what is chained counts as part of what feeds it."""
    streams = tuple(Stream(upstream, name) for name in graph.listed for upstream in _listed_upstream(graph, name))
    feeding = {stream.upstream for stream in streams}
    operators = tuple(_operator(graph, name, name in feeding) for name in graph.listed)
    segments = tuple(plan.operators for plan in plans if plan.operators)
    return Topology(graph.name, operators, streams, segments)


def _operator(graph: Graph, name: str, feeds: bool) -> Operator:
    node, bounds = graph.nodes[name], graph.bounds(name)
    if not isinstance(node, OperatorNode):
        return Operator(name, Role.SOURCE, bounds.least, bounds.most)
    role = Role.TRANSFORM if feeds else Role.SINK
    return Operator(name, role, bounds.least, bounds.most, node.stateful, ",".join(node.key) or None)


def _listed_upstream(graph: Graph, name: str) -> tuple[str, ...]:
    """The listed operators that feed `name`, directly or through chained ones."""
    found: dict[str, None] = {}
    for upstream in graph.upstream(name):
        further = (upstream,) if upstream in graph.listed else _listed_upstream(graph, upstream)
        found |= dict.fromkeys(further)
    return tuple(found)


def _components(graph: Graph, pipelined: bool) -> list[tuple[str, ...]]:
    """The nodes of every segment, in order of flow.

    Nodes are met in order of flow; each joins the segments of those that feed it, as far as it may.
    """
    segment_of: dict[str, list[str]] = {}
    for name in graph.order:
        joined = [name]
        for upstream in graph.upstream(name):
            above = segment_of[upstream]
            if len(graph.downstream(upstream)) == 1 and _may_join(graph, above, joined, pipelined):
                joined = above + joined
        segment_of |= dict.fromkeys(joined, joined)
    distinct = {id(nodes): nodes for nodes in (segment_of[name] for name in graph.order)}
    ordered = sorted(distinct.values(), key=lambda nodes: graph.order.index(nodes[-1]))
    return [tuple(sorted(nodes, key=graph.order.index)) for nodes in ordered]


def _may_join(graph: Graph, above: list[str], joined: list[str], pipelined: bool) -> bool:
    """Whether the segment `above` may go on into `joined`, whose last node it feeds."""
    node = graph.nodes[joined[-1]]
    if isinstance(node, OperatorNode) and node.cut:
        return False
    if pipelined and sum(_stands_alone(graph, name) for name in above + joined) > 1:
        return False
    stateful = [
        other
        for other in map(graph.nodes.__getitem__, above + joined)
        if isinstance(other, OperatorNode) and other.stateful
    ]
    alike = {(graph.mode(other.name), graph.bounds(other.name)) for other in stateful}
    return len(stateful) < 2 or (len(alike) == 1 and graph.mode(stateful[0].name) == "append")


def _stands_alone(graph: Graph, name: str) -> bool:
    """Whether pipelined execution gives `name` a segment of its own."""
    node = graph.nodes[name]
    return (isinstance(node, OperatorNode) and node.elastic) or (
        isinstance(node, SourceNode) and node.bounds is not None
    )


def _plan(graph: Graph, nodes: tuple[str, ...]) -> SegmentPlan:
    operators = tuple(name for name in nodes if name in graph.listed)
    bounds = {name: graph.bounds(name) for name in operators}
    sources = tuple(name for name in operators if isinstance(graph.nodes[name], SourceNode))
    stateful = tuple(name for name in operators if _is_stateful(graph, name))
    stateless = tuple(name for name in operators if name not in (*sources, *stateful))
    ends_in_sink = isinstance(graph.nodes[nodes[-1]], SinkNode)
    return SegmentPlan(
        name=operators[-1] if operators else nodes[-1],
        nodes=nodes,
        operators=operators,
        mode=graph.mode(stateful[-1]) if stateful else "append",
        inputs=tuple(dict.fromkeys(_leaves(graph, nodes[-1], nodes))),
        writes=None if ends_in_sink else nodes[-1],
        sink=nodes[-1] if ends_in_sink else None,
        sources=sources,
        hot=tuple(name for name in stateless if bounds[name].least < bounds[name].most),
        pinned=tuple(name for name in stateless if bounds[name].least == bounds[name].most),
        stateful=stateful,
        bounds=bounds,
    )


def _leaves(graph: Graph, name: str, nodes: tuple[str, ...]) -> list[str]:
    """Where the rows of `name` come from within its segment: Spark numbers the sources of a query in this order."""
    if name not in nodes or not graph.upstream(name):
        return [name]
    return [leaf for upstream in graph.upstream(name) for leaf in _leaves(graph, upstream, nodes)]


def _is_stateful(graph: Graph, name: str) -> bool:
    node = graph.nodes[name]
    return isinstance(node, OperatorNode) and node.stateful
