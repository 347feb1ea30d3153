"""Ranks follow the documented rule, and the table is readable on 100 columns."""

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from penstock.control import Entry
from penstock.errors import UsageError
from penstock.evaluation import COLUMNS, Measures, Scoreboard, measure, rank, spreads, verdict
from penstock.evaluation.scoreboard import short_names


@pytest.fixture
def run(fluid: Callable[..., list[Entry]]) -> Callable[..., Measures]:
    base = measure(fluid(lambda _: 60.0))

    def make(late_s: float = 0.0, worker_seconds: float = 1000.0, **changes: Any) -> Measures:
        return replace(base, slo_violation_s=late_s, worker_seconds=worker_seconds, **changes)

    return make


def test_fewest_seconds_over_target_then_fewest_worker_seconds_then_name(run: Callable[..., Measures]) -> None:
    runs = {
        "late": run(60.0, 100.0),
        "dear": run(0.0, 2000.0),
        "cheap": run(0.0, 900.0),
        "also": run(0.0, 900.0),
        "cut": run(0.0, 10.0, complete=False),
    }
    assert rank(runs) == ["also", "cheap", "dear", "late", "cut"]
    best = Scoreboard.of(runs).rows[0]
    assert (best.rank, best.name) == (1, "also")


def test_the_best_of_a_column_is_told_by_what_is_written(run: Callable[..., Measures]) -> None:
    column = {column.key: column for column in COLUMNS}
    board = Scoreboard.of(
        {
            "a": run(0.0, 1000.0, p95_latency_s=1.01, nodes_saved=10.0, peak_backlog=None),
            "b": run(0.0, 1000.2, p95_latency_s=1.02, nodes_saved=40.0, peak_backlog=7.0),
            "c": run(30.0, 2000.0, p95_latency_s=9.0, nodes_saved=30.0, peak_backlog=9.0),
        }
    )
    assert board.best(column["worker_seconds"]) == {"a", "b"}
    assert board.best(column["p95_latency_s"]) == {"a", "b"}
    assert board.best(column["nodes_saved"]) == {"b"}
    assert board.best(column["peak_backlog"]) == {"b"}
    assert board.best(column["reconfigurations"]) == frozenset()


def test_an_empty_scoreboard_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one"):
        Scoreboard.of({})


def test_policies_that_ran_more_than_once_are_summed_up(run: Callable[..., Measures]) -> None:
    rounds = {f"ds2 #{n + 1}": run(10.0 * n, 900.0 + 100.0 * n, policy="ds2", p95_latency_s=None) for n in range(3)}
    assert spreads({**rounds, "static": run(policy="static")}) == [
        "ds2, 3 rounds: worker-s 1,000 (900 to 1,100), over target 10 s (0 s to 20 s)"
    ]


def test_json_is_in_rank_order(run: Callable[..., Measures]) -> None:
    rows = Scoreboard.of({"late": run(60.0), "good": run(0.0)}).as_json()
    assert [(row["name"], row["rank"]) for row in rows] == [("good", 1), ("late", 2)]
    assert rows[1]["slo_violation_s"] == 60.0


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_nothing_is_cut_off_in_any_terminal(run: Callable[..., Measures], width: int) -> None:
    big = run(
        123456.0,
        123456789.0,
        p95_latency_s=0.123,
        throughput_degradation=12.345,
        peak_backlog=98765432.0,
        downtime_s=7e4,
    )
    others = {f"policy-{number}": run(2.0, 98.0) for number in range(5)}
    board = Scoreboard.of(
        {"elysium:horizon=300,mode=proactive": big, "static": run(1.0, 97.0, complete=False)} | others
    )
    console = Console(width=width, record=True, file=io.StringIO())
    for table in board.tables("wordcount, sine", width):
        console.print(table)
    text = console.export_text()
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    squeezed = "".join(text.split()).replace("-", "")
    for heading in ("worker-s", "p95", "degra", "saved", "backlog", "recon", "down"):
        assert heading.replace("-", "") in squeezed
    for figure in ("123 M", "98.8 M", "34.3 h", "97*"):
        assert figure in text
    assert "(cut" in text


