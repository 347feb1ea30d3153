"""Applications that cost exactly what they are told to: operators that wait instead of computing.

What they emit depends on the rows alone: the same events give the same results in whatever batches they come.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from penstock.errors import InvalidModel, UsageError
from penstock.model import Operator, Role, Topology
from penstock.spark.applications.parameters import check_known, positive, read
from penstock.spark.applications.waiting import wait_for
from penstock.spark.pipeline import Pipeline
from penstock.workloads import Application, application

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KEYS = 100
_PARAMETERS = (
    "shape",
    "operators",
    "service_ms",
    "selectivity",
    "stateful",
    "max",
    "sink",
    "application",
    "scale",
    "keys",
)


@dataclass(frozen=True, slots=True)
class Stage:
    """One operator: the seconds it waits per row, and the rows it sends to each downstream operator per row."""

    name: str
    after: tuple[str, ...]
    service_s: float
    selectivity: Mapping[str, float] = field(default_factory=dict)
    stateful: bool = False
    most: int = 8

    def __post_init__(self) -> None:
        if self.service_s < 0:
            raise InvalidModel(f"Operator '{self.name}' cannot wait {self.service_s:g} s per row.")


def synthetic(parameters: Mapping[str, str]) -> Pipeline:
    """Operators that wait. Parameters: shape, operators, service_ms, selectivity, stateful, max, application, scale.

    `shape` is linear, diamond or star; `operators` is how many of them wait (in a diamond or star: side by side), each
    `service_ms` per row. A counter with `keys` keys follows unless stateful=no. With `application` (any of `penstock
    apps`) the operators, streams, rates and selectivities are that application's, the rates times `scale`.
    """
    check_known("synthetic", parameters, _PARAMETERS)
    keys = read(parameters, "keys", positive, _KEYS)
    sink = parameters.get("sink", "batches")
    if "application" in parameters:
        scale = read(parameters, "scale", float, 1.0)
        return of_application(application(parameters["application"]), scale, keys, sink)
    return build("synthetic", ("source",), _shape(parameters), keys, sink)


def of_application(of: Application, scale: float = 1.0, keys: int = _KEYS, sink: str = "batches") -> Pipeline:
    """A pipeline of waiting operators with the graph, selectivities and, times `scale`, the rates of `of`."""
    if scale <= 0:
        raise UsageError(f"The scale of '{of.name}' is {scale:g}; it must be above 0.")
    topology = of.topology
    stages = [_stage(of, topology.operator(name), scale) for name in topology.order if topology.upstream(name)]
    return build(of.name, topology.sources, stages, keys, sink, _source_selectivity(of, topology))


def build(
    name: str,
    sources: tuple[str, ...],
    stages: list[Stage],
    keys: int = _KEYS,
    sink: str = "batches",
    of_sources: Mapping[str, Mapping[str, float]] | None = None,
) -> Pipeline:
    """The pipeline of those stages, each after those that feed it, with a sink behind every end."""
    pipeline = Pipeline(name)
    for source in sources:
        pipeline.source(source, load="numbers")
    ratios = {**(of_sources or {}), **{stage.name: stage.selectivity for stage in stages}}
    fed = {upstream for stage in stages for upstream in stage.after}
    for number, stage in enumerate(stages):
        after = [_stream(pipeline, upstream, stage.name, ratios.get(upstream, {})) for upstream in stage.after]
        function = _counting(stage, keys) if stage.stateful else _waiting(stage, number)
        pipeline.operator(
            stage.name,
            after=after,
            parallelism=(1, stage.most),
            key="key" if stage.stateful else (),
            stateful=stage.stateful,
        )(function)
    for stage in stages:
        if stage.name not in fed:
            pipeline.sink(f"out-{stage.name}", after=stage.name, format=sink)
    return pipeline


def _stream(pipeline: Pipeline, upstream: str, downstream: str, ratios: Mapping[str, float]) -> str:
    """What `downstream` reads of `upstream`: all of it, or a chained operator that multiplies the rows by the ratio."""
    ratio = ratios.get(downstream, 1.0)
    if ratio == 1.0:
        return upstream
    name = f"{upstream}-to-{downstream}"
    pipeline.operator(name, after=upstream)(_multiplying(ratio))
    return name


def _multiplying(ratio: float) -> "Callable[[DataFrame], DataFrame]":
    def multiply(rows: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F  # noqa: N812

        whole, part = divmod(ratio, 1.0)
        copies = F.lit(int(whole)) + F.when(_draw("event_id") < part, 1).otherwise(0)
        copied = rows.select(F.explode(F.sequence(F.lit(0), copies)).alias("_copy"), "*").where("_copy > 0")
        # Copies are rows of their own: they are spread apart behind the next exchange and drawn for again.
        fresh = F.xxhash64("event_id", "_copy").alias("event_id")
        return copied.select(fresh, "event_time", "key")

    return multiply


def _draw(column: str) -> "Column":
    """A number between 0 and 1 that depends on the row alone."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.pmod(F.xxhash64(F.lit("draw"), column), F.lit(1_000_003)) / 1_000_003.0


