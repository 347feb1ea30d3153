"""The words everything else speaks: frozen values without behaviour beyond their own invariants."""

from penstock.model.cluster import Cluster, Link, Worker
from penstock.model.configuration import (
    Change,
    Configuration,
    Parallelism,
    ParallelismChange,
    PlacementChange,
    WorkersChange,
    diff,
    largest,
    smallest,
)
from penstock.model.decision import Decision, Expected, Keep, Objectives, Reconfigure, ScaleRequest, View
from penstock.model.observation import (
    ApplicationObservation,
    Latency,
    Observation,
    OperatorObservation,
    WorkerObservation,
)
from penstock.model.spec import Spec
from penstock.model.topology import Operator, Role, Stream, Topology

__all__ = [
    "ApplicationObservation",
    "Change",
    "Cluster",
    "Configuration",
    "Decision",
    "Expected",
    "Keep",
    "Latency",
    "Link",
    "Objectives",
    "Observation",
    "Operator",
    "OperatorObservation",
    "Parallelism",
    "ParallelismChange",
    "PlacementChange",
    "Reconfigure",
    "Role",
    "ScaleRequest",
    "Spec",
    "Stream",
    "Topology",
    "View",
    "Worker",
    "WorkerObservation",
    "WorkersChange",
    "diff",
    "largest",
    "smallest",
]
