"""Journals of simulated runs replay to the same decisions, and a loop can go on from a journal."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from penstock.control import (
    Acted,
    Action,
    ControlLoop,
    Decided,
    Entry,
    LoopSettings,
    Observed,
    Plant,
    Ports,
    Refused,
    began,
    replay,
    rewound,
)
from penstock.errors import ActionFailed, BadObservation, UsageError
from penstock.model import Configuration, Objectives, Observation, Reconfigure, smallest
from penstock.policies import POLICIES, policy
from penstock.simulation import World, WorldSettings
from penstock.stores import MemoryJournal, decode_entry, encode_entry
from penstock.workloads import Sine, application

UNTIL_S = 900.0


def world(execution: str = "pipelined", kind: type[World] = World) -> World:
    app = application("top-words")
    segments = (app.topology.order,) if execution == "fused" else ()
    app = replace(app, topology=replace(app.topology, segments=segments))
    topologies = {app.name: app.topology}
    settings = WorldSettings(seed=3, noise=0.03, step_s=2.0)
    return kind([(app, Sine(50.0, 800.0, 400.0))], app.cluster, smallest(topologies, app.cluster), settings)


def ports_of(simulated: World) -> Ports:
    return Ports(simulated, simulated, simulated, MemoryJournal())


def started(simulated: World, name: str) -> ControlLoop[object]:
    plant = Plant(simulated.topologies, simulated.cluster, Objectives())
    loop: ControlLoop[object] = ControlLoop(plant, policy(name), ports_of(simulated), LoopSettings(settle_s=20.0))
    loop.begin({"policy": name})
    return loop


def journal_of(name: str, execution: str = "pipelined", kind: type[World] = World) -> list[Entry]:
    loop = started(world(execution, kind), name)
    loop.run(UNTIL_S)
    return list(loop.ports.journal.entries())


@pytest.mark.parametrize("execution", ["pipelined", "fused"])
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_journal_replays_to_the_same_decisions(name: str, execution: str) -> None:
    entries = journal_of(name, execution)
    replayed = replay(entries, policy(name))
    assert len(replayed) > 80
    assert all(one.same for one in replayed)


def test_a_journal_that_was_written_and_read_replays_as_well() -> None:
    entries = [decode_entry(encode_entry(entry)) for entry in journal_of("ds2")]
    replayed = replay(entries, policy("ds2"))
    assert sum(isinstance(one.again.decision, Reconfigure) for one in replayed if one.again) >= 3
    assert all(one.same for one in replayed)


def tampered(entries: Sequence[Entry], factor: float) -> list[Entry]:
    """The same journal, with another load in the second half."""
    result: list[Entry] = []
    for entry in entries:
        if isinstance(entry, Observed) and entry.at_s > UNTIL_S / 2:
            seen = entry.observation.applications["top-words"]
            operators = {
                name: replace(o, busy_s=None if o.busy_s is None else o.busy_s * factor)
                for name, o in seen.operators.items()
            }
            more = replace(seen, input_per_s=(seen.input_per_s or 0.0) * factor, operators=operators)
            result.append(replace(entry, observation=replace(entry.observation, applications={"top-words": more})))
        else:
            result.append(entry)
    return result


@pytest.mark.parametrize("name", ["ds2", "threshold"])
def test_a_journal_that_was_tampered_with_does_not(name: str) -> None:
    entries = journal_of(name)
    assert all(one.same for one in replay(tampered(entries, 1.0), policy(name)))
    replayed = replay(tampered(entries, 3.0), policy(name))
    differ = [one for one in replayed if not one.same]
    assert differ
    assert all(one.recorded is not None and one.recorded.at_s > UNTIL_S / 2 for one in differ)


def test_another_policy_decides_otherwise() -> None:
    assert not all(one.same for one in replay(journal_of("ds2"), policy("ds2:utilisation=0.5")))


class Flaky(World):
    """Measures nonsense now and then, and sometimes does not do as it is told."""

    asked = 0

    def observe(self) -> Observation:
        sight = super().observe()
        if round(self.now_s()) % 70 == 0:
            raise BadObservation("no answer")
        return replace(sight, window_s=-1.0) if round(self.now_s()) % 90 == 0 else sight

    def apply(self, target: Configuration, release: Sequence[str] = ()) -> tuple[Action, ...]:
        self.asked += 1
        if self.asked % 2:
            raise ActionFailed("out of luck")
        return super().apply(target, release)


@pytest.mark.parametrize("name", ["ds2", "threshold:cooldown_rounds=0"])
def test_refusals_and_failures_are_part_of_the_replay(name: str) -> None:
    entries = journal_of(name, kind=Flaky)
    assert sum(isinstance(entry, Refused) for entry in entries) >= 10
    acts = [entry for entry in entries if isinstance(entry, Acted)]
    assert any(act.error is not None for act in acts)
    assert any(act.error is None for act in acts)
    assert all(one.same for one in replay(entries, policy(name)))


@pytest.mark.parametrize("name", sorted(POLICIES))
@pytest.mark.parametrize("cut_s", [90.0, 420.0])
def test_a_rewound_loop_goes_on_as_if_nothing_had_happened(name: str, cut_s: float) -> None:
    whole = journal_of(name)
    simulated = world()
    first = started(simulated, name)
    while simulated.now_s() < cut_s:
        simulated.sleep_until(simulated.now_s() + 10.0)
        first.round()
    kept = list(first.ports.journal.entries())
    assert kept == whole[: len(kept)]
    loop, tape = rewound(kept, policy(name))
    assert [e for e in tape.made if isinstance(e, Decided)] == [e for e in kept if isinstance(e, Decided)]
    loop.ports = ports_of(simulated)
    loop.run(UNTIL_S)
    assert [*kept, *loop.ports.journal.entries()] == whole


def test_a_journal_without_a_start_cannot_be_replayed() -> None:
    entries = journal_of("static")
    assert began(entries) is entries[0]
    for broken in ([], entries[1:]):
        with pytest.raises(UsageError, match="does not begin with the start of a run"):
            replay(broken, policy("static"))


def test_a_decision_that_is_missing_on_one_side_is_a_difference() -> None:
    entries = journal_of("static")
    replayed = replay(entries[:-3], policy("static"))
    assert all(one.same for one in replayed)
    shorter = [entry for entry in entries if not isinstance(entry, Decided)]
    assert all(one.recorded is None and not one.same for one in replay(shorter, policy("static")))
