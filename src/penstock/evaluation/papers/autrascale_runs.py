"""Runs as in AuTraScale's evaluation: its jobs on a simulated Flink whose processing latency depends on parallelism.

The simulator knows queues of events; it does not know the buffers, fetches and threads that make up the processing
latency of a Flink job. That is added here: a fixed time, a time per operator that grows with its usage like the wait
in a queue, and a time per instance for coordination. For WordCount and the Yahoo benchmark the three are calibrated to
the latencies of Tables II and III (which contradict each other in places: WordCount with 40, 33, 40, 40 instances is
reported twice as late as with 40, 40, 40, 33). For the Nexmark queries no latencies can be read; theirs are assumed,
once so that the parallelism which throughput needs meets the target, and once so that it does not. Policies know
nothing of them. As in Flink, what waits in Kafka has no part in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penstock.analysis import ScalabilityLaw, desired_inputs
from penstock.control import Acted, ControlLoop, Decided, LoopSettings, Observed, Plant, Ports
from penstock.model import Configuration, Latency, Objectives, Observation, Reconfigure
from penstock.policies import Policy
from penstock.simulation import Pauses, World, WorldSettings
from penstock.stores import MemoryJournal
from penstock.workloads import Application, Constant, Curve, application

_OVERLOADED_S = 1.0
"""Processing latency when some operator is behind and all buffers are full."""


@dataclass(frozen=True, slots=True)
class LatencyModel:
    """Processing latency of a job: per operator `queue_s` (`others_s` where not given) times usage / (1 - usage)."""

    fixed_s: float
    coordination_s: float
    others_s: float
    queue_s: Mapping[str, float] = field(default_factory=dict)

    def mean_s(self, app: Application, load_per_s: float, parallelism: Mapping[str, int]) -> float:
        """The mean latency under that load."""
        total = self.fixed_s + self.coordination_s * sum(parallelism.values())
        for name, usage in usages(app, load_per_s, parallelism).items():
            if usage >= 1:
                return _OVERLOADED_S
            total += self.queue_s.get(name, self.others_s) * usage / (1.0 - usage)
        return min(total, _OVERLOADED_S)


LATENCIES: Mapping[str, LatencyModel] = {
    "word-count": LatencyModel(0.030, 0.0015, 0.001, {"source": 0.012, "flat-map": 0.012}),
    "yahoo-streaming": LatencyModel(0.170, 0.0002, 0.0005),
    "nexmark-q5": LatencyModel(0.300, 0.001, 0.002),
    "nexmark-q11": LatencyModel(0.080, 0.001, 0.002),
}


SLOWER: Mapping[str, LatencyModel] = {
    "nexmark-q5": LatencyModel(0.300, 0.001, 0.006),
    "nexmark-q11": LatencyModel(0.080, 0.001, 0.004),
}
"""Latencies with which what throughput needs is not enough for the target."""


def usages(app: Application, load_per_s: float, parallelism: Mapping[str, int]) -> dict[str, float]:
    """How busy every operator is under that load; 1 and above is more than it can handle."""
    ratios = {(s.upstream, s.downstream): app.costs[s.upstream].selectivity[s.downstream] for s in app.topology.streams}
    sources = {name: load_per_s * app.share(name) for name in app.topology.sources}
    rates = desired_inputs(app.topology, sources, ratios)
    result = {}
    for name, cost in app.costs.items():
        law = ScalabilityLaw(cost.contention, cost.coherence, cost.rate_per_s)
        result[name] = (rates[name] or 0.0) / law.total_per_s(parallelism[name])
    return result


class Flink:
    """A monitor that reports processing latencies in place of the simulator's own."""

    def __init__(self, world: World, job: "Job") -> None:
        self._world, self._app, self._curve = world, job.app, job.curve
        self._model = (SLOWER if job.slower else LATENCIES)[job.name]
        self._noise = job.noise
        self._rng = np.random.default_rng((job.seed, 4))

    def observe(self) -> Observation:
        """What the world shows, with the latency of the job."""
        seen = self._world.observe()
        application = seen.applications[self._app.name]
        running = {name: operator.instances for name, operator in application.operators.items()}
        mean_s = self._model.mean_s(self._app, self._curve.rate_per_s(seen.at_s - 1e-6), running)
        mean_s *= max(0.1, 1.0 + self._noise * float(self._rng.standard_normal()))
        latency = Latency(mean_s, mean_s, 1.5 * mean_s, 2.0 * mean_s)
        return replace(seen, applications={self._app.name: replace(application, latency=latency)})


