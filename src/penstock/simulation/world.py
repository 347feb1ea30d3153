"""The simulated world: applications on workers in virtual time. It is monitor, actuator and clock in one."""

from collections.abc import Mapping, Sequence

import numpy as np

from penstock.control import Action, Level, segment_changes
from penstock.errors import InvalidModel
from penstock.model import Cluster, Configuration, Observation, Topology, diff
from penstock.model.configuration import WorkersChange
from penstock.simulation.application import SimulatedApplication
from penstock.simulation.settings import WorldSettings
from penstock.simulation.sight import Sight
from penstock.simulation.workers import Workers
from penstock.workloads.application import Application
from penstock.workloads.curves import Curve


class World:
    """Applications under their loads on one cluster, from time 0 on; the same arguments give the same history."""

    def __init__(
        self,
        applications: Sequence[tuple[Application, Curve]],
        cluster: Cluster,
        initial: Configuration,
        settings: WorldSettings | None = None,
    ) -> None:
        self.settings = settings = settings or WorldSettings()
        if initial.workers > len(cluster.workers):
            raise InvalidModel(f"{initial.workers} workers are asked for, but the cluster has {len(cluster.workers)}.")
        self._rng = np.random.default_rng(settings.seed)
        drawn = self._rng if settings.stochastic else None
        self.applications = {app.name: SimulatedApplication(app, curve, settings, drawn) for app, curve in applications}
        self.topologies: Mapping[str, Topology] = {name: app.topology for name, app in self.applications.items()}
        self.cluster = cluster
        self._now_s = 0.0
        self._steps = 0
        self._requested = initial
        self._operators = {
            (name, operator): simulated
            for name, app in self.applications.items()
            for operator, simulated in app.operators.items()
        }
        self.workers = Workers(cluster, initial.workers, settings)
        self._sight = Sight(self.applications, self.workers, settings)
        self._resize_operators(initial)
        self._place()

    def now_s(self) -> float:
        """Virtual seconds since the start."""
        return self._now_s

    def sleep_until(self, at_s: float) -> None:
        """Let virtual time pass. The next observation ends `monitor_delay_s` before `at_s`."""
        delay_s = min(self.settings.monitor_delay_s, max(0.0, at_s - self._now_s - self.settings.step_s))
        self._advance(at_s - delay_s)
        self._sight.cut(self._now_s)
        self._advance(at_s)

    def observe(self) -> Observation:
        """What the monitor reports of the time since its last report."""
        return self._sight.report(self._now_s)

    def requested(self) -> Configuration:
        """The configuration last asked for."""
        return self._requested

    def apply(self, target: Configuration, release: Sequence[str] = ()) -> tuple[Action, ...]:
        """Go to `target`: pauses begin now, new workers are ready after their start-up."""
        before, self._requested = self._requested, target
        changes = diff(before, target)
        if not changes:
            return ()
        actions = []
        for change in segment_changes(before, target, self.topologies):
            pause_s = self._pause_s(change.application, change.segment, change.level)
            app = self.applications[change.application]
            app.pause(None if self.settings.pauses.whole_application else change.segment, self._now_s + pause_s)
            what = ", ".join(f"{c.operator} {c.before} -> {c.after}" for c in change.changes)
            actions.append(Action(what, change.level, change.application, pause_s, pause_s))
        for workers in (change for change in changes if isinstance(change, WorkersChange)):
            grown = workers.after > workers.before
            self.workers.resize(target.workers, release, self._now_s)
            what = f"workers {workers.before} -> {workers.after}"
            actions.append(Action(what, Level.HOT, None, self.settings.start_up_s if grown else 0.0, 0.0))
        self._resize_operators(target)
        self._place()
        return tuple(actions)

    def _pause_s(self, application: str, segment: tuple[str, ...], level: Level) -> float:
        pauses = self.settings.pauses
        costs = self.applications[application].application.costs
        length_s = pauses.length_s(level, sum(costs[name].state_bytes for name in segment))
        return max(0.0, length_s + float(self._rng.uniform(-1, 1)) * pauses.jitter_s) if pauses.jitter_s else length_s

    def _resize_operators(self, target: Configuration) -> None:
        for (application, name), operator in self._operators.items():
            operator.resize(target.parallelism[application][name])

    def _place(self) -> None:
        """Distribute the instances over the workers that are ready."""
        self.workers.place(self._operators, self._requested)
        self.workers.share(self._operators, self.settings.step_s)
        self._crowded = self.workers.crowded()
        self._slot_share = self._fair_slot_share()
        for name, app in self.applications.items():
            app.delay_s = self._delays(name) if self.cluster.links else None

    def _fair_slot_share(self) -> float:
        """The part of the slots it wants that every fused segment gets: all of them, less where there are too few."""
        return min(1.0, self.workers.slots / self._requested.slots(self.topologies))

    def _delays(self, application: str) -> "dict[tuple[str, str], float]":
        return {
            (stream.upstream, stream.downstream): self.workers.delay_s(
                (application, stream.upstream), (application, stream.downstream)
            )
            for stream in self.topologies[application].streams
        }

    def _advance(self, until_s: float) -> None:
        step_s = self.settings.step_s
        while self._now_s < until_s - 1e-9:
            length_s = min(step_s, until_s - self._now_s)
            self._step(length_s)
            self._steps += 1
            self._now_s = round(self._now_s + length_s, 9)

    def _step(self, step_s: float) -> None:
        failed = self.workers.advance(self._now_s)
        if failed is not None:
            self._lose(failed)
        for app in self.applications.values():
            app.step(self._now_s, step_s, self._slot_share)
        if self._crowded:
            self.workers.share(self._operators, step_s)
        self._sight.count(step_s)

    def _lose(self, failed: tuple[str, ...]) -> None:
        """Workers came or went: place anew; what a failed one was doing is done again, and its state fetched."""
        lost_from = {key for key, hosts in self.workers.hosts.items() if set(hosts) & set(failed)}
        everyone = max(1, len(self.workers.alive) + len(failed))
        self._place()
        for name, app in self.applications.items():
            if failed:
                app.redo(len(failed) / everyone)
            stateful = [o for a, o in lost_from if a == name and app.topology.operator(o).stateful]
            if stateful:
                app.pause(stateful, self._now_s + self.settings.pauses.state_s)
