"""How long a change of deployment stops the application (thesis, appendix 8.A).

For each operator the time is that of its slowest transfer from a node u of the old deployment to another node v of
the new one. Both models have the same shape, so a solver can use it without enumerating deployments: a part that
depends on u, a part that depends on v, and how the two are joined. Where the text is ambiguous:

- (8.25) has scale-out and scale-in exchanged: here more replicas than before are a scale-out.
- (8.26) is empty if all old and new replicas share one node: then the state is downloaded and new replicas are started.
"""

from dataclasses import dataclass

import numpy as np

from penstock.placement.instance import Instance, Ints, replica_counts
from penstock.placement.problem import DowntimeModel, Reconfiguration


@dataclass(frozen=True, slots=True)
class DowntimeTerms:
    """The parts of the downtime of one operator that is changed from `before`, replicas by node.

    Sizes are those of the whole operator; `used` are the nodes that any operator uses now.
    """

    settings: Reconfiguration
    before: dict[int, int]
    state_bytes: float
    code_bytes: float
    all_code_bytes: float
    used: frozenset[int]
    spawn_s: tuple[float, ...]

    @property
    def total(self) -> int:
        """Replicas before the change."""
        return sum(self.before.values())

    @property
    def restarts(self) -> bool:
        """Whether the whole application restarts."""
        return self.settings.model is DowntimeModel.RESTART

    def _store_s(self, size_bytes: float) -> float:
        return 2 * self.settings.store_delay_ms / 1000.0 + size_bytes / self.settings.store_rate_bytes_per_s

    def code_s(self, node: int) -> float:
        """Download of the code to `node`, 0 if it is there already (8.28, 8.36)."""
        if self.restarts:
            return 0.0 if node in self.used else self._store_s(self.all_code_bytes)
        return 0.0 if node in self.before else self._store_s(self.code_bytes)

    def upload_s(self, node: int, count: int, total: int) -> float:
        """Upload of state from `node` of the old deployment, with `count` of `total` replicas there afterwards."""
        old = self.before[node]
        if self.restarts:
            share = old / self.total
        else:
            share = max(old - count, 0) / self.total
            if total > self.total:
                share += old * (total - self.total) / (self.total * total)
        return self._store_s(self.state_bytes * share)

    def arrival_s(self, node: int, count: int, total: int) -> float:
        """Download of state to `node` of the new deployment and start of its replicas."""
        old = self.before.get(node, 0)
        if self.restarts:
            return self._store_s(self.state_bytes * count / total) + count * self.spawn_s[node]
        share = max(count - old, 0) / total
        if total < self.total:
            share += min(old, count) * (self.total - total) / (self.total * total)
        return self._store_s(self.state_bytes * share) + (self.spawn_s[node] if count > old else 0.0)

    def joined_s(self, code_s: float, upload_s: float) -> float:
        """Code and old state travel at the same time when only this operator pauses, one after the other otherwise."""
        return code_s + upload_s if self.restarts else max(code_s, upload_s)

    def restart_s(self) -> float:
        """Saving, loading and starting in place because something else in the application changes (8.39, 8.40)."""
        local = self.settings.local_rate_bytes_per_s
        swap_s_per_byte = 0.0 if local is None else 2.0 / local
        slowest = max(
            self.state_bytes * count / self.total * swap_s_per_byte + count * self.spawn_s[node]
            for node, count in self.before.items()
        )
        return self.settings.sync_s + slowest

    def limit_s(self, replicas: int) -> float:
        """No change to up to `replicas` replicas takes longer."""
        # No share of the state is above 2, neither of what leaves a node nor of what comes to one.
        moves = 2 * self._store_s(2 * self.state_bytes) + self._store_s(max(self.code_bytes, self.all_code_bytes))
        starts = max(replicas, self.total) * max(self.spawn_s)
        return self.settings.sync_s + moves + starts + (self.restart_s() if self.restarts else 0.0)

    def change_s(self, after: dict[int, int]) -> float:
        """Downtime of going to `after`; 0 if nothing changes (8.25, 8.34)."""
        if after == self.before:
            return 0.0
        total = sum(after.values())
        times = [
            self.joined_s(self.code_s(v), self.upload_s(u, after.get(u, 0), total)) + self.arrival_s(v, count, total)
            for u in self.before
            for v, count in after.items()
            if u != v
        ]
        in_place = (self.arrival_s(v, count, total) for v, count in after.items())
        return self.settings.sync_s + (max(times) if times else max(in_place))


def downtime_terms(instance: Instance) -> tuple[DowntimeTerms, ...] | None:
    """The terms of every operator, or None if there is no current deployment."""
    problem = instance.problem
    if problem.current is None:
        return None
    before = replica_counts(problem, problem.current)
    code = sum(operator.code_bytes for operator in problem.operators)
    used = frozenset(int(node) for node in np.flatnonzero(before.any(axis=0)))
    spawn_s = tuple(node.spawn_s for node in problem.nodes)
    return tuple(
        DowntimeTerms(
            problem.reconfiguration or Reconfiguration(),
            by_node(row),
            operator.state_bytes,
            operator.code_bytes,
            code,
            used,
            spawn_s,
        )
        for operator, row in zip(problem.operators, before, strict=True)
    )


def downtime_s(terms: tuple[DowntimeTerms, ...], counts: Ints) -> float:
    """Downtime of the application: its slowest operator, all being changed at the same time (8.10)."""
    changes = [term.change_s(by_node(row)) for term, row in zip(terms, counts, strict=True)]
    if not any(by_node(row) != term.before for term, row in zip(terms, counts, strict=True)):
        return 0.0
    restarts = [term.restart_s() for term in terms if term.restarts]
    return max(changes + restarts)


def by_node(row: Ints) -> dict[int, int]:
    """The replicas of one operator by node, without the nodes that have none."""
    return {int(node): int(row[node]) for node in row.nonzero()[0]}
