"""What checkpoint folders say, in the form in which Spark writes them."""

import json
from pathlib import Path

import pytest

from penstock.errors import ActionFailed
from penstock.spark.checkpoints import (
    folder_of,
    is_clean,
    last_committed,
    last_offset,
    source_offsets,
    state_partitions,
    unfinished_rewrite,
)


def begin(folder: Path, batch: int, partitions: int, *offsets: str) -> None:
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    metadata = json.dumps({"batchWatermarkMs": 0, "conf": {"spark.sql.shuffle.partitions": str(partitions)}})
    (folder / "offsets" / str(batch)).write_text("\n".join(["v1", metadata, *offsets]))
    (folder / "offsets" / f".{batch}.crc").touch()


def commit(folder: Path, batch: int) -> None:
    (folder / "commits").mkdir(parents=True, exist_ok=True)
    (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_a_new_checkpoint_is_clean_and_empty(tmp_path: Path) -> None:
    assert (last_offset(tmp_path), last_committed(tmp_path), state_partitions(tmp_path)) == (None, None, None)
    assert is_clean(tmp_path)
    assert unfinished_rewrite(tmp_path) is None


def test_batches_are_counted_as_numbers(tmp_path: Path) -> None:
    for batch in (8, 9, 10):
        begin(tmp_path, batch, 3)
        commit(tmp_path, batch)
    begin(tmp_path, 11, 3)

    assert (last_offset(tmp_path), last_committed(tmp_path)) == (11, 10)
    assert not is_clean(tmp_path)
    assert unfinished_rewrite(tmp_path) is None


def test_a_rewrite_that_was_cut_off_is_told_by_its_number(tmp_path: Path) -> None:
    begin(tmp_path, 4, 3)
    commit(tmp_path, 4)
    begin(tmp_path, 5, 7)
    assert unfinished_rewrite(tmp_path) == 7

    commit(tmp_path, 5)

    assert unfinished_rewrite(tmp_path) is None
    assert (state_partitions(tmp_path), state_partitions(tmp_path, 4)) == (7, 3)


def test_offsets_come_one_per_source(tmp_path: Path) -> None:
    begin(tmp_path, 0, 3, '{"events": 5}', "-")

    assert source_offsets(tmp_path, 0) == ('{"events": 5}', None)
    assert source_offsets(tmp_path, 1) == ()


def test_checkpoints_may_be_given_as_addresses() -> None:
    assert folder_of("file:/run/a%20b") == Path("/run/a b")
    assert folder_of("file:///run/a") == Path("/run/a")
    with pytest.raises(ActionFailed, match="not on this machine"):
        folder_of("hdfs://name/run/a")


def test_an_entry_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    begin(tmp_path, 0, 3)
    (tmp_path / "offsets" / "0").write_text("v1\n")

    with pytest.raises(ActionFailed, match="cannot be read"):
        state_partitions(tmp_path)
