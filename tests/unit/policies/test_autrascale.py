"""The phases of AuTraScale, on a fluid model whose latency depends on parallelism."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from pydantic import TypeAdapter

from penstock.analysis import resource_ratio
from penstock.errors import UsageError
from penstock.model import (
    Configuration,
    Decision,
    Keep,
    Latency,
    Objectives,
    Observation,
    Reconfigure,
    View,
)
from penstock.policies import AutraScale, AutraScaleMemory, policy
from penstock.policies.autrascale_memory import RateModel, with_model
from penstock.testing import pipeline, steady_observation, view_of
from penstock.workloads import Application, OperatorCost

APP = pipeline((100.0, 50.0), max_parallelism=20)
NAMES = ("s0", "s1")
Vector = tuple[int, ...]


def by_usage(load: float, k: Vector) -> float:
    """Latency that falls with parallelism at first and then rises."""
    parts = [load / (rate * count) for rate, count in zip((100.0, 50.0), k, strict=True)]
    return sum(0.05 * u / (1 - u) if u < 1 else 10.0 for u in parts) + 0.01 * sum(k)


@dataclass
class Plant:
    """Turns of ten seconds; what is asked for is there at once unless `grants` says no."""

    policy: AutraScale
    current: Vector = (1, 1)
    target_s: float = 0.3
    latency: Callable[[float, Vector], float] | None = by_usage
    app: Application = APP
    grants: Callable[[float, Vector], bool] = lambda at_s, wanted: True
    silent: Callable[[float], bool] = lambda at_s: False
    memory: AutraScaleMemory = field(default_factory=AutraScaleMemory)
    now_s: float = 0.0
    observations: tuple[Observation, ...] = ()
    asked: list[tuple[float, Vector, str]] = field(default_factory=list)
    last: Decision | None = None

    def configuration(self) -> Configuration:
        names = self.app.topology.names
        return Configuration({self.app.name: dict(zip(names, self.current, strict=True))}, 1).fitted(
            {self.app.name: self.app.topology}, self.app.cluster
        )

    def turn(self, load: float) -> Decision:
        self.now_s += 10.0
        current = self.configuration()
        seen = steady_observation((self.app,), {self.app.name: load}, current, self.now_s)
        if self.latency is not None:
            mean_s = self.latency(load, self.current)
            latency = Latency(mean_s, mean_s, mean_s, mean_s)
            application = replace(seen.applications[self.app.name], latency=latency)
            seen = replace(seen, applications={self.app.name: application})
        if self.silent(self.now_s):
            application = replace(
                seen.applications[self.app.name], operators={}, completed=0.0, throughput_per_s=0.0, latency=None
            )
            seen = replace(seen, applications={self.app.name: application})
        self.observations = (*self.observations[-5:], seen)
        view: View = replace(
            view_of((self.app,), current, self.observations, self.now_s), objectives=Objectives(self.target_s)
        )
        self.last, self.memory = self.policy.decide(view, self.memory)
        if isinstance(self.last, Reconfigure):
            wanted = tuple(self.last.target.parallelism[self.app.name].values())
            if self.grants(self.now_s, wanted):
                self.current = wanted
            self.asked.append((self.now_s, wanted, self.last.because))
        return self.last

    def run(self, load: float, turns: int) -> "Plant":
        for _ in range(turns):
            self.turn(load)
        return self

    @property
    def course(self) -> Any:
        return self.memory.courses[self.app.name]


PLAIN = AutraScale(utilisation=1.0, running_s=30.0, window_s=20.0)


def test_throughput_takes_one_step_where_operators_scale_linearly() -> None:
    plant = Plant(PLAIN, latency=None).run(420.0, 12)
    assert [wanted for _, wanted, _ in plant.asked] == [(5, 9)]
    assert plant.asked[0][2] == "throughput, step 1: s0 5, s1 9"
    assert plant.course.phase == "settled"


def test_windows_in_which_nothing_was_completed_show_nothing() -> None:
    plant = Plant(PLAIN, silent=lambda at_s: 20.0 <= at_s <= 80.0).run(420.0, 8)
    assert plant.last == Keep("nothing was completed lately, so nothing is known")
    assert plant.run(420.0, 4).asked[:1] == [(10.0, (5, 9), "throughput, step 1: s0 5, s1 9")]
    assert all(sum(wanted) >= 14 for _, wanted, _ in plant.asked)


def test_what_never_completes_anything_is_judged_in_the_end() -> None:
    plant = Plant(PLAIN, silent=lambda at_s: at_s >= 20.0).run(420.0, 20)
    assert len(plant.asked) > 1


def test_utilisation_leaves_room() -> None:
    assert Plant(replace(PLAIN, utilisation=0.5), latency=None).run(420.0, 12).current == (9, 17)


def contended(contention: float, most: int = 20) -> Application:
    app = pipeline((100.0, 50.0), max_parallelism=most)
    costs: Mapping[str, OperatorCost] = {**app.costs, "s1": OperatorCost(50.0, contention=contention)}
    return replace(app, costs=costs)


def test_throughput_is_corrected_where_they_do_not() -> None:
    plant = Plant(PLAIN, latency=None, app=contended(0.05)).run(300.0, 40)
    steps = [wanted for _, wanted, because in plant.asked if because.startswith("throughput, step")]
    assert steps == [(3, 6), (3, 8)]
    assert plant.current == (3, 8)


def test_the_review_keeps_the_fewest_that_come_close_when_nothing_is_enough() -> None:
    plant = Plant(PLAIN, latency=None, app=contended(0.5, most=40)).run(300.0, 60)
    steps = [wanted for _, wanted, because in plant.asked if because.startswith("throughput, step")]
    assert steps[-1][1] == 40
    assert plant.current in steps
    assert plant.current[1] < 40, "40 instances do hardly more than fewer"
    assert plant.course.phase == "settled"


def test_too_much_is_given_back() -> None:
    assert Plant(PLAIN, current=(20, 20), latency=None).run(420.0, 20).current == (5, 9)


def test_a_base_that_meets_the_target_is_all() -> None:
    plant = Plant(PLAIN, target_s=5.0).run(420.0, 20)
    assert plant.current == (5, 9)
    assert len(plant.asked) == 1
    assert plant.course.latency_s((5, 9)) == pytest.approx(by_usage(420.0, (5, 9)))


def test_a_base_that_turns_out_not_to_keep_up_gets_one_more() -> None:
    """Batches that end in a window by chance may make it look as if all were handled."""
    plant = Plant(PLAIN, target_s=5.0, current=(5, 9))
    while plant.memory.courses == {} or plant.course.phase != "base":
        plant.turn(420.0)
    assert plant.course.base == (5, 9)
    slower = pipeline((100.0, 44.0), max_parallelism=20)
    plant.app = slower  # 396 of 420 events/s, which is not enough
    plant.run(420.0, 12)
    assert plant.current == (5, 10)
    assert plant.course.phase == "settled"


def searched(**parameters: Any) -> Plant:
    return Plant(replace(PLAIN, **parameters), target_s=0.55).run(420.0, 160)


def test_samples_to_begin_with_then_a_search_that_ends_within_the_target() -> None:
    plant = searched()
    kinds = [because.split(" ")[0] for _, _, because in plant.asked]
    assert kinds == sorted(kinds, key=("throughput,", "a", "search,").index)
    assert by_usage(420.0, plant.current) <= 0.55
    assert resource_ratio(plant.current, (5, 9)) >= 0.8
    assert plant.course.phase == "settled"
    assert isinstance(plant.last, Keep)


def test_after_the_first_that_is_good_enough_fewer_instances_are_tried() -> None:
    def by_sum(load: float, k: Vector) -> float:
        return 6.0 / sum(k)

    first, refined = (
        Plant(replace(PLAIN, over_allocation=2.0, refinements=number), latency=by_sum).run(420.0, 160)
        for number in (0, 3)
    )
    tried = [wanted for _, wanted, because in refined.asked if because.startswith("with fewer")]
    assert 1 <= len(tried) <= 3
    assert [wanted for _, wanted, _ in first.asked] == [wanted for _, wanted, _ in refined.asked[: len(first.asked)]]
    assert sum(refined.current) < sum(first.current)
    assert sum(refined.current) >= 20, "with fewer it would be late"
    assert refined.course.phase == "settled"
    assert refined.memory.library["pipeline"][0].settled == refined.current


def test_fewer_instances_that_turn_out_late_are_taken_back() -> None:
    def late_below_30(load: float, k: Vector) -> float:
        return 0.4 if sum(k) >= 30 else 0.6

    plant = Plant(replace(PLAIN, over_allocation=2.0), target_s=0.55, latency=late_below_30).run(420.0, 160)
    assert sum(plant.current) >= 30
    assert plant.course.phase == "settled"
    assert len(plant.course.samples) == len({sample.parallelism for sample in plant.course.samples})


def test_more_over_allocation_ends_earlier() -> None:
    assert len(searched(over_allocation=2.0).asked) < len(searched(over_allocation=0.25).asked)


def test_the_published_surrogate_works_as_well() -> None:
    plant = searched(surrogate="score", over_allocation=1.0)
    assert by_usage(420.0, plant.current) <= 0.55
    assert plant.course.phase == "settled"


def test_a_target_that_cannot_be_met_ends_with_the_best_that_was_found() -> None:
    plant = Plant(replace(PLAIN, iterations=4), target_s=0.01).run(420.0, 120)
    assert plant.course.phase == "settled"
    assert plant.asked[-1][2].startswith("the best that was found")
    assert plant.current == plant.memory.library["pipeline"][0].settled
    before = len(plant.asked)
    plant.run(420.0, 30)
    assert len(plant.asked) == before, "it does not begin again"


def test_what_runs_is_judged_only_after_the_running_time() -> None:
    plant = Plant(replace(PLAIN, running_s=60.0)).run(420.0, 40)
    times = [at_s for at_s, _, _ in plant.asked]
    assert all(later - earlier >= 60.0 for earlier, later in pairwise(times))


def test_the_interval_is_kept() -> None:
    plant = Plant(replace(PLAIN, interval_s=30.0), latency=None)
    decisions = [plant.turn(420.0) for _ in range(5)]
    waiting = [d.because == "the policy interval is not over" for d in decisions]
    assert waiting == [False, True, True, False, True]


def test_fluctuation_is_no_change_of_rate_but_a_lasting_change_is() -> None:
    plant = Plant(replace(PLAIN, utilisation=0.7), target_s=5.0).run(420.0, 20)
    before = len(plant.asked)
    for load in (500.0, 420.0, 340.0, 500.0, 500.0, 420.0) * 3:
        plant.turn(load)
    assert len(plant.asked) == before
    plant.run(560.0, 20)
    assert plant.current == (8, 16)


def test_a_known_rate_is_taken_up_at_once() -> None:
    plant = searched().run(200.0, 160)
    settled = {round(model.rate_per_s): model.settled for model in plant.memory.library["pipeline"]}
    assert set(settled) == {420, 200}
    plant.asked.clear()
    plant.run(420.0, 12)
    assert [wanted for _, wanted, _ in plant.asked] == [settled[420]]
    assert "are known from before" in plant.asked[0][2]


def test_a_new_rate_needs_fewer_samples_with_a_model_of_another() -> None:
    fresh = Plant(PLAIN, target_s=0.5).run(520.0, 200)
    known = Plant(PLAIN, target_s=0.5).run(420.0, 200)
    known.asked.clear()
    known.run(520.0, 200)
    assert by_usage(520.0, known.current) <= 0.5
    samples = [len([b for _, _, b in plant.asked if not b.startswith("throughput")]) for plant in (fresh, known)]
    assert samples[1] < samples[0]
    assert not any(because.startswith("a sample") for _, _, because in known.asked)


def test_a_restarted_controller_has_not_forgotten() -> None:
    plant = searched()
    adapter = TypeAdapter(AutraScaleMemory)
    memory = adapter.validate_json(adapter.dump_json(plant.memory))
    assert memory == plant.memory
    again = Plant(PLAIN, target_s=0.55, memory=replace(memory, evaluated_s=None, courses={}))
    again.run(420.0, 12)
    assert again.current == plant.current
    assert len(again.asked) == 1


def test_nothing_random_without_a_seed() -> None:
    assert searched().asked == searched().asked


def test_what_is_never_granted_is_not_asked_for_for_ever() -> None:
    plant = Plant(PLAIN, target_s=0.55, grants=lambda at_s, wanted: max(wanted) < 20).run(420.0, 200)
    refused = plant.course.refused
    assert refused
    assert all(max(vector) == 20 for vector in refused)
    assert by_usage(420.0, plant.current) <= 0.55


def test_what_was_rolled_back_is_not_tried_again() -> None:
    plant = Plant(PLAIN, target_s=0.55)
    while not (plant.asked and plant.asked[-1][2].startswith("a sample")):
        plant.turn(420.0)
    rolled_back = plant.current
    plant.turn(420.0)
    plant.current = (5, 9)
    plant.run(420.0, 100)
    assert rolled_back in plant.course.refused
    assert [wanted for _, wanted, _ in plant.asked].count(rolled_back) == 1


def test_a_settled_application_that_gets_worse_starts_again() -> None:
    plant = Plant(PLAIN, target_s=5.0).run(420.0, 20)
    assert plant.course.phase == "settled"
    plant.latency = lambda load, k: 3.0 * by_usage(load, k)
    plant.target_s = 1.0
    plant.run(420.0, 100)
    assert plant.current != (5, 9)
    assert 3.0 * by_usage(420.0, plant.current) <= 1.0 or plant.course.phase == "settled"


def test_an_overload_beyond_all_bounds_is_no_reason_to_search() -> None:
    plant = Plant(PLAIN).run(5000.0, 60)
    assert plant.current == (20, 20)
    assert len(plant.asked) == 1
    assert plant.course.phase == "settled"


def test_models_of_about_the_same_rate_replace_each_other() -> None:
    models: tuple[RateModel, ...] = ()
    for rate in (100.0, 300.0, 105.0):
        models = with_model(models, RateModel(rate, (1,), (), (1,)), 0.1)
    assert [model.rate_per_s for model in models] == [300.0, 105.0]


@pytest.mark.parametrize(
    "text",
    [
        *("autrascale:utilisation=0", "autrascale:alpha=2", "autrascale:xi=-1", "autrascale:uniform=0"),
        *("autrascale:running_s=0", "autrascale:tolerance=1", "autrascale:surrogate=magic"),
    ],
)
def test_parameters_are_checked(text: str) -> None:
    with pytest.raises(UsageError):
        policy(text)
