"""Fused execution: the operators of a segment take turns in micro-batches."""

from collections.abc import Mapping, Sequence
from math import inf

from penstock.simulation.cohorts import Cohort
from penstock.simulation.operators import SimulatedOperator
from penstock.simulation.settings import WorldSettings


class FusedSegment:
    """A query of several operators. A batch takes what waits, and is committed as a whole when it ends."""

    def __init__(
        self, operators: Mapping[str, SimulatedOperator], order: Sequence[str], settings: WorldSettings
    ) -> None:
        self._operators = {name: operators[name] for name in order}
        self._overhead_s = settings.batch_overhead_s
        self._limit = inf if settings.batch_limit is None else settings.batch_limit
        self._outputs: list[tuple[str, str | None, list[Cohort]]] = []
        self.ends_s: float | None = None
        """When the batch in progress ends."""
        self._began_s = 0.0

    @property
    def running(self) -> bool:
        """Whether a batch is in progress."""
        return self.ends_s is not None

    @property
    def mass(self) -> float:
        """Source events in the batch in progress."""
        return sum(cohort[2] for _, _, cohorts in self._outputs for cohort in cohorts)

    def start(self, now_s: float, slot_share: float) -> None:
        """Begin a batch with what waits, on that share of the slots it wants; nothing happens if nothing waits."""
        inputs = {
            name: [cohort for lane in operator.lanes for cohort in lane.pop(self._limit / len(operator.lanes))]
            for name, operator in self._operators.items()
        }
        if not any(inputs.values()):
            return
        slots = slot_share * max(operator.instances for operator in self._operators.values())
        work_s = 0.0
        for name, operator in self._operators.items():
            cohorts = inputs[name]
            rows = sum(cohort[1] for cohort in cohorts)
            work_s += operator.run_stage(rows, slots)
            for downstream, sent in operator.hand_on(cohorts):
                if downstream in inputs:
                    inputs[downstream].extend(sent)
                    self._operators[downstream].tally.arrived += sum(cohort[1] for cohort in sent)
                else:
                    self._outputs.append((name, downstream, sent))
        self._began_s = now_s
        self.ends_s = now_s + self._overhead_s + work_s
        for operator in self._operators.values():
            operator.tally.work_s += work_s
            operator.tally.worked_s += work_s + self._overhead_s

    def finish(self) -> list[tuple[str, str | None, list[Cohort]]]:
        """Commit the batch: (from, to, events) for all that leaves the segment; `to` is None for what is completed."""
        outputs, self._outputs = self._outputs, []
        self.ends_s = None
        return outputs

    def delay(self, part: float) -> None:
        """Do a part of the batch in progress again, as after the loss of a worker."""
        if self.ends_s is not None:
            self.ends_s += part * (self.ends_s - self._began_s)
