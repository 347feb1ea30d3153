"""Simulated workers: which there are, when new ones are ready, and who runs where."""

from collections.abc import Mapping, Sequence
from itertools import cycle, islice

from penstock.model import Cluster, Configuration, Worker
from penstock.simulation.operators import SimulatedOperator
from penstock.simulation.settings import WorldSettings


class Workers:
    """The workers in use. A new one is ready after its start-up; a failed one is replaced in the same time."""

    def __init__(self, cluster: Cluster, count: int, settings: WorldSettings) -> None:
        self._cluster = cluster
        self._start_up_s = settings.start_up_s
        self._failures = sorted(settings.failures)
        self._ready_s: dict[str, float] = {worker.name: 0.0 for worker in cluster.workers[:count]}
        self.hosts: dict[tuple[str, str], tuple[str, ...]] = {}
        self.alive: tuple[Worker, ...] = ()
        self._update(0.0)

    def resize(self, count: int, release: Sequence[str], now_s: float) -> None:
        """Go to `count` workers; those named in `release` are given up first, then the last ones of the pool."""
        names = [worker.name for worker in self._cluster.workers if worker.name in self._ready_s]
        names.sort(key=lambda name: name in release)
        for name in names[count:]:
            del self._ready_s[name]
        free = (worker.name for worker in self._cluster.workers if worker.name not in self._ready_s)
        for name in islice(free, max(0, count - len(names))):
            self._ready_s[name] = now_s + self._start_up_s
        self._update(now_s)

    def advance(self, now_s: float) -> tuple[str, ...] | None:
        """Let failures happen and start-ups end; the names that failed, or None when nothing changed."""
        failed = []
        while self._failures and self._failures[0][0] <= now_s:
            name = self._failures.pop(0)[1]
            if self._ready_s.get(name, now_s + 1) <= now_s:
                self._ready_s[name] = now_s + self._start_up_s
                failed.append(name)
        before = self.alive
        self._update(now_s)
        return tuple(failed) if failed or self.alive != before else None

    def _update(self, now_s: float) -> None:
        self.alive = tuple(w for w in self._cluster.workers if self._ready_s.get(w.name, now_s + 1) <= now_s)

    @property
    def slots(self) -> int:
        """Slots of the workers that are ready."""
        return sum(worker.slots for worker in self.alive)

    def place(self, operators: Mapping[tuple[str, str], SimulatedOperator], configuration: Configuration) -> None:
        """Decide who runs where: as the configuration says, else in turn over the workers that are ready."""
        self.hosts = {}
        if not self.alive:
            return
        names = [worker.name for worker in self.alive]
        turn = cycle(names)
        for key, operator in operators.items():
            given = (configuration.placement or {}).get(key[0], {}).get(key[1])
            if given is not None and set(given) <= set(names):
                self.hosts[key] = given
            else:
                self.hosts[key] = tuple(islice(turn, operator.instances))

    def crowded(self) -> bool:
        """Whether some worker hosts more instances than it has slots."""
        return any(self._hosted(worker.name) > worker.slots for worker in self.alive)

    def _hosted(self, name: str) -> int:
        return sum(hosts.count(name) for hosts in self.hosts.values())

    def hosted(self, name: str) -> dict[str, int]:
        """Instances on a worker, by application/operator."""
        counts = {"/".join(key): hosts.count(name) for key, hosts in self.hosts.items()}
        return {key: count for key, count in counts.items() if count}

    def share(self, operators: Mapping[tuple[str, str], SimulatedOperator], step_s: float) -> None:
        """Set every instance's speed: its worker's, less what others on a crowded worker take."""
        demands: dict[str, list[float]] = {worker.name: [] for worker in self.alive}
        for key, placed in self.hosts.items():
            wanted = operators[key].desired_usage(step_s) * operators[key].cost.slot_share
            for host in placed:
                demands[host].append(wanted)
        part = {worker.name: _fair_part(worker.slots, demands[worker.name]) for worker in self.alive}
        pace = {worker.name: worker.speedup for worker in self.alive}
        for key, operator in operators.items():
            hosts = self.hosts.get(key, ())
            if hosts:
                share = operator.cost.slot_share
                speeds = tuple(pace[host] * min(1.0, part[host] / share) for host in hosts)
                operator.set_speeds(speeds, sum(pace[host] for host in hosts) / len(hosts))
            else:
                operator.set_speeds((0.0,) * operator.instances, 1.0)

    def delay_s(self, upstream: tuple[str, str], downstream: tuple[str, str]) -> float:
        """Mean network delay between the instances of two operators."""
        pairs = [(u, v) for u in self.hosts.get(upstream, ()) for v in self.hosts.get(downstream, ())]
        return sum(self._cluster.delay_s(u, v) for u, v in pairs) / len(pairs) if pairs else 0.0


def _fair_part(slots: int, demands: Sequence[float]) -> float:
    """The most that each may have of a slot, so that those who want less get it and the others share the rest."""
    left = float(slots)
    for served, demand in enumerate(sorted(demands)):
        others = len(demands) - served
        if demand * others > left:
            return left / others
        left -= demand
    return 1.0
