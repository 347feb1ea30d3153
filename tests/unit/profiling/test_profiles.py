import json
from dataclasses import replace

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.model import Cluster, Observation, Stream, Topology, WorkerObservation
from penstock.profiling import (
    ApplicationProfile,
    Line,
    OverheadProfile,
    SelectivityProfile,
    UsageProfile,
    overhead_samples,
)
from penstock.testing import crossing
from penstock.workloads import Application

from .conftest import watched


def other(application: Application) -> Topology:
    """The same application without its last operator."""
    topology = application.topology
    return replace(topology, operators=topology.operators[:-1], streams=topology.streams[:-1])


class TestSelectivity:
    def test_it_finds_every_streams_ratio(self, piped: Application) -> None:
        profile = SelectivityProfile.train(piped.topology, watched(piped, (1, 2, 1)))
        assert profile.means == {("s0", "s1"): pytest.approx(0.5), ("s1", "s2"): pytest.approx(0.5)}
        assert profile.error == pytest.approx(0.0)
        assert profile.ratios["s0", "s1"].samples == 12

    def test_variation_shows_as_deviation(self, piped: Application) -> None:
        observations = list(watched(piped, (1, 2, 1), (100.0, 100.0)))
        seen = observations[1].applications["pipeline"]
        more = replace(seen.operators["s0"], output_per_s={"s1": 70.0})
        observations[1] = replace(
            observations[1], applications={"pipeline": replace(seen, operators={**seen.operators, "s0": more})}
        )
        ratio = SelectivityProfile.train(piped.topology, observations).ratios["s0", "s1"]
        assert (ratio.mean, ratio.deviation) == (pytest.approx(0.6), pytest.approx(0.1))

    def test_it_survives_json_and_refuses_other_applications(self, piped: Application) -> None:
        profile = SelectivityProfile.train(piped.topology, watched(piped, (1, 2, 1)))
        again = SelectivityProfile.from_json(json.loads(json.dumps(profile.to_json())))
        assert again == profile
        again.check(piped.topology)
        with pytest.raises(UsageError, match="cannot serve 'crossing'"):
            again.check(crossing().topology)
        with pytest.raises(UsageError, match="s1 -> s2; the application has changed"):
            again.check(other(piped))

    def test_nothing_observed_is_too_little(self, piped: Application) -> None:
        with pytest.raises(UsageError, match="observe the application for longer"):
            SelectivityProfile.train(piped.topology, ())

    def test_a_broken_file_is_refused(self) -> None:
        with pytest.raises(UsageError, match="no 'ratios'"):
            SelectivityProfile.from_json({"application": "x", "error": 0.0})
        with pytest.raises(UsageError, match="broken"):
            SelectivityProfile.from_json({"application": "x", "error": 0.0, "ratios": [["a", "b"]]})


