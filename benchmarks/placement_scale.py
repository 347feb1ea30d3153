"""Placement beyond the sizes of the thesis: 50 and 200 operators on 400 and 1,000 nodes, by heuristic, with a bound.

Usage: python benchmarks/placement_scale.py [--quick]

For each case prints the objective of Greedy First-fit and of iterated local search, a lower bound (every operator by
itself at its best, then an assignment to slots; see penstock.placement.heuristics.lower_bound), how much of the range
between bound and 1 is left open, the time of the search and of the bound, and the peak memory of a process of its own.

How it grows. A step of the search fills a table of operators x nodes, whatever the number of moves it compares, and a
descent takes a number of steps that grows with the operators; four times the operators take seven to 25 times as long,
2.5 times the nodes up to four times. Where response time counts, every step follows all streams twice; those of a
replicated application grow with the square of its operators, so it is the slowest. Larger neighbourhoods look at no
more than 400,000 links at once, which bounds their time but makes them samples. The bound sorts the links of every
node: nodes squared, and for a chain operators x nodes squared. Memory grows with the square of the nodes: at 1,000
nearly all of it is the million links of the generated cluster, the solver's delay matrices are a small part.
"""

import multiprocessing
import resource
import sys
import time
from dataclasses import replace

from penstock.evaluation.papers.thesis_cases import TOPOLOGIES, chapter_5
from penstock.placement import Normalisation, Problem, solver
from penstock.placement.heuristics import lower_bound

SIZES = ((50, 400), (200, 400), (50, 1000), (200, 1000))
QUICK = ((50, 100), (50, 400))
TIME_LIMIT_S = 120.0
HEADER = "topology    operators nodes  greedy  search   bound  open %  search s  bound s  memory MB"


def problem_of(topology: str, operators: int, nodes: int) -> Problem:
    """All objectives at equal weight; ranges are given, because computing them for so many streams takes longest."""
    problem = chapter_5(topology, "all", nodes, seed=1, operators=operators)
    farthest_ms = float(problem.network.delay_ms.max())
    hops = {"diamond": 2, "replicated": 3, "sequential": operators - 1}[topology]
    response_ms = (3.0 * (hops + 1), 3.0 * (hops + 1) + hops * farthest_ms)
    network = (0.0, len(problem.streams) * 100.0 * farthest_ms / 1000.0)
    return replace(problem, normalisation=Normalisation(response_ms, (0.97**operators, 1.0), network))


def measured(topology: str, operators: int, nodes: int) -> str:
    problem = problem_of(topology, operators, nodes)
    greedy = solver("greedy").solve(problem).objective
    begin = time.process_time()
    found = solver("iterated-local-search").solve(problem, TIME_LIMIT_S).objective
    middle = time.process_time()
    bound = lower_bound(problem)
    end = time.process_time()
    assert greedy is not None
    assert found is not None
    assert bound is not None
    open_share = 100.0 * (found - bound) / (1.0 - bound)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{topology:11} {operators:9d} {nodes:5d} {greedy:7.4f} {found:7.4f} {bound:7.4f} {open_share:7.2f} "
        f"{middle - begin:9.2f} {end - middle:8.2f} {memory_mb:10.0f}"
    )


def main() -> None:
    print(HEADER)
    context = multiprocessing.get_context("spawn")
    for operators, nodes in QUICK if "--quick" in sys.argv else SIZES:
        for topology in TOPOLOGIES:
            with context.Pool(1) as apart:
                print(apart.apply(measured, (topology, operators, nodes)), flush=True)


if __name__ == "__main__":
    main()
