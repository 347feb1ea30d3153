import json
from collections.abc import Callable

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.profiling import Line, TanhNetwork, choose, function_from_json, percentage_error, relative_error
from penstock.profiling.functions import Floats, affine, median, network, proportional

X = np.linspace(10.0, 400.0, 80)


def noisy(curve: Callable[[Floats], Floats], share: float = 0.02) -> Floats:
    return curve(X) * (1 + share * np.random.default_rng(1).standard_normal(len(X)))


def test_a_line_through_the_origin_is_found_and_preferred_where_it_is_true() -> None:
    fitted = choose(X.tolist(), noisy(lambda x: 0.002 * x).tolist())
    assert fitted.errors["proportional"] < 0.03
    assert fitted.errors[fitted.chosen] == fitted.error == min(fitted.errors.values())
    assert proportional(X, 0.002 * X).slope == pytest.approx(0.002)


def test_a_fixed_part_calls_for_the_affine_line() -> None:
    fitted = choose(X.tolist(), noisy(lambda x: 0.3 + 0.001 * x, 0.01).tolist())
    assert fitted.errors["affine"] < 0.1 * fitted.errors["proportional"]
    line = affine(X, 0.3 + 0.001 * X)
    assert (line.slope, line.intercept) == (pytest.approx(0.001), pytest.approx(0.3))


def test_a_few_disturbed_samples_have_no_pull_on_the_median_line() -> None:
    disturbed = 0.3 + 0.001 * X
    disturbed[::8] *= 2.0
    line = median(X, disturbed)
    assert (line.slope, line.intercept) == (pytest.approx(0.001), pytest.approx(0.3))
    errors = choose(X.tolist(), disturbed.tolist()).errors
    assert errors["median"] < 0.9 * errors["affine"]


def test_a_bend_calls_for_the_network() -> None:
    fitted = choose(X.tolist(), (1 - np.exp(-X / 100)).tolist())
    assert fitted.chosen == "network"
    assert fitted.error < 0.01


def test_the_network_goes_on_in_proportion_beyond_its_samples() -> None:
    learned = network(X, np.tanh(X / 200))
    assert isinstance(learned, TanhNetwork)
    edge, beyond = learned(np.array([400.0, 800.0]))
    assert beyond == pytest.approx(2 * edge)


def test_no_function_is_negative() -> None:
    assert Line(0.01, -1.0)(np.array([0.0, 50.0])).tolist() == [0.0, 0.0]
    assert float(network(X, 0.001 * X)(np.array([0.0]))[0]) >= 0.0


@pytest.mark.parametrize("function", [Line(0.5, 0.1), network(X, np.tanh(X / 200))])
def test_functions_survive_json(function: Line | TanhNetwork) -> None:
    again = function_from_json(json.loads(json.dumps(function.to_json())))
    assert again == function
    assert again(X).tolist() == function(X).tolist()


@pytest.mark.parametrize("body", [{"kind": "line"}, {"kind": "line", "slope": "steep", "intercept": 0}])
def test_a_broken_function_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="not complete"):
        function_from_json(body)


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown kind 'spline'"):
        function_from_json({"kind": "spline"})


def test_samples_that_do_not_vary_give_a_line() -> None:
    same = np.full(5, 3.0)
    for line in (affine(same, 2 * same), median(same, 2 * same)):
        assert line.slope == pytest.approx(2.0)
    assert isinstance(network(same, 2 * same), Line)


def test_one_sample_is_too_few() -> None:
    with pytest.raises(UsageError, match="from 1 samples"):
        choose([1.0], [2.0])


def test_the_same_seed_gives_the_same_choice() -> None:
    y = noisy(lambda x: 0.002 * x).tolist()
    assert choose(X.tolist(), y, seed=3) == choose(X.tolist(), y, seed=3)


def test_errors() -> None:
    assert relative_error(np.array([1.0, 3.0]), np.array([2.0, 2.0])) == 0.5
    assert relative_error(np.array([1.0]), np.array([0.0])) == 0.0
    assert percentage_error([1.1, 5.0], [1.0, 0.001], least=0.01) == pytest.approx(0.1)
    assert percentage_error([], []) == 0.0
