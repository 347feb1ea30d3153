import math

import pytest

from penstock.analysis import Queue, erlang_b, erlang_c
from penstock.errors import InvalidModel


def test_one_server_follows_the_closed_form() -> None:
    queue = Queue(arrival_per_s=8.0, service_per_s=10.0)
    assert queue.usage == pytest.approx(0.8)
    assert queue.waiting_probability == pytest.approx(0.8)
    assert queue.mean_sojourn_s == pytest.approx(1 / (10 - 8))
    assert queue.mean_waiting_s == pytest.approx(0.8 / (10 - 8))
    assert queue.mean_number == pytest.approx(0.8 / 0.2)
    assert queue.mean_waiting == pytest.approx(0.8**2 / 0.2)


def test_erlang_c_of_a_call_centre_by_hand() -> None:
    # Two servers at 1 erlang: B = (1/2) / (1 + 1 + 1/2) = 1/5, C = (1/5) / (1 - 1/2 * 4/5) = 1/3.
    assert erlang_b(2, 1.0) == pytest.approx(1 / 5)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert Queue(1.0, 1.0, 2).mean_waiting_s == pytest.approx(1 / 3)


def test_agrees_with_the_textbook_sum() -> None:
    servers, offered = 7, 5.5
    terms = [offered**n / math.factorial(n) for n in range(servers)]
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    assert erlang_c(servers, offered) == pytest.approx(last / (sum(terms) + last))


def test_thousands_of_servers_do_not_overflow() -> None:
    queue = Queue(arrival_per_s=4_950.0, service_per_s=1.0, servers=5_000)
    assert 0 < queue.waiting_probability < 1
    assert queue.mean_sojourn_s == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("arrival", [20.0, 25.0])
def test_an_unstable_queue_grows_for_ever(arrival: float) -> None:
    queue = Queue(arrival, 10.0, 2)
    assert not queue.is_stable
    assert queue.waiting_probability == 1
    assert queue.mean_waiting_s == queue.mean_sojourn_s == queue.mean_number == queue.mean_waiting == math.inf


def test_nothing_waits_when_nothing_arrives() -> None:
    queue = Queue(0.0, 10.0, 3)
    assert queue.mean_number == queue.mean_waiting == queue.mean_waiting_s == 0
    assert queue.mean_sojourn_s == pytest.approx(0.1)


@pytest.mark.parametrize("given", [(-1.0, 1.0, 1), (1.0, 0.0, 1), (1.0, 1.0, 0)])
def test_refuses_what_is_no_queue(given: tuple[float, float, int]) -> None:
    with pytest.raises(InvalidModel, match="makes no sense"):
        Queue(*given)
    with pytest.raises(InvalidModel, match="cannot have"):
        erlang_b(-1, 1.0)
