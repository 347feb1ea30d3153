"""Which operator a stage's work belongs to, and what each operator did in a handful of batches.

Stages are joined to operators through the marks of the plan (see `markers`): the `OUT` mark of an operator lies in a
generated stage of the plan that runs in the operator's own stage. Where the marks do not fit the batch at hand (a
source without new data changes the plan), stages are counted off in order of flow, which is exact for a chain.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from penstock.model import Topology
from penstock.spark.compiler import SegmentPlan
from penstock.spark.markers import Mark, Side, marks_in
from penstock.spark.progress import StageRecord
from penstock.spark.status import MarkedRows


@dataclass(frozen=True, slots=True)
class Flow:
    """The operators of a segment in order of flow, and how they are joined.

    `first` is the source that the first stage reads, None if it reads a channel; `readers` are the operators that
    channels feed. `numbers` are the operators' positions in the topology, which marks carry.
    """

    operators: tuple[str, ...]
    first: str | None
    readers: tuple[str, ...]
    numbers: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: SegmentPlan, topology: Topology) -> "Flow":
        """The flow of one segment of an application."""
        inside = set(plan.operators)
        readers = (name for name in plan.operators if set(topology.upstream(name)) - inside)
        numbers = {number: name for number, name in enumerate(topology.names) if name in inside}
        return cls(plan.operators, plan.sources[0] if plan.sources else None, tuple(readers), numbers)

    @property
    def stages(self) -> tuple[str | None, ...]:
        """Whose the stages of a batch are, in order, if the segment is a chain; None reads a channel."""
        return self.operators if self.first is not None else (None, *self.operators)


@dataclass(frozen=True, slots=True)
class Sample:
    """The marks of one batch: how many rows passed, and in which generated stages of the plan they lie.

    `stages` is how many stages that batch had: a batch with another number had another plan.
    """

    batch: int
    stages: int
    rows: Mapping[Mark, int]
    codegens: Mapping[Mark, frozenset[int]]

    @classmethod
    def of(cls, marked: MarkedRows, stages: int) -> "Sample":
        """What the filters of a plan say."""
        rows: dict[Mark, int] = defaultdict(int)
        codegens: dict[Mark, set[int]] = defaultdict(set)
        for node, count in marked.filters:
            for mark in marks_in(node.text):
                rows[mark] += count
                if node.codegen is not None:
                    codegens[mark].add(node.codegen)
        return cls(marked.batch, stages, dict(rows), {mark: frozenset(found) for mark, found in codegens.items()})


@dataclass(frozen=True, slots=True)
class Share:
    """The operators for which a stage works, in equal parts. If it is not their `own`, its rows are not theirs."""

    operators: tuple[str, ...]
    own: bool = True


@dataclass(frozen=True, slots=True)
class Work:
    """What one operator did: useful seconds, rows that its own stages read and wrote, and the last of these.

    `alone` says that its stages are not shared: otherwise rows are those of all who share them.
    """

    busy_s: float = 0.0
    read_rows: int = 0
    written_rows: int = 0
    last: StageRecord | None = None
    alone: bool = True

    def plus(self, stage: StageRecord, share: Share) -> "Work":
        """This and what a stage has done for the operator."""
        busy_s = self.busy_s + stage.run_s / len(share.operators)
        if not share.own:
            return replace(self, busy_s=busy_s)
        return Work(
            busy_s,
            self.read_rows + stage.read_rows,
            self.written_rows + stage.written_rows,
            stage,
            self.alone and len(share.operators) == 1,
        )


Owners: TypeAlias = Mapping[int, Share]
"""For whom each stage works."""


def stage_owners(
    stages: Sequence[StageRecord], codegens: Mapping[int, frozenset[int]], sample: Sample | None, flow: Flow
) -> Owners:
    """For whom the stages of one batch work; empty if that cannot be told."""
    numbers = sorted({stage.stage for stage in stages})
    owners: dict[int, tuple[str, ...]] = {}
    if sample is not None and sample.stages == len(numbers):
        owners = _marked_owners(numbers, codegens, sample, flow)
    if not any(owners.values()) and len(numbers) == len(flow.stages):
        owners = {
            number: (name,) if name is not None else () for number, name in zip(numbers, flow.stages, strict=True)
        }
    if not any(owners.values()) and len(flow.operators) == 1:
        owners = {number: flow.operators if number == numbers[-1] else () for number in numbers}
    return _with_unowned(owners, flow) if any(owners.values()) else {}


def _marked_owners(
    numbers: Sequence[int], codegens: Mapping[int, frozenset[int]], sample: Sample, flow: Flow
) -> dict[int, tuple[str, ...]]:
    owners: dict[int, tuple[str, ...]] = {}
    claimed: set[int] = set()
    for number in numbers:
        # A sink that writes runs a plan of its own on top, whose generated stages are numbered anew: the first counts.
        own = codegens.get(number, frozenset()) - claimed
        claimed |= own
        found = [mark for mark, places in sample.codegens.items() if mark.side is Side.OUT and places & own]
        owners[number] = tuple(flow.numbers[mark.operator] for mark in found if mark.operator in flow.numbers)
    return owners


def _with_unowned(owners: Mapping[int, tuple[str, ...]], flow: Flow) -> Owners:
    """A stage of no operator reads a channel, for those it feeds, or comes from the sink, for the last operator."""
    last = max(number for number, names in owners.items() if names)
    before, behind = Share(flow.readers or flow.operators[:1], own=False), Share(flow.operators[-1:], own=False)
    return {
        number: Share(names) if names else (before if number < last else behind) for number, names in owners.items()
    }


def work_of(batches: Iterable[tuple[Sequence[StageRecord], Owners]]) -> dict[str, Work]:
    """What every operator did in some batches, given in the order in which they ran."""
    done: dict[str, Work] = {}
    for stages, owners in batches:
        for stage in stages:
            share = owners.get(stage.stage)
            for name in share.operators if share is not None else ():
                assert share is not None
                done[name] = done.get(name, Work()).plus(stage, share)
    return done


def covered_s(stages: Iterable[StageRecord]) -> float:
    """The time in which at least one of the stages was at work."""
    total, reached = 0.0, float("-inf")
    spans = ((s.submitted_at_s, s.completed_at_s) for s in stages)
    for begin, end in sorted((begin, end) for begin, end in spans if begin is not None and end is not None):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
