"""Open Jackson networks: operators as M/M/k queues, and the fewest servers that keep the time in the network short."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.analysis.queueing import Queue
from penstock.errors import InvalidModel


@dataclass(frozen=True, slots=True)
class Station:
    """One operator: what arrives, what one server handles, and how many servers it may have."""

    arrival_per_s: float
    service_per_s: float
    least: int = 1
    most: int = 1_000_000

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise InvalidModel(f"A station cannot have {self.least} to {self.most} servers.")

    @property
    def fewest(self) -> int:
        """The fewest servers that keep up, within bounds."""
        stable = math.floor(self.arrival_per_s / self.service_per_s + 1e-9) + 1
        return min(max(stable, self.least), self.most)

    def sojourn_s(self, servers: int) -> float:
        """Mean time from arrival to departure; infinite if they do not keep up."""
        return Queue(self.arrival_per_s, self.service_per_s, servers).mean_sojourn_s


def network_sojourn_s(stations: Mapping[str, Station], servers: Mapping[str, int], external_per_s: float) -> float:
    """Mean time from a source event's arrival until all that came of it has left, the visits to stations added up.

    0 when nothing arrives, infinite if some station does not keep up.
    """
    if external_per_s <= 0:
        return 0.0
    total = sum(
        station.arrival_per_s * station.sojourn_s(servers[name])
        for name, station in stations.items()
        if station.arrival_per_s > 0
    )
    return total / external_per_s


def fewest_servers(
    stations: Mapping[str, Station], external_per_s: float, target_s: float, limit: int
) -> dict[str, int]:
    """Servers for a mean time in the network of at most `target_s`, found greedily (DRS).

    Every station starts with the fewest that keep up; then one server at a time goes where it saves the most time,
    until the target is met, `limit` servers are in use or none may have more. A station that cannot keep up even with
    the most it may have gets that many and is left out of the reckoning.
    """
    servers = {name: station.fewest for name, station in stations.items()}
    stable = {
        name: station
        for name, station in stations.items()
        if station.arrival_per_s > 0 and math.isfinite(station.sojourn_s(servers[name]))
    }
    times_s = {name: station.arrival_per_s * station.sojourn_s(servers[name]) for name, station in stable.items()}
    savings_s = {name: _saving_s(station, servers[name]) for name, station in stable.items()}
    while sum(times_s.values()) > target_s * external_per_s and sum(servers.values()) < limit:
        best = max(savings_s, key=savings_s.__getitem__)
        if savings_s[best] <= 0:
            break
        servers[best] += 1
        times_s[best] -= savings_s[best]
        savings_s[best] = _saving_s(stable[best], servers[best])
    return servers


def _saving_s(station: Station, servers: int) -> float:
    """What one more server saves all arrivals of a second together; 0 if there may be none."""
    if servers >= station.most:
        return 0.0
    return station.arrival_per_s * (station.sojourn_s(servers) - station.sojourn_s(servers + 1))
