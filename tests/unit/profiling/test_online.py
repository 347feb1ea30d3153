from dataclasses import replace

import pytest

from penstock.model import Cluster, Observation
from penstock.profiling import Learned
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


def test_without_load_nothing_is_known(piped: Application) -> None:
    profile = learned(piped, watched(piped, (1, 2, 1), (0.0,))).profile(piped.topology)
    assert profile.usage.operators == {}
    assert profile.selectivity.ratios == {}


def test_what_workers_do_beside_is_learned(piped: Application) -> None:
    busier = tuple(
        replace(o, workers={n: replace(w, usage=(w.usage or 0.0) + 0.07) for n, w in o.workers.items()})
        for o in watched(piped, (1, 2, 1))
    )
    assert learned(piped, busier).profile(piped.topology).overhead.function.to_json()["intercept"] == pytest.approx(
        0.07
    )
