"""Which instances run on which worker, and configurations that say so."""

from collections.abc import Mapping
from typing import TypeAlias

from penstock.model import Configuration, Parallelism, View

Instance: TypeAlias = tuple[str, str]
"""Application and operator of one instance."""
Hosts: TypeAlias = Mapping[str, tuple[Instance, ...]]
"""The instances on every worker."""


def hosts(view: View) -> dict[str, tuple[Instance, ...]]:
    """What was last seen to run on every worker, as far as that is known."""
    if view.latest is None:
        return {}
    known = {
        f"{application}/{name}": (application, name)
        for application, topology in view.topologies.items()
        for name in topology.names
    }
    return {
        worker: tuple(known[name] for name, count in seen.operators.items() if name in known for _ in range(count))
        for worker, seen in view.latest.workers.items()
    }


def are_complete(view: View, found: Hosts) -> bool:
    """Whether these hosts are the requested workers and hold all that is requested, so that a placement can say so."""
    known = {worker.name for worker in view.cluster.workers}
    seen = [instance for instances in found.values() for instance in instances]
    wanted = {(a, o): count for a, operators in view.requested.parallelism.items() for o, count in operators.items()}
    return (
        len(found) == view.requested.workers
        and set(found) <= known
        and len(seen) == sum(wanted.values())
        and all(seen.count(instance) == count for instance, count in wanted.items())
    )


def free_workers(view: View, found: Hosts) -> tuple[str, ...]:
    """Workers of the pool that are not in use, in the order in which they would be taken."""
    return tuple(worker.name for worker in view.cluster.workers if worker.name not in found)


def placed(parallelism: Parallelism, workers: int, found: Hosts) -> Configuration:
    """The configuration in which every worker has these instances, and together they are all there are."""
    placement: dict[str, dict[str, tuple[str, ...]]] = {
        application: dict.fromkeys(operators, ()) for application, operators in parallelism.items()
    }
    for worker, instances in found.items():
        for application, operator in instances:
            placement[application][operator] = (*placement[application][operator], worker)
    return Configuration(parallelism, workers, placement)
