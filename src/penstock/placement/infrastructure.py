"""Clusters of the model as nodes and network of a problem."""

import numpy as np

from penstock.model import Cluster
from penstock.placement.problem import Network, Node


def nodes_of(cluster: Cluster, spawn_s: float = 0.0) -> tuple[Node, ...]:
    """A node for every worker; its slots are its resources."""
    return tuple(
        Node(worker.name, float(worker.slots), worker.speedup, worker.availability, spawn_s)
        for worker in cluster.workers
    )


def network_of(cluster: Cluster) -> Network:
    """The links of `cluster`; pairs without a link are as near as one node to itself."""
    index = {worker.name: position for position, worker in enumerate(cluster.workers)}
    shape = (len(index), len(index))
    delay, availability, cost = np.zeros(shape), np.ones(shape), np.zeros(shape)
    bandwidth = np.full(shape, np.inf)
    for link in cluster.links:
        at = index[link.source], index[link.target]
        if at[0] == at[1]:
            continue
        delay[at], availability[at], cost[at] = 1000.0 * link.delay_s, link.availability, link.price
        bandwidth[at] = np.inf if link.bandwidth_per_s is None else link.bandwidth_per_s
    return Network(delay, availability, None if np.isinf(bandwidth).all() else bandwidth, cost)
