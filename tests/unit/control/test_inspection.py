import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.control import ControlLoop, Decided, LoopSettings, Observed, Plant, Ports, Refused
from penstock.control.inspection import inspect
from penstock.errors import BadObservation
from penstock.model import (
    ApplicationObservation,
    Cluster,
    Configuration,
    Latency,
    Objectives,
    Observation,
    OperatorObservation,
    Reconfigure,
    Topology,
    View,
    WorkerObservation,
)

Setting = Callable[..., Configuration]
Spoil = Callable[[Observation], Observation]


def application(**changes: Any) -> Spoil:
    def spoil(good: Observation) -> Observation:
        return replace(good, applications={"words": replace(good.applications["words"], **changes)})

    return spoil


def operator(**changes: Any) -> Spoil:
    def spoil(good: Observation) -> Observation:
        operators = good.applications["words"].operators
        return application(operators={**operators, "split": replace(operators["split"], **changes)})(good)

    return spoil


def without_split(good: Observation) -> Observation:
    operators = dict(good.applications["words"].operators)
    del operators["split"]
    return application(operators=operators)(good)


def stranger(good: Observation) -> Observation:
    """An application that is not under control does no harm, but what is said of it is checked."""
    seen = replace(good.applications["words"], operators={"x": OperatorObservation(0)})
    return replace(good, applications={**good.applications, "other": seen})


nan, inf = math.nan, math.inf

SPOILT: list[tuple[Spoil, str]] = [
    (lambda o: replace(o, applications={}), "application 'words' is missing"),
    (without_split, "operator 'split' of 'words' is missing"),
    (lambda o: replace(o, window_s=0.0), "the window of 0.0 s at 10.0 s is no window"),
    (lambda o: replace(o, window_s=-1.0), "the window of -1.0 s"),
    (lambda o: replace(o, window_s=nan), "the window of nan s"),
    (lambda o: replace(o, window_s=inf), "the window of inf s"),
    (lambda o: replace(o, at_s=nan), "at nan s is no window"),
    (lambda o: replace(o, at_s=inf), "at inf s is no window"),
    (lambda o: replace(o, at_s=0.0), "the clock went from 0 to 0 s"),
    (lambda o: replace(o, at_s=-5.0), "the clock went from 0 to -5 s"),
    (lambda o: replace(o, workers={"w1": WorkerObservation(nan)}), "usage of worker 'w1' is nan"),
    (lambda o: replace(o, workers={"w1": WorkerObservation(0.5, 1, -1)}), "state of worker 'w1' is -1"),
    (application(latency=Latency(1.0, 1.0, nan, 1.0)), "latency p95_s of 'words' is nan"),
    (operator(instances=0), "operator 'split' of 'words' has no instance"),
    (operator(output_per_s={"count": -1.0}), "output rate to 'count' of operator 'split' of 'words' is -1.0"),
    (stranger, "operator 'x' of 'other' has no instance"),
]
SPOILT += [
    (application(**{name: value}), f"{name} of 'words' is {value}")
    for name in ("arrived", "completed", "lost", "duplicated", "input_per_s", "throughput_per_s", "backlog", "paused_s")
    for value in (-1.0, nan, inf)
]
SPOILT += [
    (operator(**{name: value}), f" of operator 'split' of 'words' is {value}")
    for name in (
        "input_per_s",
        "processed_per_s",
        "busy_s",
        "time_share",
        "queue",
        "true_rate_per_s",
        "effective_rate_per_s",
        "skew",
        "parallel_share",
        "batches_per_s",
        "state_bytes",
    )
    for value in (-1.0, nan, inf)
]


@pytest.mark.parametrize(("spoil", "said"), SPOILT)
def test_what_is_not_fit_to_act_upon_is_refused(
    topology: Callable[..., Topology],
    configuration: Setting,
    observation: Callable[..., Observation],
    spoil: Spoil,
    said: str,
) -> None:
    good = observation(10.0, configuration())
    inspect(good, {"words": topology()}, 0.0)
    with pytest.raises(BadObservation) as caught:
        inspect(spoil(good), {"words": topology()}, 0.0)
    assert said in str(caught.value)


def test_what_is_not_known_is_no_reason_to_refuse(topology: Callable[..., Topology]) -> None:
    blank = {name: OperatorObservation(1) for name in topology().names}
    seen = Observation(10.0, 10.0, {"words": ApplicationObservation(blank)}, {"w1": WorkerObservation()})
    inspect(seen, {"words": topology()}, None)


class Greedy:
    """Always asks for one more instance of `split`."""

    def start(self) -> None:
        return None

    def decide(self, view: View, memory: None) -> tuple[Reconfigure, None]:
        more = view.requested.parallelism["words"]["split"] + 1
        return Reconfigure(view.requested.with_parallelism("words", "split", more), "more is more"), None


@pytest.mark.parametrize("spoil", [spoil for spoil, _ in SPOILT])
def test_a_refused_measurement_never_leads_to_an_action_and_the_loop_goes_on(
    topology: Callable[..., Topology],
    configuration: Setting,
    observation: Callable[..., Observation],
    cluster: Cluster,
    ports: Any,
    spoil: Spoil,
) -> None:
    def sights(at_s: float, running: Configuration) -> Observation:
        good = observation(at_s, running)
        return spoil(good) if at_s in (20.0, 30.0) else good

    ports.sights = sights
    loop = ControlLoop(
        Plant({"words": topology()}, cluster, Objectives()),
        Greedy(),
        Ports(ports, ports, ports, ports),
        LoopSettings(cooldown_s=0.0, settle_s=1000.0),
    )
    loop.run(50.0)
    by_time = {at_s: [e for e in ports.written if e.at_s == at_s] for at_s in (10.0, 20.0, 30.0, 40.0, 50.0)}
    assert [type(e) for e in by_time[20.0]] == [Refused]
    assert [type(e) for e in by_time[30.0]] == [Refused]
    assert [at_s for at_s, _, _ in ports.applied] == [10.0, 40.0, 50.0]
    assert all(isinstance(by_time[at_s][0], Observed) for at_s in (10.0, 40.0, 50.0))
    assert all(isinstance(by_time[at_s][1], Decided) for at_s in (10.0, 40.0, 50.0))


def test_a_monitor_that_cannot_measure_is_survived(
    topology: Callable[..., Topology],
    configuration: Setting,
    observation: Callable[..., Observation],
    cluster: Cluster,
    ports: Any,
) -> None:
    ports.sights = lambda at_s, running: "the cluster does not answer" if at_s < 30 else observation(at_s, running)
    loop = ControlLoop(Plant({"words": topology()}, cluster, Objectives()), Greedy(), Ports(ports, ports, ports, ports))
    loop.run(30.0)
    assert ports.written[:2] == [
        Refused(10.0, "the cluster does not answer"),
        Refused(20.0, "the cluster does not answer"),
    ]
    assert [at_s for at_s, _, _ in ports.applied] == [30.0]
