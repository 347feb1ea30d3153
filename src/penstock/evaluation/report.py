"""A report of one run or of several: one HTML file that can be mailed, kept, and read without anything else."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from penstock.control.entries import Entry
from penstock.evaluation.figures import UNKNOWN, clock, counted, percent, plain, ratio, seconds
from penstock.evaluation.measures import Measures, measured
from penstock.evaluation.page import cell, folded, page, table
from penstock.evaluation.plots import overlay_plot, run_plot
from penstock.evaluation.scoreboard import COLUMNS, RULE, Row, Scoreboard, short_names
from penstock.evaluation.timeline import Episode, Timeline
from penstock.evaluation.verdict import verdict

_UNFOLDED_ROWS = 12


def write_report(runs: Mapping[str, Sequence[Entry]], path: Path, title: str | None = None) -> Path:
    """Write the report of the runs with these names and journals to `path`, and return it.

    Folders on the way to `path` are made. Raises `UsageError` when there is no run, or a journal without a start.
    """
    timelines = {name: Timeline.of(entries) for name, entries in runs.items()}
    scoreboard = Scoreboard.of({name: measured(timeline) for name, timeline in timelines.items()})
    ranked = {row.name: timelines[row.name] for row in scoreboard.rows}
    heading = title or _title(scoreboard)
    body = "\n".join(_body(heading, scoreboard, ranked))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(heading, body), encoding="utf-8")
    return path


def _body(heading: str, scoreboard: Scoreboard, timelines: Mapping[str, Timeline]) -> Iterable[str]:
    yield f'<header><p class="eyebrow">Penstock report</p><h1>{escape(heading)}</h1>{_facts(scoreboard)}</header>'
    yield f'<p class="verdict">{escape(verdict(scoreboard.in_short()))}</p>'
    if len(scoreboard.rows) > 1:
        yield _scoreboard(scoreboard)
        short = short_names(timelines)
        seen = {short[name]: timeline for name, timeline in timelines.items() if timeline.windows}
        if len(seen) > 1:
            yield f"<h2>Side by side</h2><figure>{overlay_plot(seen)}</figure>"
    for row in scoreboard.rows:
        yield _run(row, timelines[row.name], heading=len(scoreboard.rows) > 1)
    yield folded("What the figures mean", _glossary(), unfolded=False)


def _title(scoreboard: Scoreboard) -> str:
    applications = _distinct(row.measures.application for row in scoreboard.rows)
    if len(scoreboard.rows) == 1:
        return f"{applications} under {scoreboard.in_short().rows[0].name}"
    return f"{applications}: {counted(len(scoreboard.rows), 'run')} compared"


def _distinct(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text)) or UNKNOWN


def _facts(scoreboard: Scoreboard) -> str:
    runs = [row.measures for row in scoreboard.rows]
    facts = [
        f"application {_distinct(run.application for run in runs)}",
        f"load {_distinct(run.load for run in runs)}",
        _distinct(seconds(run.duration_s) for run in runs),
        _distinct(_place(run) for run in runs),
        f"pool of {_distinct(counted(run.pool, 'worker') for run in runs)}",
        f"latency target {_distinct(seconds(run.latency_target_s) for run in runs)}",
        *([f"policy {scoreboard.rows[0].name}"] if len(runs) == 1 else []),
    ]
    return f'<p class="facts">{escape(" · ".join(facts))}</p>'


def _place(run: Measures) -> str:
    if run.live:
        return "on Spark"
    return "simulated" if run.seed is None else f"simulated, seed {run.seed}"


def _scoreboard(scoreboard: Scoreboard) -> str:
    best = {column.key: scoreboard.best(column) for column in COLUMNS}
    rows = []
    for row in scoreboard.rows:
        cells = [cell(str(row.rank), "number"), cell(row.name, "name", "" if row.measures.complete else "cut off")]
        for column in COLUMNS:
            kind = "number best" if row.name in best[column.key] else "number"
            cells.append(cell(column.text(row.measures), kind))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    headings = [("", "number"), ("policy", ""), *((column.heading, "number") for column in COLUMNS)]
    return f'{table(headings, rows)}<p class="note">Best of each column in green. {escape(RULE)}</p>'


def _run(row: Row, timeline: Timeline, heading: bool) -> str:
    parts = [f"<h2>{escape(row.name)}</h2>"] if heading else []
    parts.append(_tiles(row.measures))
    if timeline.windows:
        parts.append(f"<figure>{run_plot(row.name, timeline)}</figure>")
    else:
        parts.append('<p class="note">Nothing was observed in this run, so there is nothing to plot.</p>')
    if len(row.measures.by_application) > 1:
        parts.append(_by_application(row.measures))
    parts.append(_decisions(timeline))
    return f"<section>{''.join(parts)}</section>"


def _tiles(run: Measures) -> str:
    shown = [
        (seconds(run.slo_violation_s), "over the latency target"),
        (seconds(run.p95_latency_s), "95th percentile of latency"),
        (plain(run.worker_seconds), "worker-seconds"),
        (UNKNOWN if run.mean_workers is None else f"{run.mean_workers:.1f}", f"of {run.pool} workers on average"),
        (percent(run.nodes_saved), "nodes saved"),
        (ratio(run.throughput_degradation), "throughput degradation"),
        (plain(run.peak_backlog), "events waiting at most"),
        (str(run.reconfigurations), "reconfigurations"),
        (seconds(run.downtime_s), "downtime"),
        (plain(run.events_out), f"of {plain(run.events_in)} events completed"),
        (plain(run.events_lost), "events lost"),
        (plain(run.events_duplicated), "events counted twice"),
    ]
    tiles = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for value, name in shown
    )
    return f'<div class="tiles">{tiles}</div>'


def _by_application(run: Measures) -> str:
    rows = []
    for name, part in run.by_application.items():
        figures = [
            seconds(part.slo_violation_s),
            seconds(part.mean_latency_s),
            seconds(part.p95_latency_s),
            ratio(part.throughput_degradation),
            plain(part.peak_backlog),
            plain(part.events_in),
            plain(part.events_out),
            str(part.reconfigurations),
            seconds(part.downtime_s),
        ]
        rows.append(f"<tr>{cell(name, 'name')}{''.join(cell(figure, 'number') for figure in figures)}</tr>")
    columns = ("over target", "mean", "p95", "degradation", "peak backlog", "in", "out", "reconfigurations", "downtime")
    return table([("application", ""), *((column, "number") for column in columns)], rows)


def _decisions(timeline: Timeline) -> str:
    episodes = timeline.episodes
    total = timeline.kept + sum(not episode.rollback for episode in episodes)
    kept = f"In {timeline.kept:,} of {counted(total, 'round')} the policy kept what was running."
    if timeline.refused:
        kept += f" {counted(timeline.refused, 'measurement')} could not be used."
    note = f'<p class="note">{escape(kept)}</p>'
    if not episodes:
        return note
    any_held = any(episode.held_by for episode in episodes)
    rows, number = [], 0
    for episode in episodes:
        number += episode.carried_out
        rows.append(_decision(episode, str(number) if episode.carried_out else "", any_held))
    headings = [("#", "number"), ("time", "number"), ("action", "wide"), ("reason", "")]
    headings += [("held by", "wide")] if any_held else []
    headings += [("verdict", "wide")]
    rollbacks = sum(episode.rollback for episode in episodes)
    summary = counted(len(episodes) - rollbacks, "decision") + " to change something"
    if rollbacks:
        summary += f", {counted(rollbacks, 'rollback')}"
    return note + folded(summary, table(headings, rows), unfolded=len(episodes) <= _UNFOLDED_ROWS)


def _decision(episode: Episode, number: str, any_held: bool) -> str:
    cells = [
        cell(number, "number"),
        cell(clock(episode.at_s), "number"),
        _action(episode),
        cell(episode.because),
        *([cell(episode.held_by or "")] if any_held else []),
        _outcome(episode),
    ]
    kind = "back" if episode.rollback else "change"
    return f'<tr class="{kind}">{"".join(cells)}</tr>'


def _action(episode: Episode) -> str:
    parts = [part.replace("->", "→") for part in episode.parts] or ["no change"]
    back = '<span class="bad">rolled back</span><br>' if episode.rollback else ""
    return f'<td>{back}{"<br>".join(escape(part) for part in parts)}<span class="small">{_done(episode)}</span></td>'


def _done(episode: Episode) -> str:
    if not episode.carried_out:
        return "" if episode.held_by or episode.error else "not carried out before the run was cut off"
    levels = ", ".join(dict.fromkeys(action.level.value for action in episode.done))
    pause_s = max(action.pause_s for action in episode.done)
    return f"{levels}, paused {seconds(pause_s)}" if pause_s > 0 else f"{levels}, no pause"


def _outcome(episode: Episode) -> str:
    if episode.error is not None:
        return f'<td><span class="bad">failed</span> <span class="small">{escape(episode.error)}</span></td>'
    if episode.verdict is None:
        return "<td></td>"
    kind = {"met": "good", "worse": "bad"}.get(episode.verdict, "")
    because = f'<span class="small">{escape(episode.verdict_because or "")}</span>'
    return f'<td><span class="{kind}">{escape(episode.verdict)}</span> {because}</td>'


def _glossary() -> str:
    shown = "".join(f"<dt>{escape(column.heading)}</dt><dd>{escape(column.meaning)}</dd>" for column in COLUMNS)
    return f"<dl>{shown}</dl>"
