import pytest

from penstock.errors import UsageError
from penstock.profiling import CPU_MAX_CANDIDATES, LearningSettings, learn_threshold

PUBLISHED = dict(zip(CPU_MAX_CANDIDATES, (0.07, 0.08, 0.08, 0.09, 0.09, 0.20, 0.47), strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_the_published_degradations_lead_to_the_published_threshold(seed: int) -> None:
    learned = learn_threshold(lambda threshold, _: PUBLISHED[threshold], settings=LearningSettings(seed=seed))
    assert learned.best == 0.80
    rewards = [round(row.reward, 2) for row in learned.table]
    assert rewards == [0.53, 0.57, 0.62, 0.66, 0.71, 0.65, 0.43]


def test_the_learner_comes_to_stay_where_the_reward_is_highest() -> None:
    learned = learn_threshold(lambda threshold, _: PUBLISHED[threshold], settings=LearningSettings(steps=200))
    assert max(learned.table, key=lambda row: row.trials).threshold == 0.80


def test_every_candidate_is_tried_and_trials_are_counted() -> None:
    trials: list[tuple[float, int]] = []

    def environment(threshold: float, trial: int) -> float:
        trials.append((threshold, trial))
        return 0.1 if trial == 0 else 0.3

    learned = learn_threshold(environment, (0.9, 0.5, 0.7), LearningSettings(steps=1))
    assert {threshold for threshold, _ in trials} == {0.5, 0.7, 0.9}
    assert [row.threshold for row in learned.table] == [0.5, 0.7, 0.9]
    assert sum(row.trials for row in learned.table) == len(trials)


def test_a_degradation_is_the_mean_of_its_trials() -> None:
    learned = learn_threshold(lambda _, trial: float(trial), (0.5,), LearningSettings(steps=3))
    assert learned.table[0].degradation == 1.0
    assert learned.table[0].reward == pytest.approx(-0.5)


@pytest.mark.parametrize("settings", [{"steps": 0}, {"rate": 1.5}, {"discount": 1.0}])
def test_settings_that_cannot_be_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="Q-learning needs"):
        LearningSettings(**settings)  # type: ignore[arg-type]


def test_no_candidates_are_refused() -> None:
    with pytest.raises(UsageError, match="no threshold to try"):
        learn_threshold(lambda *_: 0.0, ())
