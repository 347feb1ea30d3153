"""Operator fission: replicas by load, now and as a Markov chain foresees it (self-adaptive processing graph)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.analysis import (
    application_rates,
    desired_inputs,
    segment_busy_s,
    selectivities,
    source_inputs,
    stationary_distribution,
    transition_matrix,
)
from penstock.errors import UsageError
from penstock.model import Decision, Keep, Observation, Operator, Reconfigure, Topology, View, diff
from penstock.policies.sizing import on_fewest_workers

STATES = ("underloaded", "balanced", "overloaded")
SATURATED = 0.95
"""Replicas that are busy for at least this share of a window show in it what they can do."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """What is remembered of the replicas of one operator.

    `capacity_per_s` is what one replica can handle, `saturated` whether that was seen under full load. `loads` sum up
    the `windows` since the last short-term analysis, `equal` counts analyses in a row that found `state`. `history` has
    a letter (u, b, o) for every window since the last mid-term analysis, `peak_per_s` the most that arrived in one.
    """

    capacity_per_s: float | None = None
    saturated: bool = False
    loads: float = 0.0
    windows: int = 0
    arrived_per_s: float = 0.0
    state: str | None = None
    equal: int = 0
    history: str = ""
    peak_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class FissionMemory:
    """Up to when measurements were taken in, when each analyser last ran, and what is remembered of every operator."""

    seen_s: float | None = None
    short_s: float | None = None
    mid_s: float | None = None
    operators: Mapping[str, Mapping[str, Replicas]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Step:
    instances: int
    because: str | None = None


@dataclass(frozen=True, slots=True)
class Fission:
    """Adds and removes replicas of every operator by its load: what arrives over what its replicas can handle.

    What one replica can handle is learned from windows in which all are busy (the publication overloads each operator
    once for that); until there was one, from what they handle per second of useful time.

    Short term, every `ts_s` seconds: above `upper` an operator is overloaded, below `lower` underloaded. When the same
    was found `w` times in a row, `r` replicas are added or removed, and again for every time that follows. Mid term,
    every `tm_s` seconds: the states of all windows since the last time make a Markov chain. The likeliest state in the
    long run is the one to prepare for, if it is more likely than the current one by `s`; otherwise the current one. An
    operator that is, or will be, over- or underloaded gets or loses `r_mid` replicas at once. Without `mid_term` only
    the first analyser runs. Windows are as long as the loop's observations; the publication's are of one second.

    `bounded` keeps the mid term from overshooting: it removes no replica that the current load needs, and adds none
    that would have been idle at the peak of its history (as published: off). The workers are the fewest that hold all
    replicas. Members of a fused segment take turns; what they can handle is reckoned by the time of their segment.
    """

    ts_s: float = 5.0
    tm_s: float = 100.0
    upper: float = 1.0
    lower: float = 0.5
    s: float = 0.2
    w: int = 2
    r: int = 1
    r_mid: int = 5
    mid_term: bool = True
    bounded: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.lower < self.upper:
            raise UsageError(f"Fission needs 0 <= lower < upper, not {self.lower:g} and {self.upper:g}.")
        if not 0 < self.ts_s <= self.tm_s:
            raise UsageError(f"Fission needs 0 < ts_s <= tm_s, not {self.ts_s:g} and {self.tm_s:g}.")
        if not 0 <= self.s <= 1:
            raise UsageError(f"The threshold s is a probability between 0 and 1, not {self.s:g}.")
        if min(self.w, self.r, self.r_mid) < 1:
            raise UsageError("Fission needs w, r and r_mid of at least 1.")

    def start(self) -> FissionMemory:
        """Nothing is known."""
        return FissionMemory()

    def decide(self, view: View, memory: FissionMemory) -> tuple[Decision, FissionMemory]:
        """Take in what is new, let the analysers run whose time has come, and add or remove replicas."""
        memory = self._taken_in(view, memory)
        if memory.seen_s is None or memory.short_s is None or memory.mid_s is None:
            return Keep("nothing was measured yet"), memory
        short = view.now_s - memory.short_s >= self.ts_s - 1e-3
        mid = self.mid_term and view.now_s - memory.mid_s >= self.tm_s - 1e-3
        parallelism = {name: dict(operators) for name, operators in view.requested.parallelism.items()}
        reasons: list[str] = []
        after: dict[str, dict[str, Replicas]] = {}
        for name, topology in view.topologies.items():
            after[name] = {}
            for operator in topology.operators:
                known = memory.operators.get(name, {}).get(operator.name, Replicas())
                step, known = self._step(operator, parallelism[name][operator.name], known, (short, mid))
                after[name][operator.name] = known
                if step.because is not None:
                    parallelism[name][operator.name] = step.instances
                    reasons.append(f"{name}/{step.because}" if len(view.topologies) > 1 else step.because)
        memory = replace(
            memory,
            short_s=view.now_s if short else memory.short_s,
            mid_s=view.now_s if mid else memory.mid_s,
            operators=after,
        )
        return self._decision(view, parallelism, reasons, memory), memory

    def _decision(
        self, view: View, parallelism: dict[str, dict[str, int]], reasons: list[str], memory: FissionMemory
    ) -> Decision:
        if not any(known.state for operators in memory.operators.values() for known in operators.values()):
            return Keep("no operator's load is known yet")
        target = on_fewest_workers(view, parallelism)
        if not diff(view.requested, target):
            return Keep(f"loads are between {self.lower:g} and {self.upper:g}, too new, or replicas at a bound")
        because = "; ".join(reasons)
        return Reconfigure(target, because or f"{target.workers} workers are the fewest for what runs")

    def _taken_in(self, view: View, memory: FissionMemory) -> FissionMemory:
        """The memory with the windows that are new."""
        operators = {name: dict(known) for name, known in memory.operators.items()}
        seen_s, short_s, mid_s = memory.seen_s, memory.short_s, memory.mid_s
        for observation in view.observations:
            if seen_s is not None and observation.at_s <= seen_s + 1e-9:
                continue
            if short_s is None or mid_s is None:
                short_s = mid_s = observation.at_s - observation.window_s
            seen_s = observation.at_s
            for name in observation.applications:
                if name in view.topologies:
                    own = operators.setdefault(name, {})
                    ratios = selectivities(view.topologies[name], view.observations)
                    own.update(self._window(view.topologies[name], own, observation, ratios))
        return FissionMemory(seen_s, short_s, mid_s, operators)

    def _window(
        self,
        topology: Topology,
        known: Mapping[str, Replicas],
        observation: Observation,
        ratios: Mapping[tuple[str, str], float],
    ) -> dict[str, Replicas]:
        seen, window_s = observation.applications[topology.name], observation.window_s
        arriving = _arriving(topology, observation, ratios)
        result = {}
        for segment in topology.all_segments:
            busy_s = segment_busy_s(seen, segment)
            for name in (member for member in segment if member in seen.operators):
                operator = seen.operators[name]
                rate = (
                    operator.true_rate_per_s if operator.effective_rate_per_s is None else operator.effective_rate_per_s
                )
                full = busy_s is not None and busy_s >= SATURATED * operator.instances * window_s
                replicas = _learned(known.get(name, Replicas()), rate, full)
                result[name] = self._noted(replicas, arriving[name], operator.instances)
        return result

    def _noted(self, replicas: Replicas, arriving_per_s: float | None, instances: int) -> Replicas:
        """With the load of one more window."""
        load = _load(arriving_per_s, replicas.capacity_per_s, instances)
        if load is None or arriving_per_s is None:
            return replicas
        return replace(
            replicas,
            loads=replicas.loads + load,
            windows=replicas.windows + 1,
            arrived_per_s=arriving_per_s,
            history=replicas.history + self._state(load)[0],
            peak_per_s=max(replicas.peak_per_s, arriving_per_s),
        )

    def _state(self, load: float) -> str:
        """Algorithm 1."""
        if load > self.upper:
            return "overloaded"
        return "underloaded" if load < self.lower else "balanced"

    def _step(
        self, operator: Operator, instances: int, known: Replicas, due: tuple[bool, bool]
    ) -> tuple[_Step, Replicas]:
        """What the analysers that are due want for one operator; the mid term is asked first."""
        short, mid = due
        if short and known.windows:
            known, load = self._analysed(known)
        else:
            load = None
        step = _Step(instances)
        if mid and known.state is not None:
            step = self._prepared(operator, instances, known)
            known = replace(known, history="", peak_per_s=0.0)
        if step.because is None and load is not None and known.equal >= self.w:
            step = self._reacted(operator, instances, known, load)
        return step, known

    def _analysed(self, known: Replicas) -> tuple[Replicas, float]:
        """The short-term analysis of the windows since the last one, and the load in them."""
        load = known.loads / known.windows
        state = self._state(load)
        equal = known.equal + 1 if state == known.state else 1
        return replace(known, state=state, equal=equal, loads=0.0, windows=0), load

    def _reacted(self, operator: Operator, instances: int, known: Replicas, load: float) -> _Step:
        """Algorithm 3 for the short term."""
        by = {"overloaded": self.r, "underloaded": -self.r}.get(known.state or "", 0)
        after = operator.clip(instances + by)
        if after == instances:
            return _Step(instances)
        return _Step(
            after, f"{operator.name} was {known.state} {known.equal} times, at {load:.2f}: {instances} -> {after}"
        )

    def _prepared(self, operator: Operator, instances: int, known: Replicas) -> _Step:
        """Algorithms 2 and 3 for the mid term."""
        state, likelihood = self._foreseen(known)
        by = {"overloaded": self.r_mid, "underloaded": -self.r_mid}.get(state, 0)
        after = operator.clip(self._within(instances, instances + by, known))
        if after == instances:
            return _Step(instances)
        return _Step(after, f"{operator.name} will be {state} for {likelihood:.0%} of the time: {instances} -> {after}")

    def _foreseen(self, known: Replicas) -> tuple[str, float]:
        letters = "".join(state[0] for state in STATES)
        history = [letters.index(letter) for letter in known.history]
        current = STATES.index(known.state or "balanced")
        shares = stationary_distribution(transition_matrix([history], len(STATES)), history[-1] if history else current)
        likeliest = max(range(len(STATES)), key=shares.__getitem__)
        chosen = likeliest if shares[likeliest] > shares[current] + self.s else current
        return STATES[chosen], shares[chosen]

    def _within(self, before: int, after: int, known: Replicas) -> int:
        """The nearest number that does not overshoot, between `before` and `after`."""
        if not self.bounded or not known.capacity_per_s:
            return after
        if after < before:
            needed = math.ceil(known.arrived_per_s / (known.capacity_per_s * self.upper) - 1e-9)
            return min(before, max(after, needed))
        busy = math.floor(known.peak_per_s / (known.capacity_per_s * self.lower) + 1e-9) if self.lower else after
        return max(before, min(after, busy))


def _arriving(
    topology: Topology, observation: Observation, ratios: Mapping[tuple[str, str], float]
) -> dict[str, float | None]:
    """What arrives at every operator per second, given the selectivities of all streams.

    Inside a fused segment an operator gets what its batch has taken in, however much waits at the source, and nothing
    in a window in which no batch ended. So there it is what would arrive if all were taken in, if that is known.
    """
    operators = observation.applications[topology.name].operators
    own = {name: operator.input_per_s for name, operator in operators.items()}
    if not topology.segments:
        return own
    wanted = desired_inputs(topology, source_inputs(topology, application_rates(topology, (observation,))), ratios)
    fused = {name for segment in topology.segments for name in segment}
    foreseen = {name: (rate or None) if wanted[name] is None else wanted[name] for name, rate in own.items()}
    return {name: foreseen[name] if name in fused else rate for name, rate in own.items()}


def _learned(replicas: Replicas, rate_per_s: float | None, full: bool) -> Replicas:
    """With what one window teaches about the capacity: under full load for good, otherwise for want of better."""
    if not rate_per_s or (replicas.saturated and not full):
        return replicas
    return replace(replicas, capacity_per_s=rate_per_s, saturated=full)


def _load(arriving_per_s: float | None, capacity_per_s: float | None, instances: int) -> float | None:
    """Equation 1. Where nothing arrives the load is 0, whatever the capacity."""
    if arriving_per_s is None:
        return None
    if arriving_per_s == 0:
        return 0.0
    return arriving_per_s / (capacity_per_s * instances) if capacity_per_s else None
