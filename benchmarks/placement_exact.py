"""How long proven optima take: chains and layers of 20 operators on 100 nodes, and the redeployment of DEBS 2015.

Usage: python benchmarks/placement_exact.py [--quick]

Every case is solved on several two-level Waxman networks; printed are the median and the largest time on the clock and
of the processor, the mark that the median must stay below, and how many were proven optimal. On a machine that is busy
with other work the time on the clock says little. The first deployment of DEBS 2015 is for 70 tuples per second, the
change for 150.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator

from penstock.evaluation.papers.thesis_cases import OBJECTIVES, chapter_5
from penstock.placement import Problem, Result, Status, solver
from penstock.workloads import waxman
from penstock.workloads.placements import debs_2015, redeployed

TIME_LIMIT_S = 120.0
SHAPES = {"diamond": "diamond", "sequential": "chain", "replicated": "layers"}
HEADER = "case                              clock s (max)    processor s (max)   mark s  proven"

Case = tuple[str, float, Callable[[int], Problem]]


def shapes(nodes: int) -> Iterator[Case]:
    for topology, name in SHAPES.items():
        for objective in OBJECTIVES:
            label = f"{name}, {nodes} nodes, {objective}"
            yield label, 2.0, lambda seed, t=topology, o=objective: chapter_5(t, o, nodes, seed)  # type: ignore[misc]


def redeployments() -> Iterator[Case]:
    for nodes, mark_s in ((16, 3.0), (24, 20.0)):
        for replicas in (2, 3, 4):
            label = f"DEBS 2015, {nodes} nodes, k = {replicas}"
            yield label, mark_s, lambda seed, n=nodes, k=replicas: changed(n, k, seed)  # type: ignore[misc]


def changed(nodes: int, replicas: int, seed: int) -> Problem:
    cluster = waxman(nodes, seed)
    first = solver("exact").solve(debs_2015(70.0, replicas, cluster), TIME_LIMIT_S)
    assert first.placement is not None
    return redeployed(debs_2015(150.0, replicas, cluster), first.placement)


def timed(problem: Problem) -> tuple[Result, float, float]:
    clock_s, processor_s = time.perf_counter(), time.process_time()
    result = solver("exact").solve(problem, TIME_LIMIT_S)
    return result, time.perf_counter() - clock_s, time.process_time() - processor_s


def row(case: Case, networks: int) -> str:
    label, mark_s, make = case
    runs = [timed(make(seed)) for seed in range(1, networks + 1)]
    clock_s, processor_s = [run[1] for run in runs], [run[2] for run in runs]
    proven = sum(run[0].status is Status.OPTIMAL for run in runs)
    return (
        f"{label:32} {statistics.median(clock_s):8.2f} ({max(clock_s):6.2f}) {statistics.median(processor_s):10.2f} "
        f"({max(processor_s):6.2f}) {mark_s:8.0f} {proven:4d}/{networks}"
    )


def main() -> None:
    quick = "--quick" in sys.argv
    print(HEADER)
    for case in [*shapes(36 if quick else 100), *redeployments()]:
        print(row(case, 2 if quick else 5), flush=True)


if __name__ == "__main__":
    main()
