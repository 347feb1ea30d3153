"""Clusters spread over a country or a continent: all pairs are linked, with the delay of the shortest path."""

import math

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.model import Cluster, Link, Worker

_ANSNET_MEAN_S = 0.032
_WAXMAN_MEAN_S = 0.017
_WAXMAN_BETA = 0.20
_AVAILABILITY = (0.97, 0.9999999)

_CITIES = {
    "seattle": (47.6, -122.3),
    "san-jose": (37.3, -121.9),
    "los-angeles": (34.1, -118.2),
    "albuquerque": (35.1, -106.7),
    "denver": (39.7, -105.0),
    "dallas": (32.8, -96.8),
    "houston": (29.8, -95.4),
    "st-louis": (38.6, -90.2),
    "chicago": (41.9, -87.7),
    "atlanta": (33.7, -84.4),
    "cleveland": (41.5, -81.7),
    "greensboro": (36.1, -79.8),
    "reston": (39.0, -77.3),
    "new-york": (40.7, -74.0),
    "hartford": (41.8, -72.7),
}
_LINES = (
    *(("seattle", "denver"), ("denver", "chicago"), ("chicago", "st-louis"), ("chicago", "cleveland")),
    *(("cleveland", "new-york"), ("cleveland", "hartford"), ("hartford", "new-york"), ("new-york", "reston")),
    *(("reston", "st-louis"), ("reston", "dallas"), ("st-louis", "dallas"), ("san-jose", "dallas")),
    *(("dallas", "houston"), ("houston", "atlanta"), ("atlanta", "greensboro"), ("houston", "albuquerque")),
    ("albuquerque", "los-angeles"),
)


def ansnet(slots: int = 2, seed: int | None = None) -> Cluster:
    """The 15-node part of ANSNET on which the QoS-aware deployment thesis works, with a mean delay of 32 ms.

    The thesis draws the network but does not tabulate it. Taken here: the map of the ANS backbone in the Internet
    Topology Zoo, 18 nodes, without Hawaii and without Washington and San Francisco, which have another node next to
    them (Reston, San Jose); delays in proportion to length. Decision 10 says why this part. With a seed, workers get
    availabilities between 97 % and 99.99999 % as in chapter 6; without one they never fail. An instance costs 1 $ per
    hour (chapter 8), so a worker one per slot.
    """
    names = tuple(_CITIES)
    lengths = np.full((len(names), len(names)), np.inf)
    for one, other in _LINES:
        _connect(lengths, names.index(one), names.index(other), _distance_km(_CITIES[one], _CITIES[other]))
    rng = None if seed is None else np.random.default_rng(seed)
    return _cluster(names, slots, lengths, _ANSNET_MEAN_S, rng)


def waxman(nodes: int, seed: int, slots: int = 2) -> Cluster:
    """A random network of two levels, like those of the thesis: shortest-path delays of 17 ms on average.

    The thesis makes them with BRITE, whose code measures links between systems otherwise (docs/decisions/0010). The
    square root of `nodes` autonomous systems, on a plane of side 1,000, each have as many routers on a plane of side
    10,000, which makes links inside a system the slower ones. Both levels are Waxman graphs (alpha 0.15, beta 0.20),
    grown node by node with two links each, so that they are connected: a link is chosen with a probability in
    proportion to alpha exp(-d / (beta L)). Workers are listed system by system, as BRITE numbers them, and available
    between 97 % and 99.99999 % of the time. Equal arguments give equal clusters.
    """
    if nodes < 1:
        raise UsageError(f"A network cannot have {nodes} nodes; it needs at least 1.")
    rng = np.random.default_rng(seed)
    systems = math.ceil(math.sqrt(nodes))
    members = [part.tolist() for part in np.array_split(np.arange(nodes), systems)]
    lengths = np.full((nodes, nodes), np.inf)
    for routers in members:
        for one, other, length in _waxman_links(len(routers), 10_000.0, rng):
            _connect(lengths, routers[one], routers[other], length)
    for one, other, length in _waxman_links(len(members), 1_000.0, rng):
        _connect(lengths, int(rng.choice(members[one])), int(rng.choice(members[other])), length)
    return _cluster(tuple(f"n{i + 1}" for i in range(nodes)), slots, lengths, _WAXMAN_MEAN_S, rng)


def _waxman_links(nodes: int, side: float, rng: np.random.Generator) -> list[tuple[int, int, float]]:
    """Every node but the first is linked to two earlier ones (or all, if there are fewer)."""
    places = rng.uniform(0.0, side, size=(nodes, 2))
    links: list[tuple[int, int, float]] = []
    for node in range(1, nodes):
        lengths = np.hypot(*(places[:node] - places[node]).T)
        # Alpha is the same for all candidates, so it cancels out of the choice.
        weights = np.exp(-lengths / (_WAXMAN_BETA * side * math.sqrt(2.0)))
        chosen = rng.choice(node, size=min(2, node), replace=False, p=weights / weights.sum())
        links.extend((node, int(other), float(lengths[other])) for other in chosen)
    return links


def _connect(lengths: NDArray[np.float64], one: int, other: int, length: float) -> None:
    lengths[one, other] = lengths[other, one] = min(length, lengths[one, other])


def _distance_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Along the great circle (haversine)."""
    (south, west), (north, east) = np.radians(one), np.radians(other)
    half = math.sin((north - south) / 2) ** 2 + math.cos(south) * math.cos(north) * math.sin((east - west) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(half))


def _shortest(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths of the shortest paths between all pairs (Floyd and Warshall)."""
    paths = lengths.copy()
    np.fill_diagonal(paths, 0.0)
    for via in range(len(paths)):
        paths = np.minimum(paths, paths[:, via, None] + paths[None, via, :])
    return paths


def _cluster(
    names: tuple[str, ...],
    slots: int,
    lengths: NDArray[np.float64],
    mean_delay_s: float,
    availability: np.random.Generator | None,
) -> Cluster:
    paths = _shortest(lengths)
    pairs = [(i, j) for i in range(len(names)) for j in range(len(names)) if i != j]
    mean = sum(paths[pair] for pair in pairs) / len(pairs) if pairs else 1.0
    links = tuple(Link(names[i], names[j], delay_s=float(paths[i, j] * mean_delay_s / mean)) for i, j in pairs)
    available = (
        [1.0] * len(names) if availability is None else availability.uniform(*_AVAILABILITY, len(names)).tolist()
    )
    workers = tuple(
        Worker(name, slots, availability=share, price_per_h=float(slots))
        for name, share in zip(names, available, strict=True)
    )
    return Cluster(workers, links)
