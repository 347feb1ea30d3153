from itertools import permutations

import pytest

from penstock.errors import UsageError
from penstock.model import Cluster
from penstock.workloads import ansnet, waxman


def mean_delay_s(cluster: Cluster) -> float:
    return sum(link.delay_s for link in cluster.links) / len(cluster.links)


@pytest.mark.parametrize(
    ("cluster", "nodes", "mean_s"), [(ansnet(), 15, 0.032), (waxman(36, seed=1), 36, 0.017), (waxman(50, 2), 50, 0.017)]
)
def test_every_pair_is_linked_both_ways_with_the_published_mean_delay(
    cluster: Cluster, nodes: int, mean_s: float
) -> None:
    assert len(cluster.workers) == nodes
    assert len({(link.source, link.target) for link in cluster.links}) == nodes * (nodes - 1)
    assert mean_delay_s(cluster) == pytest.approx(mean_s)
    for link in cluster.links:
        assert link.delay_s > 0
        assert cluster.delay_s(link.target, link.source) == pytest.approx(link.delay_s)


@pytest.mark.parametrize("cluster", [ansnet(), waxman(16, seed=5)])
def test_no_detour_is_shorter_than_the_link(cluster: Cluster) -> None:
    names = [worker.name for worker in cluster.workers]
    for one, via, other in permutations(names, 3):
        detour_s = cluster.delay_s(one, via) + cluster.delay_s(via, other)
        assert cluster.delay_s(one, other) <= detour_s + 1e-12


def test_the_seed_decides_a_random_network() -> None:
    assert waxman(25, seed=1) == waxman(25, seed=1)
    assert waxman(25, seed=1) != waxman(25, seed=2)


def test_workers_of_a_system_are_listed_together() -> None:
    cluster = waxman(36, seed=1)
    names = [worker.name for worker in cluster.workers]
    detours_s: dict[tuple[str, str], list[float]] = {pair: [] for pair in permutations(names, 2)}
    for one, via, other in permutations(names, 3):
        detours_s[one, other].append(cluster.delay_s(one, via) + cluster.delay_s(via, other))
    lines = [pair for pair, other_s in detours_s.items() if cluster.delay_s(*pair) < min(other_s) - 1e-9]
    inside = [pair for pair in lines if names.index(pair[0]) // 6 == names.index(pair[1]) // 6]
    assert len(inside) > len(lines) / 2


def test_availability_is_drawn_from_the_published_range() -> None:
    shares = [worker.availability for worker in waxman(100, seed=3).workers]
    assert 0.97 <= min(shares) < 0.972
    assert 0.997 < max(shares) < 1
    assert all(worker.availability == 1 for worker in ansnet().workers)
    assert all(0.97 <= worker.availability < 1 for worker in ansnet(seed=1).workers)


def test_small_networks_and_slots() -> None:
    assert not waxman(1, seed=0).links
    assert mean_delay_s(waxman(2, seed=0)) == pytest.approx(0.017)
    assert {worker.slots for worker in ansnet(slots=5).workers} == {5}
    with pytest.raises(UsageError, match="0 nodes"):
        waxman(0, seed=0)


def test_ansnet_is_the_mainland_part_of_the_map() -> None:
    cluster = ansnet()
    assert cluster.workers[0].name == "seattle", "where source and last rank of the routes application are pinned"
    assert not {"hawaii", "washington", "san-francisco"} & {worker.name for worker in cluster.workers}
    far_s = cluster.delay_s("seattle", "denver") + cluster.delay_s("denver", "chicago")
    assert cluster.delay_s("seattle", "chicago") == pytest.approx(far_s), "no line of its own"
