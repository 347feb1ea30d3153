"""From operators and their costs to a topology."""

from collections.abc import Mapping

from penstock.model import Operator, Stream, Topology
from penstock.workloads.application import OperatorCost


def graph(name: str, operators: tuple[Operator, ...], costs: Mapping[str, OperatorCost]) -> Topology:
    """The topology that has a stream wherever an operator's cost names a selectivity."""
    streams = tuple(Stream(o.name, downstream) for o in operators for downstream in costs[o.name].selectivity)
    return Topology(name, operators, streams)
