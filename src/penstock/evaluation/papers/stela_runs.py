"""Runs as in Stela's evaluation: its topologies with the settings of Table I, scaled once on request.

The load is constant and above what the topology can handle, as in the publication, where something is always
congested. As in Storm, an operator whose instances change or move stops for a restart of 5 to 8 s; one that stays
where it is goes on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.control import Action, ControlLoop, Decided, LoopSettings, Observed, Plant, Ports
from penstock.evaluation.convergence import Sample, convergence_times_s
from penstock.model import Cluster, Configuration, Objectives, Observation, Reconfigure, ScaleRequest
from penstock.policies import Stela
from penstock.simulation import STORM_PAUSES, Pauses, World, WorldSettings
from penstock.stores import MemoryJournal
from penstock.workloads import Application, Constant

WINDOW_S = 10.0
AT_S = 300.0
"""When the request is made."""
STEADY_S = 120.0
"""Throughput before and after is the mean of so many seconds."""


class Restarting:
    """A world in which every operator whose instances change or move restarts."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = np.random.default_rng((seed, 3))

    def requested(self) -> Configuration:
        """The configuration last asked for."""
        return self._world.requested()

    def apply(self, target: Configuration, release: Sequence[str] = ()) -> tuple[Action, ...]:
        """Go to `target`, and restart what is not as it was."""
        before = {key: sorted(hosts) for key, hosts in self._world.workers.hosts.items()}
        actions = self._world.apply(target, release)
        after = {key: sorted(hosts) for key, hosts in self._world.workers.hosts.items()}
        length_s = STORM_PAUSES.restart_s + float(self._rng.uniform(-1.0, 1.0)) * STORM_PAUSES.jitter_s
        for name, app in self._world.applications.items():
            moved = [operator for operator in app.operators if before[name, operator] != after[name, operator]]
            app.pause(moved, self._world.now_s() + length_s)
        return actions


@dataclass(frozen=True, slots=True)
class Scaling:
    """One application that is scaled once."""

    app: Application
    cluster: Cluster
    start: Configuration
    workers: int
    """How many more (positive) or fewer (negative) are asked for."""
    load_per_s: float
    until_s: float = 900.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a scaling: throughput before and after, and how it went on between.

    Throughput is, as published, what all sinks together handle per second.

    `output` is the share of the load that the sinks put out, window by window, after the request.
    """

    before_per_s: float
    after_per_s: float
    output: tuple[Sample, ...]
    released: tuple[str, ...]
    target: Configuration

    @property
    def convergence_s(self) -> float | None:
        """How long the output took to settle."""
        return convergence_times_s([AT_S], self.output)[0]

    @property
    def downtime_s(self) -> float:
        """How long nothing was put out."""
        return sum(sample.seconds for sample in self.output if sample.value <= 0.001)


def run(scaling: Scaling, policy: Stela, seed: int = 0, window_s: float = WINDOW_S, restart: bool = True) -> Outcome:
    """Scale once, five minutes after the start; without `restart` by Penstock's own actions."""
    app = scaling.app
    pauses = Pauses(0.0, 0.0, 0.0) if restart else Pauses()
    settings = WorldSettings(seed=seed, start_up_s=0.0 if restart else 4.0, pauses=pauses)
    world = World([(app, Constant(scaling.load_per_s))], scaling.cluster, scaling.start, settings)
    journal = MemoryJournal()
    ports = Ports(world, Restarting(world, seed) if restart else world, world, journal)
    timing = LoopSettings(
        observe_every_s=window_s, decide_every_s=window_s, window_s=60.0, cooldown_s=0.0, scale_down_after_s=0.0
    )
    loop = ControlLoop(Plant({app.name: app.topology}, scaling.cluster, Objectives()), policy, ports, timing)
    loop.run(scaling.until_s, planned=(ScaleRequest(AT_S, scaling.workers),))
    entries = list(journal.entries())
    seen = [entry.observation for entry in entries if isinstance(entry, Observed)]
    made = [e.decision for e in entries if isinstance(e, Decided) and isinstance(e.decision, Reconfigure)]
    after = [o for o in seen if o.at_s > AT_S + 1e-6]
    desired = app.inputs_per_s(scaling.load_per_s)
    return Outcome(
        _throughput_per_s(app, [o for o in seen if AT_S - STEADY_S < o.at_s <= AT_S + 1e-6]),
        _throughput_per_s(app, [o for o in after if o.at_s > scaling.until_s - STEADY_S]),
        tuple(Sample(o.at_s, o.window_s, _output(app, desired, o)) for o in after),
        made[0].release,
        made[0].target,
    )


def _throughput_per_s(app: Application, seen: Sequence[Observation]) -> float:
    """What all sinks together handled per second."""
    handled = sum(
        (o.applications[app.name].operators[sink].processed_per_s or 0.0) * o.window_s
        for o in seen
        for sink in app.topology.sinks
    )
    return handled / sum(o.window_s for o in seen)


def _output(app: Application, desired: Mapping[str, float], seen: Observation) -> float:
    """What the sinks handled, as a share of what they would if all of the load got through."""
    operators = seen.applications[app.name].operators
    handled = sum(operators[sink].processed_per_s or 0.0 for sink in app.topology.sinks)
    return handled / sum(desired[sink] for sink in app.topology.sinks)
