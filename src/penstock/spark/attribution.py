"""Which operator a stage's work belongs to, and what each operator did in a handful of batches.

Stages are joined to operators through the marks of the plan (see `markers`): the `OUT` mark of an operator lies in a
generated stage of the plan that runs in the operator's own stage. Where the marks do not fit the batch at hand (a source
without new data changes the plan), stages are counted off in order of flow, which is exact for a chain of operators.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
class Work:
    """What one operator did: useful seconds, rows it read and wrote across exchanges, and its last stage."""

    busy_s: float
    read_rows: int
    written_rows: int
    last: StageRecord
    alone: bool = True
    """Whether its stages are its own; otherwise rows across exchanges are those of all who share them."""


Owners = Mapping[int, tuple[str, ...]]
"""The operators to which each stage belongs."""


def stage_owners(
    stages: Sequence[StageRecord], codegens: Mapping[int, frozenset[int]], sample: Sample | None, flow: Flow
) -> Owners:
    """To whom the stages of one batch belong; empty if that cannot be told."""
    numbers = sorted({stage.stage for stage in stages})
    if len(flow.operators) == 1:
        return dict.fromkeys(numbers, flow.operators)
    if sample is not None and sample.stages == len(numbers):
        marked = _marked_owners(numbers, codegens, sample, flow)
        if any(marked.values()):
            return _with_unmarked(marked, flow)
    if len(numbers) == len(flow.stages):
        counted = {number: () if name is None else (name,) for number, name in zip(numbers, flow.stages, strict=True)}
        return _with_unmarked(counted, flow)
    return {}


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


def _with_unmarked(owners: dict[int, tuple[str, ...]], flow: Flow) -> Owners:
    """Stages without an operator read a channel, for those it feeds, or come from the sink, behind the last operator."""
    last = max((number for number, names in owners.items() if names), default=-1)
    readers = flow.readers or flow.operators[:1]
    return {number: names or (readers if number < last else flow.operators[-1:]) for number, names in owners.items()}


def work_of(batches: Iterable[tuple[Sequence[StageRecord], Owners]]) -> dict[str, Work]:
    """What every operator did in some batches. A stage of several operators counts for each in equal parts."""
    done: dict[str, Work] = {}
    for stages, owners in batches:
        for stage in stages:
            names = owners.get(stage.stage, ())
            for name in names:
                done[name] = _added(done.get(name), stage, len(names))
    return done


def _added(work: Work | None, stage: StageRecord, owners: int) -> Work:
    busy_s = stage.run_s / owners
    if work is None:
        return Work(busy_s, stage.read_rows, stage.written_rows, stage, owners == 1)
    last = max(work.last, stage, key=lambda record: (record.stage, record.attempt))
    return Work(
        work.busy_s + busy_s,
        work.read_rows + stage.read_rows,
        work.written_rows + stage.written_rows,
        last,
        work.alone and owners == 1,
    )


def covered_s(stages: Iterable[StageRecord]) -> float:
    """The time in which at least one of the stages was at work."""
    total, reached = 0.0, float("-inf")
    spans = ((s.submitted_at_s, s.completed_at_s) for s in stages)
    for begin, end in sorted((begin, end) for begin, end in spans if begin is not None and end is not None):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
