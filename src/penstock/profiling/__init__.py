"""Learned models of applications: what their streams carry, what instances cost, what workers do beside."""

from penstock.profiling.base import Profile
from penstock.profiling.estimator import Allocation, Estimator, Loads, round_robin
from penstock.profiling.functions import (
    Fitted,
    Function,
    Line,
    TanhNetwork,
    choose,
    function_from_json,
    percentage_error,
    relative_error,
)
from penstock.profiling.online import Learned, Sums
from penstock.profiling.overhead import OverheadProfile, overhead_samples
from penstock.profiling.profile import ApplicationProfile
from penstock.profiling.selectivity import Ratio, SelectivityProfile
from penstock.profiling.thresholds import (
    CPU_MAX_CANDIDATES,
    Environment,
    LearnedThreshold,
    LearningSettings,
    Reward,
    learn_threshold,
)
from penstock.profiling.usage import OperatorUsage, UsageProfile, usage_samples

__all__ = [
    "CPU_MAX_CANDIDATES",
    "Allocation",
    "ApplicationProfile",
    "Environment",
    "Estimator",
    "Fitted",
    "Function",
    "Learned",
    "LearnedThreshold",
    "LearningSettings",
    "Line",
    "Loads",
    "OperatorUsage",
    "OverheadProfile",
    "Profile",
    "Ratio",
    "Reward",
    "SelectivityProfile",
    "Sums",
    "TanhNetwork",
    "UsageProfile",
    "choose",
    "function_from_json",
    "learn_threshold",
    "overhead_samples",
    "percentage_error",
    "relative_error",
    "round_robin",
    "usage_samples",
]
