"""What the user asks for reaches the policy, the journal and every replay of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from penstock.control import Acted, ControlLoop, Entry, Judged, LoopSettings, Observed, Plant, Ports, Requested
from penstock.control.replay import replay, rewound
from penstock.errors import InvalidModel, UsageError
from penstock.model import (
    Cluster,
    Configuration,
    Decision,
    Keep,
    Objectives,
    Observation,
    Reconfigure,
    ScaleRequest,
    View,
)
from penstock.stores import decode_entry, encode_entry


@dataclass(frozen=True)
class Obedient:
    """Goes to as many workers as the requests add up to."""

    on_request: bool = True

    def start(self) -> int:
        return 0

    def decide(self, view: View, memory: int) -> tuple[Decision, int]:
        new = view.requests[memory:]
        if not new:
            return Keep("nothing was asked for"), memory
        target = view.requested.with_workers(view.requested.workers + sum(request.workers for request in new))
        return Reconfigure(target, "asked for", on_request=self.on_request), len(view.requests)


@pytest.fixture
def make_loop(ports: Any, topology: Callable[..., Any], cluster: Cluster) -> Callable[..., ControlLoop[int]]:
    def make(on_request: bool = True) -> ControlLoop[int]:
        plant = Plant({"words": topology()}, cluster, Objectives())
        settings = LoopSettings(cooldown_s=0.0, scale_down_after_s=0.0, settle_s=20.0)
        loop = ControlLoop(plant, Obedient(on_request), Ports(ports, ports, ports, ports), settings)
        loop.begin({"policy": "obedient"})
        return loop

    return make


def test_a_request_is_written_down_and_served_in_the_next_round(
    make_loop: Callable[..., ControlLoop[int]], ports: Any
) -> None:
    loop = make_loop()
    loop.request(2)
    assert not any(isinstance(entry, Requested) for entry in ports.written)
    loop.run(20.0)
    kinds = [type(entry).__name__ for entry in ports.written]
    assert kinds[:5] == ["Started", "Observed", "Requested", "Decided", "Acted"]
    assert ports.written[2] == Requested(10.0, 2)
    assert ports.running.workers == 4


def test_planned_requests_are_made_at_their_times(make_loop: Callable[..., ControlLoop[int]], ports: Any) -> None:
    make_loop().run(60.0, planned=(ScaleRequest(45.0, -1), ScaleRequest(20.0, 3)))
    asked = [entry for entry in ports.written if isinstance(entry, Requested)]
    assert asked == [Requested(20.0, 3), Requested(50.0, -1)]
    assert [target.workers for _, target, _ in ports.applied] == [5, 4]


def test_a_request_waits_for_a_round_that_sees_something(
    make_loop: Callable[..., ControlLoop[int]], ports: Any, observation: Callable[..., Observation]
) -> None:
    ports.sights = lambda at_s, running: "no answer" if at_s < 25 else observation(at_s, running)
    loop = make_loop()
    loop.request(1)
    loop.run(40.0)
    assert [entry.at_s for entry in ports.written if isinstance(entry, Requested)] == [30.0]


def journal(make_loop: Callable[..., ControlLoop[int]], ports: Any) -> list[Entry]:
    make_loop().run(80.0, planned=(ScaleRequest(20.0, 2), ScaleRequest(20.0, 1), ScaleRequest(60.0, -2)))
    return [decode_entry(encode_entry(entry)) for entry in ports.written]


def test_requests_are_replayed(make_loop: Callable[..., ControlLoop[int]], ports: Any) -> None:
    entries = journal(make_loop, ports)
    assert all(one.same for one in replay(entries, Obedient()))
    forgotten = [entry for entry in entries if not isinstance(entry, Requested)]
    assert not all(one.same for one in replay(forgotten, Obedient()))


def test_a_run_that_was_cut_off_goes_on_from_any_entry(make_loop: Callable[..., ControlLoop[int]], ports: Any) -> None:
    entries = journal(make_loop, ports)
    for cut in range(2, len(entries)):
        _, tape = rewound(entries[:cut], Obedient())
        asked = [entry for entry in entries[:cut] if isinstance(entry, Requested)]
        assert [entry for entry in tape.made if isinstance(entry, Requested)] == asked


@pytest.mark.parametrize(("on_request", "rolled_back"), [(True, False), (False, True)])
def test_what_the_user_asked_for_is_not_rolled_back(
    make_loop: Callable[..., ControlLoop[int]],
    ports: Any,
    observation: Callable[..., Observation],
    on_request: bool,
    rolled_back: bool,
) -> None:
    def sight(at_s: float, running: Configuration) -> Observation:
        slow = running.workers < 2
        return observation(at_s, running, throughput_per_s=40.0 if slow else 100.0, backlog=at_s if slow else 0.0)

    ports.sights = sight
    make_loop(on_request).run(80.0, planned=(ScaleRequest(30.0, -1),))
    assert any(isinstance(entry, Judged) for entry in ports.written) == rolled_back
    assert (ports.running.workers == 2) == rolled_back
    assert sum(isinstance(entry, Acted) for entry in ports.written) == 1 + rolled_back
    assert any(isinstance(entry, Observed) for entry in ports.written)


def test_a_request_for_nothing_is_refused(make_loop: Callable[..., ControlLoop[int]]) -> None:
    with pytest.raises(UsageError, match="asks for nothing"):
        make_loop().request(0)
    with pytest.raises(InvalidModel, match="asks for nothing"):
        ScaleRequest(1.0, 0)
