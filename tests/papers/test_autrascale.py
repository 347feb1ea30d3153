"""Throughput step, elasticity and transfer of AuTraScale."""

from functools import cache

import pytest

from penstock.evaluation.papers import EXPERIMENTS, Row


@cache
def rows(name: str) -> dict[str, Row]:
    return {row.case: row for row in EXPERIMENTS[name].run(True)}


def ours(name: str, case: str) -> float:
    value = rows(name)[case].ours
    assert value is not None
    return value


@pytest.mark.parametrize("job", ["word-count", "yahoo-streaming", "nexmark-q5", "nexmark-q11"])
def test_the_throughput_step_ends_within_four_iterations_with_the_published_parallelism(job: str) -> None:
    assert ours("autrascale-figure-5", f"{job}: iterations") <= 4
    row = rows("autrascale-figure-5")[f"{job}: instances for throughput"]
    assert row.published is not None
    assert abs((row.ours or 0.0) - row.published) <= 1


@pytest.mark.parametrize("table", ["autrascale-table-2", "autrascale-table-3"])
@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("method", ["AuTraScale", "AuTraScale, Penstock's"])
def test_it_ends_within_qos_in_at_most_the_published_iterations_and_instances(
    table: str, direction: str, method: str
) -> None:
    instances = rows(table)[f"{direction} {method}: instances"]
    iterations = rows(table)[f"{direction} {method}: iterations"]
    assert "meets QoS" in instances.note
    assert instances.published is not None
    assert instances.ours is not None
    assert instances.ours <= instances.published
    assert iterations.ours is not None
    assert iterations.ours <= (iterations.published or 0.0)


@pytest.mark.parametrize("table", ["autrascale-table-2", "autrascale-table-3"])
@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("drs", ["DRS observed", "DRS true"])
def test_it_takes_no_more_instances_than_drs_where_that_meets_qos(table: str, direction: str, drs: str) -> None:
    row = rows(table)[f"{direction} {drs}: instances"]
    assert row.ours is not None
    if "meets QoS" in row.note.split(";")[0]:
        assert ours(table, f"{direction} AuTraScale, Penstock's: instances") <= row.ours


@pytest.mark.parametrize("job", ["nexmark-q5", "nexmark-q11"])
def test_after_a_change_of_rate_it_takes_no_more_than_ds2_and_is_in_time(job: str) -> None:
    own = rows("autrascale-figure-8")[f"{job} AuTraScale: instances"]
    assert "0 of 3 late" in own.note
    assert own.ours is not None
    assert own.ours <= ours("autrascale-figure-8", f"{job} DS2: instances")


def test_what_is_known_of_another_rate_saves_samples() -> None:
    label = "word-count 280k to 350k: samples {} a model of the old rate"
    assert ours("autrascale-figure-8", label.format("with")) < ours("autrascale-figure-8", label.format("without"))


def test_the_time_of_a_decision_is_told_for_published_sizes_and_beyond() -> None:
    """How long it is depends on the machine: `benchmarks/decisions.py` prints it, up to 100 operators."""
    found = rows("autrascale-table-4")
    for operators in (2, 4, 6, 8, 10, 20, 50):
        for what in ("decision with training", "one prediction", "decision with transfer"):
            row = found[f"{operators} operators: {what}, s"]
            assert (row.ours or 0.0) > 0.0
            assert (row.published is None) == (operators > 10)
