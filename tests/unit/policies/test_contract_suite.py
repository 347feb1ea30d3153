"""The shipped contract of policies finds those that break it."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from penstock.model import Configuration, Decision, Keep, Reconfigure, View, largest, smallest
from penstock.policies import Ds2, Policy
from penstock.policies.ds2 import Ds2Memory
from penstock.testing import PolicyContract, crossing, drive, pipeline, steady_view


@dataclass(frozen=True)
class Broken:
    """A policy that does whatever it is told to."""

    rule: Callable[[View, Any], tuple[Decision, Any]]
    first: Callable[[], Any] = lambda: None

    def start(self) -> Any:
        return self.first()

    def decide(self, view: View, memory: Any) -> tuple[Decision, Any]:
        return self.rule(view, memory)


@dataclass(frozen=True)
class Counting:
    """A policy that keeps something to itself."""

    calls: list[int] = field(default_factory=list)

    def start(self) -> None:
        """It remembers nothing that it shows."""

    def decide(self, view: View, memory: None) -> tuple[Decision, None]:
        self.calls.append(1)
        return Keep(f"asked {len(self.calls)} times"), None


def everything(view: View) -> Configuration:
    return largest(view.topologies, view.cluster)


def load(view: View) -> float:
    latest = view.latest
    return sum(a.input_per_s or 0.0 for a in latest.applications.values()) if latest else 0.0


def too_many(view: View, memory: Any) -> tuple[Decision, Any]:
    doubled = {a: {o: 2 * k for o, k in ops.items()} for a, ops in everything(view).parallelism.items()}
    return Reconfigure(Configuration(doubled, len(view.cluster.workers)), "more"), memory


def all_workers(view: View, memory: Any) -> tuple[Decision, Any]:
    return Reconfigure(everything(view), "more"), memory


def back_and_forth(view: View, memory: Any) -> tuple[Decision, Any]:
    if not load(view):
        return Keep("no load"), memory
    small = smallest(view.topologies, view.cluster)
    target = everything(view) if view.requested == small else small
    return Reconfigure(target, "the other one"), memory


def contrary(view: View, memory: Any) -> tuple[Decision, Any]:
    small = smallest(view.topologies, view.cluster)
    target = small if load(view) > 500 else everything(view)
    return (Keep("there"), memory) if target == view.requested else (Reconfigure(target, "contrary"), memory)


def meddling(view: View, memory: Any) -> tuple[Decision, Any]:
    for operators in view.requested.parallelism.values():
        operators["s0"] = 99  # type: ignore[index]
    return Keep("but changed"), memory


def forgetful_of_others(view: View, memory: Any) -> tuple[Decision, Any]:
    target = everything(view)
    return (Reconfigure(target, "all") if load(view) and target != view.requested else Keep("none")), memory


def speechless(view: View, memory: Any) -> tuple[Decision, Any]:
    return Keep(" "), memory


def pointless(view: View, memory: Any) -> tuple[Decision, Any]:
    return Reconfigure(view.requested, "as it is"), memory


def unwritable(view: View, memory: Any) -> tuple[Decision, Any]:
    return Keep("all is well"), replace(Ds2Memory(), requested=view.requested, decided_at_s=float("nan"))


@pytest.mark.parametrize(
    ("test", "policy"),
    [
        ("test_the_same_views_give_the_same_decisions", Counting()),
        ("test_targets_stay_within_bounds", Broken(too_many)),
        ("test_the_quota_holds", Broken(all_workers)),
        ("test_nothing_happens_without_observations", Broken(all_workers)),
        ("test_nothing_happens_when_nothing_is_known", Broken(all_workers)),
        ("test_a_missing_application_does_no_harm", Broken(forgetful_of_others)),
        ("test_it_comes_to_rest", Broken(back_and_forth)),
        ("test_more_load_never_leads_to_less_parallelism", Broken(contrary)),
        ("test_it_changes_nothing_it_is_given", Broken(meddling)),
        ("test_reconfigurations_change_something_for_a_reason", Broken(speechless)),
        ("test_reconfigurations_change_something_for_a_reason", Broken(pointless)),
        ("test_memory_is_a_value", Broken(unwritable)),
        ("test_memory_is_a_value", Broken(speechless, object)),
    ],
)
def test_a_broken_policy_is_found(test: str, policy: Policy[Any]) -> None:
    class Contract(PolicyContract):
        settle_turns = 20

        def make_policy(self) -> Policy[Any]:
            return policy

    with pytest.raises(AssertionError):
        getattr(Contract(), test)()


def test_the_contract_is_about_a_policy_that_is_given() -> None:
    with pytest.raises(NotImplementedError, match="make_policy"):
        PolicyContract().make_policy()


def test_test_data_needs_no_pytest() -> None:
    code = "import sys, penstock.testing; sys.exit('pytest' in sys.modules or 'pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_fluid_model_throttles_what_does_not_fit() -> None:
    app = pipeline((100.0, 50.0, 1000.0), selectivity=2.0)
    start = Configuration({"pipeline": {"s0": 1, "s1": 2, "s2": 1}}, 1)
    seen = steady_view((app,), {"pipeline": 80.0}, start).observations[-1].applications["pipeline"]
    assert seen.throughput_per_s == pytest.approx(50.0)
    assert seen.backlog == pytest.approx(300.0)
    middle = seen.operators["s1"]
    assert (middle.input_per_s, middle.processed_per_s, middle.usage(10.0)) == pytest.approx((160.0, 100.0, 1.0))
    assert middle.output_per_s == {"s2": pytest.approx(200.0)}
    assert seen.operators["s2"].true_rate_per_s == seen.operators["s2"].effective_rate_per_s == pytest.approx(1000.0)


def test_fused_operators_of_the_fluid_model_share_their_time() -> None:
    app = pipeline((100.0, 300.0), fused=True)
    start = Configuration({"pipeline": {"s0": 1, "s1": 1}}, 1)
    seen = steady_view((app,), {"pipeline": 150.0}, start).observations[-1].applications["pipeline"]
    assert seen.throughput_per_s == pytest.approx(75.0)
    first, second = seen.operators["s0"], seen.operators["s1"]
    assert (first.time_share, second.time_share) == pytest.approx((0.75, 0.25))
    assert (first.effective_rate_per_s, second.effective_rate_per_s) == pytest.approx((75.0, 75.0))
    assert (first.usage(10.0), second.usage(10.0)) == pytest.approx((0.75, 0.25))


def test_a_drive_carries_out_what_is_decided() -> None:
    app = crossing()
    start = smallest({app.name: app.topology}, app.cluster)
    turns = list(drive(Ds2(), (app,), lambda _: {app.name: 600.0}, start, 12))
    changed = next(i for i, turn in enumerate(turns) if isinstance(turn.decision, Reconfigure))
    decision = turns[changed].decision
    assert isinstance(decision, Reconfigure)
    assert turns[changed + 1].view.requested == decision.target
    assert turns[changed + 1].view.observed == decision.target
    assert turns[changed + 1].before == turns[changed].after
