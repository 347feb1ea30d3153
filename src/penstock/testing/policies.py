"""What every policy must do, as a test class to inherit.

    class TestMine(PolicyContract):
        def make_policy(self) -> Mine:
            return Mine(threshold=0.5)

pytest then runs the whole suite against it.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import is_dataclass, replace
from typing import Any

from penstock.model import (
    ApplicationObservation,
    Configuration,
    Decision,
    Keep,
    Observation,
    Reconfigure,
    Topology,
    View,
    largest,
    smallest,
)
from penstock.policies import Policy
from penstock.testing.views import Turn, crossing, drive, pipeline, steady_view, view_of
from penstock.workloads.application import Application


class PolicyContract:
    """The promises of a policy; override `make_policy` and, where they do not hold, the class attributes.

    `monotone_in_load`: from the same start a higher load never leads to less parallelism in total. `needs_data`: the
    policy does nothing before it has seen measurements. `settle_turns`: under a steady load the policy comes to rest
    within that many turns of ten seconds; `rest_turns`: so many turns without a change are rest.
    """

    monotone_in_load: bool = True
    needs_data: bool = True
    settle_turns: int = 100
    rest_turns: int = 20

    def make_policy(self) -> Policy[Any]:
        """A new policy, equal to the one made before."""
        raise NotImplementedError("a policy contract needs make_policy()")

    def make_applications(self) -> tuple[tuple[Application, ...], ...]:
        """The sets of applications to try: one in a row, one fused, one that branches, and two at once."""
        piped = pipeline((400.0, 90.0, 150.0, 700.0), max_parallelism=12)
        fused = pipeline((900.0, 300.0, 450.0), fused=True)
        return (piped,), (fused,), (crossing(),), (piped, crossing())

    def test_the_same_views_give_the_same_decisions(self) -> None:
        """A run replays: another policy object decides and remembers the same, turn by turn."""
        for applications in self.make_applications():
            turns = self._varied(applications)
            again = self.make_policy()
            memory = again.start()
            for turn in turns:
                assert memory == turn.before
                decision, memory = again.decide(turn.view, memory)
                assert decision == turn.decision
                assert memory == turn.after

    def test_targets_stay_within_bounds(self) -> None:
        """Every target names every operator within its bounds and a number of workers that quota and pool allow."""
        for applications in self.make_applications():
            for turn in self._varied(applications):
                if isinstance(turn.decision, Reconfigure):
                    _check_bounds(turn.view, turn.decision.target)

    def test_the_quota_holds(self) -> None:
        """A quota below what the load needs is respected."""
        for applications in self.make_applications():
            start = _smallest(applications)
            view = steady_view(applications, _loads(applications, 1.0), start)
            quota = replace(view.objectives, max_workers=max(start.workers, 2))
            for decision in self._decisions(replace(view, objectives=quota)):
                if isinstance(decision, Reconfigure):
                    assert decision.target.workers <= max(start.workers, 2)

    def test_reconfigurations_change_something_for_a_reason(self) -> None:
        """A reconfiguration differs from what is requested; every decision says why."""
        for applications in self.make_applications():
            for turn in self._varied(applications):
                assert turn.decision.because.strip()
                if isinstance(turn.decision, Reconfigure):
                    target, requested = turn.decision.target, turn.view.requested
                    placed = target.placement is not None and target.placement != requested.placement
                    same = (target.parallelism, target.workers) == (requested.parallelism, requested.workers)
                    assert placed or not same

    def test_nothing_happens_without_observations(self) -> None:
        """As long as nothing was measured, everything stays as it is."""
        if not self.needs_data:
            _skip("this policy needs no data")
        for applications in self.make_applications():
            for start in _starts(applications):
                view = view_of(applications, start, (), 60.0)
                assert all(isinstance(decision, Keep) for decision in self._decisions(view))

    def test_nothing_happens_when_nothing_is_known(self) -> None:
        """Observations in which all is None are no reason to act."""
        if not self.needs_data:
            _skip("this policy needs no data")
        for applications in self.make_applications():
            for start in _starts(applications):
                view = steady_view(applications, _loads(applications, 0.5), start)
                blank = replace(view, observations=tuple(_blank(o) for o in view.observations))
                assert all(isinstance(decision, Keep) for decision in self._decisions(blank))

    def test_a_missing_application_does_no_harm(self) -> None:
        """An application that was not observed is left as it is."""
        piped, other = pipeline((400.0, 90.0, 150.0)), crossing()
        start = _smallest((piped, other))
        view = steady_view((piped, other), {piped.name: 300.0, other.name: 300.0}, start)
        partly = tuple(replace(o, applications={piped.name: o.applications[piped.name]}) for o in view.observations)
        for decision in self._decisions(replace(view, observations=partly)):
            if isinstance(decision, Reconfigure) and self.needs_data:
                assert decision.target.parallelism[other.name] == start.parallelism[other.name]

    def test_it_comes_to_rest(self) -> None:
        """Under a steady load the policy settles, and at its target it keeps what there is."""
        for applications in self.make_applications():
            for start in _starts(applications):
                loads = _loads(applications, 0.6)
                settled = self._settled(applications, loads, start)
                for decision in self._decisions(steady_view(applications, loads, settled), turns=5):
                    assert isinstance(decision, Keep), decision

    def test_it_changes_nothing_it_is_given(self) -> None:
        """View and memory are the same after a decision as before it."""
        for applications in self.make_applications():
            view = steady_view(applications, _loads(applications, 0.8), _smallest(applications))
            policy = self.make_policy()
            memory = policy.start()
            for turn in range(4):
                given, remembered = _later(view, 10.0 * turn), memory
                untouched = deepcopy((given, remembered))
                _, memory = policy.decide(given, remembered)
                assert (given, remembered) == untouched

    def test_more_load_never_leads_to_less_parallelism(self) -> None:
        """From the same start, the first change for a higher load has at least as many instances in total."""
        if not self.monotone_in_load:
            _skip("this policy does not promise to be monotone in load")
        for applications in ((pipeline((400.0, 90.0, 150.0)),), (pipeline((900.0, 300.0), fused=True),), (crossing(),)):
            for start in (*_starts(applications), _middle(applications)):
                totals = [self._total(applications, share / 6, start) for share in range(7)]
                assert totals == sorted(totals)

    def test_memory_is_a_value(self) -> None:
        """Memories made in the same way are equal, and those that are dataclasses survive being written as JSON."""
        from pydantic import TypeAdapter

        assert self.make_policy().start() == self.make_policy().start()
        adapter: TypeAdapter[object] | None = None
        for applications in self.make_applications():
            for turn in self._varied(applications):
                if is_dataclass(turn.after):
                    adapter = adapter or TypeAdapter(type(turn.after))
                    assert adapter.validate_json(adapter.dump_json(turn.after)) == turn.after

    def _decisions(self, view: View, turns: int = 8) -> Iterator[Decision]:
        """Decisions on a situation that stays as it is, whatever is decided, while time goes by."""
        policy = self.make_policy()
        memory = policy.start()
        for turn in range(turns):
            decision, memory = policy.decide(_later(view, 10.0 * turn), memory)
            yield decision

    def _settled(
        self, applications: Sequence[Application], loads_per_s: Mapping[str, float], start: Configuration
    ) -> Configuration:
        """What a policy has arrived at when it has come to rest."""
        most = self.settle_turns + self.rest_turns
        resting = 0
        decision: Decision | None = None
        for turn in drive(self.make_policy(), applications, lambda _: loads_per_s, start, most):
            decision = turn.decision
            resting = resting + 1 if isinstance(decision, Keep) else 0
            if resting == self.rest_turns:
                return turn.view.requested
        raise AssertionError(f"not at rest after {self.settle_turns} turns, last: {decision}")

    def _varied(self, applications: Sequence[Application]) -> list[Turn]:
        """A run under a load that goes up and down."""
        shares = (0.1, 0.4, 1.0, 1.5, 0.6, 0.0, 0.3)
        return list(
            drive(
                self.make_policy(),
                applications,
                lambda at_s: _loads(applications, shares[int(at_s // 80) % len(shares)]),
                _smallest(applications),
                56,
            )
        )

    def _total(self, applications: Sequence[Application], share: float, start: Configuration) -> int:
        """Instances in total after the policy's first change, or without one."""
        decisions = self._decisions(steady_view(applications, _loads(applications, share), start))
        target = next((d.target for d in decisions if isinstance(d, Reconfigure)), start)
        return sum(instances for operators in target.parallelism.values() for instances in operators.values())


