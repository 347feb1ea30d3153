"""What decides: one file per policy, each a pure function of what was observed."""

from penstock.policies.autrascale import AutraScale
from penstock.policies.autrascale_memory import AutraScaleMemory, RateModel, models_from_json, models_to_json
from penstock.policies.base import Memory, Policy, serves_requests
from penstock.policies.drs import Drs, DrsMemory
from penstock.policies.ds2 import Ds2, Ds2Memory
from penstock.policies.edrp import Edrp, EdrpMemory
from penstock.policies.elysium import Elysium, ElysiumMemory, ProfiledElysium
from penstock.policies.fission import Fission, FissionMemory
from penstock.policies.joint import Joint, JointMemory
from penstock.policies.operators_only import OperatorsOnly
from penstock.policies.registry import POLICIES, PolicyInfo, policy, register
from penstock.policies.sizing import allowed_workers, on_fewest_workers
from penstock.policies.spark_dynamic_allocation import NAME as SPARK_DYNAMIC_ALLOCATION
from penstock.policies.spark_dynamic_allocation import SparkDynamicAllocation
from penstock.policies.static import Static
from penstock.policies.stela import Stela, StelaMemory
from penstock.policies.threshold import Threshold, ThresholdMemory
from penstock.policies.workers_only import WorkersOnly

register(
    "static",
    "keeps one setting: what runs, the smallest, the largest, or what the load will need (ss1, ss2, ss3)",
    Static,
)
register("threshold", "one more instance per overloaded one, half when all are idle (Elastic Storm)", Threshold)
register("ds2", "true rates and the graph: the least parallelism that keeps up with the sources (DS2)", Ds2)
register(
    "elysium", "instances and workers each as needed, from learned costs, now or ahead of the load (ELYSIUM)", Elysium
)
register("joint", "every added instance adds a worker, one unit at a time (baseline of ELYSIUM)", Joint)
register("operators-only", "instances as in ELYSIUM on a fixed number of workers (baseline of ELYSIUM)", OperatorsOnly)
register("workers-only", "workers as in ELYSIUM under a fixed parallelism (baseline of ELYSIUM)", WorkersOnly)
register("fission", "replicas by load, now and as a Markov chain foresees it (operator fission)", Fission)
register("autrascale", "throughput first, then Bayesian optimisation of latency and resources (AuTraScale)", AutraScale)
register("drs", "an open queueing network, instances where they save the most time (DRS)", Drs)
register("edrp", "replicas and places of least response time, cost and downtime, solved for (EDRP)", Edrp)
register("stela", "more or fewer workers when the user asks, where it counts most for throughput (Stela)", Stela)
register(
    SPARK_DYNAMIC_ALLOCATION, "no controller: Spark's own allocation of executors (live only)", SparkDynamicAllocation
)

__all__ = [
    "POLICIES",
    "SPARK_DYNAMIC_ALLOCATION",
    "AutraScale",
    "AutraScaleMemory",
    "Drs",
    "DrsMemory",
    "Ds2",
    "Ds2Memory",
    "Edrp",
    "EdrpMemory",
    "Elysium",
    "ElysiumMemory",
    "Fission",
    "FissionMemory",
    "Joint",
    "JointMemory",
    "Memory",
    "OperatorsOnly",
    "Policy",
    "PolicyInfo",
    "ProfiledElysium",
    "RateModel",
    "SparkDynamicAllocation",
    "Static",
    "Stela",
    "StelaMemory",
    "Threshold",
    "ThresholdMemory",
    "WorkersOnly",
    "allowed_workers",
    "models_from_json",
    "models_to_json",
    "on_fewest_workers",
    "policy",
    "register",
    "serves_requests",
]
