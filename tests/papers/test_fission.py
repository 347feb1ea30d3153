"""Table 2 and the parameter study of operator fission, in their quick variants."""

from functools import cache

import pytest

from penstock.evaluation.papers import EXPERIMENTS, Row
from penstock.evaluation.papers.fission import TABLE_2


@cache
def rows(name: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in EXPERIMENTS[name].run(True):
        found.setdefault(row.case, []).append(row)
    return found


def ours(name: str, case: str, occurrence: int = 0) -> float:
    value = rows(name)[case][occurrence].ours
    assert value is not None
    return value


def test_the_elastic_run_reaches_the_published_share_of_all_replicas() -> None:
    shares = [row for case, found in rows("fission-table-2").items() if "elastic %" in case for row in found]
    assert len(shares) == 3
    for row in shares:
        assert row.published is not None
        assert row.ours is not None
        assert row.ours >= row.published


def test_with_own_actions_next_to_nothing_is_lost() -> None:
    shares = [
        row.ours
        for case, found in rows("fission-table-2").items()
        if "own" in case or "Penstock" in case
        for row in found
    ]
    assert len(shares) == 3
    assert all(share is not None and share > 99.5 for share in shares)


def test_without_replicas_events_are_processed_as_published() -> None:
    for case in ("App 1 10 min SS1 events", "App 2 10 min SS1 events", "App 3 10 min SS1 events"):
        (row,) = rows("fission-table-2")[case]
        assert row.published is not None
        assert abs((row.ours or 0.0) / row.published - 1) < 0.06


def test_parameters_move_the_loss_as_published() -> None:
    def loss(setting: str) -> float:
        return ours("fission-parameters", f"App 3 {setting}: % lost")

    assert loss("short term only") > loss("default") > loss("R' = 8")
    assert loss("upper threshold 0.8") < loss("default") / 2
    assert loss("default") > ours("fission-parameters", "App 1 default: % lost")


def test_loads_have_the_published_peak_and_number_of_events() -> None:
    for case in TABLE_2:
        curve = case.curve
        rates = [curve.rate_per_s(float(at_s)) for at_s in range(60 * case.minutes)]
        assert sum(rates) == pytest.approx(case.ss2, rel=0.001)
        assert max(rates) == pytest.approx(case.app.high_per_s, rel=0.001)
        assert min(rates) > 0.0


def test_scenarios_follow_from_the_load() -> None:
    news = TABLE_2[4]
    most = news.replicas("ss2")
    assert sum(most.values()) - most["source"] == 30
    assert all(half == -(-most[name] // 2) for name, half in news.replicas("ss3").items())
    assert set(news.replicas("ss1").values()) == {1}