class TestUsage:
    def test_usage_is_input_over_rate(self, piped: Application) -> None:
        profile = UsageProfile.train(piped.topology, watched(piped, (1, 2, 1)))
        assert profile.operators["s0"].usage(500.0) == pytest.approx(0.5, rel=0.01)
        assert profile.operators["s1"].usage(100.0) == pytest.approx(0.5, rel=0.01)
        assert profile.operators["s1"].share == 1.0
        assert profile.error < 0.01

    def test_in_a_fused_segment_it_is_that_of_the_segment(self, fused: Application) -> None:
        profile = UsageProfile.train(fused.topology, watched(fused, (2, 2, 2)))
        # 100 events per second cost 0.1, 0.1 and 0.0625 slots; every slot is taken for all of that by turns.
        assert profile.operators["s1"].usage(25.0) == pytest.approx(0.2625 / 2, rel=0.01)
        assert sum(operator.share for operator in profile.operators.values()) == pytest.approx(1.0)
        assert profile.operators["s2"].share == pytest.approx(0.0625 / 0.2625)

    def test_it_survives_json_and_refuses_other_applications(self, piped: Application) -> None:
        profile = UsageProfile.train(piped.topology, watched(piped, (1, 2, 1)))
        again = UsageProfile.from_json(json.loads(json.dumps(profile.to_json())))
        assert again == profile
        again.check(piped.topology)
        with pytest.raises(UsageError, match="is of 'pipeline'"):
            again.check(crossing().topology)
        with pytest.raises(UsageError, match="an operator that is not there: 's2'"):
            again.check(other(piped))

    def test_an_operator_that_did_nothing_is_missing(self, piped: Application) -> None:
        profile = UsageProfile.train(piped.topology, watched(piped, (1, 2, 1)))
        partly = replace(profile, operators={"s0": profile.operators["s0"]})
        with pytest.raises(UsageError, match="knows no operator 's1'"):
            partly.check(piped.topology)

    def test_a_broken_file_is_refused(self) -> None:
        with pytest.raises(UsageError, match="broken"):
            UsageProfile.from_json({"application": "x", "error": 0.0, "operators": {"a": {"share": 1.0}}})

    def test_without_load_there_is_nothing_to_learn(self, piped: Application) -> None:
        with pytest.raises(UsageError, match="usage profile of 'pipeline' needs at least 1"):
            UsageProfile.train(piped.topology, watched(piped, (1, 1, 1), (0.0, 0.0)))


class TestOverhead:
    def with_overhead(self, observations: tuple[Observation, ...], beside: float) -> tuple[Observation, ...]:
        def more(worker: WorkerObservation) -> WorkerObservation:
            return replace(worker, usage=(worker.usage or 0.0) + beside)

        return tuple(replace(o, workers={n: more(w) for n, w in o.workers.items()}) for o in observations)

    def test_it_finds_what_workers_do_beside(self, piped: Application) -> None:
        observations = self.with_overhead(watched(piped, (1, 2, 1)), 0.1)
        profile = OverheadProfile.train("pipeline", piped.cluster, observations)
        assert profile.worker_usages(np.array([0.3]))[0] == pytest.approx(0.4, rel=0.02)
        assert profile.error < 0.02

    def test_a_worker_does_at_least_what_its_instances_do(self) -> None:
        assert OverheadProfile("x", Line(0.5)).worker_usages(np.array([0.4]))[0] == 0.4

    def test_what_a_worker_hosts_counts_where_it_is_known(self, piped: Application) -> None:
        (observation,) = watched(piped, (1, 2, 1), (100.0,))
        busy = {n: o.busy_s or 0.0 for n, o in observation.applications["pipeline"].operators.items()}
        hosted = {"w1": WorkerObservation(0.5, operators={"pipeline/s1": 1, "pipeline/s0": 1})}
        ((instances, usage),) = overhead_samples(piped.cluster, replace(observation, workers=hosted))
        assert usage == 0.5
        assert instances == pytest.approx((busy["s1"] / 2 + busy["s0"]) / 10 / 4)

    def test_it_survives_json(self, piped: Application) -> None:
        profile = OverheadProfile.train("pipeline", piped.cluster, self.with_overhead(watched(piped, (1, 2, 1)), 0.1))
        assert OverheadProfile.from_json(json.loads(json.dumps(profile.to_json()))) == profile

    def test_saturated_workers_teach_nothing(self, piped: Application) -> None:
        with pytest.raises(UsageError, match="overhead profile"):
            OverheadProfile.train("pipeline", piped.cluster, self.with_overhead(watched(piped, (1, 2, 1)), 1.0))


def test_all_three_are_learned_from_the_same_observations(piped: Application) -> None:
    profile = ApplicationProfile.train(piped.topology, Cluster.homogeneous(16, 4), watched(piped, (1, 2, 1)))
    profile.check(piped.topology)
    assert [part.kind for part in profile.parts] == ["selectivity", "usage", "overhead"]
    grown = replace(piped.topology, streams=(*piped.topology.streams, Stream("s0", "s2")))
    with pytest.raises(UsageError, match="s0 -> s2"):
        profile.check(grown)
