import pytest

from penstock.analysis import critical_path
from penstock.errors import InvalidModel
from penstock.model import Operator, Role, Stream, Topology

DIAMOND = Topology(
    "diamond",
    (Operator("in", Role.SOURCE), Operator("a"), Operator("b"), Operator("out", Role.SINK), Operator("log", Role.SINK)),
    (Stream("in", "a"), Stream("in", "b"), Stream("a", "out"), Stream("b", "out"), Stream("in", "log")),
)


def test_operators_decide_when_streams_are_free() -> None:
    path = critical_path(DIAMOND, {"in": 1, "a": 5, "b": 2, "out": 1, "log": 3})
    assert path.cost == 7
    assert path.operators == ("in", "a", "out")


def test_streams_count() -> None:
    costs = {"in": 1.0, "a": 5.0, "b": 2.0, "out": 1.0, "log": 3.0}
    path = critical_path(DIAMOND, costs, {("b", "out"): 4.0})
    assert (path.cost, path.operators) == (8.0, ("in", "b", "out"))
    far = critical_path(DIAMOND, costs, {("in", "log"): 40.0})
    assert (far.cost, far.operators) == (44.0, ("in", "log"))


def test_ties_do_not_depend_on_the_order_of_mappings() -> None:
    costs = dict.fromkeys(DIAMOND.names, 1.0)
    backwards = dict(reversed(costs.items()))
    assert critical_path(DIAMOND, costs) == critical_path(DIAMOND, backwards)


def test_every_operator_needs_a_cost() -> None:
    with pytest.raises(InvalidModel, match="'b' of 'diamond' has no cost"):
        critical_path(DIAMOND, {"in": 1, "a": 1, "out": 1, "log": 1})
