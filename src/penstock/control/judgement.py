"""Compares what a change promised with what it brought."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile
from typing import Literal

from penstock.model import Configuration, Expected, Observation

PATIENCE = 3
"""Settling times after which an application that completes nothing is taken to stand still."""


@dataclass(frozen=True, slots=True)
class Performance:
    """How one application did over a few observations; rates in source events per second."""

    input_per_s: float
    throughput_per_s: float
    backlog: float

    @classmethod
    def of(cls, application: str, observations: Iterable[Observation]) -> "Performance | None":
        """Averages over the observations that are complete for `application`; None if nothing was completed in them.

        What follows the last completion is left out: there a micro-batch is still in progress.
        """
        seen = [(o.window_s, o.applications[application]) for o in observations if application in o.applications]
        known = [
            (window_s, a.input_per_s, a.throughput_per_s, a.backlog)
            for window_s, a in seen
            if a.input_per_s is not None and a.throughput_per_s is not None and a.backlog is not None
        ]
        backlog = known[-1][3] if known else 0.0
        while known and known[-1][2] == 0 < known[-1][1]:
            known.pop()
        if not known:
            return None
        total_s = sum(window_s for window_s, *_ in known)
        return cls(
            sum(w * rate for w, rate, _, _ in known) / total_s,
            sum(w * rate for w, _, rate, _ in known) / total_s,
            backlog,
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """A change that has been made and not yet been judged."""

    at_s: float
    before: Configuration
    target: Configuration
    grew: bool
    """Whether the change took more slots or workers than before."""
    expected: Expected | None
    baseline: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`met`, `short` of its promise but no worse than before, or `worse`."""

    verdict: Literal["met", "short", "worse"]
    because: str


def judge(trial: Trial, after: tuple[Observation, ...], tolerance: float, patient: bool = True) -> Verdict | None:
    """The verdict over all applications, the worst one deciding; None while too little is known.

    An application that is paused or completes nothing may still be starting, so a patient judge waits until it runs,
    and looks at it from then on.
    """
    verdicts = []
    for application in trial.target.parallelism:
        was = Performance.of(application, trial.baseline)
        now = Performance.of(application, _since_it_runs(application, after) if patient else after)
        if now is None:
            return None
        verdicts.append(_judge_one(application, trial, was, now, tolerance))
    order = ("met", "short", "worse")
    return max(verdicts, key=lambda verdict: order.index(verdict.verdict), default=None)


def _since_it_runs(application: str, observations: Iterable[Observation]) -> Iterator[Observation]:
    def starting(observation: Observation) -> bool:
        seen = observation.applications[application]
        return seen.paused_s > 0 or (seen.throughput_per_s == 0 and seen.input_per_s != 0)

    return dropwhile(starting, (o for o in observations if application in o.applications))


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
    if trial.grew and not gained:
        return Verdict("worse", f"{rate}, no more than before, although {promised:.0f} were promised")
    return Verdict("short", f"{rate}, although {promised:.0f} were promised")
