from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.forecasting import LoadHistory, SeasonalNaive
from penstock.model import Configuration, Decision, Keep, Observation, Reconfigure, View, largest, smallest
from penstock.policies import Elysium, ElysiumMemory, Policy, policy
from penstock.profiling import Learned
from penstock.profiling.functions import Line
from penstock.testing import PolicyContract, crossing, drive, pipeline, steady_observation, steady_view, view_of
from penstock.workloads import Application

APP = pipeline((1000.0, 100.0, 200.0), max_parallelism=16)
FUSED = pipeline((400.0, 400.0, 200.0), max_parallelism=16, fused=True)


def configured(*instances: int, workers: int = 4) -> Configuration:
    return Configuration({"pipeline": {f"s{i}": k for i, k in enumerate(instances)}}, workers)


def ending_in_state(application: Application) -> Application:
    """The same with state in its last operator."""
    *others, last = application.topology.operators
    operators = (*others, replace(last, stateful=True, key="k"))
    return replace(application, topology=replace(application.topology, operators=operators))


def seen(load: float, configuration: Configuration, application: Application = APP) -> View:
    return steady_view((application,), {"pipeline": load}, configuration)


def decide(made: Elysium, view: View) -> Decision:
    return made.decide(view, made.start())[0]


def target(decision: Decision) -> Configuration:
    assert isinstance(decision, Reconfigure), decision
    return decision.target


