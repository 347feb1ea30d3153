"""Loads over time in equal steps, and how they grow out of observations."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import repeat

from penstock.errors import InvalidModel
from penstock.model import Observation


@dataclass(frozen=True, slots=True)
class LoadSeries:
    """The mean load of every step of `step_s` seconds from `start_s` on, in source events per second."""

    start_s: float
    step_s: float
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.step_s <= 0:
            raise InvalidModel(f"The steps of a load series must be longer than 0 s, not {self.step_s:g} s.")

    @property
    def end_s(self) -> float:
        """The end of the last step."""
        return self.start_s + self.step_s * len(self.values)

    @classmethod
    def of(cls, observations: Iterable[Observation], application: str, step_s: float = 60.0) -> "LoadSeries":
        """The load of one application as it was observed; a step without observations has that of the one before."""
        history = LoadHistory(step_s)
        for observation in observations:
            history = history.with_observation(observation, application)
        return history.series

    def part(self, begin: int, end: int) -> "LoadSeries":
        """The steps from `begin` up to but not including `end`."""
        return replace(self, start_s=self.start_s + begin * self.step_s, values=self.values[begin:end])


@dataclass(frozen=True, slots=True)
class LoadHistory:
    """A load series that grows: complete steps, and what is known of the step in progress.

    `first` is the number of the oldest step that is kept, counted from time 0; `most` bounds how many are kept.
    """

    step_s: float = 60.0
    first: int = 0
    values: tuple[float, ...] = ()
    open_step: int | None = None
    events: float = 0.0
    seconds: float = 0.0
    most: int = field(default=2880)

    @classmethod
    def before(cls, step_s: float, values: tuple[float, ...]) -> "LoadHistory":
        """The loads of the last steps before time 0."""
        return cls(step_s, -len(values), values)

    @property
    def series(self) -> LoadSeries:
        """All complete steps."""
        return LoadSeries(self.first * self.step_s, self.step_s, self.values)

    @property
    def end(self) -> int:
        """The number of the step after the last complete one."""
        return self.first + len(self.values)

    def with_observation(self, observation: Observation, application: str) -> "LoadHistory":
        """The history with one more observation, which counts for the step in which its middle lies."""
        seen = observation.applications.get(application)
        if seen is None or seen.input_per_s is None:
            return self
        step = int((observation.at_s - observation.window_s / 2) // self.step_s)
        history = self if step == self.open_step else self._closed(step)
        return replace(
            history,
            events=history.events + seen.input_per_s * observation.window_s,
            seconds=history.seconds + observation.window_s,
        )

    def _closed(self, step: int) -> "LoadHistory":
        """The history with the step in progress ended and `step` begun; what lies between has the last known load."""
        known = self.values if self.seconds <= 0 else (*self.values, self.events / self.seconds)
        if not known or step < self.first:
            return replace(self, first=step, values=(), open_step=step, events=0.0, seconds=0.0)
        values = (*known, *repeat(known[-1], max(0, step - self.first - len(known))))
        dropped = max(0, len(values) - self.most)
        return replace(
            self, first=self.first + dropped, values=values[dropped:], open_step=step, events=0.0, seconds=0.0
        )
