import math
from itertools import product

import pytest

from penstock.analysis import Queue, Station, fewest_servers, network_sojourn_s
from penstock.errors import InvalidModel

NETWORK = {"a": Station(10.0, 6.0), "b": Station(25.0, 10.0), "c": Station(5.0, 2.0)}


def test_times_of_all_visits_add_up() -> None:
    expected = (
        10 * Queue(10, 6, 2).mean_sojourn_s + 25 * Queue(25, 10, 4).mean_sojourn_s + 5 * Queue(5, 2, 3).mean_sojourn_s
    ) / 10
    assert network_sojourn_s(NETWORK, {"a": 2, "b": 4, "c": 3}, 10.0) == pytest.approx(expected)
    assert network_sojourn_s(NETWORK, {"a": 1, "b": 4, "c": 3}, 10.0) == math.inf
    assert network_sojourn_s({"a": Station(0.0, 1.0)}, {"a": 1}, 0.0) == 0.0


def test_the_fewest_that_keep_up_is_more_than_the_load() -> None:
    assert Station(10.0, 5.0).fewest == 3
    assert Station(9.9, 5.0).fewest == 2
    assert Station(0.0, 5.0, least=2).fewest == 2
    assert Station(100.0, 5.0, most=4).fewest == 4


@pytest.mark.parametrize("target_s", [3.0, 2.0, 1.6, 1.4])
def test_the_greedy_allocation_is_the_smallest(target_s: float) -> None:
    servers = fewest_servers(NETWORK, 10.0, target_s, 100)
    assert network_sojourn_s(NETWORK, servers, 10.0) <= target_s
    total = sum(servers.values())
    for counts in product(range(1, 9), repeat=3):
        if sum(counts) < total:
            assert network_sojourn_s(NETWORK, dict(zip("abc", counts, strict=True)), 10.0) > target_s


def test_it_stops_at_the_limit_and_at_bounds() -> None:
    assert sum(fewest_servers(NETWORK, 10.0, 0.0, 12).values()) == 12
    bounded = {name: Station(s.arrival_per_s, s.service_per_s, 1, 4) for name, s in NETWORK.items()}
    assert fewest_servers(bounded, 10.0, 0.0, 100) == {"a": 4, "b": 4, "c": 4}


def test_a_station_that_cannot_keep_up_does_not_stop_the_others() -> None:
    stuck = {**NETWORK, "d": Station(100.0, 1.0, 1, 5)}
    servers = fewest_servers(stuck, 10.0, 2.0, 100)
    assert servers["d"] == 5
    assert {name: servers[name] for name in "abc"} == fewest_servers(NETWORK, 10.0, 2.0, 100)


def test_bounds_must_make_sense() -> None:
    with pytest.raises(InvalidModel):
        Station(1.0, 1.0, 3, 2)
