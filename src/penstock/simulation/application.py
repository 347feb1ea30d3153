"""One simulated application: events flow through it step by step."""

from collections.abc import Mapping, Sequence

import numpy as np

from penstock.simulation.batches import FusedSegment
from penstock.simulation.cohorts import Cohort
from penstock.simulation.operators import SimulatedOperator, Tally
from penstock.simulation.settings import WorldSettings
from penstock.workloads.application import Application
from penstock.workloads.curves import Curve


class SimulatedApplication:
    """An application under its load.

    Every source event is, at any time, in exactly one of three places: waiting (in a queue or a batch in
    progress), completed, or lost; `arrived` is the sum of the three.
    """

    def __init__(
        self, application: Application, curve: Curve, settings: WorldSettings, rng: np.random.Generator | None
    ) -> None:
        topology = application.topology
        self.name = application.name
        self.topology = topology
        self.application = application
        self._rate_per_s = curve.rate_per_s
        self._settings = settings
        self._rng = rng
        self.operators = {
            name: SimulatedOperator(
                topology.operator(name),
                application.costs[name],
                [(d, application.costs[name].selectivity.get(d, 1.0)) for d in topology.downstream(name)],
                settings,
                rng,
            )
            for name in topology.order
        }
        self._sources = [(self.operators[name], application.share(name)) for name in topology.sources]
        self.units = self._build_units()
        self.paused_until_s = [0.0] * len(self.units)
        self.delay_s: Mapping[tuple[str, str], float] | None = None
        """Network delay of every stream, set by the world where there are links."""
        self.arrived = self.completed = 0.0
        self.window = Window()
        self._lost_before = 0.0

    def _build_units(self) -> list[tuple[tuple[str, ...], FusedSegment | SimulatedOperator]]:
        """Every segment as one unit of work, upstream ones first."""
        order = {name: position for position, name in enumerate(self.topology.order)}
        declared = set(self.topology.segments)
        units: list[tuple[tuple[str, ...], FusedSegment | SimulatedOperator]] = []
        for segment in sorted(self.topology.all_segments, key=lambda s: min(order[name] for name in s)):
            names = tuple(sorted(segment, key=order.__getitem__))
            if segment in declared:
                units.append((names, FusedSegment(self.operators, names, self._settings)))
            else:
                units.append((names, self.operators[names[0]]))
        return units

    @property
    def lost(self) -> float:
        """Source events lost so far, in parts where only some of what came of them was lost."""
        return sum(operator.lost_mass for operator in self.operators.values())

    @property
    def backlog(self) -> float:
        """Source events that are neither completed nor lost."""
        waiting = sum(operator.mass for operator in self.operators.values())
        return waiting + sum(unit.mass for _, unit in self.units if isinstance(unit, FusedSegment))

    def pause(self, names: Sequence[str] | None, until_s: float) -> None:
        """Keep the segments of these operators (of all of them, for None) from working."""
        for index, (members, _) in enumerate(self.units):
            if names is None or set(members) & set(names):
                self.paused_until_s[index] = max(self.paused_until_s[index], until_s)

    def redo(self, part: float) -> None:
        """Let every batch in progress do a part of its work again."""
        for _, unit in self.units:
            if isinstance(unit, FusedSegment):
                unit.delay(part)

    def step(self, now_s: float, step_s: float, slot_share: float) -> None:
        """Let `step_s` seconds pass from `now_s`; fused segments have that share of the slots they want."""
        self._arrive(now_s, step_s)
        paused_s = 0.0
        for index, (_, unit) in enumerate(self.units):
            idle_s = min(step_s, max(0.0, self.paused_until_s[index] - now_s))
            paused_s = max(paused_s, idle_s)
            if isinstance(unit, FusedSegment):
                self._run_batches(unit, (now_s, now_s + idle_s, now_s + step_s), slot_share)
            elif idle_s < step_s:
                self._run_operator(unit, now_s, step_s - idle_s)
        self.window.paused_s += paused_s

    def _arrive(self, now_s: float, step_s: float) -> None:
        expected = self._rate_per_s(now_s) * step_s
        for operator, share in self._sources:
            mean = expected * share
            count = mean if self._rng is None else float(self._rng.poisson(mean))
            if count > 0:
                operator.receive([(now_s, count, count)])
                self.arrived += count
                self.window.arrived += count

    def _run_operator(self, operator: SimulatedOperator, now_s: float, worked_s: float) -> None:
        waited = operator.backlogged
        taken = operator.work(worked_s)
        if not taken:
            return
        # Events that waited have their service time in their age already; those that pass within one step do not.
        service_s = 0.0 if waited else min(self._settings.step_s, 1 / operator.useful_rate_per_s)
        for downstream, cohorts in operator.hand_on(taken):
            self._deliver(operator.name, downstream, cohorts, now_s, service_s)

    def _run_batches(self, segment: FusedSegment, step: tuple[float, float, float], slot_share: float) -> None:
        """Let batches end and begin in a step, given by its start, the end of the pause in it, and its end."""
        now_s, from_s, until_s = step
        from_s = max(from_s, self._commit_if_due(segment, now_s, until_s))
        if not segment.running and from_s < until_s and slot_share > 0:
            segment.start(from_s, slot_share)
            self._commit_if_due(segment, now_s, until_s)

    def _commit_if_due(self, segment: FusedSegment, now_s: float, until_s: float) -> float:
        """Commit a batch that ends by `until_s`, and return when it ended; 0 if none does."""
        ends_s = segment.ends_s
        if ends_s is None or ends_s > until_s:
            return 0.0
        for name, downstream, cohorts in segment.finish():
            self._deliver(name, downstream, cohorts, now_s, ends_s - now_s)
        return ends_s

    def _deliver(
        self, upstream: str, downstream: str | None, cohorts: list[Cohort], now_s: float, spent_s: float
    ) -> None:
        """Hand events on, `spent_s` older than their age in steps shows."""
        if downstream is None:
            self._complete(cohorts, now_s, spent_s)
            return
        if self.delay_s is not None:
            spent_s += self.delay_s[upstream, downstream]
        if spent_s:
            cohorts = [(birth_s - spent_s, count, mass) for birth_s, count, mass in cohorts]
        self.operators[downstream].receive(cohorts)

    def _complete(self, cohorts: list[Cohort], now_s: float, spent_s: float) -> None:
        window = self.window
        for birth_s, _, mass in cohorts:
            self.completed += mass
            window.completed += mass
            window.latencies.append((max(0.0, now_s + spent_s - birth_s), mass))

    def take_window(self) -> "Window":
        """What happened since the last call; counting starts anew."""
        taken, self.window = self.window, Window()
        taken.tallies = {name: operator.tally for name, operator in self.operators.items()}
        taken.lost = self.lost - self._lost_before
        self._lost_before = self.lost
        for operator in self.operators.values():
            operator.tally = Tally(len(operator.outputs))
        return taken


class Window:
    """Counts of one application since the last observation."""

    __slots__ = ("arrived", "completed", "latencies", "lost", "paused_s", "tallies")

    def __init__(self) -> None:
        self.arrived = 0.0
        self.completed = 0.0
        self.lost = 0.0
        self.paused_s = 0.0
        self.latencies: list[tuple[float, float]] = []
        self.tallies: dict[str, Tally] = {}
