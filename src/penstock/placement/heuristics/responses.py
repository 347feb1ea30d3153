"""Two full layers of interchangeable operators: one node of the one changes, and the other responds."""

from dataclasses import dataclass

import numpy as np

from penstock.placement.heuristics.landscape import Landscape
from penstock.placement.heuristics.local_search import IMPROVEMENT
from penstock.placement.heuristics.lower_bound import swept
from penstock.placement.heuristics.regroupings import Found, Twins
from penstock.placement.heuristics.terrain import Terrain
from penstock.placement.instance import Floats, Ints

_TARGETS, _TRIED = 16, 4
"""To how many nodes the operators of a node are offered, those where they would cost least by themselves, and how many
of all such changes are looked at more closely.
"""


@dataclass(frozen=True, eq=False)
class Pair:
    """Movers, of whom those on one node go to another, and responders, who then take the slots that are best for them.

    All responders are joined to all movers, and to nobody else on that side (`onward`: the movers come after them).
    `between[v, u]` is what the streams between a mover on node v and a responder on node u cost, `delay_ms[v, u]` how
    long they take.
    """

    movers: Ints
    responders: Ints
    onward: bool
    between: Floats
    delay_ms: Floats


def pairs_of(terrain: Terrain, twins: list[Twins]) -> list[Pair]:
    """The smaller of every two adjacent layers as movers, the larger as responders."""
    found = []
    for movers in twins:
        for responders in twins:
            for sets, onward in ((terrain.after, True), (terrain.before, False)):
                side = sets.of[responders.members[0]]
                joined = side >= 0 and set(sets.members[side]) == set(movers.members.tolist())
                if joined and len(movers.members) <= len(responders.members):
                    found.append(_pair(terrain, movers.members, responders.members, onward))
    return found


def _pair(terrain: Terrain, movers: Ints, responders: Ints, onward: bool) -> Pair:
    one, other = int(movers[0]), int(responders[0])
    between = np.zeros((terrain.instance.nodes, terrain.instance.nodes))
    for (sends, gets), cost in zip(terrain.weights, terrain.stream_costs, strict=True):
        between += sends[one, other] * cost.matrix + gets[one, other] * cost.matrix.T
    delay_ms = terrain.instance.delay_ms.T if onward else terrain.instance.delay_ms
    return Pair(movers, responders, onward, between, np.ascontiguousarray(delay_ms))


def response(landscape: Landscape, pair: Pair) -> Found | None:
    """The best placement with one node of the movers replaced and all responders placed anew, if that is better.

    Of all replacements only those are looked at more closely that promise most.
    """
    sight = Sight(landscape, pair)
    hosts, targets = sight.replacements()
    costs, paths = sight.responders(hosts, targets)
    rest, room = sight.rest(hosts, targets), sight.room(hosts, targets)
    least = rest + _at_least(costs, paths, room, len(pair.responders))
    best: Found | None = None
    for index in np.argsort(least, kind="stable")[:_TRIED].tolist():
        below = landscape.value - IMPROVEMENT if best is None else best.value
        if least[index] >= below:
            break
        value, nodes = swept(costs[index], paths[index], room[index], len(pair.responders), below - rest[index])
        if nodes:
            row = landscape.assignment.copy()
            row[pair.movers[row[pair.movers] == hosts[index]]] = targets[index]
            row[pair.responders] = nodes
            best = Found(row, float(value + rest[index]))
    return best


