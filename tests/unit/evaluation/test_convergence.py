"""Stela's convergence time: settled when throughput swings around its new mean by 5 % at most."""

from penstock.evaluation.convergence import Sample, convergence_times_s


def samples(*values: float, every_s: float = 10.0) -> list[Sample]:
    return [Sample(every_s * (i + 1), every_s, value) for i, value in enumerate(values)]


def test_settled_when_twice_above_and_twice_below() -> None:
    # Mean 1.0: the first two are far off, then 0.97, 1.03, 0.98 and 1.02 swing around it.
    throughput = samples(0.5, 1.5, 0.97, 1.03, 0.98, 1.02)
    assert convergence_times_s([0.0], throughput) == (60.0,)


def test_a_swing_out_of_the_band_starts_the_count_again() -> None:
    throughput = samples(0.97, 1.03, 0.98, 1.5, 0.52, 0.97, 1.03, 0.96, 1.04)
    assert convergence_times_s([0.0], throughput) == (90.0,)


def test_a_drift_that_never_crosses_the_mean_in_the_band_has_not_settled() -> None:
    assert convergence_times_s([0.0], samples(0.5, 0.7, 0.9, 1.1, 1.3, 1.5)) == (None,)


def test_a_throughput_that_does_not_move_has_settled_after_four_windows() -> None:
    # The pause in the first window keeps the mean below the steady value for good: there is nothing to cross.
    assert convergence_times_s([0.0], samples(0.4, *[1.0] * 20)) == (50.0,)


def test_each_reconfiguration_is_measured_up_to_the_next() -> None:
    throughput = samples(*[1.0] * 6, 0.2, 1.8, *[1.0] * 8)
    assert convergence_times_s([0.0, 60.0, 150.0], throughput) == (20.0, 40.0, None)


def test_nothing_without_reconfigurations_or_throughput() -> None:
    assert convergence_times_s([], samples(1.0)) == ()
    assert convergence_times_s([0.0], []) == (None,)
    assert convergence_times_s([0.0], samples(0.0, 0.0, 0.0, 0.0)) == (None,)
