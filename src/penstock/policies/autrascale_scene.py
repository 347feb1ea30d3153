"""What AuTraScale sees of one application when it judges what runs."""

from dataclasses import dataclass

from penstock.analysis import ApplicationRates, Space, application_rates, newest, weighted_mean
from penstock.model import Observation, Topology, View
from penstock.policies.autrascale_memory import RateModel, Vector

_GROWS = 0.02
"""A backlog that grows by more than this share of what arrives shows that an application does not keep up."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One application as it is now: what runs, what it did in the last window, and what is known of other rates.

    `backlogs` are what waited at the end of each observation since what runs has settled, over `span_s` seconds.
    """

    view: View
    topology: Topology
    models: tuple[RateModel, ...]
    running: Vector
    lately: ApplicationRates
    input_per_s: float
    throughput_per_s: float
    latency_s: float | None
    backlogs: tuple[float, ...]
    span_s: float

    @property
    def now_s(self) -> float:
        """The time of the decision."""
        return self.view.now_s

    @property
    def target_s(self) -> float:
        """The latency that is wanted."""
        return self.view.objectives.latency_target_s

    @property
    def rates(self) -> dict[str, float]:
        """What an instance of each operator handles per second, where that was seen."""
        return {name: rate for name, o in self.lately.operators.items() if (rate := o.rate_per_s)}

    def keeps_up(self, tolerance: float) -> bool:
        """Whether next to all that arrives is completed, and what waits does not grow."""
        grown = self.backlogs[-1] - self.backlogs[0] if self.backlogs else 0.0
        enough = self.throughput_per_s >= (1 - tolerance) * self.input_per_s
        return enough and grown <= _GROWS * self.input_per_s * self.span_s

    @property
    def shows_nothing(self) -> bool:
        """Whether nothing of what arrives was completed: where events come in batches, none has ended."""
        return self.input_per_s > 0 and self.throughput_per_s == 0

    @property
    def drains(self) -> bool:
        """Whether more waits than the target allows for, and it is getting less."""
        if len(self.backlogs) < 2 or self.backlogs[-1] <= self.input_per_s * self.target_s:
            return False
        return self.backlogs[-1] < 0.99 * self.backlogs[0]

    def space(self, base: Vector) -> Space:
        """What may be chosen from, from the base up."""
        return Space(base, tuple(operator.max_parallelism for operator in self.topology.operators))

    def words(self, parallelism: Vector) -> str:
        """A parallelism as a person reads it."""
        return ", ".join(f"{name} {k}" for name, k in zip(self.topology.names, parallelism, strict=True))


def scene_of(
    view: View,
    topology: Topology,
    models: tuple[RateModel, ...],
    since: tuple[Observation, ...],
    window_s: float,
) -> Scene | None:
    """The scene by these observations, rates and latency by the last `window_s` of them.

    None while input or throughput are not known.
    """
    lately = application_rates(topology, newest(since, window_s))
    if lately.input_per_s is None or lately.throughput_per_s is None:
        return None
    seen = [(o, o.applications[topology.name]) for o in since if topology.name in o.applications]
    last = [a for o, a in seen if o.at_s > since[-1].at_s - window_s]
    known = [(o.at_s, a.backlog) for o, a in seen if a.backlog is not None]
    return Scene(
        view,
        topology,
        models,
        running(view, topology),
        lately,
        lately.input_per_s,
        lately.throughput_per_s,
        weighted_mean((a.latency.mean_s, a.completed) for a in last if a.latency is not None),
        tuple(backlog for _, backlog in known),
        known[-1][0] - known[0][0] if known else 0.0,
    )


def running(view: View, topology: Topology) -> Vector:
    """The parallelism that is requested."""
    requested = view.requested.parallelism[topology.name]
    return tuple(requested[name] for name in topology.names)