class Sight:
    """What movers and responders cost on every node, each without the other, when movers change a node.

    A replacement is a node that hosts movers and another one that is to host them.
    """

    def __init__(self, landscape: Landscape, pair: Pair) -> None:
        instance, place = landscape.terrain.instance, landscape.assignment
        self._landscape, self._pair, self._per_ms = landscape, pair, landscape.terrain.per_ms
        mover, responder = int(pair.movers[0]), int(pair.responders[0])
        self._demands = int(instance.demand[mover]), int(instance.demand[responder])
        self._moved = np.bincount(place[pair.movers], minlength=instance.nodes)
        self._hosts = np.flatnonzero(self._moved)
        self._free = landscape.room + self._demands[1] * np.bincount(place[pair.responders], minlength=instance.nodes)
        self._mover = landscape.table[mover] - pair.between[:, place[pair.responders]].sum(axis=1)
        self._responder = landscape.table[responder] - pair.between[place[pair.movers]].sum(axis=0)
        self._tail_ms = landscape.side_ms(mover, pair.onward)
        self._lead_ms = landscape.side_ms(responder, not pair.onward)

    def replacements(self) -> tuple[Ints, Ints]:
        """Nodes that host movers, and for each of them some others that have room."""
        each, moved = self._demands[0], self._moved[self._hosts][:, None]
        alone = moved * self._mover + self._per_ms * self._tail_ms
        alone[self._free < moved * each] = np.inf
        alone[np.arange(len(self._hosts)), self._hosts] = np.inf
        targets = np.argsort(alone, axis=1, kind="stable")[:, :_TARGETS]
        possible = np.isfinite(np.take_along_axis(alone, targets, axis=1))
        return np.repeat(self._hosts, possible.sum(axis=1)), targets[possible]

    def responders(self, hosts: Ints, targets: Ints) -> tuple[Floats, Floats]:
        """What a responder costs, and what paths through it cost, on every node (column) after every replacement."""
        between, delay_ms, moved = self._pair.between, self._pair.delay_ms, self._moved
        costs = self._responder + moved[self._hosts] @ between[self._hosts]
        costs = costs + moved[hosts][:, None] * (between[targets] - between[hosts])
        if not self._per_ms:
            return costs, np.zeros_like(costs)
        reach_ms = delay_ms[targets] + self._tail_ms[targets][:, None]
        for host in self._hosts.tolist():
            others = hosts != host
            reach_ms[others] = np.maximum(reach_ms[others], delay_ms[host] + self._tail_ms[host])
        return costs, self._per_ms * (self._lead_ms + reach_ms)

    def rest(self, hosts: Ints, targets: Ints) -> Floats:
        """What is minimised after every replacement but for what responders and paths add to it."""
        landscape, place = self._landscape, self._landscape.assignment
        now = float(landscape.table[self._pair.responders[0], place[self._pair.responders]].sum())
        now += self._per_ms * landscape.longest_ms
        return np.asarray(landscape.value - now + self._moved[hosts] * (self._mover[targets] - self._mover[hosts]))

    def room(self, hosts: Ints, targets: Ints) -> Ints:
        """How many responders every node (column) could take after every replacement."""
        each, demand = self._demands
        room, rows = np.repeat(self._free[None, :], len(hosts), axis=0), np.arange(len(hosts))
        room[rows, hosts] += each * self._moved[hosts]
        room[rows, targets] -= each * self._moved[hosts]
        count = len(self._pair.responders)
        return np.clip(room // demand, 0, count) if demand else np.full_like(room, count)


def _at_least(costs: Floats, paths: Floats, slots: Ints, count: int) -> Floats:
    """What `count` responders cost at least in every row: the cheapest slots, and the shortest paths, each alone."""
    most = slots.max(axis=0, initial=0)
    if int(most.sum()) < count:
        return np.full(len(costs), np.inf)
    columns = np.repeat(np.arange(len(most)), most)
    turn = np.arange(len(columns)) - np.repeat(np.cumsum(most) - most, most)
    taken = turn >= slots[:, columns]
    prices, times = costs[:, columns], paths[:, columns]
    prices[taken] = times[taken] = np.inf
    cheapest = np.partition(prices, count - 1, axis=1)[:, :count].sum(axis=1)
    return np.asarray(cheapest + np.partition(times, count - 1, axis=1)[:, count - 1])
