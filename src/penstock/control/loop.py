"""The loop: observe, decide, guard, act, verify; everything it does is in its journal."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic

from penstock.control.actions import Action
from penstock.control.entries import (
    STOPPED,
    Acted,
    Decided,
    Ended,
    Entry,
    Judged,
    Observed,
    Refused,
    Requested,
    Started,
)
from penstock.control.guards import Blocked, Held, Need, Situation, admit, bounds, excluded_periods, only_grows, quota
from penstock.control.inspection import inspect
from penstock.control.judgement import EVIDENCE, PATIENCE, Trial, judge
from penstock.control.ports import Actuator, Clock, Journal, Monitor
from penstock.control.settings import LoopSettings
from penstock.errors import ActionFailed, BadObservation, UsageError
from penstock.model import (
    Cluster,
    Configuration,
    Objectives,
    Observation,
    Reconfigure,
    ScaleRequest,
    Topology,
    View,
    diff,
)
from penstock.policies.base import Memory, Policy


@dataclass(frozen=True, slots=True)
class Plant:
    """What is under control: the applications, the pool of workers, and what the user wants of them."""

    topologies: Mapping[str, Topology]
    cluster: Cluster
    objectives: Objectives


@dataclass(frozen=True, slots=True)
class Ports:
    """The loop's hands and eyes."""

    monitor: Monitor
    actuator: Actuator
    clock: Clock
    journal: Journal


