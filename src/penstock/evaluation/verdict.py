"""The result in a few sentences, derived from the figures alone."""

from penstock.evaluation.figures import counted, percent, plain, seconds
from penstock.evaluation.measures import Measures
from penstock.evaluation.scoreboard import Row, Scoreboard

_SAME = 0.005
"""Worker-seconds that differ by less than this share are the same."""


def verdict(scoreboard: Scoreboard) -> str:
    """Which policy did best and why, or, for a single run, how it did."""
    if len(scoreboard.rows) == 1:
        return _alone(scoreboard.rows[0])
    first, second, *others = scoreboard.rows
    sentences = [_compared(first, second)]
    if others:
        completed = [row for row in scoreboard.rows if row.measures.complete] or [first]
        cheapest = min(completed, key=lambda row: row.measures.worker_seconds)
        least = min(first.measures.worker_seconds, second.measures.worker_seconds)
        if cheapest.measures.worker_seconds < (1.0 - _SAME) * least:
            sentences.append(_cheapest(cheapest, first))
        last = others[-1]
        if last is not cheapest and _later_or_dearer(last.measures, first.measures):
            sentences.append(f"Last came {last.name}, {_over_target(last.measures)}{_cost(last, first)}.")
    return " ".join([*sentences, *_warnings(scoreboard)])


def _alone(row: Row) -> str:
    measures = row.measures
    if measures.observed_s <= 0:
        return f"Nothing was observed of {row.name}."
    kept = 100.0 * (1.0 - measures.slo_violation_s / measures.observed_s)
    target = seconds(measures.latency_target_s)
    sentences = [
        f"{row.name} kept the latency target of {target} for {_share(kept)} of the time, "
        f"with {measures.mean_workers or 0.0:.1f} of {measures.pool} workers on average"
        + (f" ({percent(measures.nodes_saved)} saved)" if measures.nodes_saved is not None else "")
        + "."
    ]
    if measures.reconfigurations:
        pause = f"paused work for {seconds(measures.downtime_s)} in all"
        paused = pause if measures.downtime_s else "paused nothing"
        sentences.append(f"{counted(measures.reconfigurations, 'reconfiguration')} {paused}.")
    return " ".join([*sentences, *_warnings(Scoreboard((row,)))])


def _share(value: float) -> str:
    """A percentage that says 100 only when it is."""
    return "all" if value >= 100.0 else f"{min(value, 99.9):.1f} %" if value > 99 else f"{value:.0f} %"


def _over_target(measures: Measures) -> str:
    if measures.slo_violation_s <= 0:
        return "never over the latency target"
    return f"{seconds(measures.slo_violation_s)} over the latency target"


def _compared(first: Row, second: Row) -> str:
    ours, theirs = first.measures, second.measures
    if ours.complete and not theirs.complete:
        return f"{first.name} comes first, {_over_target(ours)}: the run of {second.name} was cut off."
    if round(ours.slo_violation_s, 3) < round(theirs.slo_violation_s, 3):
        if ours.worker_seconds <= theirs.worker_seconds:
            late = f"{_over_target(ours)}, {second.name} for {seconds(theirs.slo_violation_s)}"
            return f"{first.name} did best: it was {late}{_cost(first, second)}."
        late = f"over it for {seconds(ours.slo_violation_s)}" if ours.slo_violation_s > 0 else "never over it"
        late = f"{late}, {second.name} for {seconds(theirs.slo_violation_s)}"
        return f"{first.name} kept the latency target best ({late}), but{_cost(first, second)[1:]}."
    if ours.worker_seconds < theirs.worker_seconds:
        cheaper = _relative(ours.worker_seconds, theirs.worker_seconds)
        return f"{first.name} did best: like {second.name} it was {_over_target(ours)}, but it used {cheaper}."
    return f"{first.name} and {second.name} did equally well."


def _cost(row: Row, other: Row) -> str:
    mine, theirs = row.measures.worker_seconds, other.measures.worker_seconds
    if theirs <= 0 or abs(mine - theirs) <= _SAME * theirs:
        return f", on the same worker-seconds ({plain(mine)})"
    return f", with {_relative(mine, theirs)} ({plain(mine)} against {plain(theirs)})"


def _relative(mine: float, theirs: float) -> str:
    share = 100.0 * abs(mine - theirs) / theirs if theirs > 0 else 0.0
    return f"{share:.0f} % {'fewer' if mine < theirs else 'more'} worker-seconds"


def _later_or_dearer(one: Measures, other: Measures) -> bool:
    return one.slo_violation_s > other.slo_violation_s or one.worker_seconds > other.worker_seconds


def _cheapest(cheapest: Row, first: Row) -> str:
    less = _relative(cheapest.measures.worker_seconds, first.measures.worker_seconds)
    return f"Cheapest was {cheapest.name}, with {less} than {first.name}, but {_over_target(cheapest.measures)}."


def _warnings(scoreboard: Scoreboard) -> list[str]:
    warnings = []
    for row in scoreboard.rows:
        if row.measures.events_lost:
            warnings.append(f"{row.name} lost {counted(row.measures.events_lost, 'event')}.")
        if row.measures.events_duplicated:
            warnings.append(f"{row.name} counted {counted(row.measures.events_duplicated, 'event')} twice.")
        if not row.measures.complete:
            warnings.append(f"The run of {row.name} was cut off, its figures cover what was observed until then.")
    return warnings
