"""Solvers that look for good placements of single replicas without proving them best: one file each."""

from penstock.placement.heuristics.greedy import solve_greedy, solve_greedy_no_penalty
from penstock.placement.heuristics.hierarchical import solve_hierarchical
from penstock.placement.heuristics.ilp_timeout import solve_ilp_timeout
from penstock.placement.heuristics.iterated_local_search import solve_iterated_local_search
from penstock.placement.heuristics.local_search import solve_local_search
from penstock.placement.heuristics.lower_bound import lower_bound
from penstock.placement.heuristics.penalty import link_penalty
from penstock.placement.heuristics.pruned_space import solve_pruned_space
from penstock.placement.heuristics.relax_expand_solve import solve_relax_expand_solve
from penstock.placement.heuristics.tabu_search import solve_tabu_search
from penstock.placement.registry import SolverInfo

HEURISTICS: tuple[SolverInfo, ...] = (
    SolverInfo("hierarchical", "exact on groups of nodes, then inside those that are used", solve_hierarchical),
    SolverInfo("pruned-space", "exact on the nodes around the pinned operators", solve_pruned_space),
    SolverInfo("relax-expand-solve", "exact around the nodes of the linear relaxation", solve_relax_expand_solve),
    SolverInfo("greedy", "first fit, nodes in the order of their penalty", solve_greedy),
    SolverInfo("greedy-no-penalty", "first fit, nodes in the order of the problem", solve_greedy_no_penalty),
    SolverInfo("local-search", "co-locates, swaps and moves as long as that helps", solve_local_search),
    SolverInfo("tabu-search", "local search that goes on from local optima", solve_tabu_search),
    SolverInfo("ilp-timeout", "what the integer programme finds in 300 s, from a first fit", solve_ilp_timeout),
    SolverInfo("iterated-local-search", "fast local search from disturbed optima", solve_iterated_local_search),
)
"""All of them; none deals with replication or a current deployment."""

__all__ = ["HEURISTICS", "link_penalty", "lower_bound"]
