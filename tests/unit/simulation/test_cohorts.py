import pytest

from penstock.model import Operator, Role
from penstock.simulation import WorldSettings
from penstock.simulation.cohorts import Cohorts, merged
from penstock.simulation.operators import SimulatedOperator
from penstock.workloads import OperatorCost


def three() -> Cohorts:
    queue = Cohorts()
    queue.extend([(1.0, 10.0, 5.0), (2.0, 20.0, 10.0), (3.0, 30.0, 60.0)])
    return queue


def test_the_oldest_leave_first_and_the_last_one_is_split() -> None:
    queue = three()
    assert queue.pop(15.0) == [(1.0, 10.0, 5.0), (2.0, 5.0, 2.5)]
    assert (queue.count, queue.mass) == (45.0, 67.5)
    assert queue.pop_all() == [(2.0, 15.0, 7.5), (3.0, 30.0, 60.0)]
    assert (queue.count, queue.mass) == (0.0, 0.0)


def test_asking_for_more_than_there_is_takes_everything() -> None:
    queue = three()
    assert len(queue.pop(99.0)) == 3
    assert queue.pop(1.0) == []


def test_nothing_is_taken_for_nothing() -> None:
    queue = three()
    assert queue.pop(0.0) == []
    assert queue.count == 60.0


def test_the_newest_are_dropped_first() -> None:
    queue = three()
    assert queue.drop_newest(40.0) == 65.0
    assert queue.pop_all() == [(1.0, 10.0, 5.0), (2.0, 10.0, 5.0)]


@pytest.mark.parametrize("part", [0.1, 1 / 3, 7.7])
def test_nothing_is_lost_in_many_small_parts(part: float) -> None:
    queue = three()
    taken = []
    while queue.count > 0:
        taken += queue.pop(part)
    assert sum(count for _, count, _ in taken) == pytest.approx(60.0)
    assert sum(mass for _, _, mass in taken) == pytest.approx(75.0)
    assert queue.mass == 0.0


def test_cohorts_of_one_birth_are_one() -> None:
    parts = [(2.0, 1.0, 0.5), (1.0, 3.0, 1.5), (2.0, 4.0, 2.0)]
    assert merged(parts) == [(1.0, 3.0, 1.5), (2.0, 5.0, 2.5)]


def test_queues_that_are_dealt_anew_again_and_again_keep_their_size() -> None:
    operator = SimulatedOperator(
        Operator("o", Role.SOURCE, max_parallelism=8),
        OperatorCost(1.0, key_skew=0.8),
        (),
        WorldSettings(dispatch="hashed"),
        None,
    )
    operator.receive([(float(birth_s), 10.0, 10.0) for birth_s in range(50)])
    for number in range(30):
        operator.resize(4 + number % 3)
    assert operator.count == pytest.approx(500.0)
    assert max(len(lane.pop_all()) for lane in operator.lanes) == 50