class TestAlgorithm1:
    def test_every_operator_gets_the_fewest_instances_below_core_max(self) -> None:
        found = target(decide(Elysium(), seen(300.0, configured(1, 1, 1))))
        # 300 events per second are 0.3, 3 and 1.5 slots; at most 0.65 of an instance's time may be used.
        assert found.parallelism["pipeline"] == {"s0": 1, "s1": 5, "s2": 3}

    def test_then_the_fewest_workers_below_cpu_max(self) -> None:
        # 4.8 slots on workers of four: two are 0.6 busy, if their instances are spread well.
        assert target(decide(Elysium(), seen(300.0, configured(1, 1, 1)))).workers == 2
        assert target(decide(Elysium(cpu_max=0.5), seen(300.0, configured(1, 1, 1)))).workers == 3

    def test_operators_and_workers_scale_independently(self) -> None:
        # s1 needs a second instance, but one worker carries both.
        found = target(decide(Elysium(), seen(90.0, configured(1, 1, 1, workers=1))))
        assert (found.parallelism["pipeline"]["s1"], found.workers) == (2, 1)
        # Nothing is in stress, but three workers are too many.
        found = target(decide(Elysium(), seen(90.0, configured(1, 2, 1, workers=3))))
        assert (found.parallelism["pipeline"]["s1"], found.workers) == (2, 1)

    def test_several_levels_at_once(self) -> None:
        found = target(decide(Elysium(), seen(900.0, configured(1, 1, 1, workers=1))))
        assert found.parallelism["pipeline"] == {"s0": 2, "s1": 14, "s2": 7}
        # 14.4 slots would fit on five workers, but one of them would get five instances and be 0.804 busy.
        assert found.workers == 6

    def test_several_applications_at_once(self) -> None:
        apps = (APP, crossing())
        start = smallest({a.name: a.topology for a in apps}, APP.cluster)
        found = target(decide(Elysium(), steady_view(apps, {"pipeline": 300.0, "crossing": 400.0}, start)))
        assert found.parallelism["pipeline"]["s1"] == 5
        assert found.parallelism["crossing"]["clean"] == 2
        assert found.workers > 2

    def test_bounds_and_quota_hold_and_the_promise_is_no_more_than_they_allow(self) -> None:
        view = seen(2500.0, configured(1, 1, 1))
        decision = decide(Elysium(), view)
        assert target(decision).parallelism["pipeline"]["s1"] == 16
        assert isinstance(decision, Reconfigure)
        assert decision.expected is not None
        assert decision.expected.throughput_per_s["pipeline"] == pytest.approx(1600.0)
        few = replace(view, objectives=replace(view.objectives, max_workers=2))
        assert target(decide(Elysium(), few)).workers == 2

    def test_thresholds_of_the_policy_go_before_those_of_the_objectives(self) -> None:
        found = target(decide(Elysium(core_max=0.9), seen(300.0, configured(1, 1, 1))))
        assert found.parallelism["pipeline"] == {"s0": 1, "s1": 4, "s2": 2}

    def test_a_fused_segment_has_one_parallelism(self) -> None:
        # 200 events per second are 2 slots of work in all, by turns.
        found = target(decide(Elysium(), seen(200.0, configured(1, 1, 1, workers=1), FUSED)))
        assert found.parallelism["pipeline"] == {"s0": 4, "s1": 4, "s2": 4}
        assert found.workers == 1

    @pytest.mark.parametrize(("rate_per_s", "with_state"), [(4000.0, 1), (160.0, 2)])
    def test_instances_with_state_are_added_only_where_the_others_do_not_suffice(
        self, rate_per_s: float, with_state: int
    ) -> None:
        fused = ending_in_state(pipeline((400.0, 400.0, rate_per_s), max_parallelism=16, fused=True))
        view = seen(200.0, configured(1, 1, 1, workers=1), fused)
        assert target(decide(Elysium(), view)).parallelism["pipeline"]["s2"] == with_state
        assert target(decide(Elysium(), view)).parallelism["pipeline"]["s0"] > 1

    @pytest.mark.parametrize(("fixed", "with_state"), [(0.0, 2), (0.8, 2), (0.95, 1)])
    def test_instances_with_state_are_added_only_as_far_as_they_help(self, fixed: float, with_state: int) -> None:
        """All others have what they may have; each instance with state is busy for `fixed` of its time at any rate."""
        limited = ending_in_state(pipeline((400.0, 400.0, 200.0), max_parallelism=3, fused=True))
        view = seen(200.0, configured(3, 3, 1, workers=1), limited)
        known = (
            Learned()
            .with_observations(view.topologies, view.cluster, view.observations, 300.0)
            .profile(limited.topology)
        )
        each = (1.0 - fixed) / 200.0
        operators = {**known.usage.operators, "s2": replace(known.usage.operators["s2"], own=Line(each, fixed))}
        informed = replace(known, usage=replace(known.usage, operators=operators))
        made = Elysium().with_models({"pipeline": informed})
        decision = decide(made, view)
        found = target(decision) if isinstance(decision, Reconfigure) else view.requested
        assert found.parallelism["pipeline"]["s2"] == with_state

    def test_what_state_costs_at_any_rate_calls_for_no_instances_without(self) -> None:
        """The first two are busy for 0.75 slots, the last for 0.3 of a slot whatever comes."""
        fused = ending_in_state(FUSED)
        view = seen(150.0, configured(1, 1, 1, workers=4), fused)
        known = (
            Learned().with_observations(view.topologies, view.cluster, view.observations, 300.0).profile(fused.topology)
        )
        operators = {**known.usage.operators, "s2": replace(known.usage.operators["s2"], own=Line(0.0, 0.3))}
        informed = replace(known, usage=replace(known.usage, operators=operators))
        found = target(decide(Elysium().with_models({"pipeline": informed}), view))
        assert found.parallelism["pipeline"] == {"s0": 3, "s1": 3, "s2": 1}

    @pytest.mark.parametrize(("completed_per_s", "with_state"), [(150.0, 3), (200.0, 1)])
    def test_no_instance_with_state_is_added_for_what_is_seen_to_be_carried(
        self, completed_per_s: float, with_state: int
    ) -> None:
        limited = ending_in_state(pipeline((400.0, 400.0, 200.0), max_parallelism=3, fused=True))
        view = seen(200.0, configured(3, 3, 1, workers=3), limited)
        latest = view.observations[-1]
        told = replace(latest.applications["pipeline"], throughput_per_s=completed_per_s)
        view = replace(view, observations=(*view.observations[:-1], replace(latest, applications={"pipeline": told})))
        decision = decide(Elysium(), view)
        found = target(decision) if isinstance(decision, Reconfigure) else view.requested
        assert found.parallelism["pipeline"]["s2"] == with_state

    def test_a_window_in_which_no_batch_ended_says_nothing_about_what_is_carried(self) -> None:
        limited = ending_in_state(pipeline((400.0, 400.0, 200.0), max_parallelism=3, fused=True))
        view = seen(200.0, configured(3, 3, 1, workers=3), limited)
        *earlier, before, latest = view.observations
        whole = replace(before.applications["pipeline"], throughput_per_s=200.0)
        nothing = replace(latest.applications["pipeline"], throughput_per_s=0.0)
        told = (replace(before, applications={"pipeline": whole}), replace(latest, applications={"pipeline": nothing}))
        decision = decide(Elysium(), replace(view, observations=(*earlier, *told)))
        found = target(decision) if isinstance(decision, Reconfigure) else view.requested
        assert found.parallelism["pipeline"]["s2"] == 1

    @pytest.mark.parametrize(
        ("there", "with_state"), [((3, 3, 1, 3), 3), ((3, 2, 1, 3), 1), ((3, 3, 1, 2), 1), ((4, 4, 1, 4), 3)]
    )
    def test_no_instance_with_state_is_added_before_all_is_there_that_was_asked_for(
        self, there: tuple[int, int, int, int], with_state: int
    ) -> None:
        limited = ending_in_state(pipeline((400.0, 400.0, 200.0), max_parallelism=3, fused=True))
        view = seen(300.0, configured(3, 3, 1, workers=3), limited)
        latest = view.observations[-1]
        late = replace(latest.applications["pipeline"], throughput_per_s=150.0)
        *instances, workers = there
        view = replace(
            view,
            observations=(*view.observations[:-1], replace(latest, applications={"pipeline": late})),
            observed=configured(*instances, workers=workers),
        )
        decision = decide(Elysium(), view)
        found = target(decision) if isinstance(decision, Reconfigure) else view.requested
        assert found.parallelism["pipeline"]["s2"] == with_state

    def test_no_instance_with_state_is_added_for_a_load_that_is_only_expected(self) -> None:
        limited = ending_in_state(pipeline((400.0, 400.0, 200.0), max_parallelism=3, fused=True))
        views = [seen(load, configured(1, 1, 1, workers=3), limited) for load in (70.0, 80.0, 90.0, 100.0)]
        rising = tuple(replace(v.observations[-1], at_s=10.0 * (i + 1)) for i, v in enumerate(views))
        view = replace(views[-1], observations=rising, now_s=40.0)
        found = target(decide(Elysium(lead_s=100.0, window_s=10.0), view))
        assert found.parallelism["pipeline"] == {"s0": 3, "s1": 3, "s2": 1}

    def test_fused_stages_need_slots_for_all_their_instances(self) -> None:
        narrow = replace(FUSED, cluster=type(FUSED.cluster).homogeneous(8, 1))
        # 1.5 slots of work: three instances at half their time; on two slots they would run in two waves.
        found = target(decide(Elysium(), seen(150.0, configured(1, 1, 1, workers=1), narrow)))
        assert found.parallelism["pipeline"] == {"s0": 3, "s1": 3, "s2": 3}
        assert found.workers == 3

    def test_instances_without_state_are_given_up_where_that_saves_a_worker(self) -> None:
        narrow = replace(FUSED, cluster=type(FUSED.cluster).homogeneous(8, 1))
        # 1.7 slots of work: three instances at 0.57 of their time; on three slots four would run in two waves.
        found = target(decide(Elysium(), seen(170.0, configured(4, 4, 4, workers=4), narrow)))
        assert found.parallelism["pipeline"] == {"s0": 3, "s1": 3, "s2": 3}
        assert found.workers == 3

    @pytest.mark.parametrize(("most", "instances"), [(16, 6), (3, 3)])
    def test_every_worker_has_a_task(self, most: int, instances: int) -> None:
        narrow = pipeline((400.0, 400.0, 200.0), max_parallelism=most, fused=True)
        narrow = replace(narrow, cluster=type(narrow.cluster).homogeneous(8, 1))
        # 1.5 slots of work: two instances at 0.75 of their time, which six workers would have to share not to be busy
        # for more than half of theirs.
        made = Elysium(core_max=0.9, cpu_max=0.5)
        decision = decide(made, seen(150.0, configured(2, 2, 2, workers=2), narrow))
        found = target(decision)
        assert found.workers == instances
        assert f"s1 at 0.75 of its time: 2 -> {instances}, as every worker needs a task" in decision.because
        # The source, which cannot change without a pause, keeps what it needs itself.
        assert found.parallelism["pipeline"] == {"s0": 2, "s1": instances, "s2": instances}


