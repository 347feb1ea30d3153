import math

import pytest

from penstock.analysis import make_up_for_limits


def test_without_limits_nothing_changes() -> None:
    needs = {"a": 2.5, "b": 2.5}
    assert make_up_for_limits(needs, {"a": 0.2, "b": 0.8}, {"a": 8, "b": 8}) == needs


def test_the_others_make_up_for_a_member_at_its_limit() -> None:
    # 0.5 busy seconds per second for a, 1.5 for b. With one instance of a half of the time is left for b: three.
    needs = make_up_for_limits({"a": 2.0, "b": 2.0}, {"a": 0.25, "b": 0.75}, {"a": 1, "b": 8})
    assert needs["b"] == pytest.approx(3.0)


def test_limits_may_be_hit_one_after_the_other() -> None:
    shares = {"a": 0.2, "b": 0.2, "c": 0.6}
    needs = make_up_for_limits(dict.fromkeys("abc", 2.0), shares, {"a": 1, "b": 2, "c": 20})
    # 0.4 of the time goes to a. b would then need 1.6 / 0.6 = 2.67 instances, but has two and takes another 0.2.
    assert needs["c"] == pytest.approx(1.2 / 0.4)
    assert 0.4 / 1 + 0.4 / 2 + 1.2 / needs["c"] == pytest.approx(1.0)


def test_where_nothing_suffices_the_need_is_infinite() -> None:
    needs = make_up_for_limits({"a": 4.0, "b": 4.0}, {"a": 0.5, "b": 0.5}, {"a": 1, "b": 8})
    assert needs["b"] == math.inf
