"""Table 2 and the parameter study of operator fission, in their quick variants."""

from functools import cache

from penstock.evaluation.papers import EXPERIMENTS, Row
from penstock.evaluation.papers.fission import (
    TABLE_2,
    half_the_replicas,
    no_replicas,
    replicas_without_queues,
)


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
    def loss(app: int, setting: str, occurrence: int = 0) -> float:
        return ours("fission-parameters", f"App {app} {setting}: % lost", occurrence)

    for app, occurrence in ((1, 1), (3, 0)):
        default = loss(app, "default", occurrence)
        assert loss(app, "R' = 8", occurrence) < default
        assert loss(app, "upper threshold 0.8", occurrence) < default
        assert loss(app, "short term only", occurrence) > default
    assert loss(3, "default") > loss(1, "default", 1)


def test_presets_follow_from_the_load() -> None:
    news = TABLE_2[4]
    most = replicas_without_queues(news)
    assert sum(most.values()) - most["source"] == 30
    assert all(half == -(-most[name] // 2) for name, half in half_the_replicas(news).items())
    assert set(no_replicas(news).values()) == {1}
