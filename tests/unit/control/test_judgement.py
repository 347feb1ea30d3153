from collections.abc import Callable
from dataclasses import replace

import pytest

from penstock.control.judgement import Performance, Trial, judge
from penstock.model import Configuration, Expected, Observation

Setting = Callable[..., Configuration]
Sight = Callable[..., Observation]


@pytest.fixture
def verdict(configuration: Setting, observation: Sight) -> Callable[..., str | None]:
    """The verdict over a change, from (input, throughput, backlog) before and after it."""

    def make(
        was: tuple[float, float, float] | None,
        now: tuple[float, float, float],
        promised: float | None = None,
        grew: bool = True,
        patient: bool = True,
    ) -> str | None:
        before, after = configuration(), configuration(split=4)
        baseline = () if was is None else (observation(10.0, before, *was),)
        expected = None if promised is None else Expected({"words": promised})
        trial = Trial(10.0, before, after, grew, expected, baseline)
        found = judge(trial, (observation(40.0, after, *now),), 0.1, patient)
        return None if found is None else found.verdict

    return make


@pytest.mark.parametrize(
    ("was", "now", "promised", "grew", "wanted"),
    [
        # It keeps up, as promised, or without a promise.
        ((100, 60, 500), (100, 100, 400), 100.0, True, "met"),
        ((100, 60, 500), (100, 91, 900), 100.0, True, "met"),
        ((100, 60, 500), (100, 60, 900), None, True, "met"),
        # The load fell, so less is completed than before and than was promised.
        ((100, 100, 0), (50, 50, 0), 100.0, True, "met"),
        # Better than before, but less than promised.
        ((100, 40, 500), (100, 80, 600), 100.0, True, "short"),
        # It took more and gave nothing.
        ((100, 60, 500), (100, 60, 900), 100.0, True, "worse"),
        ((100, 60, 500), (100, 62, 900), 100.0, True, "worse"),
        # It took more and gave nothing, but the load has risen since: who knows what it would be without.
        ((100, 60, 500), (130, 60, 900), 100.0, True, "short"),
        # Less than before, with work waiting.
        ((100, 80, 500), (100, 60, 900), None, True, "worse"),
        ((100, 100, 0), (100, 70, 300), None, False, "worse"),
        # A smaller setting that keeps what there was is no failure, whatever was promised.
        ((100, 60, 500), (100, 60, 900), 100.0, False, "short"),
        # Less than before because there is less to do: the backlog has been drained.
        ((100, 150, 500), (100, 100, 0), 150.0, True, "met"),
        # Fewer are completed just now, but the backlog shrinks all the same.
        ((100, 100, 500), (100, 80, 400), None, True, "met"),
        # Nothing is known from before.
        (None, (100, 50, 10), 100.0, True, "short"),
        (None, (100, 50, 10), None, True, "met"),
    ],
)
def test_verdicts(
    verdict: Callable[..., str | None],
    was: tuple[float, float, float] | None,
    now: tuple[float, float, float],
    promised: float | None,
    grew: bool,
    wanted: str,
) -> None:
    assert verdict(was, now, promised, grew) == wanted


def test_an_application_that_completes_nothing_is_waited_for_but_not_for_ever(
    verdict: Callable[..., str | None],
) -> None:
    assert verdict((100, 100, 0), (100, 0, 900)) is None
    assert verdict((100, 100, 0), (100, 0, 900), patient=False) == "worse"
    assert verdict((0, 0, 0), (0, 0, 0)) == "met"


def test_the_worst_application_decides(configuration: Setting, observation: Sight) -> None:
    before = Configuration({"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}}, 1)
    good, bad = observation(10.0, configuration()), observation(10.0, configuration(), 100.0, 50.0, 900.0)
    fine, awful = good.applications["words"], bad.applications["words"]
    was = replace(good, applications={"a": fine, "b": fine, "c": fine})
    now = replace(good, at_s=40.0, applications={"a": fine, "b": awful, "c": fine})
    found = judge(Trial(10.0, before, before, True, None, (was,)), (now,), 0.1)
    assert found is not None
    assert (found.verdict, found.because) == (
        "worse",
        "b completes 50 of 100 events/s, before the change it completed 100",
    )


def test_performance_is_averaged_over_time_and_takes_the_last_backlog(
    configuration: Setting, observation: Sight
) -> None:
    short = replace(observation(5.0, configuration(), 40.0, 10.0, 7.0), window_s=5.0)
    long = replace(observation(20.0, configuration(), 100.0, 70.0, 3.0), window_s=15.0)
    assert Performance.of("words", (short, long)) == Performance(85.0, 55.0, 3.0)


def test_incomplete_observations_do_not_count(configuration: Setting, observation: Sight) -> None:
    whole = observation(10.0, configuration(), 40.0, 10.0, 7.0)
    partly = replace(whole, applications={"words": replace(whole.applications["words"], throughput_per_s=None)})
    assert Performance.of("words", (whole, partly)) == Performance(40.0, 10.0, 7.0)
    assert Performance.of("words", (partly,)) is None
    assert Performance.of("other", (whole,)) is None


def test_nothing_is_judged_that_is_not_known(configuration: Setting, observation: Sight) -> None:
    whole = observation(10.0, configuration())
    blind = replace(whole, applications={"words": replace(whole.applications["words"], backlog=None)})
    trial = Trial(0.0, configuration(), configuration(split=3), True, None, (whole,))
    assert judge(trial, (blind,), 0.1) is None
    assert judge(trial, (blind,), 0.1, patient=False) is None


def test_a_patient_judge_looks_between_the_first_and_the_last_completion(
    configuration: Setting, observation: Sight
) -> None:
    """Micro-batches longer than a window: 120 are completed in every other one, which is 80 per window at least."""
    trial = Trial(10.0, configuration(), configuration(split=4), True, Expected({"words": 75.0}), ())
    rates = (0.0, 120.0, 0.0, 120.0, 0.0, 0.0)
    after = tuple(observation(40.0 + 10 * i, configuration(split=4), 100.0, rate) for i, rate in enumerate(rates))
    found = judge(trial, after, 0.0)
    assert found is not None
    assert (found.verdict, found.because) == ("met", "words completes 80 of 100 events/s, as promised")
    hasty = judge(trial, after, 0.0, patient=False)
    assert hasty is not None
    assert hasty.verdict == "short"


def test_one_that_stood_still_before_the_change_is_not_blamed_on_it(configuration: Setting, observation: Sight) -> None:
    stood = observation(10.0, configuration(), 100.0, 0.0, 500.0)
    trial = Trial(10.0, configuration(), configuration(split=4), True, None, (stood,))
    assert judge(trial, (observation(99.0, configuration(split=4), 100.0, 0.0, 900.0),), 0.1, patient=False) is None
