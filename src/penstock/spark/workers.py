"""Which executor is which worker: executors come and go under numbers, policies know a pool of named workers."""

from collections.abc import Iterable
from threading import Lock

from penstock.model import Cluster


class WorkerNames:
    """Gives every executor the name of a free worker of the pool, for as long as it lives."""

    def __init__(self, cluster: Cluster) -> None:
        self._pool = tuple(worker.name for worker in cluster.workers)
        self._names: dict[str, str] = {}
        self._lock = Lock()

    def of(self, executors: Iterable[str]) -> dict[str, str]:
        """The worker's name of each of the executors that are there now; those not given have ended.

        Executors beyond the pool (a replacement that came before its predecessor was missed) go by their own names.
        """
        with self._lock:
            living = list(executors)
            kept = {executor: self._names[executor] for executor in living if executor in self._names}
            free = iter([name for name in self._pool if name not in kept.values()])
            self._names = {
                executor: kept[executor] if executor in kept else next(free, f"executor-{executor}")
                for executor in living
            }
            return dict(self._names)
