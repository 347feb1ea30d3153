"""Compares what a change promised with what it brought."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Literal

from penstock.model import Configuration, Expected, Observation

PATIENCE = 3
"""Settling times after which an application that completes nothing is taken to stand still."""
EVIDENCE = 2
"""How many observations after a change it takes to call it worse: one may hold nothing but the end of a long batch."""


@dataclass(frozen=True, slots=True)
class Performance:
    """How one application did over a few observations; rates in source events per second."""

    input_per_s: float
    throughput_per_s: float
    backlog: float

    @classmethod
    def of(cls, application: str, observations: Iterable[Observation]) -> "Performance | None":
        """Averages over the observations that are complete for `application`; None if there is none."""
        seen = [(o.window_s, o.applications[application]) for o in observations if application in o.applications]
        known = [
            (window_s, a.input_per_s, a.throughput_per_s, a.backlog)
            for window_s, a in seen
            if a.input_per_s is not None and a.throughput_per_s is not None and a.backlog is not None
        ]
        if not known:
            return None
        total_s = sum(window_s for window_s, *_ in known)
        return cls(
            sum(w * rate for w, rate, _, _ in known) / total_s,
            sum(w * rate for w, _, rate, _ in known) / total_s,
            known[-1][3],
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """A change that has been made and not yet been judged: at `at_s` it was done, as far as that could be seen.

    For workers that were asked for and have not come it waits until `waits_until_s`.
    """

    at_s: float
    before: Configuration
    target: Configuration
    grew: bool
    """Whether the change took more slots or workers than before."""
    expected: Expected | None
    baseline: tuple[Observation, ...]
    waits_until_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`met`, `short` of its promise but no worse than before, or `worse`."""

    verdict: Literal["met", "short", "worse"]
    because: str


def judge(trial: Trial, after: tuple[Observation, ...], tolerance: float, patient: bool = True) -> Verdict | None:
    """The verdict over all applications, the worst one deciding; None while too little is known.

    An application that is paused or completes nothing may still be starting, or be busy with a long micro-batch. A
    patient judge looks at the time between its first and its last completion. One that has lost patience takes it to
    stand still, unless it completed nothing for a while before the change as well.
    """
    verdicts = []
    for application in trial.target.parallelism:
        baseline = [o for o in trial.baseline if application in o.applications]
        seen = [o for o in after if application in o.applications]
        if not patient and any(_stands(application, o) for o in baseline):
            return None
        was = Performance.of(application, _trimmed(application, baseline, _stands))
        now = Performance.of(application, _trimmed(application, seen, _starting) if patient else seen)
        if now is None:
            return None
        verdicts.append(_judge_one(application, trial, was, now, tolerance))
    order = ("met", "short", "worse")
    return max(verdicts, key=lambda verdict: order.index(verdict.verdict), default=None)


def _stands(application: str, observation: Observation) -> bool:
    seen = observation.applications[application]
    return seen.throughput_per_s == 0 and seen.input_per_s != 0


def _starting(application: str, observation: Observation) -> bool:
    return observation.applications[application].paused_s > 0 or _stands(application, observation)


def _trimmed(
    application: str, seen: Sequence[Observation], at_the_start: Callable[[str, Observation], bool]
) -> list[Observation]:
    """Without what comes before the first completion, and what comes after the last one."""
    begun = list(dropwhile(lambda o: at_the_start(application, o), seen))
    while begun and _stands(application, begun[-1]):
        begun.pop()
    return begun


def _judge_one(application: str, trial: Trial, was: Performance | None, now: Performance, tolerance: float) -> Verdict:
    rate = f"{application} completes {now.throughput_per_s:.0f} of {now.input_per_s:.0f} events/s"
    if was is not None:
        owed = (1 - tolerance) * min(now.input_per_s, was.throughput_per_s)
        if now.throughput_per_s < owed and now.backlog > was.backlog:
            return Verdict("worse", f"{rate}, before the change it completed {was.throughput_per_s:.0f}")
    promised = (trial.expected.throughput_per_s if trial.expected else {}).get(application)
    if promised is None:
        return Verdict("met", rate)
    if now.throughput_per_s >= (1 - tolerance) * min(promised, now.input_per_s):
        return Verdict("met", f"{rate}, as promised")
    gained = was is None or now.throughput_per_s > (1 + tolerance / 2) * was.throughput_per_s
    risen = was is not None and now.input_per_s > (1 + tolerance) * was.input_per_s
    if trial.grew and not gained and not risen:
        return Verdict("worse", f"{rate}, no more than before, although {promised:.0f} were promised")
    return Verdict("short", f"{rate}, although {promised:.0f} were promised")