def _skip(because: str) -> None:
    import pytest

    pytest.skip(because)


def _loads(applications: Sequence[Application], share: float) -> dict[str, float]:
    return {application.name: share * application.high_per_s for application in applications}


def _topologies(applications: Sequence[Application]) -> dict[str, Topology]:
    return {application.name: application.topology for application in applications}


def _smallest(applications: Sequence[Application]) -> Configuration:
    return smallest(_topologies(applications), applications[0].cluster)


def _starts(applications: Sequence[Application]) -> tuple[Configuration, Configuration]:
    return _smallest(applications), largest(_topologies(applications), applications[0].cluster)


def _middle(applications: Sequence[Application]) -> Configuration:
    parallelism = {a.name: {o.name: o.clip(4) for o in a.topology.operators} for a in applications}
    return Configuration(parallelism, 1).fitted(_topologies(applications), applications[0].cluster)


def _blank(observation: Observation) -> Observation:
    """The same observation with nothing known but the number of instances."""
    applications = {
        name: ApplicationObservation(
            {operator: type(seen)(seen.instances) for operator, seen in application.operators.items()}
        )
        for name, application in observation.applications.items()
    }
    workers = {name: type(worker)() for name, worker in observation.workers.items()}
    return replace(observation, applications=applications, workers=workers)


def _later(view: View, by_s: float) -> View:
    observations = tuple(replace(o, at_s=o.at_s + by_s) for o in view.observations)
    return replace(view, now_s=view.now_s + by_s, observations=observations)


def _check_bounds(view: View, target: Configuration) -> None:
    assert set(target.parallelism) == set(view.topologies)
    for name, topology in view.topologies.items():
        assert set(target.parallelism[name]) == set(topology.names)
        for operator in topology.operators:
            instances = target.parallelism[name][operator.name]
            assert operator.min_parallelism <= instances <= operator.max_parallelism, (operator.name, instances)
    assert 1 <= target.workers <= view.max_workers
