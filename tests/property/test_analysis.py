"""Laws that the shared mathematics keeps for all inputs."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.analysis import (
    Queue,
    ScalabilityLaw,
    application_rates,
    critical_path,
    desired_inputs,
    erlang_c,
    fit_scalability,
    make_up_for_limits,
    selectivities,
    source_inputs,
)
from penstock.model import Configuration
from penstock.testing import crossing, steady_view

quick = settings(deadline=None, max_examples=60)


@quick
@given(servers=st.integers(1, 400), load=st.floats(0.01, 0.99), rate=st.floats(0.1, 1000))
def test_one_more_server_never_makes_anybody_wait_longer(servers: int, load: float, rate: float) -> None:
    arrival = load * servers * rate
    before, after = Queue(arrival, rate, servers), Queue(arrival, rate, servers + 1)
    assert 0 <= after.waiting_probability <= before.waiting_probability <= 1
    assert after.mean_waiting_s <= before.mean_waiting_s
    assert before.mean_number == pytest.approx(before.mean_waiting + before.offered)


@quick
@given(servers=st.integers(1, 200), low=st.floats(0, 1), high=st.floats(0, 1.5))
def test_waiting_grows_with_load(servers: int, low: float, high: float) -> None:
    low, high = sorted((low, high))
    assert erlang_c(servers, low * servers) <= erlang_c(servers, high * servers) + 1e-12


@quick
@given(st.floats(0, 0.5), st.floats(0, 0.05), st.floats(1, 1e5))
def test_a_law_is_recovered_from_its_points(contention: float, coherence: float, rate: float) -> None:
    law = ScalabilityLaw(contention, coherence, rate)
    fitted = fit_scalability([(k, law.total_per_s(k)) for k in range(1, 13)])
    assert fitted is not None
    for k in (1, 6, 12, 20):
        assert fitted.total_per_s(k) == pytest.approx(law.total_per_s(k), rel=1e-5)


@quick
@given(st.floats(0, 0.9), st.floats(1e-4, 0.5))
def test_nothing_beats_the_peak(contention: float, coherence: float) -> None:
    law = ScalabilityLaw(contention, coherence)
    top = law.speedup(law.peak)
    assert all(law.speedup(k) <= top * (1 + 1e-9) for k in range(1, 200))


@quick
@given(
    work=st.lists(st.floats(0.01, 5), min_size=2, max_size=5),
    limits=st.lists(st.integers(1, 10), min_size=5, max_size=5),
)
def test_a_segment_keeps_up_with_what_it_is_given(work: list[float], limits: list[int]) -> None:
    names = [str(i) for i in range(len(work))]
    total = sum(work)
    bounds = dict(zip(names, limits, strict=False))
    shares = {name: part / total for name, part in zip(names, work, strict=True)}
    needs = make_up_for_limits(dict.fromkeys(names, total), shares, bounds)
    time = sum(part / min(needs[name], bounds[name]) for name, part in zip(names, work, strict=True))
    beyond = all(needs[name] > bounds[name] or math.isinf(needs[name]) for name in names)
    assert time <= 1 + 1e-9 or beyond


@quick
@given(load=st.floats(1, 5000), instances=st.integers(2, 8))
def test_desired_inputs_do_not_depend_on_what_is_held_up(load: float, instances: int) -> None:
    """However overloaded an application is, the measured selectivities lead to the true demand."""
    application = crossing()
    topology = application.topology
    start = Configuration({topology.name: {o.name: o.clip(instances) for o in topology.operators}}, 16)
    observations = steady_view((application,), {topology.name: load}, start).observations
    sources = source_inputs(topology, application_rates(topology, observations))
    desired = desired_inputs(topology, sources, selectivities(topology, observations))
    meet = 0.75 * load * 0.5 + 0.25 * load
    expected = {"left": 0.75 * load, "right": 0.25 * load, "clean": 0.75 * load, "meet": meet}
    assert desired == pytest.approx({**expected, "store": 2 * meet, "alert": 0.01 * meet})


@quick
@given(st.lists(st.floats(0, 100), min_size=6, max_size=6), st.lists(st.floats(0, 100), min_size=5, max_size=5))
def test_no_path_is_longer_than_the_critical_one(costs: list[float], between: list[float]) -> None:
    topology = crossing().topology
    cost = dict(zip(topology.names, costs, strict=True))
    edges = {(s.upstream, s.downstream): value for s, value in zip(topology.streams, between, strict=True)}
    path = critical_path(topology, cost, edges)
    ways = [(*start, "meet", end) for start in (("left", "clean"), ("right",)) for end in ("store", "alert")]
    lengths = [sum(cost[name] for name in way) + sum(edges[pair] for pair in pairwise(way)) for way in ways]
    assert path.cost == pytest.approx(max(lengths))
    assert path.operators in ways