class TestTime:
    def test_assessments_keep_their_distance(self) -> None:
        made = Elysium()
        view = seen(90.0, configured(1, 1, 1, workers=1))
        first, memory = made.decide(view, made.start())
        assert isinstance(first, Reconfigure)
        second, memory = made.decide(replace(view, now_s=view.now_s + 50.0), memory)
        assert second == Keep("the next assessment is at 120 s")
        third, _ = made.decide(replace(view, now_s=view.now_s + 60.0), memory)
        assert isinstance(third, Reconfigure)

    def test_more_than_can_be_carried_does_not_wait(self) -> None:
        fits, too_much = seen(60.0, configured(1, 1, 1, workers=1)), seen(150.0, configured(1, 1, 1, workers=1))
        later = tuple(replace(o, at_s=o.at_s + 60.0) for o in too_much.observations)
        jumped = replace(too_much, now_s=70.0, observations=(*fits.observations[1:], replace(later[0], at_s=70.0)))
        for made, expected in ((Elysium(), Reconfigure), (Elysium(early=False), Keep), (Elysium(plain=True), Keep)):
            first, memory = made.decide(fits, made.start())
            assert isinstance(first, Keep)
            decision, _ = made.decide(jumped, memory)
            assert isinstance(decision, expected)

    @pytest.mark.parametrize(
        ("loads", "expected"),
        [
            ((40.0, 45.0, 50.0, 55.0), 2),
            ((40.0, 40.0, 50.0, 55.0), 1),
            ((55.0, 50.0, 45.0, 40.0), 1),
            ((40.0, 55.0), 1),
        ],
    )
    def test_a_load_that_rises_is_met_before_it_is_there(self, loads: tuple[float, ...], expected: int) -> None:
        """55 events per second on an operator that handles 100; at that pace it is 205 in 5 minutes, at most 110."""
        views = [seen(load, configured(1, 1, 1, workers=1)) for load in loads]
        observations = tuple(replace(v.observations[-1], at_s=10.0 * number) for number, v in enumerate(views, start=1))
        view = replace(views[-1], observations=observations, now_s=observations[-1].at_s)
        made = Elysium(lead_s=300.0, window_s=10.0)
        decision = decide(made, view)
        found = target(decision) if isinstance(decision, Reconfigure) else view.requested
        assert found.parallelism["pipeline"]["s1"] == expected
        assert ("as the load rises" in decision.because) == (expected > 1)

    @pytest.mark.parametrize(
        ("loads", "lead_s", "expected"),
        [
            ((160.0, 130.0, 100.0, 70.0), 10.0, 2),
            ((160.0, 130.0, 100.0, 70.0), 0.0, 4),
            ((160.0, 160.0, 100.0, 70.0), 10.0, 4),
        ],
    )
    def test_of_a_load_that_falls_only_what_arrives_now_counts(
        self, loads: tuple[float, ...], lead_s: float, expected: int
    ) -> None:
        """An operator handles 100; without regard for the fall the highest load of the window counts."""
        views = [seen(load, configured(1, 4, 1, workers=2)) for load in loads]
        observations = tuple(replace(v.observations[-1], at_s=10.0 * number) for number, v in enumerate(views, start=1))
        view = replace(views[-1], observations=observations, now_s=observations[-1].at_s)
        found = decide(Elysium(lead_s=lead_s, window_s=40.0), view)
        configuration = target(found) if isinstance(found, Reconfigure) else view.requested
        assert configuration.parallelism["pipeline"]["s1"] == expected

    def test_without_data_there_is_no_assessment(self) -> None:
        made = Elysium()
        decision, memory = made.decide(view_of((APP,), configured(1, 1, 1), (), 10.0), made.start())
        assert decision == Keep("no input rate is known yet")
        assert memory.senses.assessed_at_s is None


