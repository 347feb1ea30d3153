"""Exact solution of any problem, with replication, current deployment and bounds, by CP-SAT over replica counts."""

from dataclasses import replace
from typing import Any

import numpy as np

from penstock.placement.counts import CountVariables
from penstock.placement.counts_metrics import CountMetrics
from penstock.placement.counts_times import CountTimes
from penstock.placement.downtime import downtime_terms
from penstock.placement.evaluator import allowed, evaluator_of
from penstock.placement.instance import Floats, Instance, Ints, instance_of, replica_counts
from penstock.placement.objective import Objective, longest_ms, objective_of
from penstock.placement.problem import Problem
from penstock.placement.registry import Budget
from penstock.placement.result import Answer
from penstock.placement.scaling import Scale, Unit


def solve_counts(problem: Problem, budget: Budget, start: Ints | None = None) -> Answer:
    """The best deployment and a bound on all of them; `start` are counts to begin with."""
    return _Model(problem).solve(budget, start)


def solve_restricted(problem: Problem, budget: Budget) -> Answer:
    """The best deployment in which every operator differs from the current one by at most one replica (rEDRP).

    What is best among these need not be best of all, so the answer has no bound.
    """
    model = _Model(problem)
    if not model.variables.is_hopeless:
        model.restrict()
    answer = model.solve(budget, None)
    return replace(answer, bound=None, infeasible=False, method="restricted counts")


class _Model:
    """The CP-SAT model of one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.instance: Instance = instance_of(problem)
        self.objective: Objective = objective_of(problem)
        self.variables = CountVariables(self.instance)
        self.longest_ms = longest_ms(self.instance, 1)
        self.changes = downtime_terms(self.instance)
        most = max(self.instance.most)
        self.longest_down_s = max((change.limit_s(most) for change in self.changes or ()), default=0.0)
        self.scale = self._scale()
        if not self.variables.is_hopeless:
            self.variables.build()
            self._add_metrics()

    def _scale(self) -> Scale:
        """Whole numbers that are fine enough, and not so fine that the largest conceivable objective overflows."""
        objective, bounds, instance = self.objective, self.problem.bounds, self.instance
        spread = objective.per_ms * self.longest_ms + objective.per_downtime_s * self.longest_down_s
        spread += self._most_money(objective.per_network, objective.per_cost)
        links = 0.0 if instance.log_link is None else float(instance.log_link.sum()) * max(1, instance.streams)
        spread -= objective.per_log_loss * (float(instance.log_node.sum()) * instance.operators + links)
        bounded = [
            (objective.per_ms, bounds.response_time_ms),
            (objective.per_downtime_s, bounds.downtime_s),
        ]
        return Scale.of(spread, [(factor, bound) for factor, bound in bounded if factor > 0 and bound])

    def _most_money(self, per_network: float, per_cost: float) -> float:
        """What the most expensive deployment could cost, network and money weighted as given."""
        streams = sum(float(price.max()) for price in self._prices(per_network, per_cost))
        prices = zip(self._replica_prices(), self.instance.most, strict=True)
        return streams + per_cost * sum(price * most for price, most in prices)

    def _replica_prices(self) -> list[float]:
        return [operator.cost * operator.resources for operator in self.problem.operators]

    def _prices(self, per_network: float, per_cost: float) -> list[Floats]:
        """What every stream costs on every link, network and money weighted as given."""
        instance = self.instance
        money = np.zeros_like(instance.delay_ms) if instance.link_cost is None else instance.link_cost
        return [
            per_network * volume * instance.network_factor + per_cost * rate * money
            for volume, rate in zip(instance.volume, instance.rate, strict=True)
        ]

    def _add_metrics(self) -> None:
        objective, bounds = self.objective, self.problem.bounds
        metrics = CountMetrics(self.variables)
        whole = Unit(self.scale.per_objective, 1)
        terms: list[Any] = []
        terms += metrics.streams(self._prices(objective.per_network, objective.per_cost), whole)
        terms += metrics.replicas([objective.per_cost * price for price in self._replica_prices()], whole)
        if objective.per_log_loss > 0:
            terms += metrics.availability(Unit(objective.per_log_loss * self.scale.per_objective, 1))
        metrics.add_bandwidths()
        self._add_cost_bound(metrics)
        times = CountTimes(self.variables, metrics)
        unit = self.scale.unit(objective.per_ms, bounds.response_time_ms, self.longest_ms)
        if unit is not None:
            terms.append(unit.weight * times.response(unit, bounds.response_time_ms))
        unit = self.scale.unit(objective.per_downtime_s, bounds.downtime_s, self.longest_down_s)
        if unit is not None and self.changes is not None:
            terms.append(unit.weight * times.downtime(self.changes, unit, bounds.downtime_s))
        self.variables.model.minimize(sum(terms))

    def _add_cost_bound(self, metrics: CountMetrics) -> None:
        bound = self.problem.bounds.cost
        if bound is None:
            return
        unit = self.scale.unit(0.0, bound, self._most_money(0.0, 1.0))
        assert unit is not None
        money = metrics.replicas(self._replica_prices(), unit) + metrics.streams(self._prices(0.0, 1.0), unit)
        self.variables.model.add(sum(money) <= unit.steps(allowed(bound)))

    def restrict(self) -> None:
        """Allow one replica more, one less, or one elsewhere, of every operator."""
        assert self.problem.current is not None
        model, on = self.variables.model, self.variables.on
        for operator, row in enumerate(replica_counts(self.problem, self.problem.current)):
            added, removed = [], []
            for node, count in enumerate(row.tolist()):
                added.append(on(operator, node, count + 1))
                model.add(on(operator, node, count + 2) == 0)
                if count:
                    removed.append(1 - on(operator, node, count))
                    model.add(on(operator, node, count - 1) == 1)
            model.add(sum(added) <= 1)
            model.add(sum(removed) <= 1)

    def solve(self, budget: Budget, start: Ints | None) -> Answer:
        from ortools.sat.python import cp_model

        if self.variables.is_hopeless:
            return Answer(infeasible=True, method="counts")
        if start is None and self.problem.current is not None:
            start = replica_counts(self.problem, self.problem.current)
        if start is not None:
            self.variables.hint(start)
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = max(0.01, budget.left_s)
        solver.parameters.random_seed = budget.seed
        # Several strategies that take turns in one thread: several threads would end in answers that differ.
        solver.parameters.num_workers = 1
        solver.parameters.interleave_search = True
        # CP-SAT 9.15 has two mistakes that these models meet. With several literals before one bound it derives false
        # ones and calls solvable models unsolvable; and what its presolve makes of sums over literals of which at most
        # one is true can cut off the best solution, which it then proves not to exist (or-tools issue 5293).
        solver.parameters.auto_detect_greater_than_at_least_one_of = False
        solver.parameters.presolve_inclusion_work_limit = 0
        status = solver.solve(self.variables.model)
        if status == cp_model.INFEASIBLE:
            return Answer(infeasible=True, method="counts")
        bound = solver.best_objective_bound / self.scale.per_objective + self.objective.constant
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Answer(bound=None if status == cp_model.MODEL_INVALID else bound, method="counts")
        counts = self.variables.counts(solver.value)
        if not evaluator_of(self.problem).evaluate(counts).is_feasible:
            # It keeps the constraints in whole numbers only.
            return Answer(bound=bound, method="counts")
        return Answer(self.instance.named_counts(counts), bound, method="counts")
