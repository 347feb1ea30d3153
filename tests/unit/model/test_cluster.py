from collections.abc import Callable

import pytest

from penstock.errors import InvalidModel, UnknownName
from penstock.model import Cluster, Link, Worker


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Worker("a", slots=0), "Worker 'a' has 0 slots; it must have at least 1."),
        (lambda: Worker("a", speedup=0.0), "Worker 'a' has speed-up 0; it must be above 0."),
        (lambda: Worker("a", availability=0.0), "Worker 'a' has availability 0; it must be above 0 and at most 1."),
        (lambda: Worker("a", availability=1.5), "Worker 'a' has availability 1.5; it must be above 0 and at most 1."),
        (lambda: Link("a", "b", delay_s=-1.0), "Link a -> b has a negative delay."),
        (lambda: Cluster(()), "A cluster needs at least one worker."),
        (lambda: Cluster((Worker("a"), Worker("a"))), "Two workers of the cluster have the same name."),
        (lambda: Cluster((Worker("a"),), (Link("a", "b"),)), "Link a -> b names unknown worker 'b'."),
    ],
)
def test_a_contradiction_is_refused_in_one_sentence(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        make()
    assert str(caught.value) == said


def test_equal_workers_are_numbered() -> None:
    cluster = Cluster.homogeneous(3, 4, 2.0)
    assert cluster.workers == (Worker("w1", 4, 2.0), Worker("w2", 4, 2.0), Worker("w3", 4, 2.0))
    assert cluster.worker("w2") is cluster.workers[1]


def test_an_unknown_worker_comes_with_a_hint_or_with_the_choice() -> None:
    cluster = Cluster((Worker("alpha"), Worker("beta")))
    with pytest.raises(UnknownName, match=r"^There is no worker called 'alfa'; did you mean 'alpha'\?$"):
        cluster.worker("alfa")
    with pytest.raises(UnknownName, match=r"^There is no worker called 'x'; choose one of: alpha, beta\.$"):
        cluster.worker("x")


def test_links_are_directed_and_none_costs_no_time() -> None:
    cluster = Cluster((Worker("a"), Worker("b")), (Link("a", "b", 0.2), Link("a", "a", 0.5)))
    assert cluster.delay_s("a", "b") == 0.2
    assert cluster.delay_s("b", "a") == 0.0
    assert cluster.delay_s("a", "a") == 0.0


def test_slots_are_counted_in_the_order_of_the_pool() -> None:
    cluster = Cluster((Worker("small", 1), Worker("big", 8), Worker("middle", 4)))
    assert [cluster.slots(n) for n in range(4)] == [0, 1, 9, 13]
    assert [cluster.workers_for(slots) for slots in (0, 1, 2, 9, 10, 13, 99)] == [1, 1, 2, 2, 3, 3, 3]
