"""How long one assessment of ELYSIUM takes, and how it grows with operators and workers.

    python benchmarks/assessment.py

Seconds of processor time, with six new observations to learn from. Aims: 10 operators on 4 workers under 5 ms,
1,000 operators on 200 workers under 1 s.
"""

import time
from statistics import median

from penstock.model import Cluster, Configuration, Objectives, Operator, Role, Stream, Topology, View
from penstock.policies import Elysium
from penstock.testing import steady_observation
from penstock.workloads import Application, OperatorCost

SIZES = ((10, 4), (30, 10), (100, 20), (300, 60), (1_000, 200))
AIMS_S = {(10, 4): 0.005, (1_000, 200): 1.0}


def layered(operators: int, workers: int) -> Application:
    """Operators in ten layers, each fed by one of the layer before; about half busy on all workers."""
    width = max(1, operators // 10)
    names = [f"o{i}" for i in range(operators)]
    kinds = [Role.SOURCE if i < width else Role.TRANSFORM for i in range(operators)]
    nodes = tuple(Operator(name, kind, max_parallelism=8) for name, kind in zip(names, kinds, strict=True))
    streams = tuple(Stream(names[i - width], names[i]) for i in range(width, operators))
    topology = Topology("layered", nodes, streams)
    # 100 events per second and operator: so slow that together they fill half of four slots on every worker.
    rate_per_s = 100.0 * operators / (2.0 * workers)
    costs = {name: OperatorCost(rate_per_s) for name in names}
    load_per_s = 100.0 * width
    return Application(topology, costs, "layers", "made up", load_per_s, load_per_s, Cluster.homogeneous(workers, 4))


def view_of(application: Application) -> View:
    topologies = {application.name: application.topology}
    requested = Configuration({application.name: dict.fromkeys(application.topology.names, 1)}, 1)
    loads = {application.name: application.high_per_s}
    observations = tuple(steady_observation([application], loads, requested, 10.0 * i) for i in range(1, 7))
    return View(60.0, topologies, application.cluster, Objectives(), requested, requested, None, observations)


def measure(policy: Elysium, view: View, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began_s = time.process_time()
        policy.decide(view, policy.start())
        times.append(time.process_time() - began_s)
    return median(times)


def main() -> None:
    print(f"{'operators':>9} {'workers':>7} {'seconds':>9} {'aim':>7}")
    for size in SIZES:
        view = view_of(layered(*size))
        took_s = measure(Elysium(), view, 20 if size[0] <= 100 else 3)
        aim_s = AIMS_S.get(size)
        print(f"{size[0]:>9} {size[1]:>7} {took_s:>9.4f} {'' if aim_s is None else f'{aim_s:g}':>7}")


if __name__ == "__main__":
    main()
