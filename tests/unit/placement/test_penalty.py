from dataclasses import replace

import numpy as np
import pytest

from penstock.placement import Network, Node, Operator, Problem, Stream, Weights
from penstock.placement.heuristics import link_penalty
from penstock.placement.heuristics.penalty import anchors, distance_to
from penstock.placement.instance import instance_of

DELAY = np.array([[0.0, 10.0, 20.0], [10.0, 0.0, 40.0], [20.0, 40.0, 0.0]])


def problem(weights: Weights, pinned: str | None = "a") -> Problem:
    nodes = (Node("a", availability=0.9), Node("b", speedup=0.5, availability=0.99), Node("c"))
    operators = (Operator("o", candidates=None if pinned is None else (pinned,)), Operator("p"))
    return Problem(operators, (Stream("o", "p", 1.0),), nodes, Network(DELAY.copy()), weights)


def test_response_time_counts_delay_and_two_reference_operators() -> None:
    penalty = link_penalty(problem(Weights(response_time=1.0)))
    # The least is two operators of 1 ms on a node of speed 1, the most 40 ms from the slow node to c.
    assert penalty[0, 0] == penalty[2, 2] == 0.0
    assert penalty[1, 2] == penalty[2, 1] == 1.0
    assert penalty[0, 1] == pytest.approx((10 + 1 + 2 - 2) / (40 + 2 + 1 - 2))
    assert penalty[1, 1] == pytest.approx((4 - 2) / 41)


def test_availability_counts_both_ends_once() -> None:
    penalty = link_penalty(problem(Weights(availability=1.0)))
    worst = -np.log(0.9 * 0.99)
    assert penalty[0, 1] == 1.0
    assert penalty[0, 0] == pytest.approx(-np.log(0.9) / worst)
    assert penalty[2, 2] == 0.0


def test_weights_add_up_and_the_network_is_by_its_metric() -> None:
    usage = link_penalty(problem(Weights(network=1.0)))
    assert usage == pytest.approx(DELAY / 40.0)
    mixed = link_penalty(problem(Weights(network=0.5, response_time=0.5)))
    assert mixed == pytest.approx(0.5 * usage + 0.5 * link_penalty(problem(Weights(response_time=1.0))))


def test_equal_links_have_no_penalty() -> None:
    flat = replace(problem(Weights(availability=1.0)), nodes=tuple(Node(name) for name in "abc"))
    assert not link_penalty(flat).any()


def test_distances_start_from_pinned_operators_or_from_the_middle() -> None:
    pinned, free = problem(Weights(network=1.0)), problem(Weights(network=1.0), None)
    assert anchors(instance_of(pinned)).tolist() == [0]
    assert distance_to(pinned, anchors(instance_of(pinned))).tolist() == [0.0, 0.25, 0.5]
    assert anchors(instance_of(free)).tolist() == [0]
