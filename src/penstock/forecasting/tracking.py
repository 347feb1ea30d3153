"""How good a forecaster has been lately."""

from dataclasses import dataclass, replace

_KEPT = 20


@dataclass(frozen=True, slots=True)
class ErrorTrack:
    """Predictions that are still to come true, as (step, load), and how far off the last ones were, as (off, load)."""

    pending: tuple[tuple[int, float], ...] = ()
    outcomes: tuple[tuple[float, float], ...] = ()

    def with_predictions(self, first_step: int, loads: tuple[float, ...]) -> "ErrorTrack":
        """The track with predictions for `first_step` and those after it; the same step may be predicted often."""
        return replace(self, pending=(*self.pending, *enumerate(loads, first_step)))

    def with_loads(self, first_step: int, loads: tuple[float, ...]) -> "ErrorTrack":
        """The track after the loads of `first_step` and those after it have become known."""
        outcomes, pending = list(self.outcomes), []
        for step, predicted in self.pending:
            if step >= first_step + len(loads):
                pending.append((step, predicted))
            elif step >= first_step:
                actual = loads[step - first_step]
                outcomes.append((abs(predicted - actual), actual))
        return ErrorTrack(tuple(pending), tuple(outcomes[-_KEPT:]))

    @property
    def error(self) -> float | None:
        """All that the last predictions were off over all that came; None before one has come true."""
        total = sum(load for _, load in self.outcomes)
        off = sum(off for off, _ in self.outcomes)
        if not self.outcomes:
            return None
        return off / total if total > 0 else (0.0 if off == 0 else 1.0)
