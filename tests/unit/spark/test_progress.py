"""Reports as a running Spark 4.3.0 gave them, and what is read from them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import BadObservation
from penstock.spark.progress import (
    parse_codegens,
    parse_executors,
    parse_filters,
    parse_heaviest,
    parse_progress,
    parse_stage_executors,
    parse_stages,
)

RECORDED = json.loads((Path(__file__).parent / "recorded" / "spark-4.3.0.json").read_text())
RUN = "b28e0c05-eaf7-4d38-9836-3ab307346f05"


def recorded(what: str) -> str:
    return json.dumps(RECORDED[what])


def progress(**changes: Any) -> str:
    return json.dumps(RECORDED["progress"] | changes)


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_a_batch_has_its_number_times_and_rows() -> None:
    batch = parse_progress(recorded("progress"))

    assert (batch.run_id, batch.batch, batch.input_rows) == (RUN, 37, 200)
    assert batch.started_at_s == at("2026-11-16T22:19:07.001")
    assert batch.duration_s == 0.717
    assert batch.committed_at_s == pytest.approx(at("2026-11-16T22:19:07.718"))
    assert batch.durations_s["addBatch"] == 0.654
    assert not batch.idle


def test_offsets_stay_as_the_source_wrote_them() -> None:
    (source,) = parse_progress(recorded("progress")).sources

    assert (source.start_offset, source.end_offset) == ('{"events": 7209}', '{"events": 7409}')
    assert source.latest_offset == '{"events": 7409}'
    assert source.input_rows == 200


def test_offsets_may_be_text_or_missing() -> None:
    source = RECORDED["progress"]["sources"][0] | {"startOffset": None, "endOffset": '"17"', "latestOffset": "null"}

    (parsed,) = parse_progress(progress(sources=[source])).sources

    assert (parsed.start_offset, parsed.end_offset, parsed.latest_offset) == (None, '"17"', None)


def test_state_weighs_what_its_files_weigh() -> None:
    (state,) = parse_progress(recorded("progress")).states

    assert (state.name, state.rows, state.updated_rows, state.partitions) == ("stateStoreSave", 999, 185, 2)
    assert state.memory_bytes == 23216
    assert state.commit_s == 0.164


def test_state_without_files_weighs_its_memory() -> None:
    state = RECORDED["progress"]["stateOperators"][0] | {"customMetrics": {}}

    (parsed,) = parse_progress(progress(stateOperators=[state])).states

    assert parsed.memory_bytes == 518312


def test_a_sink_that_does_not_count_has_no_rows() -> None:
    assert parse_progress(recorded("progress")).output_rows is None
    assert parse_progress(progress(sink={"description": "noop", "numOutputRows": 12})).output_rows == 12


def test_a_look_that_found_nothing_is_idle() -> None:
    report = parse_progress(progress(durationMs={"latestOffset": 3, "triggerExecution": 4}, numInputRows=0, sources=[]))

    assert report.idle
    assert (report.input_rows, report.duration_s) == (0, 0.004)


def test_event_times_are_read_where_there_are_any() -> None:
    times = {"min": "2026-11-16T22:19:00.000Z", "watermark": "1970-01-01T00:00:00.000Z"}

    assert parse_progress(progress(eventTime=times)).event_times_s == {"min": at("2026-11-16T22:19:00"), "watermark": 0}


def test_stages_know_their_batch_their_rows_and_their_time() -> None:
    first, second, third = parse_stages(recorded("stages"))

    assert [(s.stage, s.tasks, s.run_id, s.batch) for s in (first, second, third)] == [
        (896, 1, RUN, 37),
        (897, 2, RUN, 37),
        (898, 2, RUN, 37),
    ]
    assert (first.input_rows, first.read_rows, first.written_rows) == (200, 0, 200)
    assert (second.read_rows, second.written_rows) == (200, 191)
    assert (third.read_rows, third.run_s) == (191, 0.509)
    assert third.submitted_at_s == pytest.approx(at("2026-11-16T22:19:07.324"))
    assert third.completed_at_s == pytest.approx(at("2026-11-16T22:19:07.677"))


def test_stages_of_other_jobs_belong_to_no_batch() -> None:
    stages = json.loads(recorded("stages"))[:1]
    del stages[0]["info"]["description"], stages[0]["info"]["completionTime"]

    (stage,) = parse_stages(json.dumps(stages))

    assert (stage.run_id, stage.batch, stage.completed_at_s) == (None, None, None)


def test_generated_stages_of_every_stage() -> None:
    # The last stage holds those of the sink's own plan, too: numbered anew, from 1.
    assert parse_codegens(recorded("graphs")) == {
        896: frozenset({1}),
        897: frozenset({2}),
        898: frozenset({1, 3, 4, 5}),
    }


def test_filters_know_where_they_lie_and_who_counts_their_rows() -> None:
    filters = parse_filters(recorded("plan"))

    assert [(node.text.split(">= ")[1], node.codegen) for node in filters] == [
        ("-1005)", 5),
        ("-1004)", 2),
        ("-1003)", 2),
        ("-1002)", 2),
        ("-1001)", 1),
    ]
    assert len({node.rows_accumulator for node in filters}) == 5


def test_executors_without_the_driver() -> None:
    executors = parse_executors(recorded("executors"))

    assert [(e.name, e.host, e.cores, e.finished_tasks, e.busy_s) for e in executors] == [
        ("1", "127.0.0.1", 1, 1223, 148.34),
        ("0", "127.0.0.1", 1, 1238, 141.535),
    ]


def test_the_driver_counts_where_it_does_the_work() -> None:
    driver = RECORDED["executors"][0]

    assert parse_executors(json.dumps([driver])) == ()
    assert [e.name for e in parse_executors(json.dumps([driver | {"totalCores": 2}]))] == ["driver"]


def test_the_heaviest_task_and_who_ran_the_tasks() -> None:
    heaviest = parse_heaviest(recorded("summary"))

    assert (heaviest.run_s, heaviest.read_rows) == (0.016, 106)
    assert parse_stage_executors(recorded("stage_executors")) == {"0": 1, "1": 1}


def test_what_is_no_report_is_refused() -> None:
    with pytest.raises(BadObservation, match="not JSON"):
        parse_progress("<html>")
