"""Congestion, ETP and its projection; the worked example of Stela's Figure 2."""

import pytest

from penstock.analysis import OperatorFlow, congested, effective_throughput, with_one_fewer, with_one_more
from penstock.model import Operator, Role, Stream, Topology

EDGES = (("1", "2"), ("2", "3"), ("2", "4"), ("3", "5"), ("3", "6"), ("5", "7"), ("5", "8"), ("6", "9"), ("6", "10"))


def graph(*edges: tuple[str, str]) -> Topology:
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    fed = {down for _, down in edges}
    operators = tuple(Operator(n, Role.TRANSFORM if n in fed else Role.SOURCE, max_parallelism=9) for n in names)
    return Topology("app", operators, tuple(Stream(*edge) for edge in edges))


def flow(arriving: float, handled: float, instances: int = 1, **sent: float) -> OperatorFlow:
    return OperatorFlow(instances, arriving, handled, sent)


FIGURE_2 = {
    "1": flow(6000, 4000),
    "2": flow(4000, 4000),
    "3": flow(4000, 2500),
    "4": flow(4000, 2000),
    "5": flow(2000, 2000),
    "6": flow(2000, 500),
    "7": flow(1000, 1000),
    "8": flow(1000, 1000),
    "9": flow(300, 300),
    "10": flow(200, 200),
}


def test_the_worked_example() -> None:
    crowded = congested(FIGURE_2, 1.0)
    assert crowded == {"1", "3", "4", "6"}
    etp = effective_throughput(graph(*EDGES), {n: f.processed_per_s for n, f in FIGURE_2.items()}, crowded)
    assert sum(FIGURE_2[n].processed_per_s for n in ("4", "7", "8", "9", "10")) == 4500
    assert etp["3"] == 2000 / 4500
    assert etp["4"] == 2000 / 4500
    assert etp["6"] == 500 / 4500
    assert etp["1"] == 0
    assert [round(100 * etp[n]) for n in ("3", "4", "6", "1")] == [44, 44, 11, 0]
    assert sorted(crowded, key=lambda n: (-etp[n], n)) == ["3", "4", "6", "1"]


def test_what_arrives_must_exceed_what_is_handled_by_the_rate() -> None:
    flows = {"even": flow(120, 100), "more": flow(121, 100), "idle": flow(0, 0), "stuck": flow(1, 0)}
    assert congested(flows, 1.2) == {"more", "stuck"}


def test_a_sink_that_is_reached_by_two_paths_counts_once() -> None:
    diamond = graph(("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
    assert effective_throughput(diamond, {"d": 10}, ()) == dict.fromkeys("abcd", 1.0)
    assert effective_throughput(diamond, {"d": 10}, ("b",))["a"] == 1.0
    assert effective_throughput(diamond, {"d": 10}, ("b", "c"))["a"] == 0.0


def test_without_throughput_all_sinks_count_the_same() -> None:
    fork = graph(("a", "b"), ("a", "c"))
    assert effective_throughput(fork, {}, ("c",)) == {"a": 0.5, "b": 0.5, "c": 0.5}


def test_one_more_instance_sends_more_to_the_children_only() -> None:
    row = graph(("a", "b"), ("b", "c"))
    flows = {"a": flow(900, 400, 2, b=200), "b": flow(200, 150, 1, c=150), "c": flow(150, 150)}
    after = with_one_more(row, flows, "a")
    assert after["a"] == flow(900, 600, 3, b=300)
    assert after["b"] == flow(300, 150, 1, c=150)
    assert after["c"] == flows["c"]
    assert flows["a"].instances == 2


def test_where_capacities_are_known_more_flows_on_until_it_meets_one() -> None:
    row = graph(("a", "b"), ("b", "c"), ("c", "d"))
    flows = {
        "a": OperatorFlow(1, 900, 100, {"b": 200}, 100),
        "b": OperatorFlow(1, 200, 200, {"c": 100}, 500),
        "c": OperatorFlow(1, 100, 100, {"d": 100}, 150),
        "d": OperatorFlow(1, 100, 100, {}, 900),
    }
    twice = with_one_more(row, flows, "a")
    assert (twice["a"].processed_per_s, twice["a"].capacity_per_s) == (200, 200)
    assert (twice["b"].input_per_s, twice["b"].processed_per_s) == (400, 400)
    assert (twice["c"].input_per_s, twice["c"].processed_per_s) == (200, 150)
    assert (twice["d"].input_per_s, twice["d"].processed_per_s) == (150, 150)
    assert congested(twice, 1.2) == {"a", "c"}


def test_one_of_known_capacity_handles_no_more_than_arrives() -> None:
    flows = {"a": OperatorFlow(1, 120, 100, {"b": 100}, 100), "b": OperatorFlow(1, 100, 100, {}, 100)}
    after = with_one_more(graph(("a", "b")), flows, "a")
    assert (after["a"].processed_per_s, after["a"].capacity_per_s, after["b"].input_per_s) == (120, 200, 120)


@pytest.mark.parametrize(("rate", "instances"), [(1.0, 10), (1.2, 9), (2.0, 5)])
def test_projection_ends_congestion(rate: float, instances: int) -> None:
    row = graph(("a", "b"))
    flows = {"a": flow(1000, 100, 1, b=100), "b": flow(100, 100)}
    while "a" in congested(flows, rate):
        flows = with_one_more(row, flows, "a")
    assert flows["a"].instances == instances


def test_an_instance_is_done_without_only_if_the_others_are_known_to_suffice() -> None:
    flows = {
        "idle": OperatorFlow(4, 100.0, 100.0, {}, 400.0),
        "tight": OperatorFlow(4, 301.0, 301.0, {}, 400.0),
        "single": OperatorFlow(1, 0.0, 0.0, {}, 400.0),
        "unknown": OperatorFlow(4, 100.0, 100.0),
    }
    fewer = with_one_fewer(flows, "idle")
    assert fewer == {**flows, "idle": OperatorFlow(3, 100.0, 100.0, {}, 300.0)}
    assert all(with_one_fewer(flows, name) is None for name in ("tight", "single", "unknown"))
