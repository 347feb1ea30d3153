"""What a monitor would report of the simulated world."""

from collections.abc import Mapping

import numpy as np

from penstock.analysis.percentiles import weighted_percentiles
from penstock.model import ApplicationObservation, Latency, Observation, OperatorObservation, WorkerObservation
from penstock.simulation.application import SimulatedApplication, Window
from penstock.simulation.operators import SimulatedOperator, Tally
from penstock.simulation.settings import WorldSettings
from penstock.simulation.workers import Workers


class Sight:
    """Turns counts into observations: late and noisy where the settings say so."""

    def __init__(
        self, applications: Mapping[str, SimulatedApplication], workers: Workers, settings: WorldSettings
    ) -> None:
        self._applications = applications
        self._workers = workers
        self._noise = settings.noise
        self._rng = np.random.default_rng((settings.seed, 1))
        self._began_s = 0.0
        self._ready: Observation | None = None
        self._usage: dict[str, float] = {}

    def count(self, step_s: float) -> None:
        """Note who was there in this step; usage of a worker is averaged over the time it was there."""
        for worker in self._workers.alive:
            self._usage[worker.name] = self._usage.get(worker.name, 0.0) + step_s

    def cut(self, now_s: float) -> None:
        """End the window here; the next report tells of it."""
        if now_s > self._began_s:
            self._ready = self._observe(now_s)

    def report(self, now_s: float) -> Observation:
        """The last window that was ended; if there is none, the one up to now."""
        if self._ready is None:
            self.cut(now_s)
        if self._ready is None:
            return self._observe(now_s)
        ready, self._ready = self._ready, None
        return ready

    def _observe(self, now_s: float) -> Observation:
        window_s = max(now_s - self._began_s, 1e-9)
        self._began_s = now_s
        windows = {name: app.take_window() for name, app in self._applications.items()}
        applications = {name: self._application(self._applications[name], w, window_s) for name, w in windows.items()}
        return Observation(now_s, window_s, applications, self._observe_workers(windows))

    def _application(self, app: SimulatedApplication, window: Window, window_s: float) -> ApplicationObservation:
        busy_s = {
            name: sum(window.tallies[member].busy_s for member in segment)
            for segment in app.topology.all_segments
            for name in segment
        }
        operators = {
            name: self._operator(operator, window.tallies[name], busy_s[name], window_s)
            for name, operator in app.operators.items()
        }
        return ApplicationObservation(
            operators=operators,
            arrived=window.arrived,
            completed=window.completed,
            lost=max(0.0, window.lost),
            input_per_s=self._blur(window.arrived / window_s),
            throughput_per_s=self._blur(window.completed / window_s),
            backlog=max(0.0, app.backlog),
            latency=_latency(window.latencies),
            paused_s=min(window.paused_s, window_s),
        )

    def _operator(
        self, operator: SimulatedOperator, tally: Tally, segment_busy_s: float, window_s: float
    ) -> OperatorObservation:
        busy_s = tally.busy_s
        known = busy_s > 0 and tally.processed > 0
        return OperatorObservation(
            instances=operator.instances,
            input_per_s=self._blur(tally.arrived / window_s),
            processed_per_s=self._blur(tally.processed / window_s),
            output_per_s={
                name: self._blur(sent / window_s) for (name, _), sent in zip(operator.outputs, tally.sent, strict=True)
            },
            busy_s=busy_s,
            time_share=busy_s / segment_busy_s if segment_busy_s > 0 else None,
            queue=max(0.0, operator.count),
            true_rate_per_s=self._blur(tally.processed / busy_s) if known else None,
            effective_rate_per_s=self._blur(tally.processed / segment_busy_s) if known else None,
            skew=max(operator.weights) * len(operator.weights),
            parallel_share=tally.work_s / tally.worked_s if tally.worked_s > 0 else None,
            state_bytes=int(operator.cost.state_bytes) if operator.topology_operator.stateful else None,
        )

    def _observe_workers(self, windows: Mapping[str, Window]) -> dict[str, WorkerObservation]:
        present_s, self._usage = self._usage, {}
        busy_s = dict.fromkeys((worker.name for worker in self._workers.alive), 0.0)
        for (application, operator), hosts in self._workers.hosts.items():
            share = self._applications[application].operators[operator].cost.slot_share
            part_s = share * windows[application].tallies[operator].busy_s / max(1, len(hosts))
            for host in hosts:
                busy_s[host] = busy_s.get(host, 0.0) + part_s
        result = {}
        for worker in self._workers.alive:
            hosted = self._workers.hosted(worker.name)
            there_s = present_s.get(worker.name, 0.0)
            usage = min(1.0, busy_s[worker.name] / (worker.slots * there_s)) if there_s > 0 else None
            result[worker.name] = WorkerObservation(usage, sum(hosted.values()), None, hosted)
        return result

    def _blur(self, value: float) -> float:
        return max(0.0, value * (1 + self._noise * float(self._rng.standard_normal()))) if self._noise else value


def _latency(pairs: list[tuple[float, float]]) -> Latency | None:
    total = sum(weight for _, weight in pairs)
    if total <= 0:
        return None
    mean_s = sum(value * weight for value, weight in pairs) / total
    return Latency(mean_s, *weighted_percentiles(pairs, (0.5, 0.95, 0.99)))
