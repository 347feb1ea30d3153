"""Where a run begins, and how it is known to have been broken off."""

import pytest

from penstock.control import Ended
from penstock.control.entries import STOPPED
from penstock.errors import UsageError
from penstock.model import Cluster, Configuration
from penstock.service.requests import RunRequest
from penstock.service.runs import was_stopped
from penstock.workloads import application

TOPOLOGIES = {"top-words": application("top-words").topology}
CLUSTER = Cluster.homogeneous(4, 4)


def request(policy: str, initial: str) -> RunRequest:
    return RunRequest("top-words", policy, "sine", 60.0, live=True, initial=initial)


def test_a_run_begins_with_the_most_or_the_least() -> None:
    most = request("ds2", "largest").start(TOPOLOGIES, CLUSTER)
    least = request("ds2", "smallest").start(TOPOLOGIES, CLUSTER)

    assert most.workers == 4 > least.workers
    assert set(least.parallelism["top-words"].values()) == {1}
    assert max(most.parallelism["top-words"].values()) > 1


def test_spark_gets_the_most_partitions_on_the_fewest_executors() -> None:
    start = request("spark-dynamic-allocation", "smallest").start(TOPOLOGIES, CLUSTER)

    assert start.workers == request("ds2", "smallest").start(TOPOLOGIES, CLUSTER).workers
    assert start.parallelism == request("ds2", "largest").start(TOPOLOGIES, CLUSTER).parallelism


def test_a_static_setting_is_there_from_the_beginning() -> None:
    most = request("ds2", "largest").start(TOPOLOGIES, CLUSTER)
    least = request("ds2", "smallest").start(TOPOLOGIES, CLUSTER)

    assert request("static:largest", "smallest").start(TOPOLOGIES, CLUSTER) == most
    assert request("static:smallest", "largest").start(TOPOLOGIES, CLUSTER) == least
    assert request("static", "smallest").start(TOPOLOGIES, CLUSTER) == least


def test_a_static_scenario_follows_from_the_load() -> None:
    app = application("fission-1")
    topologies = {app.name: app.topology}

    def start(preset: str) -> Configuration:
        run = RunRequest("fission-1", f"static:{preset}", "constant:rate=800", 60.0)
        return run.start(topologies, app.cluster)

    assert set(start("ss1").parallelism["fission-1"].values()) == {1}
    assert start("ss2").parallelism["fission-1"]["bag-of-words"] == 8
    assert start("ss3").parallelism["fission-1"]["bag-of-words"] == 4
    assert start("ss1").workers < start("ss2").workers


def test_a_static_scenario_needs_costs_that_are_known_of_simulated_applications_alone() -> None:
    with pytest.raises(UsageError, match="static:parallelism=N"):
        request("static:ss2", "largest")


def test_a_run_that_was_broken_off_is_known_by_its_end() -> None:
    assert was_stopped([Ended(3.0, STOPPED)])
    assert not was_stopped([Ended(3.0, "the time was up")])
    assert not was_stopped([])