class TestBeyondThePublication:
    def jumped(self) -> View:
        view = seen(100.0, configured(1, 2, 1))
        last = steady_observation((APP,), {"pipeline": 300.0}, configured(1, 2, 1), 60.0)
        return replace(view, observations=(*view.observations[:-1], last))

    def test_a_load_that_jumped_counts_at_once(self) -> None:
        assert target(decide(Elysium(), self.jumped())).parallelism["pipeline"]["s1"] == 5
        assert target(decide(Elysium(plain=True), self.jumped())).parallelism["pipeline"]["s1"] == 3

    def backlogged(self, backlog: float) -> View:
        view = seen(120.0, configured(1, 2, 1, workers=1))
        application = replace(view.observations[-1].applications["pipeline"], backlog=backlog)
        last = replace(view.observations[-1], applications={"pipeline": application})
        return replace(view, observations=(*view.observations[:-1], last))

    def test_a_large_backlog_calls_for_more(self) -> None:
        decision = decide(Elysium(drain_s=60.0), self.backlogged(12_000.0))
        # 120 arrive and 200 are to be worked off per second: 3.2 slots of s1 at up to 0.95 of their time.
        assert target(decision).parallelism["pipeline"]["s1"] == 4
        assert "to work off what waits" in decision.because

    @pytest.mark.parametrize(("batch_s", "kept"), [(1.0, False), (100.0, True)])
    def test_what_comes_while_a_batch_is_worked_on_is_not_waiting(self, batch_s: float, kept: bool) -> None:
        view = self.backlogged(12_000.0)
        *earlier, latest = view.observations
        application = latest.applications["pipeline"]
        operators = {name: replace(o, batches_per_s=1.0 / batch_s) for name, o in application.operators.items()}
        latest = replace(latest, applications={"pipeline": replace(application, operators=operators)})
        decision = decide(Elysium(drain_s=60.0), replace(view, observations=(*earlier, latest)))
        assert isinstance(decision, Keep) is kept

    @pytest.mark.parametrize(
        ("events", "parallel_share", "kept"), [(500.0, 0.9, False), (500.0, 1.0, True), (5_000.0, 0.9, True)]
    )
    def test_nothing_is_worked_off_while_full_batches_are_planned(
        self, events: float, parallel_share: float, kept: bool
    ) -> None:
        # With 60 of those that wait 180 are to be handled per second, by two instances in 0.90 of the time. A batch
        # that does not take all that waits loses a tenth of its time at 120 per second, so 0.15 at 180.
        *earlier, latest = (view := self.backlogged(3_600.0 + events)).observations
        application = latest.applications["pipeline"]
        operators = {
            name: replace(o, batches_per_s=120.0 / events, processed_per_s=120.0, parallel_share=parallel_share)
            for name, o in application.operators.items()
        }
        latest = replace(latest, applications={"pipeline": replace(application, operators=operators)})
        decision = decide(Elysium(drain_s=60.0), replace(view, observations=(*earlier, latest)))
        assert isinstance(decision, Keep) is kept
        assert kept or target(decision).parallelism["pipeline"]["s1"] == 3

    @pytest.mark.parametrize("made", [Elysium(drain_s=0.0), Elysium(plain=True)])
    def test_no_regard_for_it_when_switched_off(self, made: Elysium) -> None:
        assert isinstance(decide(made, self.backlogged(12_000.0)), Keep)

    def test_a_small_backlog_fits_into_what_there_is(self) -> None:
        assert isinstance(decide(Elysium(), self.backlogged(600.0)), Keep)

    def test_no_more_is_asked_for_than_could_help(self) -> None:
        found = decide(Elysium(), self.backlogged(1e9))
        assert target(found).parallelism["pipeline"] == {"s0": 2, "s1": 16, "s2": 8}

    def test_instances_within_their_thresholds_are_kept(self) -> None:
        # s1 at 0.33 of its time would fit on two instances; it is not idle, so it keeps three.
        view = seen(100.0, configured(1, 3, 1, workers=1))
        assert isinstance(decide(Elysium(), view), Keep)
        assert target(decide(Elysium(plain=True), view)).parallelism["pipeline"]["s1"] == 2

    def test_workers_are_given_up_only_with_something_to_spare(self) -> None:
        # 195 events per second are 3.12 slots, 0.78 of one worker.
        view = seen(195.0, configured(1, 4, 2, workers=2))
        assert isinstance(decide(Elysium(), view), Keep)
        assert target(decide(Elysium(plain=True), view)).workers == 1

    def test_where_changes_pause_idle_instances_wait_for_another_change(self) -> None:
        made = Elysium(assessment_period_s=0.0)
        before = seen(300.0, configured(1, 5, 3, workers=2))
        _, memory = made.decide(before, made.start())
        pausing = self.with_pause(seen(80.0, configured(1, 5, 4, workers=1)), 5.0)
        decision, after = made.decide(replace(pausing, now_s=120.0), memory)
        assert isinstance(decision, Keep)
        assert after.senses.pausing
        without = seen(80.0, configured(1, 5, 4, workers=1))
        decision, _ = made.decide(replace(without, now_s=120.0), memory)
        assert target(decision).parallelism["pipeline"]["s1"] == 2

    def test_where_changes_pause_a_change_leaves_something_to_spare_and_says_so(self) -> None:
        made = Elysium(assessment_period_s=0.0, drain_s=0.0)
        _, memory = made.decide(seen(300.0, configured(1, 5, 3, workers=2)), made.start())
        pausing = self.with_pause(seen(120.0, configured(1, 1, 1, workers=1)), 5.0)
        decision, _ = made.decide(replace(pausing, now_s=120.0), memory)
        assert target(decision).parallelism["pipeline"] == {"s0": 1, "s1": 3, "s2": 2}
        assert "s2 at 0.60 of its time: 1 -> 2 to have some to spare" in decision.because

    def with_pause(self, view: View, paused_s: float) -> View:
        def later(observation: Observation) -> Observation:
            application = replace(observation.applications["pipeline"], paused_s=paused_s)
            return replace(observation, at_s=observation.at_s + 60.0, applications={"pipeline": application})

        return replace(view, observations=tuple(later(o) for o in view.observations))


