"""The published comparisons, in short versions: who does better, not by how much."""

import pytest

from penstock.control import Started
from penstock.evaluation.papers import EXPERIMENTS, Row
from penstock.evaluation.papers.elysium_comparison import COMPARISONS, JOINT, PROACTIVE, REACTIVE
from penstock.evaluation.papers.elysium_runs import (
    BRISK,
    HOT,
    RESTART,
    T1,
    T2,
    Course,
    Setting,
    common_share,
    curve,
    evaluate,
    peak_per_s,
    run,
)
from penstock.policies import policy
from penstock.workloads import application

NAMES = [
    f"elysium-{name}" for name in ("table-1", "table-2", "figure-6", "figure-7", "figure-9", "figure-12", "figure-13")
]


def ours(rows: list[Row], case: str) -> float:
    (found,) = [row for row in rows if row.case == case]
    assert found.ours is not None
    return found.ours


def test_every_experiment_is_there() -> None:
    assert [name for name in EXPERIMENTS if name.startswith("elysium")] == NAMES
    assert all(EXPERIMENTS[name].summary for name in NAMES)


def test_ranges_follow_from_the_applications_alone() -> None:
    # T1's counter takes 17.86 x 0.68 words per tweet at 3,800 per second; four instances at 0.65 of their time.
    assert peak_per_s(application(T1)) == pytest.approx(0.65 * 4 * 3800 / (17.86 * 0.68), rel=0.001)
    assert peak_per_s(application(T2)) == pytest.approx(0.65 * 4 * 800)
    assert 0.6 < common_share((T1, T2)) < 0.8
    rates = [curve(Setting(T1, "sine"), 0).rate_per_s(10.0 * i) for i in range(180)]
    assert max(rates) <= peak_per_s(application(T1))


def test_calibration_and_evaluation_differ() -> None:
    assert curve(Setting(T1, "sine"), 0).rate_per_s(305.0) != curve(Setting(T1, "sine"), 1000).rate_per_s(305.0)


def test_selectivities_are_found_again() -> None:
    rows = EXPERIMENTS["elysium-table-2"].run(True)
    for row in rows:
        if row.case.endswith("average"):
            assert row.ours == pytest.approx(row.published, rel=0.02, abs=0.002)


def test_usages_are_estimated_within_three_per_cent() -> None:
    rows = EXPERIMENTS["elysium-figure-7"].run(True)
    assert len(rows) == 2
    assert all(row.ours is not None and row.ours < 3.0 for row in rows)


def test_higher_thresholds_save_nodes_and_restarts_cost_throughput() -> None:
    rows = EXPERIMENTS["elysium-figure-6"].run(True)
    saved = [row.ours or 0.0 for row in rows if row.case.startswith("(b)")]
    assert saved == sorted(saved)
    restarts = [row.ours or 0.0 for row in rows if row.case.startswith("(c)")]
    assert restarts == sorted(restarts, reverse=True)


def test_rewards_rise_up_to_the_published_threshold() -> None:
    rows = EXPERIMENTS["elysium-table-1"].run(True)
    rewards = [row.ours or 0.0 for row in rows if row.case.endswith("reward")][:5]
    assert rewards == sorted(rewards)
    assert all(row.ours == pytest.approx(row.published, abs=0.05) for row in rows[:5])


@pytest.mark.parametrize("costs", [RESTART, HOT], ids=lambda costs: costs.name)
@pytest.mark.parametrize("name", ["T1 step", "T1 sine", "T2 square"])
def test_elysium_saves_more_than_joint_scaling_and_degrades_less(name: str, costs: object) -> None:
    (comparison,) = [one for one in COMPARISONS if one.name == name]
    chosen = RESTART if costs is RESTART else HOT
    joint = evaluate(comparison.settings, f"joint:window_s={chosen.window_s:g},cpu_min=0.4", chosen, 1)
    elysium = evaluate(comparison.settings, "elysium", chosen, 1)
    assert elysium.saved > joint.saved + 5.0
    assert elysium.degradation < joint.degradation + 0.002
    assert elysium.reconfigurations < joint.reconfigurations


def test_a_step_is_sustained_again_sooner_than_published() -> None:
    found = evaluate((Setting(T1, "step"),), "elysium", RESTART, 1)
    assert found.recovery_s is not None
    assert found.recovery_s < 80.0


def test_a_doubled_load_is_sustained_again_within_20_s() -> None:
    for share in (0.5, 1.0):
        found = evaluate((Setting(T1, "doubled", share),), "elysium", BRISK, 1)
        assert found.recovery_s is not None
        assert found.recovery_s < 20.0


def test_a_run_may_begin_over_provisioned() -> None:
    settings = (Setting(T1, "step"),)
    small = evaluate(settings, "joint:window_s=20", HOT, 1)
    wide = evaluate(settings, "joint:window_s=20", HOT, 1, "over-provisioned")
    assert wide.saved < small.saved


def test_a_run_in_operation_begins_where_an_earlier_course_ended() -> None:
    settings = (Setting(T1, "step"),)
    journal = run(settings, policy("joint:window_s=20"), HOT, 0, Course(start="in operation"))
    started = next(journal.entries())
    assert isinstance(started, Started)
    assert started.at_s == 720.0
    assert started.initial.workers > 1
    found = evaluate(settings, "elysium", HOT, 1, "in operation")
    assert found.recovery_s is not None
    assert found.recovery_s < 80.0


def test_being_proactive_helps_most_against_a_square_wave() -> None:
    rows = EXPERIMENTS["elysium-figure-13"].run(True)
    for costs in (RESTART, HOT):
        where = f"{costs.name}: T1 square"
        reactive = ours(rows, f"{where}, {REACTIVE}: degradation")
        assert ours(rows, f"{where}, {PROACTIVE}: degradation") < 0.5 * reactive
        assert reactive < ours(rows, f"{where}, {JOINT}: degradation")


def test_two_applications_share_a_cluster() -> None:
    rows = EXPERIMENTS["elysium-figure-12"].run(True)
    for costs in (RESTART, HOT):
        where = f"{costs.name}: T1 sine + T2 sine, {REACTIVE}"
        assert ours(rows, f"{where}: nodes saved %") > 21.0
        assert ours(rows, f"{where}: degradation") < 0.46


def test_rows_are_plain_values() -> None:
    row = Row("case", 0.5, 1 / 3, "note")
    assert row.as_json() == {"case": "case", "published": 0.5, "ours": 0.333333, "note": "note"}
