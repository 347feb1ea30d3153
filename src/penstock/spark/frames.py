"""From a segment's plan to the DataFrame that its query runs: exchanges, marks and the user's functions in order."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.errors import InvalidModel
from penstock.spark.compiler import SegmentPlan
from penstock.spark.graph import Graph, OperatorNode, SourceNode
from penstock.spark.markers import Side, mark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

EVENT_ID = "event_id"
_MORE_THAN_THERE_ARE = 1_000_000


def build_frame(
    graph: Graph, plan: SegmentPlan, parallelism: Mapping[str, int], inputs: Mapping[str, "DataFrame"]
) -> "DataFrame":
    """What the segment's query computes.

    `inputs` holds a streaming DataFrame for every source of the segment and every channel it reads. Only the
    parallelism of pinned operators is part of the plan; the hot number and the state's are settings of the query.
    """
    return _Builder(graph, plan, parallelism, inputs).build()


def stateless_frames(graph: Graph, plan: SegmentPlan, inputs: Mapping[str, "DataFrame"]) -> "list[DataFrame]":
    """What the segment's operators without state make of other inputs than the query's, without any exchange."""
    frames = dict(inputs)
    ends = set(inputs)
    for name in plan.nodes:
        node = graph.nodes[name]
        if isinstance(node, OperatorNode) and not node.stateful and all(above in frames for above in node.after):
            taken = [frames[above] for above in node.after]
            frames[name] = node.function(*taken) if node.joins else node.function(_union(taken))
            ends = (ends - set(node.after)) | {name}
    return [frames[name] for name in sorted(ends)]


class _Builder:
    """Builds one frame; `_owner` tells in whose stage a node's rows come out (None: a channel's, or already marked)."""

    def __init__(
        self, graph: Graph, plan: SegmentPlan, parallelism: Mapping[str, int], inputs: Mapping[str, "DataFrame"]
    ) -> None:
        self._graph = graph
        self._plan = plan
        self._parallelism = parallelism
        self._frames = dict(inputs)
        self._owner: dict[str, str | None] = dict.fromkeys(inputs)

    def build(self) -> "DataFrame":
        for name in self._plan.nodes:
            node = self._graph.nodes[name]
            if isinstance(node, SourceNode):
                self._owner[name] = name
            elif isinstance(node, OperatorNode):
                self._frames[name] = self._operator(node)
        last = self._plan.writes or self._graph.upstream(self._plan.nodes[-1])[0]
        return self._marked_out(last)

    def _operator(self, node: OperatorNode) -> "DataFrame":
        chained = not node.elastic and len(node.after) == 1
        self._owner[node.name] = self._owner[node.after[0]] if chained else (node.name if node.elastic else None)
        taken = [self._frames[name] if chained else self._marked_out(name) for name in node.after]
        if not node.joins:
            taken = [_union(taken)]
        if node.elastic:
            taken = [self._entered(node, frame) for frame in taken]
        result = node.function(*taken)
        if not hasattr(type(result), "writeStream"):
            raise InvalidModel(
                f"The function of operator '{node.name}' returned {type(result).__name__}; it must return a DataFrame."
            )
        return result  # type: ignore[no-any-return]

    def _entered(self, node: OperatorNode, frame: "DataFrame") -> "DataFrame":
        """The frame behind the operator's own exchange; Spark itself puts one in front of state.

        It would leave that out where it knows that all rows are in one partition, as behind the exchange of a single
        instance, and the operator would share a stage with the one before it. A coalesce to more partitions than there
        are changes nothing but what Spark knows of them.
        """
        number = self._graph.listed.index(node.name)
        if node.stateful:
            entered = mark(frame, number, Side.IN)
            return entered.coalesce(_MORE_THAN_THERE_ARE) if self._is_spread(node) else entered
        spread = _spread(node, number, frame)
        if node.name in self._plan.pinned:
            return mark(frame.repartition(self._parallelism[node.name], spread), number, Side.IN)
        # The mark stands between the two, or else the optimizer would take the coalesce for all that is asked for.
        entered = mark(frame.repartition(spread), number, Side.IN)
        most = self._plan.bounds[node.name].most
        widest = max(self._plan.bounds[name].most for name in self._plan.hot)
        return entered.coalesce(most) if most < widest else entered

    def _is_spread(self, node: OperatorNode) -> bool:
        """Whether all that feeds the operator is in stages behind exchanges of ours, which keep no state: a coalesce
        takes from a stage with state the wish to run where the state is."""
        owners = [self._graph.nodes[owner] for name in node.after if (owner := self._owner[name]) is not None]
        stateless = [owner for owner in owners if isinstance(owner, OperatorNode) and not owner.stateful]
        return len(stateless) == len(node.after)

    def _marked_out(self, name: str) -> "DataFrame":
        owner = self._owner[name]
        if owner is None:
            return self._frames[name]
        return mark(self._frames[name], self._graph.listed.index(owner), Side.OUT)


def _union(frames: "list[DataFrame]") -> "DataFrame":
    united = frames[0]
    for frame in frames[1:]:
        united = united.unionByName(frame)
    return united


def _spread(node: OperatorNode, number: int, frame: "DataFrame") -> "Column":
    """By what rows are spread over instances: the key, the event's number, or all that a row holds.

    It depends on nothing but the row, so that a task that is tried again sends every row where it went before. Hashing
    it together with the operator's number keeps Spark from taking this exchange for the one that the operator before
    it had, or that a stateful operator behind it needs, and leaving one of them out.
    """
    from pyspark.sql import functions as F  # noqa: N812

    columns = node.key or ((EVENT_ID,) if EVENT_ID in frame.columns else _hashable(frame))
    if not columns:
        raise InvalidModel(f"Operator '{node.name}' gets no column by which rows can be spread; give it a key.")
    return F.xxhash64(F.lit(number), *(F.col(f"`{column}`") for column in columns))


def _hashable(frame: "DataFrame") -> tuple[str, ...]:
    return tuple(field.name for field in frame.schema.fields if _can_be_hashed(field.dataType))


def _can_be_hashed(kind: "DataType") -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

    if isinstance(kind, ArrayType):
        return _can_be_hashed(kind.elementType)
    if isinstance(kind, StructType):
        return all(_can_be_hashed(field.dataType) for field in kind.fields)
    return not isinstance(kind, MapType | VariantType)