@dataclass(frozen=True, slots=True)
class Job:
    """One job under a load, from an initial parallelism; `noise` is the deviation of everything that is measured."""

    name: str
    curve: Curve
    start: tuple[int, ...]
    seed: int = 0
    noise: float = 0.0
    slower: bool = False

    @property
    def app(self) -> Application:
        """The application."""
        return application(self.name)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended: the parallelism, what it completed and how late, how many changes it took, and the journal."""

    parallelism: tuple[int, ...]
    throughput_per_s: float
    latency_s: float
    changes: tuple[tuple[float, tuple[int, ...], str], ...]
    observations: tuple[Observation, ...]

    @property
    def total(self) -> int:
        """All instances."""
        return sum(self.parallelism)

    def until(self, app: Application, end_s: float, changes: int) -> "Ran":
        """The same run as if it had ended then, after so many changes."""
        seen = tuple(o for o in self.observations if o.at_s <= end_s + 1e-6)
        kept = self.changes[:changes]
        return Ran(kept[-1][1] if kept else self.parallelism, *_averages(app, seen), kept, seen)


def steered(job: Job, policy: Policy[Any], until_s: float) -> Ran:
    """Let a policy steer the job; nothing stands between its decisions and the job."""
    app = job.app
    start = Configuration({app.name: dict(zip(app.topology.names, job.start, strict=True))}, len(app.cluster.workers))
    settings = WorldSettings(seed=job.seed, noise=job.noise, start_up_s=0.0, pauses=Pauses(0.0, 0.0, 0.0), step_s=2.0)
    world = World([(app, job.curve)], app.cluster, start, settings)
    journal = MemoryJournal()
    monitor = Flink(world, job)
    loop = ControlLoop(
        Plant({app.name: app.topology}, app.cluster, Objectives(app.latency_target_s)),
        policy,
        Ports(monitor, world, world, journal),
        LoopSettings(cooldown_s=0.0, scale_down_after_s=0.0, settle_s=1e9),
    )
    loop.run(until_s)
    return _ran(app, world, list(journal.entries()))


def _ran(app: Application, world: World, entries: list[Any]) -> Ran:
    seen = tuple(entry.observation for entry in entries if isinstance(entry, Observed))
    reasons = {
        e.at_s: e.decision.because for e in entries if isinstance(e, Decided) if isinstance(e.decision, Reconfigure)
    }
    changes = tuple(
        (e.at_s, vector(app, e.target), reasons.get(e.at_s, ""))
        for e in entries
        if isinstance(e, Acted) and not e.error
    )
    return Ran(vector(app, world.requested()), *_averages(app, seen), changes, seen)


def _averages(app: Application, seen: tuple[Observation, ...]) -> tuple[float, float]:
    """Throughput and latency in the last half minute."""
    last = [o.applications[app.name] for o in seen[-3:]]
    throughput = sum(a.throughput_per_s or 0.0 for a in last) / len(last)
    return throughput, sum(a.latency.mean_s for a in last if a.latency is not None) / len(last)


def vector(app: Application, configuration: Configuration) -> tuple[int, ...]:
    """Instances of every operator, in the order of the topology."""
    return tuple(configuration.parallelism[app.name][name] for name in app.topology.names)


def constant(name: str, load_per_s: float, start: tuple[int, ...], seed: int = 0, noise: float = 0.0) -> Job:
    """A job under a constant load."""
    return Job(name, Constant(load_per_s), start, seed, noise)
