import numpy as np
import pytest

from penstock.analysis import (
    Space,
    benefit_score,
    bootstrap_set,
    fit_gaussian_process,
    has_changed,
    resource_ratio,
    score_threshold,
    transferred_samples,
)


@pytest.mark.parametrize(
    ("parallelism", "base", "latency_s", "target_s", "published"),
    [
        ((7, 8, 12, 38), (3, 4, 12, 10), 0.172, 0.18, 0.9096),
        ((10, 16, 12, 10), (3, 4, 12, 10), 0.160, 0.18, 0.9275),
        ((4, 2, 1, 1, 40), (4, 2, 1, 1, 34), 0.2237, 0.3, 0.994),
    ],
)
def test_scores_are_the_published_ones(
    parallelism: tuple[int, ...], base: tuple[int, ...], latency_s: float, target_s: float, published: float
) -> None:
    assert benefit_score(parallelism, base, latency_s, target_s, 0.8) == pytest.approx(published, abs=5e-5)


def test_a_late_configuration_scores_less() -> None:
    assert benefit_score((2,), (1,), 0.4, 0.2, 0.8) == pytest.approx(0.8 * 0.5 + 0.2 * 0.5)
    assert benefit_score((2,), (1,), 0.0, 0.2, 0.8) == pytest.approx(0.9)
    assert resource_ratio((2, 4), (1, 4)) == 0.75


def test_the_threshold_allows_the_given_over_allocation() -> None:
    assert score_threshold(0.8, 1.0) == pytest.approx(0.9)
    exactly = benefit_score((5, 5), (4, 4), 0.1, 0.2, 0.8)
    assert exactly == pytest.approx(score_threshold(0.8, 0.25))


def test_the_bootstrap_set_has_even_and_single_samples() -> None:
    assert bootstrap_set(Space((3, 4, 12, 10), (40, 40, 40, 40)), 3) == (
        (12, 12, 12, 12),
        (26, 26, 26, 26),
        (40, 40, 40, 40),
        (40, 4, 12, 10),
        (3, 40, 12, 10),
        (3, 4, 40, 10),
        (3, 4, 12, 40),
    )


def test_the_bootstrap_set_stays_within_bounds_and_has_nothing_twice() -> None:
    assert bootstrap_set(Space((1, 2), (1, 4)), 3) == ((1, 2), (1, 3), (1, 4))
    assert bootstrap_set(Space((1, 2), (4, 8)), 1) == ((2, 2), (4, 2), (1, 8))


def test_points_are_scaled_by_their_reciprocal() -> None:
    space = Space((2, 4, 5), (8, 16, 5))
    scaled = space.unit([(2, 4, 5), (4, 8, 5), (8, 16, 5)])
    assert scaled[0].tolist() == [0, 0, 0]
    assert scaled[1] == pytest.approx([2 / 3, 2 / 3, 0])
    assert scaled[2].tolist() == [1, 1, 0]


def test_a_model_of_another_rate_is_corrected_by_the_samples_of_the_new_one() -> None:
    space = Space((1, 1), (20, 20))
    points = [(a, b) for a in (1, 3, 8, 20) for b in (1, 3, 8, 20)]

    def old(point: tuple[int, ...]) -> float:
        return 1.0 / point[0] + 0.5 / point[1]

    source = fit_gaussian_process(space.unit(points), [old(point) for point in points])
    samples = [(point, old(point) + 0.3) for point in ((1, 1), (3, 8), (20, 20))]
    wanted = [(2, 2), (5, 12), (8, 1)]
    predicted = transferred_samples(source, space, space, samples, wanted)
    assert [point for point, _ in predicted] == wanted
    for point, value in predicted:
        assert value == pytest.approx(old(point) + 0.3, abs=0.05)
    alone = fit_gaussian_process(space.unit([p for p, _ in samples]), [v for _, v in samples])
    errors = [abs(value - old(point) - 0.3) for point, value in predicted]
    without = np.abs(alone.predict(space.unit(wanted))[0] - [old(point) + 0.3 for point in wanted])
    assert sum(errors) < 0.5 * float(without.sum())


@pytest.mark.parametrize(
    ("rates", "changed"),
    [
        ([100, 100, 120, 121, 119], True),
        ([80, 79, 81], True),
        ([100, 120, 100, 120, 100], False),
        ([120, 80, 120], False),
        ([100, 100, 150], False),
        ([109, 109, 109], False),
        ([150, 150], False),
        ([], False),
    ],
)
def test_a_change_lasts_and_goes_one_way(rates: list[float], changed: bool) -> None:
    assert has_changed(rates, 100.0, 0.1, 3) == changed


def test_anything_is_a_change_from_nothing() -> None:
    assert has_changed([1.0, 1.0], 0.0, 0.1, 2)
    assert not has_changed([0.0, 0.0], 0.0, 0.1, 2)
