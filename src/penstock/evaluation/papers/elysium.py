"""Tables and figures of ELYSIUM ("Elastic Symbiotic Scaling of Operators and Resources in Stream Processing Systems").

Simulated at the published scale, four workers of four cores. What was only plotted and cannot be read off is None.
Profiling, training and tuning use other seeds than the evaluation. Degradations are lower than the published ones
throughout: a simulated restart costs its pause and the draining after it and nothing else, and of that about half
cancels out within windows of 10 s. Policies are to be compared with each other, not with the column beside them.
"""

from dataclasses import dataclass, replace

from penstock.evaluation.measures import measure
from penstock.evaluation.papers.elysium_comparison import figure_9, figure_12, figure_13
from penstock.evaluation.papers.elysium_runs import (
    CALIBRATION,
    RESTART,
    T1,
    Course,
    Setting,
    observe,
    profiled,
    run,
    tried,
)
from penstock.evaluation.papers.experiment import Experiment, Row
from penstock.model import Decision, Reconfigure, View
from penstock.profiling import (
    CPU_MAX_CANDIDATES,
    LearningSettings,
    SelectivityProfile,
    learn_threshold,
    percentage_error,
    usage_samples,
)
from penstock.workloads import application

_REWARDS = (0.53, 0.57, 0.62, 0.66, 0.71, 0.65, 0.43)
_PUBLISHED_BEST = 0.80
_SELECTIVITIES = {
    ("splitter", "stop-word-filter"): (17.86, 0.54),
    ("stop-word-filter", "counter"): (0.68, 0.02),
    ("counter", "intermediate-ranker"): (0.41, 0.34),
    ("intermediate-ranker", "total-ranker"): (0.01, 0.00),
}


def table_1(quick: bool) -> list[Row]:
    """The reward of each threshold for the usage of workers, learned by Q-learning."""
    seeds, steps = (1, 40) if quick else (5, 100)
    learned = learn_threshold(
        lambda threshold, trial: tried(threshold, CALIBRATION + trial % seeds)[0],
        settings=LearningSettings(steps=steps),
    )
    rows = []
    for row, published in zip(learned.table, _REWARDS, strict=True):
        note = f"{row.trials} trials" + (_no_loss(row.threshold) if row.threshold > _PUBLISHED_BEST else "")
        rows.append(Row(f"cpu_max {row.threshold:.2f}: reward", published, row.reward, note))
    return [*rows, Row("best cpu_max", _PUBLISHED_BEST, learned.best, "the one with the highest reward")]


def _no_loss(threshold: float) -> str:
    """Why a threshold above the published best costs no throughput here."""
    saved, best = tried(threshold, CALIBRATION)[1], tried(_PUBLISHED_BEST, CALIBRATION)[1]
    return (
        f"; no drop: it saves hardly more nodes ({saved:.0f} % against {best:.0f} %), a simulated worker that is "
        "full goes on at full speed, and waits stay below the 30 s after which Storm sends a tuple again (decision 16)"
    )


def figure_6(quick: bool) -> list[Row]:
    """What cpu_max and the assessment period do to throughput and nodes."""
    seeds = range(1 if quick else 5)
    rows = []
    for threshold, reward in zip(CPU_MAX_CANDIDATES, _REWARDS, strict=True):
        found = [tried(threshold, CALIBRATION + seed) for seed in seeds]
        degradation, saved = (sum(values) / len(found) for values in zip(*found, strict=True))
        rows.append(Row(f"(a) cpu_max {threshold:.2f}: degradation", round(threshold - reward, 2), degradation))
        rows.append(Row(f"(b) cpu_max {threshold:.2f}: nodes saved %", None, saved))
    for minutes, published in ((0.5, None), (1.0, 0.64), (2.0, 0.43), (3.0, None)):
        degradations = [_restless_degradation(60.0 * minutes, seed) for seed in seeds]
        rows.append(
            Row(
                f"(c) a restart every {minutes:g} min: degradation",
                published,
                sum(degradations) / len(degradations),
                "9 minutes of a sine, over-provisioned, by the second; a restart costs its pause and the draining",
            )
        )
    return rows


@dataclass(frozen=True, slots=True)
class _Restless:
    """Changes one idle operator at every assessment, and so restarts the application for nothing."""

    def start(self) -> None:
        return None

    def decide(self, view: View, memory: None) -> tuple[Decision, None]:
        now = view.requested.parallelism[T1]["total-ranker"]
        target = view.requested.with_parallelism(T1, "total-ranker", 3 if now == 4 else 4)
        return Reconfigure(target, "to see what a restart costs"), None


def _restless_degradation(period_s: float, seed: int) -> float:
    course = Course(period_s, 540.0, "over-provisioned")
    # In longer windows a pause and its draining would partly cancel out, and what a restart costs is the question here.
    costs = replace(RESTART, observe_every_s=1.0)
    return measure(run([Setting(T1, "sine")], _Restless(), costs, seed, course).entries()).throughput_degradation or 0.0


def table_2(quick: bool) -> list[Row]:
    """Selectivities of T1's streams over 30 minutes of a stair."""
    observations = observe(Setting(T1, "stair"), 600.0 if quick else 1800.0, 1)
    profile = SelectivityProfile.train(application(T1).topology, observations)
    return selectivity_rows(profile, "built into the application, found by the profiler", "in proportion")


def selectivity_rows(profile: SelectivityProfile, note: str, counts_sent: str, where: str = "") -> list[Row]:
    """The published selectivities of T1 beside those that were learned `where`.

    The note says where they come from, `counts_sent` when the counter sends what it has counted.
    """
    rows = []
    for (upstream, downstream), (mean, deviation) in _SELECTIVITIES.items():
        ratio, stream = profile.ratios[upstream, downstream], f"{where}{upstream} -> {downstream}"
        rows.append(Row(f"{stream}: average", mean, ratio.mean, note))
        periodic = f"sent periodically in the publication, {counts_sent} here" if upstream == "counter" else ""
        rows.append(Row(f"{stream}: deviation", deviation, ratio.deviation, periodic))
    return rows


def figure_7(quick: bool) -> list[Row]:
    """Estimated and real usage of operators over 25 minutes of a sine, after a profiling phase under another load."""
    profile, _ = profiled(T1)
    observations = observe(Setting(T1, "sine"), 1500.0, 2)
    rows = []
    for name in ("counter", "stop-word-filter"):
        learned = profile.usage.operators[name]
        samples = usage_samples(T1, (name,), name, observations)
        estimated = [learned.usage(rate) for rate, _, _ in samples]
        error = 100.0 * percentage_error(estimated, [usage for _, usage, _ in samples], 0.01)
        rows.append(Row(f"{name}: mean error %", 3.0, error, f"published: under 3 %; used here: {learned.chosen}"))
    return rows


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment("elysium-table-1", "reward of each threshold for the usage of workers, by Q-learning", table_1),
    Experiment("elysium-table-2", "selectivities of the streams of Rolling Top-K Words", table_2),
    Experiment("elysium-figure-6", "what thresholds and the assessment period do to throughput and nodes", figure_6),
    Experiment("elysium-figure-7", "error of estimated operator usages", figure_7),
    Experiment("elysium-figure-9", "all comparisons of scaling policies: degradation and nodes saved", figure_9),
    Experiment("elysium-figure-12", "two applications at once", figure_12),
    Experiment("elysium-figure-13", "reactive and proactive scaling", figure_13),
)
