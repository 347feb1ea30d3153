"""One simulated operator: its queues, its instances, and what it did since it was last asked."""

from collections.abc import Sequence
from math import ceil

import numpy as np

from penstock.analysis.scalability import ScalabilityLaw
from penstock.model import Operator
from penstock.simulation.cohorts import EPSILON, Cohort, Cohorts, merged
from penstock.simulation.settings import WorldSettings
from penstock.workloads.application import OperatorCost


class Tally:
    """Counts of one operator since the last observation."""

    __slots__ = ("arrived", "busy_s", "lost", "processed", "sent", "work_s", "worked_s")

    def __init__(self, streams: int) -> None:
        self.arrived = 0.0
        self.processed = 0.0
        self.lost = 0.0
        self.busy_s = 0.0
        self.sent = [0.0] * streams
        self.work_s = 0.0
        """Time of the segment's batches that more instances would shorten."""
        self.worked_s = 0.0
        """Time of the segment's batches in all."""


class SimulatedOperator:
    """An operator with its queues; the world moves what it hands over."""

    __slots__ = (
        "_hashed",
        "_instance_per_s",
        "_law",
        "_limit",
        "_live",
        "_offered",
        "_rng",
        "backlogged",
        "cost",
        "instances",
        "lanes",
        "lost_mass",
        "outputs",
        "rate_per_s",
        "speeds",
        "tally",
        "topology_operator",
        "useful_rate_per_s",
        "weights",
    )

    def __init__(
        self,
        operator: Operator,
        cost: OperatorCost,
        outputs: Sequence[tuple[str, float]],
        settings: WorldSettings,
        rng: np.random.Generator | None,
    ) -> None:
        self.topology_operator = operator
        self.cost = cost
        self._law = ScalabilityLaw(cost.contention, cost.coherence, cost.rate_per_s)
        self._instance_per_s = cost.rate_per_s
        self._offered = 0.0
        self.outputs = tuple(outputs)
        """Downstream operators with their selectivities."""
        self._live = tuple((name, ratio) for name, ratio in self.outputs if ratio > 0)
        self.tally = Tally(len(self.outputs))
        self.lanes = [Cohorts()]
        self.weights = [1.0]
        self.speeds: tuple[float, ...] = (1.0,)
        """Speed of each instance, by the worker that hosts it and its share of that worker's slots."""
        self.instances = 1
        self.rate_per_s = cost.rate_per_s
        """What all instances together handle per second."""
        self.useful_rate_per_s = cost.rate_per_s
        """What one instance handles per second of useful time."""
        self.backlogged = False
        self.lost_mass = 0.0
        self._limit = settings.queue_limit
        self._rng = rng
        self._hashed = settings.dispatch == "hashed" and (settings.stochastic or cost.key_skew > 0)

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.topology_operator.name

    @property
    def count(self) -> float:
        """Events waiting."""
        lanes = self.lanes
        return lanes[0].count if len(lanes) == 1 else sum(lane.count for lane in lanes)

    @property
    def mass(self) -> float:
        """Source events that the waiting ones stand for."""
        return sum(lane.mass for lane in self.lanes)

    def resize(self, instances: int) -> None:
        """Change the number of instances; what waits is spread over the new ones."""
        self.instances = instances
        waiting = merged(cohort for lane in self.lanes for cohort in lane.pop_all())
        lanes = instances if self._hashed else 1
        ranks = np.arange(1, lanes + 1, dtype=float) ** -self.cost.key_skew
        self.weights = [float(weight) for weight in ranks / ranks.sum()]
        self.lanes = [Cohorts() for _ in range(lanes)]
        self._spread(waiting)

    def set_speeds(self, speeds: tuple[float, ...], pace: float) -> None:
        """Tell how fast each instance is, and how fast on average if no other had a part in its slot."""
        self.speeds = speeds
        self._instance_per_s = self._law.instance_per_s(self.instances)
        self.useful_rate_per_s = self._instance_per_s * pace
        self.rate_per_s = self._instance_per_s * sum(speeds)

    def receive(self, cohorts: Sequence[Cohort]) -> None:
        """Queue what arrives; what does not fit is lost."""
        if len(self.lanes) == 1:
            lane = self.lanes[0]
            before = lane.count
            lane.extend(cohorts)
            self.tally.arrived += lane.count - before
        else:
            self.tally.arrived += sum(cohort[1] for cohort in cohorts)
            self._spread(cohorts)
        if self._limit is not None and self.count > self._limit:
            self._overflow(self.count - self._limit)

    def _spread(self, cohorts: Sequence[Cohort]) -> None:
        if len(self.lanes) == 1:
            self.lanes[0].extend(cohorts)
            return
        for birth_s, count, mass in cohorts:
            for lane, part in zip(self.lanes, self._parts(count), strict=True):
                if part > 0:
                    lane.push(birth_s, count * part, mass * part)

    def _parts(self, count: float) -> Sequence[float]:
        """How `count` events are dealt to the lanes: by weight, or, where chance decides, each to one of them."""
        if self._rng is None or count <= 0:
            return self.weights
        whole = int(count)
        dealt = self._rng.multinomial(whole, self.weights).astype(float)
        if count > whole:
            dealt[self._rng.choice(len(dealt), p=self.weights)] += count - whole
        return [float(part) for part in dealt / count]

    def _overflow(self, excess: float) -> None:
        for lane in sorted(self.lanes, key=lambda queue: -queue.count):
            gone = min(excess, lane.count)
            self.tally.lost += gone
            self.lost_mass += lane.drop_newest(gone)
            excess -= gone
            if excess <= EPSILON:
                return

    def work(self, worked_s: float) -> list[Cohort]:
        """Handle what `worked_s` seconds allow, oldest first, and return it."""
        lanes = self.lanes
        self._offered = waiting = self.count
        if waiting <= EPSILON:
            return []
        if self._rng is None and len(lanes) == 1 and waiting <= self.rate_per_s * worked_s:
            # Nothing is left waiting: by far the most frequent case, so it is kept short.
            self.backlogged = False
            self._handle(waiting)
            return lanes[0].pop_all()
        if len(lanes) == 1:
            taken = self._serve(lanes[0], self.rate_per_s, self.instances, worked_s)
        else:
            taken = []
            for lane, speed in zip(lanes, self.speeds, strict=True):
                taken += self._serve(lane, self._instance_per_s * speed, 1, worked_s)
            taken = merged(taken)
        left = self.count
        self.backlogged = left > EPSILON
        self._handle(waiting - left)
        return taken

    def _handle(self, events: float) -> None:
        tally = self.tally
        tally.processed += events
        tally.busy_s += events / self.useful_rate_per_s
        for index, (_, ratio) in enumerate(self.outputs):
            tally.sent[index] += events * ratio

    def run_stage(self, rows: float, slots: float) -> float:
        """Handle `rows` in one stage of a batch on `slots` slots, and return how long it takes.

        Tasks run in waves when there are more of them than slots; the largest partition decides each wave.
        """
        self._handle(rows)
        self.tally.busy_s += self.cost.fixed_s * self.instances
        largest = max(self.weights) if len(self.weights) > 1 else 1 / self.instances
        waves = ceil(self.instances / max(1.0, slots) - EPSILON)
        return waves * (rows * largest / self.useful_rate_per_s + self.cost.fixed_s)

    def hand_on(self, cohorts: list[Cohort]) -> list[tuple[str | None, list[Cohort]]]:
        """What handled events become downstream. The source events they stand for are shared among the streams that
        get any; where there is none they are completed (stream None)."""
        if not self._live:
            return [(None, cohorts)]
        share = 1.0 / len(self._live)
        return [
            (name, [(birth_s, count * ratio, mass * share) for birth_s, count, mass in cohorts])
            for name, ratio in self._live
        ]

    def _serve(self, lane: Cohorts, rate_per_s: float, servers: int, worked_s: float) -> list[Cohort]:
        if self._rng is None:
            return lane.pop(rate_per_s * worked_s)
        active = min(lane.count, servers) / servers
        return lane.pop(float(self._rng.poisson(rate_per_s * active * worked_s)))

    def desired_usage(self, step_s: float) -> float:
        """The share of its time that an instance would work if it had a whole slot."""
        return min(1.0, self._offered / (self.useful_rate_per_s * self.instances * step_s))