class ControlLoop(Generic[Memory]):
    """Runs one policy over one plant.

    All its state follows from the journal: a loop that is fed the recorded observations of another (see
    `penstock.control.replay`) ends up in the same state and decides the same from there on.
    """

    def __init__(
        self,
        plant: Plant,
        policy: Policy[Memory],
        ports: Ports,
        settings: LoopSettings | None = None,
        on_entry: Callable[[Entry], None] | None = None,
    ) -> None:
        self.ports = ports
        self._plant = plant
        self._policy = policy
        self._settings = settings or LoopSettings()
        self.on_entry = on_entry
        self._memory = policy.start()
        self._desired = ports.actuator.requested()
        self._window: tuple[Observation, ...] = ()
        self._needs: tuple[Need, ...] = ()
        self._blocked: tuple[Blocked, ...] = ()
        self._trial: Trial | None = None
        self._last_action_s: float | None = None
        self._gave_up = False
        self._acted_on_per_s: Mapping[str, float] = {}
        self._next_decision_s = 0.0
        self._asked: deque[int] = deque()
        self._requests: tuple[ScaleRequest, ...] = ()

    @property
    def memory(self) -> Memory:
        """What the policy remembers."""
        return self._memory

    def begin(self, run: Mapping[str, str], resumed: bool = False) -> None:
        """Write down what is about to run."""
        plant = self._plant
        self._record(
            Started(
                self.ports.clock.now_s(),
                dict(run),
                tuple(plant.topologies.values()),
                plant.cluster,
                plant.objectives,
                self.ports.actuator.requested(),
                self._settings,
                resumed,
            )
        )

    def run(
        self,
        until_s: float,
        stopped: Callable[[], bool] = lambda: False,
        linger: Callable[[], bool] = lambda: False,
        planned: Sequence[ScaleRequest] = (),
    ) -> None:
        """Go round until the clock shows `until_s`, longer while `linger` says so, but not once `stopped` does.

        `planned` requests are made when their time has come.
        """
        clock = self.ports.clock
        waiting = deque(sorted(planned, key=lambda request: request.at_s))
        while (at_s := clock.now_s() + self._settings.observe_every_s) <= until_s + 1e-9 or linger():
            clock.sleep_until(at_s)
            if stopped():
                break
            while waiting and waiting[0].at_s <= clock.now_s() + 1e-9:
                self.request(waiting.popleft().workers)
            self.round()
        self.end(STOPPED if stopped() else "the time was up")

    def request(self, workers: int) -> None:
        """Ask for so many workers more (positive) or fewer (negative), from any thread.

        The next round that observes something writes it down and shows it to the policy, which serves it if it serves
        requests at all.
        """
        if workers == 0:
            raise UsageError("A request for 0 workers asks for nothing; ask for at least 1 more or 1 fewer.")
        self._asked.append(workers)

    @property
    def latest(self) -> Observation | None:
        """The last measurement that was fit to act upon."""
        return self._window[-1] if self._window else None

    def end(self, because: str) -> None:
        """Write down that the run is over."""
        self._record(Ended(self.ports.clock.now_s(), because))

    def round(self) -> None:
        """One turn: observe, verify the last change, and, when it is time, decide and act."""
        now_s = self.ports.clock.now_s()
        if not self._observe(now_s):
            return
        self._take_note(now_s)
        if self._verify(now_s):
            return
        if now_s + 1e-9 >= self._next_decision_s:
            self._next_decision_s = now_s + self._settings.decide_every_s
            self._decide(now_s)

    def _observe(self, now_s: float) -> bool:
        previous_s = self._window[-1].at_s if self._window else None
        try:
            observation = self.ports.monitor.observe()
            inspect(observation, self._plant.topologies, previous_s)
        except BadObservation as error:
            self._record(Refused(now_s, str(error)))
            return False
        self._record(Observed(now_s, observation))
        since_s = observation.at_s - self._settings.window_s
        self._window = (*(o for o in self._window if o.at_s > since_s), observation)
        return True

    def _take_note(self, now_s: float) -> None:
        """Write down what the user asked for since the last round. Only here, so that a replay knows the round."""
        while self._asked:
            workers = self._asked.popleft()
            self._record(Requested(now_s, workers))
            self._requests = (*self._requests, ScaleRequest(now_s, workers))

    def _verify(self, now_s: float) -> bool:
        """Judge the last change once it has settled; True when it was rolled back."""
        trial = self._trial
        if trial is None:
            return False
        if len(self._window[-1].workers) < trial.target.workers and now_s < trial.waits_until_s:
            self._trial = trial = replace(trial, at_s=max(now_s, trial.at_s))  # workers are still on their way
        if now_s + 1e-9 < trial.at_s + self._settings.settle_s:
            return False
        if isinstance(excluded_periods(trial.before, self._situation(now_s, trial.target)), Held):
            return False  # A rollback is a change, too: the verdict waits until something may change.
        settled_s = trial.at_s + self._settings.settle_s / 2
        after = tuple(o for o in self._window if o.at_s - o.window_s >= settled_s - 1e-9) or self._window[-1:]
        patient = now_s + 1e-9 < trial.at_s + PATIENCE * self._settings.settle_s
        verdict = judge(trial, after, self._settings.tolerance, patient)
        if verdict is None or (verdict.verdict == "worse" and patient and len(after) < EVIDENCE):
            return False
        self._trial = None
        if verdict.verdict != "worse":
            self._record(Judged(now_s, verdict.verdict, verdict.because))
            return False
        self._record(Judged(now_s, "worse", verdict.because, trial.before))
        self._blocked = (
            *(b for b in self._blocked if b.until_s > now_s),
            Blocked(diff(trial.before, trial.target), now_s + self._settings.block_s, self._window[-1].loads()),
        )
        self._act(now_s, trial.before)
        return True

    def _decide(self, now_s: float) -> None:
        requested = self.ports.actuator.requested()
        decision, self._memory = self._policy.decide(self._view(now_s, requested), self._memory)
        if not isinstance(decision, Reconfigure):
            self._record(Decided(now_s, decision, None))
            return
        situation = self._situation(now_s, requested)
        self._remember_need(now_s, decision.target, situation)
        admitted = admit(decision.target, self._situation(now_s, requested))
        if isinstance(admitted, Held):
            self._record(Decided(now_s, decision, None, admitted.because))
            return
        if not diff(requested, admitted):
            self._record(Decided(now_s, decision, None, "bounds: nothing is left to change"))
            return
        self._desired = admitted
        self._record(Decided(now_s, decision, admitted))
        actions = self._act(now_s, admitted, decision.release)
        if actions is not None and not decision.on_request:
            grew = admitted.workers > requested.workers or (
                admitted.slots(self._plant.topologies) > requested.slots(self._plant.topologies)
            )
            done_s = now_s + sum(action.duration_s for action in actions)
            waits_until_s = done_s + PATIENCE * self._settings.settle_s
            self._trial = Trial(done_s, requested, admitted, grew, decision.expected, self._window, waits_until_s)

    def _remember_need(self, now_s: float, target: Configuration, situation: Situation) -> None:
        """Keep what was asked for, within bounds and quota, so that it is not given up too soon."""
        since_s = now_s - self._settings.scale_down_after_s
        need = target
        for clip in (bounds, quota):
            clipped = clip(need, situation)
            need = clipped if isinstance(clipped, Configuration) else need
        kept = (earlier for earlier in self._needs if earlier.at_s > since_s)
        self._needs = (*kept, Need(now_s, need, situation.loads_per_s))

    def _act(self, now_s: float, target: Configuration, release: tuple[str, ...] = ()) -> tuple[Action, ...] | None:
        """Carry out a change; None if it failed."""
        self._last_action_s = now_s
        self._gave_up = only_grows(target, self.ports.actuator.requested())
        self._acted_on_per_s = self._window[-1].loads()
        try:
            actions = self.ports.actuator.apply(target, release)
        except ActionFailed as error:
            self._record(Acted(now_s, target, (), str(error)))
            return None
        self._desired = target
        self._record(Acted(now_s, target, actions))
        return actions

    def _view(self, now_s: float, requested: Configuration) -> View:
        return View(
            now_s,
            self._plant.topologies,
            self._plant.cluster,
            self._plant.objectives,
            self._desired,
            requested,
            self._window[-1].configuration(),
            self._window,
            self._requests,
        )

    def _situation(self, now_s: float, requested: Configuration) -> Situation:
        plant = self._plant
        return Situation(
            now_s,
            plant.topologies,
            plant.cluster,
            plant.objectives,
            self._settings,
            requested,
            self._last_action_s,
            self._needs,
            self._blocked,
            self._window[-1].loads() if self._window else {},
            self._gave_up,
            self._acted_on_per_s,
        )

    def _record(self, entry: Entry) -> None:
        self.ports.journal.append(entry)
        if self.on_entry is not None:
            self.on_entry(entry)
