"""How the simulated world behaves, apart from the applications in it."""

from dataclasses import dataclass, field

from penstock.control import Level
from penstock.errors import InvalidModel


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long a reconfiguration keeps a segment from working, by level.

    A state rewrite also takes its bytes over `state_bytes_per_s`. `jitter_s` spreads every pause evenly around
    its length. With `whole_application` any change of parallelism pauses every segment, as a Storm rebalance does.
    """

    hot_s: float = 0.0
    restart_s: float = 2.0
    state_s: float = 4.0
    state_bytes_per_s: float = 50e6
    jitter_s: float = 0.0
    whole_application: bool = False

    def length_s(self, level: Level, state_bytes: float) -> float:
        """The length of a pause at `level`, before jitter."""
        if level is Level.HOT:
            return self.hot_s
        return self.restart_s if level is Level.RESTART else self.state_s + state_bytes / self.state_bytes_per_s


STORM_PAUSES = Pauses(hot_s=6.5, restart_s=6.5, state_s=6.5, jitter_s=1.5, whole_application=True)
"""A restart of the whole application in 5 to 8 s, as measured by ELYSIUM."""


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """Everything else about the world. `failures` are (time, worker) pairs; the worker is replaced after its start-up.

    `stochastic` draws Poisson arrivals and exponential service times; otherwise the flow is even. Either way times are
    right to within a step, and queues to within what arrives in one. `noise` is the relative standard deviation of
    what the monitor reports, `monitor_delay_s` how old it is when it does. `dispatch` is `shortest-queue` (instances
    share one queue) or `hashed` (each has its own, by key). `queue_limit` bounds every operator's
    queue; what does not fit is lost. A fused batch takes at most `batch_limit` events of every queue, if that is given.
    """

    seed: int = 0
    step_s: float = 1.0
    stochastic: bool = False
    dispatch: str = "shortest-queue"
    queue_limit: float | None = None
    batch_overhead_s: float = 0.3
    batch_limit: float | None = None
    start_up_s: float = 4.0
    monitor_delay_s: float = 0.0
    noise: float = 0.0
    pauses: Pauses = field(default_factory=Pauses)
    failures: tuple[tuple[float, str], ...] = ()

    def __post_init__(self) -> None:
        if self.step_s <= 0:
            raise InvalidModel("The simulated step must be longer than 0 s.")
        if self.dispatch not in ("shortest-queue", "hashed"):
            raise InvalidModel(f"Dispatch is 'shortest-queue' or 'hashed', not '{self.dispatch}'.")
        if min(self.batch_overhead_s, self.start_up_s, self.monitor_delay_s, self.noise) < 0:
            raise InvalidModel("Batch overhead, start-up time, monitor delay and noise must not be negative.")
        if self.queue_limit is not None and self.queue_limit < 0:
            raise InvalidModel("The limit of the queues must not be negative.")
        if self.batch_limit is not None and self.batch_limit <= 0:
            raise InvalidModel(f"A batch must be allowed to hold more than {self.batch_limit:g} events.")
        if self.seed < 0:
            raise InvalidModel(f"The seed must not be negative, but it is {self.seed}.")
