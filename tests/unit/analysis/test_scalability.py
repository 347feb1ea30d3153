import math

import pytest

from penstock.analysis import ScalabilityLaw, fit_scalability
from penstock.errors import InvalidModel


def test_without_coefficients_scaling_is_linear() -> None:
    law = ScalabilityLaw(rate_per_s=50.0)
    assert [law.total_per_s(k) for k in (1, 2, 10)] == [50, 100, 500]
    assert law.instance_per_s(7) == pytest.approx(50)
    assert law.peak == math.inf


def test_contention_levels_off() -> None:
    law = ScalabilityLaw(contention=0.1)
    assert law.speedup(1) == 1
    assert law.speedup(10_000) == pytest.approx(10, rel=0.01)
    assert ScalabilityLaw(contention=1.0).peak == 1


def test_coherence_makes_a_peak() -> None:
    law = ScalabilityLaw(contention=0.04, coherence=0.01)
    assert law.peak == pytest.approx(math.sqrt(96))
    best = max(range(1, 100), key=law.speedup)
    assert best in (math.floor(law.peak), math.ceil(law.peak))
    assert ScalabilityLaw(contention=0.0, coherence=4.0).peak == 1


@pytest.mark.parametrize(
    "law",
    [
        ScalabilityLaw(0.0, 0.0, 100.0),
        ScalabilityLaw(0.05, 0.0, 80.0),
        ScalabilityLaw(0.02, 0.003, 1234.5),
    ],
)
def test_fit_recovers_the_law(law: ScalabilityLaw) -> None:
    fitted = fit_scalability([(k, law.total_per_s(k)) for k in (1, 2, 4, 8, 16)])
    assert fitted is not None
    assert fitted.rate_per_s == pytest.approx(law.rate_per_s)
    assert fitted.contention == pytest.approx(law.contention, abs=1e-9)
    assert fitted.coherence == pytest.approx(law.coherence, abs=1e-9)


def test_fit_with_few_points() -> None:
    assert fit_scalability([]) is None
    assert fit_scalability([(3, 0.0), (0, 5.0)]) is None
    one = fit_scalability([(4, 200.0), (4, 200.0)])
    assert one is not None
    assert one.rate_per_s == pytest.approx(50.0)
    assert (one.contention, one.coherence) == (0.0, 0.0)
    two = fit_scalability([(1, 100.0), (3, 250.0)])
    assert two is not None
    assert two.total_per_s(3) == pytest.approx(250)
    assert two.contention > 0
    assert two.coherence == 0


def test_points_that_fit_no_law_give_none() -> None:
    assert fit_scalability([(4, 4.0), (8, 1.0), (16, 0.1)]) is None


def test_better_than_linear_is_taken_for_linear() -> None:
    fitted = fit_scalability([(1, 100.0), (2, 230.0), (4, 500.0)])
    assert fitted is not None
    assert (fitted.contention, fitted.coherence) == (0, 0)


def test_refuses_negative_coefficients() -> None:
    with pytest.raises(InvalidModel, match="at least 0"):
        ScalabilityLaw(contention=-0.1)
