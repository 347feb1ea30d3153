"""Only operators scale, on a fixed number of workers: a baseline of ELYSIUM."""

from dataclasses import dataclass

from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Reconfigure, View, diff
from penstock.policies.limits import Thresholds
from penstock.policies.senses import Senses, assess
from penstock.policies.sizing import allowed_workers


@dataclass(frozen=True, slots=True)
class OperatorsOnly:
    """The first stage of ELYSIUM's Algorithm 1: the fewest instances that are busy for at most `core_max` of the time.

    `workers` is how many workers there are (None: as many as were requested before); they never change.
    """

    workers: int | None = None
    assessment_period_s: float = 60.0
    window_s: float = 30.0
    core_min: float | None = None
    core_max: float | None = None
    memory_s: float = 300.0

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"At least 1 worker is needed, not {self.workers}.")
        if self.assessment_period_s < 0 or min(self.window_s, self.memory_s) <= 0:
            raise UsageError(
                "operators-only needs an assessment_period_s of at least 0, a window_s and memory_s above 0."
            )

    def start(self) -> Senses:
        """Nothing is known."""
        return Senses()

    def decide(self, view: View, memory: Senses) -> tuple[Decision, Senses]:
        """Learn from what is new and, when it is time, give every operator what it needs."""
        memory = memory.updated(view, self.memory_s)
        thresholds = Thresholds.of(view.objectives, self.core_min, self.core_max, None)
        assessment = assess(view, memory, thresholds, self.assessment_period_s, self.window_s)
        if isinstance(assessment, Keep):
            return assessment, memory
        memory = memory.assessed(view.now_s)
        workers = view.requested.workers if self.workers is None else allowed_workers(view, self.workers)
        target = Configuration(assessment.instances(), workers)
        if not diff(view.requested, target):
            return Keep(assessment.fits()), memory
        return Reconfigure(target, assessment.reasons(target)), memory
