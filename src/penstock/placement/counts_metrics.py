"""What a deployment costs, as linear parts of a CP-SAT model over numbers of replicas."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from penstock.placement.counts import CountVariables, Share
from penstock.placement.evaluator import allowed
from penstock.placement.instance import Floats, Instance
from penstock.placement.problem import AvailabilityModel
from penstock.placement.scaling import Unit

_FINEST_FLOW = 1e9


class CountMetrics:
    """Adds metrics to the model of `variables`, each as a term that is at most the true value in steps of a unit."""

    def __init__(self, variables: CountVariables) -> None:
        self.variables = variables
        self.instance: Instance = variables.instance
        self.model = variables.model
        self._pairs: dict[int, dict[tuple[int, int], Any]] = {}

    def _ends(self, stream: int) -> tuple[int, int]:
        return int(self.instance.tails[stream]), int(self.instance.heads[stream])

    def _nodes(self, operator: int) -> list[int]:
        nodes: list[int] = self.instance.candidates[operator].tolist()
        return nodes

    def _single(self, *operators: int) -> bool:
        return all(self.instance.most[operator] == 1 for operator in operators)

    # Streams: the sum over links of a price times the shares of both ends

    def streams(self, prices: list[Floats], unit: Unit) -> list[Any]:
        """What all streams cost, when each has its price for every link."""
        terms: list[Any] = []
        for stream, price in enumerate(prices):
            tail, head = self._ends(stream)
            part = price[np.ix_(self._nodes(tail), self._nodes(head))]
            if part.any():
                terms.extend(self._stream(stream, price, unit))
        return terms

    def _stream(self, stream: int, price: Floats, unit: Unit) -> list[Any]:
        tail, head = self._ends(stream)
        at_tail, at_head = self.variables.fixed_at(tail), self.variables.fixed_at(head)
        if at_tail is not None:
            return self._from_fixed(price[at_tail], head, unit)
        if at_head is not None:
            return self._from_fixed(price[:, at_head], tail, unit)
        if self._single(tail, head):
            pairs = self.pairs(stream)
            return [unit.steps(float(price[link])) * literal for link, literal in pairs.items() if price[link] > 0]
        same = _same_price(price, self._nodes(tail), self._nodes(head))
        if same is not None:
            return self._apart(tail, head, same, unit)
        return self._products(stream, price, unit)

    def _from_fixed(self, prices: Floats, free: int, unit: Unit) -> list[Any]:
        return [
            unit.steps(float(prices[node]) * share) * literal
            for node in self._nodes(free)
            for share, literal in self.variables.shares(free, node)
            if prices[node] > 0
        ]

    def pairs(self, stream: int) -> dict[tuple[int, int], Any]:
        """For two operators of one replica each: whether the stream takes a link, for every link it might take."""
        if stream not in self._pairs:
            tail, head = self._ends(stream)
            links = list(product(self._nodes(tail), self._nodes(head)))
            literals = {link: self.model.new_bool_var(f"pair {stream} {link}") for link in links}
            self._pairs[stream] = literals
            for node in self._nodes(tail):
                self.model.add(
                    sum(literals[node, other] for other in self._nodes(head)) == self.variables.on(tail, node)
                )
            for node in self._nodes(head):
                self.model.add(
                    sum(literals[other, node] for other in self._nodes(tail)) == self.variables.on(head, node)
                )
        return self._pairs[stream]

    def _apart(self, tail: int, head: int, price: float, unit: Unit) -> list[Any]:
        """All links cost the same: the price of everything, less that of what stays on a node."""
        whole = unit.steps(price)
        staying = []
        for node in sorted(set(self._nodes(tail)) & set(self._nodes(head))):
            stays = self.model.new_int_var(0, whole + 1, f"stays {tail} {head} {node}")
            staying.append(stays)
            for operator in (tail, head):
                shares = self.variables.shares(operator, node)
                self.model.add(stays <= sum((unit.steps(price * share) + 1) * literal for share, literal in shares))
            for (one, here), (other, there) in self._share_pairs(tail, head, (node, node)):
                self.model.add(stays <= unit.steps(price * one * other) + 1).only_enforce_if([here, there])
        cost = self.model.new_int_var(0, whole, f"apart {tail} {head}")
        self.model.add(cost >= whole - sum(staying))
        return [cost]

    def _products(self, stream: int, price: Floats, unit: Unit) -> list[Any]:
        """Shares and prices of any kind: every pair of shares of every link by itself."""
        tail, head = self._ends(stream)
        terms = []
        for node in self._nodes(tail):
            row = [
                self._flow(tail, head, (node, other), float(price[node, other]), unit) for other in self._nodes(head)
            ]
            terms.extend(row)
            # Whatever leaves a node pays at least the cheapest link; rounding may take a step from each.
            least = float(price[node, self._nodes(head)].min())
            shares = self.variables.shares(tail, node)
            if least > 0:
                self.model.add(
                    sum(row) >= sum(unit.steps(least * share) * literal for share, literal in shares) - len(row)
                )
        return terms

    def _flow(self, tail: int, head: int, link: tuple[int, int], price: float, unit: Unit) -> Any:
        """`price` times the share of what flows over a link."""
        if price <= 0:
            return 0
        flow = self.model.new_int_var(0, unit.steps(price) + 1, f"flow {tail} {head} {link}")
        for (one, here), (other, there) in self._share_pairs(tail, head, link):
            self.model.add(flow >= unit.steps(price * one * other)).only_enforce_if([here, there])
        return flow

    def _share_pairs(self, tail: int, head: int, link: tuple[int, int]) -> Iterable[tuple[Share, Share]]:
        """Every share of the tail at one end of a link with every share of the head at the other."""
        return product(self.variables.shares(tail, link[0]), self.variables.shares(head, link[1]))

    def add_bandwidths(self) -> None:
        """What flows over a link is at most its bandwidth."""
        bandwidth = self.instance.bandwidth
        if bandwidth is None:
            return
        for u, v in np.argwhere(np.isfinite(bandwidth)).tolist():
            limit = allowed(float(bandwidth[u, v]))
            unit = Unit(_FINEST_FLOW / limit, 0)
            flows = []
            for stream, volume in enumerate(self.instance.volume.tolist()):
                tail, head = self._ends(stream)
                if volume > 0 and u in self._nodes(tail) and v in self._nodes(head):
                    flows.append(self._limited_flow((tail, head), (u, v), volume, limit, unit))
            if flows:
                self.model.add(sum(flows) <= unit.steps(limit))

    def _limited_flow(
        self, ends: tuple[int, int], link: tuple[int, int], volume: float, limit: float, unit: Unit
    ) -> Any:
        """What flows over a link, counted no further than is too much already; more than that is forbidden."""
        flow = self.model.new_int_var(0, unit.steps(limit), f"flow of {ends} on {link}")
        for (one, here), (other, there) in self._share_pairs(*ends, link):
            carried = volume * one * other
            if carried > limit:
                self.model.add_bool_or([~here, ~there])
            else:
                self.model.add(flow >= unit.steps(carried)).only_enforce_if([here, there])
        return flow

    # Operators

    def replicas(self, prices: list[float], unit: Unit) -> list[Any]:
        """What all replicas cost, when each operator has its price for one."""
        return [
            unit.steps(price * total) * self.variables.total(operator, total)
            for operator, price in enumerate(prices)
            for total in self.variables.totals[operator]
            if price > 0
        ]

    def availability(self, unit: Unit) -> list[Any]:
        """Minus the logarithm of the availability."""
        if self.instance.problem.available_by is AvailabilityModel.NODES:
            return self._used_once(unit)
        losses = (-self.instance.log_node).tolist()
        terms = [
            unit.steps(losses[node]) * self.variables.on(operator, node)
            for operator in range(self.instance.operators)
            for node in self._nodes(operator)
        ]
        if self.instance.log_link is not None:
            for stream in range(self.instance.streams):
                terms.extend(self._links(stream, -self.instance.log_link, unit))
        return terms

    def _links(self, stream: int, losses: Floats, unit: Unit) -> list[Any]:
        """A loss for every link that any two replicas of the ends of a stream use."""
        tail, head = self._ends(stream)
        if self._single(tail, head):
            return self._stream(stream, losses, unit)
        return [
            unit.steps(float(losses[u, v])) * self._linked(tail, head, u, v)
            for u, v in product(self._nodes(tail), self._nodes(head))
            if losses[u, v] > 0
        ]

    def _linked(self, tail: int, head: int, u: int, v: int) -> Any:
        literal = self.model.new_bool_var(f"linked {tail} {head} {u} {v}")
        self.model.add_bool_or([literal, ~self.variables.on(tail, u), ~self.variables.on(head, v)])
        return literal

    def _used_once(self, unit: Unit) -> list[Any]:
        terms = []
        for node, loss in enumerate((-self.instance.log_node).tolist()):
            used = self.model.new_bool_var(f"used {node}")
            for operator in range(self.instance.operators):
                if node in self._nodes(operator):
                    self.model.add_implication(self.variables.on(operator, node), used)
            terms.append(unit.steps(loss) * used)
        if self.instance.log_link is None:
            return terms
        for u, v in np.argwhere(self.instance.log_link < 0).tolist():
            used = self.model.new_bool_var(f"used {u} {v}")
            for stream in range(self.instance.streams):
                tail, head = self._ends(stream)
                if u in self._nodes(tail) and v in self._nodes(head):
                    ends = [~self.variables.on(tail, u), ~self.variables.on(head, v)]
                    self.model.add_bool_or([used, *ends])
            terms.append(unit.steps(-float(self.instance.log_link[u, v])) * used)
        return terms


def _same_price(price: Floats, tails: list[int], heads: list[int]) -> float | None:
    """The price of all links between different nodes if it is the same, or None; a node to itself is free."""
    apart = [float(price[u, v]) for u, v in product(tails, heads) if u != v]
    return apart[0] if apart and max(apart) == min(apart) else None
