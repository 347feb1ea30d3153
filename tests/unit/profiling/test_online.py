from collections.abc import Sequence
from dataclasses import replace

import pytest

from penstock.model import Cluster, Observation
from penstock.profiling import Learned
from penstock.profiling.functions import Line
from penstock.profiling.online import Moments
from penstock.testing import pipeline
from penstock.workloads import Application

from .conftest import watched

CLUSTER = Cluster.homogeneous(16, 4)


def learned(application: Application, observations: tuple[Observation, ...], memory_s: float = 300.0) -> Learned:
    return Learned().with_observations({application.name: application.topology}, CLUSTER, observations, memory_s)


def test_costs_and_selectivities_are_learned(piped: Application) -> None:
    profile = learned(piped, watched(piped, (1, 2, 1))).profile(piped.topology)
    assert profile.selectivity.means == {("s0", "s1"): pytest.approx(0.5), ("s1", "s2"): pytest.approx(0.5)}
    assert profile.usage.operators["s1"].usage(100.0) == pytest.approx(0.5)
    assert profile.overhead.function.to_json()["intercept"] == pytest.approx(0.0, abs=1e-9)


def test_a_fused_segment_is_learned_as_a_whole(fused: Application) -> None:
    profile = learned(fused, watched(fused, (2, 2, 2))).profile(fused.topology)
    assert profile.usage.operators["s1"].usage(25.0) == pytest.approx(0.2625 / 2)
    assert profile.usage.operators["s2"].share == pytest.approx(0.0625 / 0.2625)


def test_every_observation_counts_once(piped: Application) -> None:
    observations = watched(piped, (1, 2, 1))
    topologies = {piped.name: piped.topology}
    once = learned(piped, observations)
    again = learned(piped, observations[:7])
    again = again.with_observations(topologies, CLUSTER, observations[2:], 300.0)
    assert again == once
    assert once.with_observations(topologies, CLUSTER, observations, 300.0) is once


def test_what_is_old_is_forgotten(piped: Application) -> None:
    slow = pipeline((1000.0, 100.0, 400.0), selectivity=0.5)
    later = tuple(replace(o, at_s=o.at_s + 120.0) for o in watched(slow, (1, 2, 1)))
    found = learned(piped, (*watched(piped, (1, 2, 1)), *later), memory_s=20.0).profile(piped.topology)
    assert found.usage.operators["s1"].usage(100.0) == pytest.approx(1.0, rel=0.02)


def test_nothing_is_learned_while_a_worker_is_new(piped: Application) -> None:
    slow = pipeline((1000.0, 20.0, 400.0), selectivity=0.5)
    warm, cold = watched(piped, (1, 2, 1), (40.0,) * 4), watched(slow, (1, 2, 1), (40.0,) * 4)
    one_more = [replace(o, workers={**o.workers, "w9": o.workers["w1"]}) for o in (*cold[1:3], warm[3])]
    first = learned(piped, (warm[0],)).profile(piped.topology).usage.operators["s1"].usage(10.0)
    later = learned(piped, (warm[0], *one_more)).profile(piped.topology).usage.operators["s1"].usage(10.0)
    assert later == pytest.approx(first)
    there_before = [replace(o, workers=warm[0].workers) for o in one_more]
    assert learned(piped, (warm[0], *there_before)).profile(piped.topology).usage.operators["s1"].usage(10.0) > first


def test_without_load_nothing_is_known(piped: Application) -> None:
    profile = learned(piped, watched(piped, (1, 2, 1), (0.0,))).profile(piped.topology)
    assert profile.usage.operators == {}
    assert profile.selectivity.ratios == {}


def test_what_workers_do_beside_is_learned(piped: Application) -> None:
    busier = tuple(
        replace(o, workers={n: replace(w, usage=(w.usage or 0.0) + 0.07) for n, w in o.workers.items()})
        for o in watched(piped, (1, 2, 1))
    )
    beside = learned(piped, busier).profile(piped.topology).overhead.function.to_json()["intercept"]
    assert beside == pytest.approx(0.07, rel=0.1)
    hasty = learned(piped, busier[:1]).profile(piped.topology).overhead.function.to_json()["intercept"]
    assert 0.0 < hasty < beside


def line_of(samples: Sequence[tuple[float, float]], fixed_part: float = 0.0) -> Line:
    summed = Moments()
    for x, y in samples:
        summed = summed.plus(1.0, x, y)
    return summed.line(fixed_part)


def test_a_fixed_cost_is_told_apart_where_rates_vary() -> None:
    line = line_of([(x, 0.2 + 0.01 * x) for x in (10.0, 20.0, 40.0, 60.0)] * 4)
    assert line.intercept == pytest.approx(0.2, rel=0.05)
    assert line.slope == pytest.approx(0.01, rel=0.05)


def test_where_rates_do_not_vary_all_cost_is_that_of_events() -> None:
    line = line_of([(20.0, 0.4)] * 5)
    assert (line.slope, line.intercept) == (pytest.approx(0.02), pytest.approx(0.0))


def test_where_rates_do_not_vary_the_fixed_part_is_what_was_assumed() -> None:
    line = line_of([(20.0, 0.4)] * 5, fixed_part=0.5)
    assert (line.slope, line.intercept) == (pytest.approx(0.01), pytest.approx(0.2))


def test_what_is_assumed_to_be_fixed_gives_way_to_what_is_seen() -> None:
    line = line_of([(x, 0.01 * x) for x in (10.0, 20.0, 40.0, 60.0)] * 4, fixed_part=0.5)
    assert line.intercept == pytest.approx(0.0, abs=0.02)


def test_what_is_fixed_is_fixed_in_every_batch() -> None:
    """A batch takes 0.3 s and 10 ms for each of its events: as many per second, but more of them at a time."""
    summed = Moments()
    for batches_per_s in (0.5, 0.25) * 20:
        summed = summed.plus(1.0, 20.0, 0.3 * batches_per_s + 0.2, batches_per_s)
    line = summed.line()
    assert line.slope == pytest.approx(0.01, rel=0.1)
    assert line.intercept == pytest.approx(0.3 * 0.375, rel=0.1)


@pytest.mark.parametrize("samples", [[(10.0, 0.0), (20.0, 0.3)], [(10.0, 0.5), (20.0, 0.1)], [(10.0, 0.3)]])
def test_no_part_of_a_cost_is_negative(samples: list[tuple[float, float]]) -> None:
    line = line_of(samples)
    assert min(line.slope, line.intercept) >= 0.0


def test_the_fixed_cost_of_a_member_of_a_segment_is_learned(fused: Application) -> None:
    """The last operator is busy for a tenth of the time of every instance, whatever it handles."""
    observations = []
    for number, observation in enumerate(watched(fused, (2, 2, 2), (50.0, 100.0, 200.0) * 6)):
        observed = observation.applications[fused.name]
        last = observed.operators["s2"]
        busy_s = (last.busy_s or 0.0) + 0.1 * last.instances * observation.window_s
        operators = {**observed.operators, "s2": replace(last, busy_s=busy_s)}
        changed = {fused.name: replace(observed, operators=operators)}
        observations.append(replace(observation, applications=changed, at_s=10.0 * (number + 1)))
    known = learned(fused, tuple(observations)).profile(fused.topology).usage.operators
    assert known["s2"].own_usage(1e-9) == pytest.approx(0.1, rel=0.1)
    assert known["s1"].own_usage(1e-9) == pytest.approx(0.0, abs=0.01)
