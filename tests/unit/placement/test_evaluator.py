"""Metrics and violations of placements that can be checked by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from penstock.errors import InvalidModel, UnknownName
from penstock.placement import (
    AvailabilityModel,
    Bounds,
    DowntimeModel,
    Network,
    NetworkMetric,
    Node,
    Normalisation,
    Operator,
    Problem,
    Reconfiguration,
    Stream,
    Weights,
    evaluate,
)


def square(value: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.asarray(value * (1.0 - np.eye(2)))


TWO = Problem(
    (Operator("a", 1.0, 10.0), Operator("b", 2.0, 30.0, cost=2.0)),
    (Stream("a", "b", 100.0),),
    (Node("n", 2.0, 1.0, 0.9), Node("m", 4.0, 2.0, 0.8)),
    Network(square(50.0), square(-0.5) + 1.0, cost=square(0.01)),
    Weights(response_time=1.0),
    normalisation=Normalisation(response_time_ms=(0.0, 100.0)),
)


def test_one_replica_each() -> None:
    apart = evaluate(TWO, {"a": ("n",), "b": ("m",)})
    assert apart.response_time_ms == pytest.approx(10.0 + 50.0 + 30.0 / 2.0)
    assert apart.objective == pytest.approx(0.75)
    assert apart.availability == pytest.approx(0.9 * 0.5 * 0.8)
    assert apart.network == pytest.approx(100.0 * 0.05)
    assert apart.cost == pytest.approx(1.0 + 2.0 * 2.0 + 100.0 * 0.01)
    assert apart.downtime_s is None
    assert apart.critical_path == ("a", "b")
    assert apart.is_feasible


@pytest.mark.parametrize(
    ("metric", "network"),
    [(NetworkMetric.TRAFFIC, 100.0), (NetworkMetric.USAGE, 5.0), (NetworkMetric.ELASTIC_ENERGY, 0.25)],
)
def test_network_metrics(metric: NetworkMetric, network: float) -> None:
    assert evaluate(replace(TWO, network_metric=metric), {"a": ("n",), "b": ("m",)}).network == pytest.approx(network)


def test_together_a_node_and_no_link_is_used() -> None:
    together = evaluate(TWO, {"a": ("m",), "b": ("m",)})
    assert together.availability == pytest.approx(0.8 * 0.8)
    assert together.network == 0.0
    by_nodes = replace(TWO, availability_model=AvailabilityModel.NODES)
    assert evaluate(by_nodes, {"a": ("m",), "b": ("m",)}).availability == pytest.approx(0.8)


def test_replicas_share_the_input_with_multiplicity() -> None:
    queue = Operator("b", 1.0, max_replicas=3, service_rate_per_s=60.0)
    problem = replace(TWO, operators=(Operator("a", 1.0, 10.0), queue))
    spread = evaluate(problem, {"a": ("n",), "b": ("n", "m", "m")})
    # The slower node decides: 1 / (60 - 100 / 3) s on it, over the longer of the two links.
    assert spread.response_time_ms == pytest.approx(10.0 + 50.0 + 1000.0 / (60.0 - 100.0 / 3.0))
    assert spread.network == pytest.approx(100.0 * 2.0 / 3.0 * 0.05)
    assert spread.cost == pytest.approx(1.0 + 3.0 + 100.0 * 2.0 / 3.0 * 0.01)
    assert math.isinf(evaluate(problem, {"a": ("n",), "b": ("m",)}).response_time_ms)


def test_every_broken_constraint_is_named() -> None:
    limited = replace(
        TWO,
        operators=(replace(TWO.operators[0], candidates=("m",)), TWO.operators[1]),
        network=replace(TWO.network, bandwidth_per_s=square(20.0) + np.eye(2)),
        bounds=Bounds(response_time_ms=50.0, cost=3.0),
    )
    broken = "\n".join(evaluate(limited, {"a": ("n",), "b": ("m", "m", "m")}).violations)
    for part in (
        "Node 'm' has 4 resources, and 6 are used",
        "Operator 'a' may not run on node 'n'",
        "Operator 'b' has 3 replicas, above its 1",
        "Link n -> m carries 100 per second, above its 20",
        "response time is 75, above its bound of 50",
        "cost is 14, above its bound of 3",
    ):
        assert part in broken


def test_a_placement_must_be_whole_and_known() -> None:
    with pytest.raises(InvalidModel, match="no node for operator 'b'"):
        evaluate(TWO, {"a": ("n",)})
    with pytest.raises(UnknownName, match="operator called 'c'"):
        evaluate(TWO, {"c": ("n",)})
    with pytest.raises(UnknownName, match="node called 'x'"):
        evaluate(TWO, {"a": ("x",)})


def changing(model: DowntimeModel, **settings: float) -> Problem:
    stateful = Operator("a", 1.0, 10.0, max_replicas=4, state_bytes=8e6, code_bytes=2e6)
    return replace(
        TWO,
        operators=(stateful, Operator("b", 1.0, code_bytes=4e6)),
        nodes=(Node("n", 8.0, spawn_s=0.5), Node("m", 8.0, spawn_s=0.25)),
        current={"a": ("n",), "b": ("m",)},
        reconfiguration=Reconfiguration(0.25, 5.0, 1e6, model, **settings),
    )


TRIP_S = 0.01
"""There and back to the store."""


def test_downtime_when_only_what_changes_pauses() -> None:
    problem = changing(DowntimeModel.PAUSE_AND_RESUME)

    def down(*nodes: str) -> float | None:
        return evaluate(problem, {"a": nodes, "b": ("m",)}).downtime_s

    assert down("n") == 0.0
    # Code and old state travel at the same time; then the state is downloaded and the replica started.
    assert down("m") == pytest.approx(0.25 + max(2.0, 8.0) + TRIP_S + 8.0 + TRIP_S + 0.25)
    # A second replica elsewhere takes half of the state.
    assert down("n", "m") == pytest.approx(0.25 + 4.0 + TRIP_S + 4.0 + TRIP_S + 0.25)
    # A second replica in place: download of its half and start.
    assert down("n", "n") == pytest.approx(0.25 + 4.0 + TRIP_S + 0.5)


def test_downtime_when_the_application_restarts() -> None:
    problem = changing(DowntimeModel.RESTART, local_rate_bytes_per_s=8e6)
    stays = evaluate(problem, {"a": ("n",), "b": ("m",)})
    assert stays.downtime_s == 0.0
    moved = evaluate(problem, {"a": ("m",), "b": ("m",)}).downtime_s
    # Both nodes are in use, so the code of the application is on both.
    assert moved == pytest.approx(0.25 + 8.0 + TRIP_S + 8.0 + TRIP_S + 0.25)
    # Only b moves, which has no state; but a is saved, loaded and started again as well.
    assert evaluate(problem, {"a": ("n",), "b": ("n",)}).downtime_s == pytest.approx(0.25 + 2.0 + 0.5)