class TestProactive:
    """A square wave of ten minutes: low for five, high for five."""

    def drive(self, made: Elysium, minutes: int, loads: tuple[float, float] = (60.0, 300.0)) -> list[Any]:
        def load(at_s: float) -> Mapping[str, float]:
            return {"pipeline": loads[int((at_s - 1.0) // 300.0) % 2]}

        start = largest({"pipeline": APP.topology}, APP.cluster)
        return list(drive(made, (APP,), load, start, 6 * minutes))

    def test_it_scales_out_before_the_load_does(self) -> None:
        turns = self.drive(Elysium("proactive"), 60)
        ahead = [t for t in turns if t.view.now_s > 2400.0 and "are forecast within" in t.decision.because]
        assert ahead
        grown = [t for t in ahead if isinstance(t.decision, Reconfigure)]
        assert grown
        assert all((t.view.now_s - 1.0) // 300.0 % 2 == 0 for t in grown)

    def test_it_says_that_it_knows_no_pattern_yet(self) -> None:
        first = self.drive(Elysium("proactive"), 2)[0]
        assert first.decision.because.endswith("reactive, as no pattern of the load is known yet")

    def test_a_history_that_is_too_short_for_the_horizon_is_no_mistake(self) -> None:
        turns = self.drive(Elysium("proactive", step_s=10.0, horizon_s=120.0, assessment_period_s=10.0), 4)
        assert all("no pattern" in t.decision.because for t in turns if "reactive, as" in t.decision.because)

    def test_a_bad_forecaster_is_not_followed(self) -> None:
        wrong = SeasonalNaive(7, 2)
        made = Elysium("proactive").with_models(
            {}, {"pipeline": wrong}, {"pipeline": LoadHistory(60.0, -7, (900.0,) * 7)}
        )
        turns = self.drive(made, 30)
        fallen_back = [t for t in turns if "reactive, as the forecast was off by" in t.decision.because]
        assert fallen_back

    def test_a_good_forecaster_is_followed_from_the_start(self) -> None:
        day = (*(60.0,) * 5, *(300.0,) * 5)
        made = Elysium("proactive").with_models(
            {}, {"pipeline": SeasonalNaive(10, 5)}, {"pipeline": LoadHistory(60.0, -10, day)}
        )
        turns = self.drive(made, 6)
        early = next(t for t in turns if isinstance(t.decision, Reconfigure) and "forecast" in t.decision.because)
        assert early.view.now_s < 300.0
        assert target(early.decision).parallelism["pipeline"]["s1"] >= 5

    @pytest.mark.parametrize(("top", "expected"), [(100.0, 2), (280.0, 5)])
    def test_who_knows_where_a_load_goes_does_not_guess_it_from_how_it_rises(self, top: float, expected: int) -> None:
        """At the pace of its rise the load would double; an operator handles 100 per instance."""
        views = [seen(load, configured(1, 1, 1, workers=1)) for load in (40.0, 60.0, 80.0, 100.0)]
        rising = tuple(replace(v.observations[-1], at_s=10.0 * (i + 1)) for i, v in enumerate(views))
        view = replace(views[-1], observations=rising, now_s=40.0)
        day = (40.0, 60.0, 80.0, 100.0, top, top)
        made = Elysium("proactive", lead_s=300.0, window_s=10.0, step_s=10.0, horizon_s=10.0, drain_s=0.0)
        knowing = made.with_models({}, {"pipeline": SeasonalNaive(6, 2)}, {"pipeline": LoadHistory.before(10.0, day)})
        assert target(decide(made, view)).parallelism["pipeline"]["s1"] == 4
        assert target(decide(knowing, view)).parallelism["pipeline"]["s1"] == expected

    def test_a_reactive_one_keeps_no_history(self) -> None:
        assert self.drive(Elysium(), 3)[-1].after.histories == {}


class TestProfiled:
    def test_a_profile_is_used_instead_of_what_is_seen(self) -> None:
        slow = pipeline((1000.0, 50.0, 200.0))
        observations = steady_view((slow,), {"pipeline": 40.0}, configured(1, 1, 1)).observations
        topologies = {"pipeline": slow.topology}
        profile = Learned().with_observations(topologies, slow.cluster, observations, 300.0).profile(slow.topology)
        found = target(decide(Elysium().with_models({"pipeline": profile}), seen(100.0, configured(1, 2, 1))))
        assert found.parallelism["pipeline"]["s1"] == 4

    def test_a_profile_that_does_not_fit_is_refused(self) -> None:
        profile = Learned().profile(APP.topology)
        with pytest.raises(UsageError, match="profile it again"):
            decide(Elysium().with_models({"pipeline": profile}), seen(100.0, configured(1, 2, 1)))

    def test_parameters_are_kept(self) -> None:
        made = Elysium("proactive", drain_s=7.0).with_models({})
        assert (made.mode, made.drain_s, made.start()) == ("proactive", 7.0, ElysiumMemory())


@pytest.mark.parametrize(
    "text", ["elysium:drain_s=-1", "elysium:window_s=0", "elysium:cpu_max=1.5", "elysium:mode=clairvoyant"]
)
def test_parameters_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        policy(text)


class TestPlainContract(PolicyContract):
    def make_policy(self) -> Policy[Any]:
        return policy("elysium:plain=true,assessment_period_s=0")


class TestProactiveContract(PolicyContract):
    def make_policy(self) -> Policy[Any]:
        return policy("elysium:proactive,step_s=20")
