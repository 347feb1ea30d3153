"""What decides: one file per policy, each a pure function of what was observed."""

from penstock.policies.base import Memory, Policy
from penstock.policies.ds2 import Ds2, Ds2Memory
from penstock.policies.registry import POLICIES, PolicyInfo, policy, register
from penstock.policies.sizing import allowed_workers, on_fewest_workers
from penstock.policies.static import Static
from penstock.policies.threshold import Threshold, ThresholdMemory

register("static", "keeps one setting: what runs, the smallest or the largest", Static)
register("threshold", "one more instance per overloaded one, half when all are idle (Elastic Storm)", Threshold)
register("ds2", "true rates and the graph: the least parallelism that keeps up with the sources (DS2)", Ds2)

__all__ = [
    "POLICIES",
    "Ds2",
    "Ds2Memory",
    "Memory",
    "Policy",
    "PolicyInfo",
    "Static",
    "Threshold",
    "ThresholdMemory",
    "allowed_workers",
    "on_fewest_workers",
    "policy",
    "register",
]
