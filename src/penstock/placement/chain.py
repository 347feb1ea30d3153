"""Chains of operators: a walk over the nodes, exact.

On a chain the response time is a sum like every other cost, so a placement is a walk that pays for every operator on
its node and for every step between nodes. Operators that follow one another on a node are a segment. A dynamic
programme over segments bounds the walk from below, the room of nodes that are visited more than once being priced by
multipliers. Then labels are extended operator by operator (how many are placed, where the walk is, which room is
taken), each pruned by the programme's bound on the rest of the walk: first with a beam, for a good solution, then all
of them, which proves the best.
"""

from dataclasses import dataclass

import numpy as np

from penstock.placement.chain_labels import LabelSearch
from penstock.placement.costs import Costs, costs_of
from penstock.placement.instance import Floats, Ints
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer
from penstock.placement.segments import Walk, longest_segment, price_room, walk_bounds
from penstock.placement.structure import chain_of

METHOD = "chain"
_BEAMS = (200, 1000)
_LARGEST_TRIANGLE = 400
_MOST_SEGMENTS = 20_000_000


def fits_chain(problem: Problem) -> bool:
    """Whether `solve_chain` can solve `problem`, which must be separable."""
    instance = costs_of(problem).instance
    if chain_of(instance) is None:
        return False
    longest = longest_segment(instance.demand, instance.capacity)
    return instance.operators * instance.nodes * longest <= _MOST_SEGMENTS


def solve_chain(problem: Problem, budget: Budget) -> Answer:
    """The optimum; if time or memory run out, the best walk that was found and the programme's bound."""
    costs = costs_of(problem)
    instance = costs.instance
    folded = _fold(costs)
    if folded is None:
        return Answer(infeasible=True, method=METHOD)
    walk = folded.walk
    prices = np.zeros(walk.nodes)
    search = LabelSearch(walk, prices)
    best = search.run(np.inf, budget, beam=_BEAMS[0])
    if best.route is None:
        best = search.run(np.inf, budget)
        if best.route is None:
            return Answer(infeasible=best.complete, bound=folded.total(walk_bounds(walk, prices).least), method=METHOD)
    least, prices = price_room(walk, best.cost, budget)
    search = LabelSearch(walk, prices)
    for beam in (_BEAMS[1], None):
        found = search.run(best.cost, budget, beam)
        best = found if found.route is not None else best
        if beam is None and found.complete:
            least = best.cost
    assert best.route is not None
    assignment = folded.assignment(best.route)
    bound = min(folded.total(least), costs.objective(assignment))
    return Answer(instance.named(assignment), bound, method=METHOD)


@dataclass(frozen=True, eq=False)
class _Folded:
    """The walk of the operators between the pinned ends, whose costs are part of those of their neighbours."""

    walk: Walk
    chain: list[int]
    nodes: Ints
    pinned: dict[int, int]
    fixed: float

    def total(self, cost: float) -> float:
        """The objective of a walk of this cost."""
        return self.fixed + cost

    def assignment(self, route: list[int]) -> Ints:
        """The node of every operator, given the walk's node of every operator between the ends."""
        assignment = np.empty(len(self.chain), dtype=np.int64)
        free = [operator for operator in self.chain if operator not in self.pinned]
        for operator, place in zip(free, route, strict=True):
            assignment[operator] = self.nodes[place]
        for operator, node in self.pinned.items():
            assignment[operator] = node
        return assignment


def _fold(costs: Costs) -> _Folded | None:
    """Take pinned operators off both ends of the chain; None if they do not fit."""
    instance = costs.instance
    chain = chain_of(instance)
    assert chain is not None
    own = costs.node[chain] + (costs.per_ms * costs.execution_ms[chain] if costs.per_ms else 0.0)
    steps = _steps(costs, chain)
    room = instance.capacity.copy()
    first, last, fixed, pinned = 0, len(chain), costs.constant, {}
    while last - first > 1 and instance.pinned(chain[first]) is not None:
        node = pinned[chain[first]] = int(instance.candidates[chain[first]][0])
        room[node] -= instance.demand[chain[first]]
        fixed += float(own[first, node])
        own[first + 1] += steps[first][node]
        first += 1
    while last - first > 1 and instance.pinned(chain[last - 1]) is not None:
        last -= 1
        node = pinned[chain[last]] = int(instance.candidates[chain[last]][0])
        room[node] -= instance.demand[chain[last]]
        fixed += float(own[last, node])
        own[last - 1] += steps[last - 1][:, node]
    if (room < 0).any() or not np.isfinite(fixed):
        return None
    middle = chain[first:last]
    nodes = np.flatnonzero(np.isfinite(own[first:last]).any(axis=0))
    if not len(nodes):
        return None
    own, inner, demand = own[first:last][:, nodes], _parts(steps[first : last - 1], nodes), instance.demand[middle]
    walk = Walk.of(own, inner, demand, room[nodes], _visits_once(own, inner, demand))
    return _Folded(walk, chain, nodes, pinned, fixed)


def _steps(costs: Costs, chain: list[int]) -> list[Floats]:
    """What every step of the chain costs between any two nodes; equal streams share a matrix."""
    instance = costs.instance
    made: dict[tuple[float, float], Floats] = {}
    steps = []
    for operator in chain[:-1]:
        stream = instance.outgoing[operator][0]
        kind = (float(instance.volume[stream]), float(instance.rate[stream]))
        if kind not in made:
            made[kind] = costs.stream(stream) + costs.per_ms * instance.delay_ms
        steps.append(made[kind])
    return steps


def _parts(matrices: list[Floats], nodes: Ints) -> list[Floats]:
    """The rows and columns of `nodes`; equal matrices stay one."""
    made = {id(matrix): matrix[np.ix_(nodes, nodes)] for matrix in matrices}
    return [made[id(matrix)] for matrix in matrices]


def _visits_once(own: Floats, steps: list[Floats], demand: Ints) -> bool:
    """Whether some best walk visits no node twice: operators are alike, and no detour is shorter than the direct way.

    Then the operators of a later visit can follow those of the first one instead, which costs nothing, and what was
    before and after them comes together, which saves. The first operator keeps its place, so it may cost what it
    likes; the last one, and what leads from it, must not make the detour worthwhile either.
    """
    operators, nodes = own.shape
    if operators <= 2:
        return True
    alike = all(step is steps[0] for step in steps) and bool(
        (demand == demand[0]).all() and (own[1:-1] == own[1]).all()
    )
    if not alike or nodes > _LARGEST_TRIANGLE or not np.isfinite(own).all():
        return False
    step, end = steps[0], own[-1] - own[1]
    slack = 1e-12 * max(1.0, float(np.abs(own).max()))
    if (end[:, None] > step + end[None, :] + slack).any():
        return False
    return not any((step > step[:, [via]] + step[[via], :] + slack).any() for via in range(nodes))
