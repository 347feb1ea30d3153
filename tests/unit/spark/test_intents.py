"""The journal of actions in progress survives whatever cuts it off."""

from pathlib import Path

import pytest

from penstock.control.actions import Level
from penstock.errors import JournalMismatch
from penstock.spark.intents import IntentLog, Step

BEFORE, AFTER = {"count": 2}, {"count": 3}


def test_an_intent_is_unfinished_until_it_is_closed(tmp_path: Path) -> None:
    log = IntentLog(tmp_path / "run" / "intents.jsonl")
    intent = log.open("app", "count", Level.STATE, BEFORE, AFTER)
    intent = log.advance(intent, Step.STOPPED)
    assert [(i.number, i.step) for i in log.unfinished()] == [(1, Step.STOPPED)]

    log.close(intent)

    assert log.unfinished() == ()
    assert [(i.step, i.outcome) for i in log.all()] == [(Step.CLOSED, "done")]


def test_another_process_finds_what_was_left(tmp_path: Path) -> None:
    path = tmp_path / "intents.jsonl"
    log = IntentLog(path)
    log.close(log.open("app", "first", Level.RESTART, BEFORE, AFTER))
    left = log.advance(log.open("app", "count", Level.STATE, BEFORE, AFTER), Step.REPARTITIONED)

    found = IntentLog(path)

    assert found.unfinished() == (left,)
    assert found.open("app", "count", Level.STATE, AFTER, BEFORE).number == 3


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_step_whose_line_was_cut_off_was_not_done(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "intents.jsonl"
    log = IntentLog(path)
    intent = log.advance(log.open("app", "count", Level.STATE, BEFORE, AFTER), Step.STOPPED)
    log.advance(intent, Step.REPARTITIONED)
    path.write_bytes(path.read_bytes()[:-cut])

    found = IntentLog(path)
    assert [i.step for i in found.unfinished()] == [Step.STOPPED]

    # What is written next does not stick to the torn line.
    found.close(found.unfinished()[0], "undone")
    assert [(i.step, i.outcome) for i in IntentLog(path).all()] == [(Step.CLOSED, "undone")]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "intents.jsonl"
    path.write_text('{"kind": "observed"}\n')

    with pytest.raises(JournalMismatch, match="Line 1"):
        IntentLog(path)
