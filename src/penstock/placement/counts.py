"""Replication and placement together by numbers of replicas, not multisets: the variables of a CP-SAT model.

`on(i, u, c)` is true when operator i has at least c replicas on node u, `total(i, h)` when it has h in all. There are
as many of them as nodes times replicas, where the thesis has one for every multiset.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.placement.instance import Instance, Ints

Share = tuple[float, Any]
"""A share of an operator's input, and the literal that says that it is so."""


class CountVariables:
    """The variables, tied to one another and to the capacities of the nodes.

    Every metric is bounded from below only, which is enough: less is always better.
    """

    def __init__(self, instance: Instance) -> None:
        from ortools.sat.python import cp_model

        self.instance = instance
        self.model: Any = cp_model.CpModel()
        self.true = self.model.new_constant(1)
        self.false = self.model.new_constant(0)
        self.totals = [
            [h for h, latency in enumerate(latencies.tolist(), start=1) if np.isfinite(latency)]
            for latencies in instance.latency_ms
        ]
        self._on: dict[tuple[int, int, int], Any] = {}
        self._total: dict[tuple[int, int], Any] = {}
        self._shares: dict[tuple[int, int], list[Share]] = {}

    @property
    def is_hopeless(self) -> bool:
        """Whether an operator has no place at all or cannot keep up with its load."""
        return not all(self.totals) or not all(len(candidates) for candidates in self.instance.candidates)

    def build(self) -> None:
        """Make the variables; not to be called if hopeless."""
        for operator in range(self.instance.operators):
            if self.fixed_at(operator) is not None:
                continue
            self._add_operator(operator)
        self._add_capacities()

    def most_on(self, operator: int, node: int) -> int:
        """The most replicas of `operator` that could be on `node`."""
        most, demand = self.instance.most[operator], int(self.instance.demand[operator])
        return most if demand == 0 else min(most, int(self.instance.capacity[node]) // demand)

    def fixed_at(self, operator: int) -> int | None:
        """The node on which the only replica of `operator` must be, or None."""
        return self.instance.pinned(operator) if self.instance.most[operator] == 1 else None

    def on(self, operator: int, node: int, count: int = 1) -> Any:
        """Whether `operator` has at least `count` replicas on `node`."""
        fixed = self.fixed_at(operator)
        if count <= 0 or (count == 1 and fixed == node):
            return self.true
        return self._on.get((operator, node, count), self.false)

    def total(self, operator: int, replicas: int) -> Any:
        """Whether `operator` has `replicas` replicas in all."""
        if self.totals[operator] == [replicas]:
            return self.true
        return self._total.get((operator, replicas), self.false)

    def exactly(self, operator: int, node: int, count: int) -> list[Any]:
        """Literals that together say that `operator` has `count` replicas on `node`."""
        return [self.on(operator, node, count), ~self.on(operator, node, count + 1)]

    def shares(self, operator: int, node: int) -> list[Share]:
        """The shares of its input that `operator` may have on `node`, each with the literal that says so.

        At most one of the literals is true; none is if the share is 0.
        """
        if self.instance.most[operator] == 1:
            return [(1.0, self.on(operator, node))]
        key = (operator, node)
        if key not in self._shares:
            self._shares[key] = list(self._make_shares(operator, node))
        return self._shares[key]

    def _make_shares(self, operator: int, node: int) -> Iterable[Share]:
        for replicas in self.totals[operator]:
            for count in range(1, min(replicas, self.most_on(operator, node)) + 1):
                literal = self.model.new_bool_var(f"share {operator} {node} {count}/{replicas}")
                says = [self.total(operator, replicas), *self.exactly(operator, node, count)]
                for part in says:
                    self.model.add_implication(literal, part)
                self.model.add_bool_or([literal, *(~part for part in says)])
                yield count / replicas, literal

    def _add_operator(self, operator: int) -> None:
        model, totals = self.model, self.totals[operator]
        nodes = self.instance.candidates[operator].tolist()
        for node in nodes:
            literals = [
                model.new_bool_var(f"on {operator} {node} {c + 1}") for c in range(self.most_on(operator, node))
            ]
            self._on.update({(operator, node, c): literal for c, literal in enumerate(literals, start=1)})
            for fewer, more in pairwise(literals):
                model.add_implication(more, fewer)
        if len(totals) > 1:
            self._total.update({(operator, h): model.new_bool_var(f"total {operator} {h}") for h in totals})
            model.add_exactly_one(self._total[operator, h] for h in totals)
        if totals == [1]:
            model.add_exactly_one(self.on(operator, node) for node in nodes)
            return
        replicas = sum(literal for (i, _, _), literal in self._on.items() if i == operator)
        model.add(replicas == sum(h * self.total(operator, h) for h in totals))

    def _add_capacities(self) -> None:
        demand = self.instance.demand
        unit = max(1, int(np.gcd.reduce(demand)))
        for node in range(self.instance.nodes):
            used = [
                int(demand[operator]) // unit * self.on(operator, node, count)
                for operator in range(self.instance.operators)
                for count in range(1, self.most_on(operator, node) + 1)
                if demand[operator]
            ]
            room = int(self.instance.capacity[node]) // unit
            if used:
                self.model.add(sum(used) <= room)

    def counts(self, value: Any) -> Ints:
        """The replicas of every operator on every node, given what `value` says of each literal."""
        counts = np.zeros((self.instance.operators, self.instance.nodes), dtype=np.int64)
        for operator in range(self.instance.operators):
            fixed = self.fixed_at(operator)
            if fixed is not None:
                counts[operator, fixed] = 1
        for (operator, node, _), literal in self._on.items():
            counts[operator, node] += int(value(literal))
        return counts

    def hint(self, counts: Ints) -> None:
        """Suggest a deployment to start from."""
        for (operator, node, count), literal in self._on.items():
            self.model.add_hint(literal, bool(counts[operator, node] >= count))
