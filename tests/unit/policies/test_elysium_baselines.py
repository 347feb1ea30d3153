from dataclasses import replace
from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Reconfigure, View, WorkerObservation
from penstock.policies import Joint, OperatorsOnly, Policy, WorkersOnly, policy
from penstock.testing import pipeline, steady_view

APP = pipeline((1000.0, 100.0, 200.0), max_parallelism=16)


def configured(*instances: int, workers: int = 4) -> Configuration:
    return Configuration({"pipeline": {f"s{i}": k for i, k in enumerate(instances)}}, workers)


def seen(load: float, configuration: Configuration) -> View:
    return steady_view((APP,), {"pipeline": load}, configuration)


def decide(made: Policy[Any], view: View) -> Decision:
    return made.decide(view, made.start())[0]


def target(decision: Decision) -> Configuration:
    assert isinstance(decision, Reconfigure), decision
    return decision.target


class TestJoint:
    def test_whoever_adds_an_instance_adds_a_worker(self) -> None:
        found = target(decide(Joint(), seen(190.0, configured(1, 2, 1, workers=2))))
        assert found == configured(1, 3, 2, workers=3)

    def test_one_unit_at_a_time(self) -> None:
        assert target(decide(Joint(), seen(900.0, configured(2, 2, 5, workers=2)))).parallelism["pipeline"]["s1"] == 3

    def test_fewer_instances_leave_the_workers_alone(self) -> None:
        found = target(decide(Joint(), seen(100.0, configured(1, 5, 1, workers=2))))
        assert found == configured(1, 4, 1, workers=2)

    def test_workers_scale_by_their_usage_when_no_operator_does(self) -> None:
        idle = seen(50.0, configured(1, 1, 1, workers=3))
        at_least_one = replace(idle, objectives=replace(idle.objectives, core_min=0.01))
        assert target(decide(Joint(cpu_min=0.25), at_least_one)) == configured(1, 1, 1, workers=2)
        busy = seen(60.0, configured(1, 1, 1, workers=1))
        stressed = tuple(replace(o, workers={"w1": WorkerObservation(0.9)}) for o in busy.observations)
        view = replace(busy, observations=stressed, objectives=replace(busy.objectives, core_min=0.01))
        assert target(decide(Joint(), view)) == configured(1, 1, 1, workers=2)

    def test_the_last_worker_stays(self) -> None:
        view = seen(5.0, configured(1, 1, 1, workers=1))
        assert isinstance(decide(Joint(), view), Keep)

    def test_assessments_keep_their_distance(self) -> None:
        made = Joint()
        view = seen(190.0, configured(1, 2, 1, workers=2))
        _, memory = made.decide(view, made.start())
        decision, _ = made.decide(replace(view, now_s=view.now_s + 30.0), memory)
        assert decision == Keep("the next assessment is at 120 s")


class TestOperatorsOnly:
    def test_instances_change_and_workers_do_not(self) -> None:
        assert target(decide(OperatorsOnly(), seen(300.0, configured(1, 1, 1)))) == configured(1, 5, 3)

    def test_the_number_of_workers_may_be_given(self) -> None:
        assert target(decide(OperatorsOnly(workers=2), seen(300.0, configured(1, 1, 1)))).workers == 2


class TestWorkersOnly:
    def test_workers_change_and_instances_do_not(self) -> None:
        assert target(decide(WorkersOnly(), seen(300.0, configured(1, 5, 3)))) == configured(1, 5, 3, workers=2)

    def test_the_parallelism_may_be_given(self) -> None:
        found = target(decide(WorkersOnly(parallelism=4), seen(300.0, configured(1, 5, 3))))
        assert found.parallelism["pipeline"] == {"s0": 4, "s1": 4, "s2": 4}


@pytest.mark.parametrize(
    "text", ["joint:window_s=0", "operators-only:workers=0", "workers-only:parallelism=0", "workers-only:window_s=0"]
)
def test_parameters_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        policy(text)
