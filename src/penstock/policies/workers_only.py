"""Only workers scale, under a fixed parallelism: a baseline of ELYSIUM."""

from dataclasses import dataclass

from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Parallelism, Reconfigure, View, diff
from penstock.policies.limits import Thresholds
from penstock.policies.senses import Senses, assess


@dataclass(frozen=True, slots=True)
class WorkersOnly:
    """The second stage of ELYSIUM's Algorithm 1: the fewest workers of which none is busier than `cpu_max`.

    `parallelism` is how many instances every operator has, within its bounds (None: as many as were requested before);
    they never change.
    """

    parallelism: int | None = None
    assessment_period_s: float = 60.0
    window_s: float = 30.0
    cpu_max: float | None = None
    memory_s: float = 300.0

    def __post_init__(self) -> None:
        if self.parallelism is not None and self.parallelism < 1:
            raise UsageError(f"A parallelism of at least 1 is needed, not {self.parallelism}.")
        if self.assessment_period_s < 0 or min(self.window_s, self.memory_s) <= 0:
            raise UsageError(
                "workers-only needs an assessment_period_s of at least 0, a window_s and memory_s above 0."
            )

    def start(self) -> Senses:
        """Nothing is known."""
        return Senses()

    def decide(self, view: View, memory: Senses) -> tuple[Decision, Senses]:
        """Learn from what is new and, when it is time, ask for as many workers as are needed."""
        memory = memory.updated(view, self.memory_s)
        thresholds = Thresholds.of(view.objectives, None, None, self.cpu_max)
        assessment = assess(view, memory, thresholds, self.assessment_period_s, self.window_s)
        if isinstance(assessment, Keep):
            return assessment, memory
        memory = memory.assessed(view.now_s)
        parallelism = self._parallelism(view)
        target = Configuration(parallelism, assessment.workers(parallelism))
        if not diff(view.requested, target):
            return Keep(assessment.fits()), memory
        return Reconfigure(target, assessment.reasons(target)), memory

    def _parallelism(self, view: View) -> Parallelism:
        if self.parallelism is None:
            return view.requested.parallelism
        return {
            name: {operator.name: operator.clip(self.parallelism) for operator in topology.operators}
            for name, topology in view.topologies.items()
        }
