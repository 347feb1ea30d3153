"""Queues with Poisson arrivals and exponential service: M/M/1 and M/M/k."""

import math
from dataclasses import dataclass

from penstock.errors import InvalidModel


def erlang_b(servers: int, offered: float) -> float:
    """Probability that all of `servers` are busy when nobody waits, at an offered load of `offered` erlangs.

    The usual recurrence over the number of servers: every intermediate value lies in [0, 1], so it neither overflows
    nor loses precision for thousands of servers, where the closed form with its factorials does.
    """
    if servers < 0 or offered < 0:
        raise InvalidModel(f"A queue cannot have {servers} servers at an offered load of {offered:g}.")
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked


def erlang_c(servers: int, offered: float) -> float:
    """Probability that an arrival has to wait; 1 when the servers cannot keep up."""
    if offered >= servers:
        return 1.0
    blocked = erlang_b(servers, offered)
    usage = offered / servers
    return blocked / (1.0 - usage * (1.0 - blocked))


@dataclass(frozen=True, slots=True)
class Queue:
    """An M/M/k queue: `servers` servers of `service_per_s` each, fed with `arrival_per_s` (M/M/1 with one server).

    Times and numbers are those of the steady state. A queue that is not stable has none: they are infinite.
    """

    arrival_per_s: float
    service_per_s: float
    servers: int = 1

    def __post_init__(self) -> None:
        if self.arrival_per_s < 0 or self.service_per_s <= 0 or self.servers < 1:
            raise InvalidModel(
                f"A queue with {self.servers} servers of {self.service_per_s:g} per second fed with "
                f"{self.arrival_per_s:g} per second makes no sense; use at least one server of a rate above 0."
            )

    @property
    def offered(self) -> float:
        """The load in erlangs: servers that would be busy if there were enough of them."""
        return self.arrival_per_s / self.service_per_s

    @property
    def usage(self) -> float:
        """Offered load per server; 1 and above is more than the queue can serve."""
        return self.offered / self.servers

    @property
    def is_stable(self) -> bool:
        """Whether the queue has a steady state."""
        return self.usage < 1

    @property
    def waiting_probability(self) -> float:
        """Probability that an arrival has to wait (Erlang C)."""
        return erlang_c(self.servers, self.offered)

    @property
    def mean_waiting_s(self) -> float:
        """Mean time before service begins."""
        spare_per_s = self.servers * self.service_per_s - self.arrival_per_s
        # A usage that is below 1 only by rounding leaves nothing to spare.
        return self.waiting_probability / spare_per_s if self.is_stable and spare_per_s > 0 else math.inf

    @property
    def mean_sojourn_s(self) -> float:
        """Mean time from arrival to departure."""
        return self.mean_waiting_s + 1.0 / self.service_per_s

    @property
    def mean_waiting(self) -> float:
        """Mean number that wait (by Little's law)."""
        return self.arrival_per_s * self.mean_waiting_s if self.is_stable else math.inf

    @property
    def mean_number(self) -> float:
        """Mean number that wait or are served (by Little's law)."""
        return self.arrival_per_s * self.mean_sojourn_s if self.is_stable else math.inf
