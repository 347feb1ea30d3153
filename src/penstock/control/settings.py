"""How the loop behaves, apart from what the policy decides."""

from dataclasses import dataclass

from penstock.errors import InvalidModel


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Periods and guards of the loop; every field has a sensible default.

    `window_s` is how far back the view reaches. `cooldown_s` is the least time between two actions.
    `scale_down_after_s` is how long a higher need must have been absent before anything is given up.
    `settle_s` after an action its outcome is judged: throughput may be `tolerance` below what it should be.
    A change that made things worse is not repeated for `block_s`. No action is taken in an `excluded` period
    (start and end in seconds of the run), and none at all in a `dry_run`.
    """

    observe_every_s: float = 10.0
    decide_every_s: float = 10.0
    window_s: float = 60.0
    cooldown_s: float = 30.0
    scale_down_after_s: float = 60.0
    settle_s: float = 30.0
    tolerance: float = 0.1
    block_s: float = 600.0
    excluded: tuple[tuple[float, float], ...] = ()
    dry_run: bool = False

    @classmethod
    def every(cls, period_s: float, dry_run: bool = False) -> "LoopSettings":
        """A decision with every observation; a change settles in three of them, a scale-down in six (as by default)."""
        return cls(
            observe_every_s=period_s,
            decide_every_s=period_s,
            cooldown_s=3 * period_s,
            settle_s=3 * period_s,
            scale_down_after_s=6 * period_s,
            dry_run=dry_run,
        )

    def __post_init__(self) -> None:
        if not all(period_s > 0 for period_s in (self.observe_every_s, self.decide_every_s, self.window_s)):
            raise InvalidModel("The periods of the control loop must be longer than 0 s.")
        if not all(s >= 0 for s in (self.cooldown_s, self.scale_down_after_s, self.settle_s, self.block_s)):
            raise InvalidModel("Cool-down, scale-down delay, settling time and block must not be negative.")
        if not 0 <= self.tolerance < 1:
            raise InvalidModel(f"The tolerance must be at least 0 and below 1, not {self.tolerance:g}.")
        for start, end in self.excluded:
            if start >= end:
                raise InvalidModel(
                    f"The excluded period {start:g} to {end:g} s is empty; give its start before its end."
                )
