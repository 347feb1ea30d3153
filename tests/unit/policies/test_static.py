from dataclasses import replace
from typing import Literal

import pytest

from penstock.errors import UsageError
from penstock.model import Configuration, Keep, Objectives, Reconfigure, View
from penstock.policies import Static
from penstock.testing import crossing, pipeline, view_of

TWO = (pipeline((100.0, 50.0), max_parallelism=6), crossing())
START = Configuration({a.name: {o.name: o.clip(2) for o in a.topology.operators} for a in TWO}, 5)


def target(policy: Static, view: View) -> Configuration:
    decision, _ = policy.decide(view, None)
    assert isinstance(decision, Reconfigure)
    assert "static" in decision.because
    again, _ = policy.decide(replace(view, requested=decision.target), None)
    assert isinstance(again, Keep)
    return decision.target


def test_initial_keeps_whatever_runs() -> None:
    decision, _ = Static().decide(view_of(TWO, START, (), 60.0), None)
    assert decision == Keep("the setting is static")


def test_largest_takes_everything() -> None:
    wanted = target(Static("largest"), view_of(TWO, START, (), 60.0))
    assert wanted.workers == 16
    assert wanted.parallelism["pipeline"] == {"s0": 6, "s1": 6}
    assert wanted.parallelism["crossing"]["alert"] == 2


def test_smallest_takes_the_least() -> None:
    wanted = target(Static("smallest"), view_of(TWO, START, (), 60.0))
    assert wanted.parallelism["pipeline"] == {"s0": 1, "s1": 1}
    assert wanted.parallelism["crossing"]["meet"] == 2
    assert wanted.workers == 3


def test_parallelism_is_clipped_and_gets_the_workers_it_needs() -> None:
    wanted = target(Static(parallelism=5), view_of(TWO, START, (), 60.0))
    assert wanted.parallelism["pipeline"] == {"s0": 5, "s1": 5}
    assert wanted.parallelism["crossing"]["alert"] == 2
    assert wanted.workers == 9


def test_workers_alone_leave_the_parallelism() -> None:
    wanted = target(Static(workers=7), view_of(TWO, START, (), 60.0))
    assert (wanted.workers, wanted.parallelism) == (7, START.parallelism)


@pytest.mark.parametrize("preset", ["largest", "initial"])
def test_the_quota_limits_the_workers(preset: Literal["largest", "initial"]) -> None:
    limited = replace(view_of(TWO, START, (), 60.0), objectives=Objectives(max_workers=3))
    assert target(Static(preset, workers=12), limited).workers == 3


@pytest.mark.parametrize(("workers", "parallelism"), [(0, None), (None, -1)])
def test_refuses_sizes_below_one(workers: int | None, parallelism: int | None) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Static(workers=workers, parallelism=parallelism)
