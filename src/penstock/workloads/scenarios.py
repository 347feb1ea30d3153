"""The static scenarios that operator fission is compared with: replicas by the load that will come."""

import math

from penstock.errors import UnknownName
from penstock.workloads.application import Application
from penstock.workloads.curves import Curve

SCENARIOS = ("ss1", "ss2", "ss3")
"""No replicas; the fewest that handle the highest load without queues; half of these, rounded up."""


def scenario(name: str, app: Application, curve: Curve, duration_s: float) -> dict[str, int]:
    """The instances of every operator in one of the `SCENARIOS`, within bounds; the load is looked at every second."""
    if name not in SCENARIOS:
        raise UnknownName.of("static scenario", name, SCENARIOS)
    if name == "ss1":
        return {operator.name: operator.clip(1) for operator in app.topology.operators}
    peak_per_s = max(curve.rate_per_s(float(at_s)) for at_s in range(max(1, math.ceil(duration_s))))
    inputs = app.inputs_per_s(peak_per_s)
    needed = {o: max(1, math.ceil(inputs[o] / app.costs[o].rate_per_s - 1e-9)) for o in app.topology.names}
    return {
        operator.name: operator.clip(needed[operator.name] if name == "ss2" else math.ceil(needed[operator.name] / 2))
        for operator in app.topology.operators
    }
