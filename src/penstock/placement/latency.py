"""How long a tuple stays in a replica, as a function of its load, on a reference node."""

import math

import numpy as np

from penstock.analysis import Queue
from penstock.placement.problem import Operator


def latency_ms(operator: Operator, input_rate_per_s: float, replicas: int) -> float:
    """Latency of each of `replicas` that share the input rate equally; infinite if they cannot keep up (6.1)."""
    rate_per_s = input_rate_per_s / replicas
    if operator.latency_profile is not None:
        rates, latencies = zip(*operator.latency_profile, strict=True)
        return math.inf if rate_per_s > rates[-1] else float(np.interp(rate_per_s, rates, latencies))
    if operator.service_rate_per_s is not None:
        return 1000.0 * Queue(rate_per_s, operator.service_rate_per_s).mean_sojourn_s
    return operator.execution_time_ms
