from typing import Any

import pytest

from penstock.errors import InvalidModel
from penstock.model import (
    Cluster,
    Configuration,
    Operator,
    ParallelismChange,
    PlacementChange,
    Role,
    Stream,
    Topology,
    WorkersChange,
    diff,
    largest,
    smallest,
)


def chain(name: str, fused: bool = False) -> Topology:
    operators = (Operator("in", Role.SOURCE, 1, 2), Operator("work", Role.TRANSFORM, 2, 6), Operator("out", Role.SINK))
    segments = (("in", "work", "out"),) if fused else ()
    return Topology(name, operators, (Stream("in", "work"), Stream("work", "out")), segments)


def of(work: int = 2, workers: int = 1, placement: Any = None) -> Configuration:
    return Configuration({"app": {"in": 1, "work": work, "out": 1}}, workers, placement)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"workers": 0}, "A configuration with 0 workers cannot run anything."),
        ({"work": 0}, "Operator 'work' of 'app' cannot have 0 instances."),
        (
            {"placement": {"app": {"work": ("w1",)}}},
            "Operator 'work' of 'app' has 2 instances but is placed on 1 workers.",
        ),
        (
            {"placement": {"app": {"none": ("w1",)}}},
            "Operator 'none' of 'app' has None instances but is placed on 1 workers.",
        ),
    ],
)
def test_a_contradiction_is_refused_in_one_sentence(values: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        of(**values)
    assert str(caught.value) == said


def test_another_parallelism_or_number_of_workers_gives_up_the_placement() -> None:
    placed = of(placement={"app": {"work": ("w1", "w1")}})
    assert placed.with_parallelism("app", "work", 3) == of(work=3)
    assert placed.with_workers(2) == of(workers=2)
    assert placed.placement is not None


def test_the_extremes_respect_the_bounds_and_fit_the_workers() -> None:
    topologies = {"app": chain("app")}
    cluster = Cluster.homogeneous(4, 3)
    assert smallest(topologies, cluster) == of(work=2, workers=2)
    assert largest(topologies, cluster) == Configuration({"app": {"in": 2, "work": 6, "out": 1}}, 4)


def test_slots_of_several_applications_add_up_and_fusing_saves_some() -> None:
    both = Configuration({"a": {"in": 1, "work": 5, "out": 1}, "b": {"in": 2, "work": 4, "out": 1}}, 1)
    assert both.slots({"a": chain("a"), "b": chain("b")}) == 14
    assert both.slots({"a": chain("a", fused=True), "b": chain("b", fused=True)}) == 9
    cluster = Cluster.homogeneous(9, 2)
    assert both.fitted({"a": chain("a"), "b": chain("b")}, cluster).workers == 7


def test_equal_configurations_do_not_differ() -> None:
    assert diff(of(), of()) == ()


def test_changes_come_in_the_order_of_the_operators_with_the_workers_last() -> None:
    before = Configuration({"app": {"in": 1, "work": 2, "out": 1}}, 1)
    after = Configuration({"app": {"in": 2, "work": 5, "out": 1}}, 3)
    assert diff(before, after) == (
        ParallelismChange("app", "in", 1, 2),
        ParallelismChange("app", "work", 2, 5),
        WorkersChange(1, 3),
    )


def test_a_move_is_a_change_and_leaving_the_placement_open_is_none() -> None:
    here, there = {"app": {"work": ("w1", "w1")}}, {"app": {"work": ("w1", "w2")}}
    assert diff(of(placement=here), of(placement=there)) == (
        PlacementChange("app", "work", ("w1", "w1"), ("w1", "w2")),
    )
    assert diff(of(), of(placement=here)) == (PlacementChange("app", "work", None, ("w1", "w1")),)
    assert diff(of(placement=here), of()) == ()
