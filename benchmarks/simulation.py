"""How fast the simulator is: a day of one application, and how time grows with operators and with workers.

Usage: python benchmarks/simulation.py [--json]
"""

import json
import sys
import time
from collections.abc import Iterable
from itertools import pairwise

from penstock.control import ControlLoop, Entry, Plant, Ports
from penstock.model import Cluster, Configuration, Objectives, Operator, Role, Stream, Topology, smallest
from penstock.policies import policy
from penstock.service.requests import RunRequest
from penstock.service.simulated import simulate
from penstock.simulation import World, WorldSettings
from penstock.workloads import Application, OperatorCost, Sine

DAY_S = 86_400.0
HOUR_S = 3_600.0
OPERATORS = (3, 6, 12, 24, 48)
WORKERS = (4, 16, 64)


class Nowhere:
    """A journal that keeps nothing, so that only the simulation and the loop are measured."""

    def append(self, entry: Entry) -> None:
        pass

    def entries(self) -> Iterable[Entry]:
        return ()


def day_cpu_s() -> float:
    """CPU seconds of a day of T1 with DS2 in charge, in steps of one second."""
    request = RunRequest("top-words", "ds2", "sine:period=21600", DAY_S)
    begin = time.process_time()
    simulate(request, Nowhere())
    return time.process_time() - begin


def hour_cpu_s(operators: int, workers: int, parallelism: int) -> float:
    """CPU seconds of an hour of a linear application with DS2 in charge."""
    names = [f"o{index}" for index in range(operators)]
    roles = [Role.SOURCE, *[Role.TRANSFORM] * (operators - 2), Role.SINK]
    topology = Topology(
        "line",
        tuple(Operator(name, role, max_parallelism=parallelism) for name, role in zip(names, roles, strict=True)),
        tuple(Stream(*ends) for ends in pairwise(names)),
    )
    cluster = Cluster.homogeneous(workers, 4)
    costs = {name: OperatorCost(100.0) for name in names}
    app = Application(topology, costs, "a line", "made up", 50.0, 75.0 * parallelism, cluster)
    topologies = {"line": topology}
    start: Configuration = smallest(topologies, cluster)
    world = World([(app, Sine(app.low_per_s, app.high_per_s, 1200.0))], cluster, start, WorldSettings())
    plant = Plant(topologies, cluster, Objectives())
    loop = ControlLoop(plant, policy("ds2"), Ports(world, world, world, Nowhere()))
    begin = time.process_time()
    loop.run(HOUR_S)
    return time.process_time() - begin


def grown(sizes: tuple[int, ...], seconds: list[float]) -> list[dict[str, float]]:
    """Times by size, and how much longer each takes than the one before."""
    ratios = [0.0, *(after / before for before, after in pairwise(seconds))]
    return [
        {"size": size, "cpu_s": round(cpu_s, 3), "ratio": round(ratio, 2)}
        for size, cpu_s, ratio in zip(sizes, seconds, ratios, strict=True)
    ]


def table(title: str, rows: list[dict[str, float]]) -> str:
    lines = [title, f"{'size':>6} {'CPU s':>8} {'times the one before':>22}"]
    for row in rows:
        ratio = f"{row['ratio']:.2f}" if row["ratio"] else ""
        lines.append(f"{row['size']:>6.0f} {row['cpu_s']:>8.2f} {ratio:>22}")
    return "\n".join(lines)


def main() -> None:
    day_s = day_cpu_s()
    by_operators = grown(OPERATORS, [hour_cpu_s(count, 64, 4) for count in OPERATORS])
    by_workers = grown(WORKERS, [hour_cpu_s(6, count, 4 * count // 6) for count in WORKERS])
    if "--json" in sys.argv[1:]:
        day = {"cpu_s": round(day_s, 2), "speed_up": round(DAY_S / day_s)}
        print(json.dumps({"day": day, "operators": by_operators, "workers": by_workers}, indent=2))
        return
    print(f"A day of top-words with ds2: {day_s:.1f} CPU s, {DAY_S / day_s:,.0f} times as fast as the real one.")
    print(table("\nAn hour of a line of operators on 64 workers of four slots, by operators", by_operators))
    print(table("\nAn hour of a line of six operators, with the workers and the load that fills them", by_workers))


if __name__ == "__main__":
    main()
