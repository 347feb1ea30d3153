import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import BadObservation, InvalidModel, UnknownName, UsageError
from penstock.stores import DataRange, ModelInfo, ModelLibrary, SavedModel

created = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=timezone(timedelta(hours=2)))
info = ModelInfo("words", "gaussian-process", "100-per-s", created, 3, DataRange(0.0, 3600.5))
model = SavedModel(info, {"weights": [[0.1, -2e-17], [3, None]], "kernel": {"nu": 2.5, "names": ["é", ""]}})


def saved(model: SavedModel, **changes: Any) -> SavedModel:
    return replace(model, info=replace(model.info, **changes))


def test_a_model_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    library = ModelLibrary(tmp_path / "models" / "learned")
    path = library.save(model)
    assert path.is_file()
    assert library.load("words", "gaussian-process", "100-per-s", 3) == model
    assert ModelLibrary(tmp_path / "models" / "learned").list() == (info,)


def test_saving_again_replaces_the_model_and_leaves_nothing_behind(tmp_path: Path) -> None:
    library = ModelLibrary(tmp_path)
    library.save(model)
    library.save(replace(model, payload={"weights": []}))
    assert library.load("words", "gaussian-process", "100-per-s", 3).payload == {"weights": []}
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_a_save_that_fails_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModelLibrary(tmp_path)
    path = library.save(model)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match="No space left on device"):
        library.save(replace(model, payload={}))
    assert library.load("words", "gaussian-process", "100-per-s", 3) == model
    assert [found for found in tmp_path.rglob("*") if found.is_file()] == [path]


def test_the_list_is_in_order_and_can_be_narrowed(tmp_path: Path) -> None:
    library = ModelLibrary(tmp_path)
    assert library.list() == ()
    others = [saved(model, application="routes"), saved(model, kind="ann"), saved(model, name="1"), model]
    for each in reversed(others):
        library.save(each)
    assert library.list() == tuple(each.info for each in others)
    assert library.list("words") == tuple(each.info for each in others[1:])
    assert library.list(kind="ann") == (others[1].info,)
    assert library.list("routes", "ann") == ()


@pytest.mark.parametrize("name", ["../../escaped", "a/b", "..", ".", "a.b", "a%2Eb", "*", "[x]", "é ü", "\n"])
def test_any_name_has_its_own_file_inside_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "library"
    library = ModelLibrary(folder)
    library.save(model)
    odd = saved(model, application=name, kind=name, name=name)
    path = library.save(odd)
    assert path.resolve().is_relative_to(folder.resolve())
    assert len(path.relative_to(folder).parts) == 3
    assert library.load(name, name, name, 3) == odd
    assert library.list(name, name) == (odd.info,)
    assert len(library.list()) == 2


def test_a_model_that_is_not_there_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    library = ModelLibrary(tmp_path)
    with pytest.raises(UnknownName, match="There is no ann model of 'words'"):
        library.load("words", "ann", "1")
    library.save(model)
    with pytest.raises(UnknownName, match="did you mean '100-per-s'"):
        library.load("words", "gaussian-process", "100-pers", 3)


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return edit


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_text(path.read_text()[:-20]), "is broken"),
        (lambda path: path.write_text(""), "is broken"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "is broken"),
        (lambda path: path.write_text("[]"), "is broken"),
        (lambda path: path.write_text("{}"), "is not a saved model"),
        (edited(lambda document: document.update(penstock_model=2)), "newer version"),
        (edited(lambda document: document.update(application="routes")), "holds the gaussian-process model"),
        (edited(lambda document: document.update(kind="ann")), "instead of the gaussian-process model"),
        (edited(lambda document: document.update(format_version=4)), "has format 4 but 3 is needed"),
        (edited(lambda document: document.pop("payload")), "is not complete"),
        (edited(lambda document: document.update(payload=[1])), "is not complete"),
        (edited(lambda document: document.update(name=7)), "is not complete"),
        (edited(lambda document: document.update(created="yesterday")), "is not complete"),
        (edited(lambda document: document.update(data={"since_s": 1.0})), "is not complete"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    library = ModelLibrary(tmp_path)
    path = library.save(model)
    spoil(path)
    with pytest.raises(UsageError, match=message) as caught:
        library.load("words", "gaussian-process", "100-per-s", 3)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_json_is_not_saved(tmp_path: Path) -> None:
    library = ModelLibrary(tmp_path)
    for payload in ({"weights": float("nan")}, {"weights": object()}):
        with pytest.raises(BadObservation):
            library.save(SavedModel(info, payload))
    assert library.list() == ()


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be saved"):
        ModelLibrary(tmp_path).save(saved(model, name="x" * 300))


def test_a_model_needs_names_and_a_time_zone() -> None:
    with pytest.raises(InvalidModel, match="needs an application"):
        ModelInfo("", "ann", "1", datetime(2024, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidModel, match="no time zone"):
        ModelInfo("words", "ann", "1", datetime(2024, 1, 1))
