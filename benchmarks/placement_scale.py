"""Placement beyond the sizes of the thesis: 50 and 200 operators on 400 and 1,000 nodes, by heuristic, with a bound.

Usage: python benchmarks/placement_scale.py [--quick]

For each case prints the objective of Greedy First-fit and of iterated local search, a lower bound (every operator by
itself at its best, then an assignment to slots; see penstock.placement.heuristics.lower_bound), how much of the range
between bound and 1 is left open, the time of the search and of the bound, and the peak memory of a process of its own.

How it grows. In a diamond the first placement meets a bound, so nothing is searched. In a chain a step fills a table of
operators x nodes, whatever the number of moves it compares, and a descent takes a number of steps that grows with the
operators: four times the operators take 13 or 14 times as long, 2.5 times the nodes about 1.5 times. In a replicated
application all operators of a layer are placed at once, but where response time counts every step follows all streams
twice, and these grow with the square of the operators: four times the operators take about 30 times as long, 2.5 times
the nodes 2.5 times. Larger neighbourhoods look at no more than 400,000 links at once, which bounds their time but makes
them samples. The bound sorts the links of every node: nodes squared, and for a chain operators x nodes squared. Memory
grows with the square of the nodes: at 1,000 most of it is the million links of the generated cluster; in a long chain
the orders that are tried come on top, with the square of its length.
"""

import multiprocessing
import resource
import sys
import time

from penstock.evaluation.papers.thesis_cases import TOPOLOGIES, chapter_5
from penstock.placement import solver
from penstock.placement.heuristics import lower_bound

SIZES = ((50, 400), (200, 400), (50, 1000), (200, 1000))
QUICK = ((50, 100), (50, 400))
TIME_LIMIT_S = 120.0
HEADER = "topology    operators nodes  greedy  search   bound  open %  search s  bound s  memory MB"


def measured(topology: str, operators: int, nodes: int) -> str:
    problem = chapter_5(topology, "all", nodes, seed=1, operators=operators)
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