def test_one_run_is_a_list_of_its_measures(run: Callable[..., Measures]) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    (table,) = Scoreboard.of({"elysium:horizon=300,mode=proactive,window_s=10": run(7.0, 97.0)}).tables("words", 80)
    console.print(table)
    text = console.export_text()
    assert "elysium:horizon=300,mode=proactive,window_s=10" in text
    assert any(line.split() == ["worker-s", "97"] for line in text.splitlines())
    assert "Ranked" not in text


def test_the_verdict_names_the_winner_and_the_reason(run: Callable[..., Measures]) -> None:
    both = verdict(Scoreboard.of({"ds2": run(30.0, 800.0), "static": run(300.0, 1000.0)}))
    assert both == (
        "ds2 did best: it was 30 s over the latency target, static for 300 s, with 20 % fewer worker-seconds "
        "(800 against 1,000)."
    )
    cheaper = verdict(Scoreboard.of({"ds2": run(0.0, 800.0), "static": run(0.0, 1000.0)}))
    assert cheaper == (
        "ds2 did best: like static it was never over the latency target, but it used 20 % fewer worker-seconds."
    )


def test_the_verdict_does_not_hide_a_price(run: Callable[..., Measures]) -> None:
    text = verdict(Scoreboard.of({"static": run(0.0, 1500.0), "ds2": run(10.0, 1000.0), "small": run(900.0, 500.0)}))
    assert text == (
        "static kept the latency target best (never over it, ds2 for 10 s), but with 50 % more worker-seconds "
        "(1,500 against 1,000). Cheapest was small, with 67 % fewer worker-seconds than static, but 15 min over the "
        "latency target."
    )


def test_the_verdict_of_equals_and_of_one(run: Callable[..., Measures]) -> None:
    assert verdict(Scoreboard.of({"a": run(), "b": run()})) == "a and b did equally well."
    alone = run(60.0, mean_workers=1.5, nodes_saved=62.5, reconfigurations=2, downtime_s=4.0, pool=4)
    assert verdict(Scoreboard.of({"ds2": alone})) == (
        "ds2 kept the latency target of 5 s for 90 % of the time, with 1.5 of 4 workers on average (62 % saved). "
        "2 reconfigurations paused work for 4 s in all."
    )


def test_the_verdict_warns_of_losses_and_cut_off_runs(run: Callable[..., Measures]) -> None:
    text = verdict(Scoreboard.of({"a": run(events_lost=1, events_duplicated=3), "b": run(complete=False)}))
    assert "a lost 1 event." in text
    assert "a counted 3 events twice." in text
    assert "The run of b was cut off" in text


def test_names_say_no_more_than_they_must() -> None:
    reactive, proactive = "elysium:window_s=10,lead_s=5", "elysium:window_s=10,lead_s=5,mode=proactive"
    assert short_names([reactive, proactive, "joint:window_s=10", "static"]) == {
        reactive: "elysium",
        proactive: "elysium:mode=proactive",
        "joint:window_s=10": "joint",
        "static": "static",
    }
    rounds = ["a:x=1,y=2 #1", "a:x=1,y=2 #2", "a:x=1,y=3 #1"]
    assert list(short_names(rounds).values()) == ["a:y=2 #1", "a:y=2 #2", "a:y=3 #1"]
    assert short_names(["a:x=1", "a:x=2"]) == {"a:x=1": "a:x=1", "a:x=2": "a:x=2"}
    twins = ["a:x=1,y=2", "a:y=2,x=1"]
    assert short_names(twins) == {name: name for name in twins}


def test_who_is_hardly_cheaper_is_not_called_the_cheapest(run: Callable[..., Measures]) -> None:
    runs = {"first": run(0.0, 1000.0), "second": run(0.0, 1100.0), "late": run(60.0, 999.0)}
    assert "Cheapest" not in verdict(Scoreboard.of(runs))
    assert "Cheapest was late" in verdict(Scoreboard.of({**runs, "late": run(60.0, 900.0)}))
