from dataclasses import replace

import numpy as np
import pytest

from penstock.model import Cluster
from penstock.profiling import ApplicationProfile, Estimator, Learned, Line, OverheadProfile, round_robin
from penstock.testing import crossing
from penstock.workloads import Application

from .conftest import watched


def estimator(application: Application, instances: tuple[int, ...], overhead: float = 0.0) -> Estimator:
    profile = ApplicationProfile.train(application.topology, application.cluster, watched(application, instances))
    profile = replace(profile, overhead=OverheadProfile(application.name, Line(1.0, overhead)))
    topologies = {application.name: application.topology}
    return Estimator(topologies, {application.name: profile}, Cluster.homogeneous(4, 2))


def test_input_rates_follow_the_selectivities(piped: Application) -> None:
    rates = estimator(piped, (1, 2, 1)).operator_input_rates("pipeline", {"s0": 400.0})
    assert rates == {"s0": 400.0, "s1": pytest.approx(200.0), "s2": pytest.approx(100.0)}
    assert estimator(piped, (1, 2, 1)).operator_input_rate("pipeline", "s2", {"s0": 800.0}) == pytest.approx(200.0)


def test_instances_share_the_load_evenly(piped: Application) -> None:
    ask = estimator(piped, (1, 2, 1))
    assert ask.instance_usage("pipeline", "s1", 200.0, 2) == pytest.approx(0.5, rel=0.01)
    usages = ask.instance_usages("pipeline", "s1", 200.0, 4)
    assert usages is not None
    assert usages.tolist() == pytest.approx([1.0, 0.5, 1 / 3, 0.25], rel=0.01)


def test_what_no_profile_knows_is_none(piped: Application) -> None:
    ask = Estimator(
        {"pipeline": piped.topology}, {"pipeline": Learned().profile(piped.topology)}, Cluster.homogeneous(1, 1)
    )
    assert ask.operator_input_rates("pipeline", {"s0": 10.0}) == {"s0": 10.0, "s1": None, "s2": None}
    assert ask.instance_usage("pipeline", "s1", 200.0, 2) is None
    assert ask.instance_usages("pipeline", "s1", 200.0, 2) is None
    assert ask.instance_usage("pipeline", "s1", 0.0, 2) == 0.0
    assert ask.own_usages({"pipeline": {"s0": 10.0}}, {"pipeline": {"s0": 1, "s1": 1, "s2": 1}}) == {}


def test_workers_do_what_their_instances_do_and_more(piped: Application) -> None:
    ask = estimator(piped, (1, 2, 1), overhead=0.05)
    parallelism = {"pipeline": {"s0": 1, "s1": 2, "s2": 1}}
    own = ask.own_usages({"pipeline": {"s0": 400.0}}, parallelism)
    # s0 0.4 and one s1 of 0.5 on the first worker of two slots, the other s1 and s2 0.25 on the second.
    usages = ask.worker_usages(round_robin(ask.topologies, parallelism, 2), own)
    assert usages.tolist() == pytest.approx([0.45 + 0.05, 0.375 + 0.05], rel=0.01)


def test_segments_take_turns(fused: Application) -> None:
    ask = estimator(fused, (2, 2, 2))
    rates = ask.operator_input_rates("pipeline", {"s0": 200.0})
    assert ask.segment_usage("pipeline", {"s0": 2, "s1": 2, "s2": 2}, rates) == pytest.approx(0.2625, rel=0.01)
    # With half the instances a member's turn takes twice as long.
    assert ask.segment_usage("pipeline", {"s0": 1, "s1": 2, "s2": 2}, rates) == pytest.approx(0.3625, rel=0.01)
    usage, names = ask.busiest("pipeline", {"s0": 2, "s1": 2, "s2": 2}, rates)
    assert (usage, names) == (pytest.approx(0.2625, rel=0.01), "s0, s1, s2")


def test_instances_are_dealt_in_turn() -> None:
    both = {"crossing": crossing().topology}
    parallelism = {"crossing": dict.fromkeys(crossing().topology.names, 2)}
    allocation = round_robin(both, parallelism, 5)
    assert allocation.hosts.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert allocation.instances.tolist() == [2] * 6
    assert np.bincount(allocation.hosts).max() == 3


def test_the_load_to_be_ready_for_is_the_highest() -> None:
    assert Estimator.predict_input_load((3.0, 7.0, 5.0)) == 7.0
    assert Estimator.predict_input_load(()) is None
