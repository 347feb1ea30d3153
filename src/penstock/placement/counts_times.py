"""Response time and downtime, as variables of a CP-SAT model over numbers of replicas."""

from itertools import pairwise, product
from typing import Any

import numpy as np

from penstock.placement.counts import CountVariables
from penstock.placement.counts_metrics import CountMetrics
from penstock.placement.downtime import DowntimeTerms
from penstock.placement.evaluator import allowed
from penstock.placement.instance import Floats
from penstock.placement.objective import longest_ms
from penstock.placement.scaling import Unit


class CountTimes:
    """Adds the metrics that are a maximum: each a variable that is at least what the deployment makes it."""

    def __init__(self, variables: CountVariables, metrics: CountMetrics) -> None:
        self.variables, self.metrics = variables, metrics
        self.instance, self.model = variables.instance, variables.model

    # Response time

    def response(self, unit: Unit, bound_ms: float | None) -> Any:
        """The critical path, at most `bound_ms` long."""
        # Nothing is longer than the longest path, save for what rounding does to each of its parts.
        most = unit.steps(longest_ms(self.instance, 1)) + self.instance.operators + self.instance.streams
        if bound_ms is not None:
            most = min(most, unit.steps(allowed(bound_ms)))
        latencies = [self._latency(operator, unit, most) for operator in range(self.instance.operators)]
        arrivals: list[Any] = [0] * self.instance.operators
        delays: list[Any] = [0] * self.instance.streams
        response = self.model.new_int_var(0, most, "response")
        for operator in self.instance.problem.order:
            if self.instance.incoming[operator]:
                arrivals[operator] = self.model.new_int_var(0, most, f"arrival {operator}")
            for stream in self.instance.incoming[operator]:
                tail = int(self.instance.tails[stream])
                delays[stream] = self._delay(stream, unit, most)
                self.model.add(arrivals[operator] >= arrivals[tail] + latencies[tail] + delays[stream])
            if not self.instance.outgoing[operator]:
                self.model.add(response >= arrivals[operator] + latencies[operator])
        self._add_detours(unit, response, latencies)
        return response

    def _latency(self, operator: int, unit: Unit, most: int) -> Any:
        """The latency of the slowest replica of an operator."""
        variables, latencies = self.variables, self.instance.latency_ms[operator]
        nodes = self.instance.candidates[operator].tolist()
        speeds = self.instance.speedup
        if self.instance.most[operator] == 1:
            return sum(unit.steps(float(latencies[0] / speeds[node])) * variables.on(operator, node) for node in nodes)
        totals = variables.totals[operator]
        fastest = float(speeds[nodes].max())
        at_best = sum(unit.steps(float(latencies[h - 1] / fastest)) * variables.total(operator, h) for h in totals)
        if float(speeds[nodes].min()) == fastest:
            return at_best
        latency = self.model.new_int_var(0, most, f"latency {operator}")
        self.model.add(latency >= at_best)
        for node, total in product(nodes, totals):
            ends = [variables.total(operator, total), variables.on(operator, node)]
            self.model.add(latency >= unit.steps(float(latencies[total - 1] / speeds[node]))).only_enforce_if(ends)
        return latency

    def _delay(self, stream: int, unit: Unit, most: int) -> Any:
        """The delay between the replicas of the ends of a stream that are farthest apart."""
        tail, head = int(self.instance.tails[stream]), int(self.instance.heads[stream])
        at_tail, at_head = self.variables.fixed_at(tail), self.variables.fixed_at(head)
        if at_tail is not None:
            return self._delay_from(self.instance.delay_ms[at_tail], head, unit, most)
        if at_head is not None:
            return self._delay_from(self.instance.delay_ms[:, at_head], tail, unit, most)
        delay = self.model.new_int_var(0, most, f"delay {stream}")
        for u, v in product(self.instance.candidates[tail].tolist(), self.instance.candidates[head].tolist()):
            steps = unit.steps(float(self.instance.delay_ms[u, v]))
            if steps:
                ends = [self.variables.on(tail, u), self.variables.on(head, v)]
                self.model.add(delay >= steps).only_enforce_if(ends)
        return delay

    def _delay_from(self, delays_ms: Floats, free: int, unit: Unit, most: int) -> Any:
        steps = {node: unit.steps(float(delays_ms[node])) for node in self.instance.candidates[free].tolist()}
        if self.instance.most[free] == 1:
            return sum(step * self.variables.on(free, node) for node, step in steps.items())
        delay = self.model.new_int_var(0, most, f"delay to {free}")
        for node, step in steps.items():
            self.model.add(delay >= step * self.variables.on(free, node))
        return delay

    def _add_detours(self, unit: Unit, response: Any, latencies: list[Any]) -> None:
        """A valid cut: along the longest chain of operators, a node costs at least the way there and the way on."""
        chain = self._longest_chain()
        there, onward = self._ways_ms(chain), self._ways_ms(chain, backwards=True)
        processing = sum(latencies[operator] for operator in chain)
        for position, operator in enumerate(chain):
            if self.variables.fixed_at(operator) is not None:
                continue
            for node in self.instance.candidates[operator].tolist():
                # Every delay of the chain is rounded down by itself: allow a step for each.
                way = unit.steps(float(there[position][node] + onward[position][node])) - len(chain)
                self.model.add(response >= way + processing).only_enforce_if(self.variables.on(operator, node))

    def _longest_chain(self) -> list[int]:
        """The path with the most operators."""
        longest: dict[int, list[int]] = {}
        for operator in self.instance.problem.order:
            before = [longest[int(self.instance.tails[stream])] for stream in self.instance.incoming[operator]]
            longest[operator] = [*max(before, key=len, default=[]), operator]
        return max(longest.values(), key=len)

    def _ways_ms(self, chain: list[int], backwards: bool = False) -> list[Floats]:
        """For every operator of a chain and every node the least delay from the chain's start (or to its end)."""
        order = chain[::-1] if backwards else chain
        delay = self.instance.delay_ms.T if backwards else self.instance.delay_ms
        ways = [np.zeros(self.instance.nodes)]
        for before, _ in pairwise(order):
            nodes = self.instance.candidates[before]
            ways.append((ways[-1][nodes, None] + delay[nodes]).min(axis=0))
        return ways[::-1] if backwards else ways

    # Downtime

    def downtime(self, terms: tuple[DowntimeTerms, ...], unit: Unit, bound_s: float | None) -> Any:
        """How long the change from the current deployment takes, at most `bound_s`."""
        longest_s = max(term.limit_s(most) for term, most in zip(terms, self.instance.most, strict=True))
        most = unit.steps(longest_s) + 1
        if bound_s is not None:
            most = min(most, unit.steps(allowed(bound_s)))
        down = self.model.new_int_var(0, most, "downtime")
        changed = [self._changed(operator, term) for operator, term in enumerate(terms)]
        for operator, term in enumerate(terms):
            self._add_change(operator, term, changed[operator], down, unit)
            if term.restarts:
                for flag in changed:
                    self.model.add(down >= unit.steps(term.restart_s())).only_enforce_if(flag)
        return down

    def _upload_s(self, operator: int, term: DowntimeTerms, node: int) -> float:
        return max(term.upload_s(node, count, total) for count, total, _ in self._cases(operator, node, 0))

    def _arrival_s(self, operator: int, term: DowntimeTerms, node: int) -> float:
        return max(term.arrival_s(node, count, total) for count, total, _ in self._cases(operator, node, 1))

    def _changed(self, operator: int, term: DowntimeTerms) -> Any:
        """True if the deployment of an operator differs from the current one."""
        changed = self.model.new_bool_var(f"changed {operator}")
        for node in {*self.instance.candidates[operator].tolist(), *term.before}:
            old = term.before.get(node, 0)
            for same in self.variables.exactly(operator, node, old):
                self.model.add_bool_or([changed, same])
        return changed

    def _add_change(self, operator: int, term: DowntimeTerms, changed: Any, down: Any, unit: Unit) -> None:
        nodes = self.instance.candidates[operator].tolist()
        uploads = {node: self._upload(operator, term, node, unit) for node in term.before}
        for node in nodes:
            arrival = self._arrival(operator, term, node, unit)
            code = term.code_s(node)
            ends = [changed, self.variables.on(operator, node)]
            for origin, upload in uploads.items():
                if origin == node:
                    continue
                sync = unit.steps(term.settings.sync_s + (code if term.restarts else 0.0))
                self.model.add(down >= sync + upload + arrival).only_enforce_if(ends)
                if not term.restarts:
                    self.model.add(down >= unit.steps(term.settings.sync_s + code) + arrival).only_enforce_if(ends)
        if len(term.before) == 1:
            self._add_in_place(operator, term, changed, down, unit)

    def _cases(self, operator: int, node: int, least: int) -> list[tuple[int, int, list[Any]]]:
        """Numbers of replicas on a node and in all, with the literals that say so."""
        return [
            (count, total, [self.variables.total(operator, total), *self.variables.exactly(operator, node, count)])
            for total in self.variables.totals[operator]
            for count in range(least, min(total, self.variables.most_on(operator, node)) + 1)
        ]

    def _upload(self, operator: int, term: DowntimeTerms, node: int, unit: Unit) -> Any:
        most = unit.steps(self._upload_s(operator, term, node))
        upload = self.model.new_int_var(0, most, f"upload {operator} {node}")
        for count, total, says in self._cases(operator, node, 0):
            self.model.add(upload >= unit.steps(term.upload_s(node, count, total))).only_enforce_if(says)
        return upload

    def _arrival(self, operator: int, term: DowntimeTerms, node: int, unit: Unit) -> Any:
        most = unit.steps(self._arrival_s(operator, term, node))
        arrival = self.model.new_int_var(0, most, f"arrival {operator} {node}")
        for count, total, says in self._cases(operator, node, 1):
            self.model.add(arrival >= unit.steps(term.arrival_s(node, count, total))).only_enforce_if(says)
        return arrival

    def _add_in_place(self, operator: int, term: DowntimeTerms, changed: Any, down: Any, unit: Unit) -> None:
        (node,) = term.before
        for count, total, says in self._cases(operator, node, 1):
            if count == total:
                time_s = term.settings.sync_s + term.arrival_s(node, count, total)
                self.model.add(down >= unit.steps(time_s)).only_enforce_if([changed, *says])
