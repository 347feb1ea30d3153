from dataclasses import replace

import pytest

from penstock.errors import UsageError
from penstock.model import Configuration, Keep, Latency, Objectives, Reconfigure, View
from penstock.policies import Drs, policy
from penstock.testing import pipeline, steady_view

APP = pipeline((100.0, 10.0, 25.0))


def view(
    load_per_s: float, parallelism: tuple[int, int, int], target_s: float = 5.0, latency_s: float | None = None
) -> View:
    start = Configuration({"pipeline": dict(zip(("s0", "s1", "s2"), parallelism, strict=True))}, 1)
    start = start.fitted({"pipeline": APP.topology}, APP.cluster)
    seen = replace(steady_view((APP,), {"pipeline": load_per_s}, start), objectives=Objectives(target_s))
    if latency_s is None:
        return seen
    latency = Latency(latency_s, latency_s, latency_s, latency_s)
    late = tuple(
        replace(o, applications={"pipeline": replace(o.applications["pipeline"], latency=latency)})
        for o in seen.observations
    )
    return replace(seen, observations=late)


def asked(drs: Drs, seen: View) -> tuple[int, ...]:
    """What is asked for, or what there is."""
    memory = drs.start()
    for _ in range(drs.activation_rounds):
        decision, memory = drs.decide(seen, memory)
    target = decision.target if isinstance(decision, Reconfigure) else seen.requested
    return tuple(target.parallelism["pipeline"].values())


def test_every_operator_gets_what_keeps_up() -> None:
    assert asked(Drs(), view(42.0, (1, 1, 1))) == (1, 5, 2)
    assert asked(Drs(), view(42.0, (4, 9, 4))) == (1, 5, 2)


def test_a_tighter_target_needs_more() -> None:
    # Useful time alone is 0.01 + 0.1 + 0.04 s.
    assert asked(Drs(), view(42.0, (1, 1, 1), target_s=0.2)) == (1, 6, 3)
    assert sum(asked(Drs(), view(42.0, (1, 1, 1), target_s=0.16))) > 10


def test_a_target_that_cannot_be_met_uses_all_that_bounds_allow() -> None:
    first, *others = asked(Drs(), view(42.0, (1, 1, 1), target_s=0.1))
    assert others == [16, 16]
    assert first > 10, "until a further one saves nothing that could be reckoned"


def test_measured_latency_calibrates_the_model() -> None:
    seen = view(42.0, (1, 5, 2), target_s=0.5, latency_s=1.0)
    assert asked(Drs(calibrate=False), seen) == (1, 5, 2)
    assert sum(asked(Drs(), seen)) > 8


def test_observed_rates_always_want_more() -> None:
    assert asked(Drs(rate="observed"), view(42.0, (2, 6, 3))) == (3, 7, 4)


def test_a_little_too_much_is_kept() -> None:
    assert asked(Drs(), view(46.0, (1, 5, 2))) == (1, 5, 2)
    assert asked(Drs(), view(46.0, (1, 6, 3))) == (1, 6, 3)
    assert asked(Drs(tolerance=0.0), view(46.0, (1, 6, 3))) == (1, 5, 2)


def test_a_recommendation_must_stand_and_says_why() -> None:
    drs = Drs()
    first, memory = drs.decide(view(42.0, (1, 1, 1)), drs.start())
    assert isinstance(first, Keep)
    assert first.because.startswith("seen 1 of 2 times: the queueing network takes")
    second, _ = drs.decide(view(42.0, (1, 1, 1)), memory)
    assert isinstance(second, Reconfigure)
    assert "with s0 1, s1 5, s2 2, 5 s allowed" in second.because


def test_after_a_change_old_measurements_do_not_count() -> None:
    drs = Drs()
    _, memory = drs.decide(view(42.0, (1, 1, 1)), drs.start())
    decision, memory = drs.decide(view(42.0, (1, 5, 2)), memory)
    assert decision == Keep("nothing was measured since the last change")
    assert memory.counts_from_s == 80.0


@pytest.mark.parametrize("text", ["drs:window_s=0", "drs:activation_rounds=0", "drs:tolerance=-1"])
def test_parameters_are_checked(text: str) -> None:
    with pytest.raises(UsageError, match="DRS needs"):
        policy(text)