def _waiting(stage: Stage, number: int) -> "Callable[[DataFrame], DataFrame]":
    def wait(rows: "DataFrame") -> "DataFrame":
        return wait_for(rows.select("event_id", "event_time", "key"), stage.service_s)

    wait.__name__ = f"wait_{number}"
    return wait


def _counting(stage: Stage, keys: int) -> "Callable[[DataFrame], DataFrame]":
    """Rows per key so far. Waits per key that was touched in a batch: before the state there is no place to wait."""

    def count(rows: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F  # noqa: N812

        key = F.pmod(F.col("key"), F.lit(keys)).alias("key")
        counted = rows.select("event_id", "event_time", key).groupBy("key")
        totals = counted.agg(
            F.max("event_id").alias("event_id"), F.max("event_time").alias("event_time"), F.count("*").alias("count")
        ).select("event_id", "event_time", "key", "count")
        return wait_for(totals, stage.service_s)

    return count


def _stage(of: Application, operator: Operator, scale: float) -> Stage:
    cost = of.costs[operator.name]
    return Stage(
        name=operator.name,
        after=of.topology.upstream(operator.name),
        service_s=1.0 / (cost.rate_per_s * scale),
        selectivity=cost.selectivity,
        stateful=operator.stateful,
        most=operator.max_parallelism,
    )


def _source_selectivity(of: Application, topology: Topology) -> dict[str, Mapping[str, float]]:
    return {o.name: of.costs[o.name].selectivity for o in topology.operators if o.role is Role.SOURCE}


def _shape(parameters: Mapping[str, str]) -> list[Stage]:
    shape = parameters.get("shape", "linear")
    if shape not in _SHAPES:
        raise UsageError(f"There is no shape '{shape}'; choose one of: {', '.join(_SHAPES)}.")
    stages = _SHAPES[shape](
        read(parameters, "operators", positive, 2),
        {
            "service_s": read(parameters, "service_ms", float, 1.0) / 1000.0,
            "most": read(parameters, "max", positive, 8),
        },
    )
    if parameters.get("stateful", "yes") not in ("no", "false"):
        fed = {upstream for stage in stages for upstream in stage.after}
        ends = tuple(stage.name for stage in stages if stage.name not in fed)
        stages.append(Stage("count", ends, 0.0, stateful=True, most=min(4, stages[0].most)))
    ratio = read(parameters, "selectivity", float, 1.0)
    return [_with_selectivity(stage, stages, ratio) for stage in stages]


def _with_selectivity(stage: Stage, stages: list[Stage], ratio: float) -> Stage:
    below = [other.name for other in stages if stage.name in other.after]
    return Stage(stage.name, stage.after, stage.service_s, dict.fromkeys(below, ratio), stage.stateful, stage.most)


def _linear(operators: int, costs: Mapping[str, Any]) -> list[Stage]:
    names = ["source", *(f"wait-{i + 1}" for i in range(operators))]
    return [Stage(name, (above,), **costs) for above, name in pairwise(names)]


def _diamond(operators: int, costs: Mapping[str, Any]) -> list[Stage]:
    sides = [f"side-{i + 1}" for i in range(operators)]
    first = Stage("first", ("source",), **costs)
    return [first, *(Stage(side, ("first",), **costs) for side in sides), Stage("last", tuple(sides), **costs)]


def _star(operators: int, costs: Mapping[str, Any]) -> list[Stage]:
    return [
        Stage("centre", ("source",), **costs),
        *(Stage(f"ray-{i + 1}", ("centre",), **costs) for i in range(operators)),
    ]


_SHAPES: Mapping[str, Callable[[int, Mapping[str, Any]], list[Stage]]] = {
    "linear": _linear,
    "diamond": _diamond,
    "star": _star,
}
