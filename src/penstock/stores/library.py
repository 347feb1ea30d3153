"""The model library: learned models as JSON files, one each, never pickles."""

import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.errors import InvalidModel, UnknownName, UsageError
from penstock.stores.codec import decode_payload, encode_payload
from penstock.stores.profile import DataRange, check_zone

_FILE_FORMAT = 1


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a saved model is: of which application, which kind of model, which one of them, made when and from what.

    `format_version` is that of the payload, and counted by whoever defines the kind of model.
    """

    application: str
    kind: str
    name: str
    created: datetime
    format_version: int = 1
    data: DataRange | None = None

    def __post_init__(self) -> None:
        if not (self.application and self.kind and self.name):
            raise InvalidModel("A saved model needs an application, a kind and a name.")
        check_zone(self.created, f"Model '{self.name}' of '{self.application}'")


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A learned model as a JSON mapping, and what it is."""

    info: ModelInfo
    payload: Mapping[str, Any]


class ModelLibrary:
    """Learned models in a folder, which is made when the first one is saved.

    A model is replaced as a whole: a reader, or a crash, meets the old file or the new one and nothing between.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._folder = Path(folder)

    def save(self, model: SavedModel) -> Path:
        """Keep a model, in place of one of the same application, kind and name, and say in which file.

        Raises `BadObservation` when the payload cannot be written as JSON, `UsageError` when the file cannot.
        """
        info = model.info
        path = self._path(info.application, info.kind, info.name)
        text = encode_payload(_document(model))
        # No other thread or process writes a draft of this name.
        draft = path.with_name(f".{os.getpid()}-{threading.get_ident()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(draft, text)
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise UsageError(f"The model cannot be saved as {path}: {error.strerror}.") from None
        return path

    def remove(self, application: str, kind: str, name: str) -> None:
        """Forget a model; nothing happens if there is none of that name."""
        self._path(application, kind, name).unlink(missing_ok=True)

    def load(self, application: str, kind: str, name: str, format_version: int = 1) -> SavedModel:
        """The model of that name.

        Raises `UnknownName` when there is none, and `UsageError` when its file is broken, holds something else, or
        has a payload of another format.
        """
        path = self._path(application, kind, name)
        if not path.is_file():
            known = [info.name for info in self.list(application, kind)]
            if not known:
                raise UnknownName(f"There is no {kind} model of '{application}' in {self._folder}; learn one first.")
            raise UnknownName.of(f"{kind} model of '{application}' called", name, known)
        model = _read(path)
        found = model.info
        if (found.application, found.kind, found.name) != (application, kind, name):
            raise UsageError(
                f"The file {path} holds the {found.kind} model '{found.name}' of '{found.application}' "
                f"instead of the {kind} model '{name}' of '{application}'; remove it and learn the model again."
            )
        if found.format_version != format_version:
            raise UsageError(
                f"The {kind} model in {path} has format {found.format_version} but {format_version} is needed; "
                "remove it and learn the model again."
            )
        return model

    def kinds(self, application: str, name: str) -> set[str]:
        """The kinds of models of that application and name that there are."""
        return {info.kind for info in self.list(application) if info.name == name}

    def list(self, application: str | None = None, kind: str | None = None) -> tuple[ModelInfo, ...]:
        """What there is, all of it or that of one application or kind, in order of application, kind and name.

        Raises `UsageError` when a file of the library is broken.
        """
        infos = (_read(path).info for path in self._files(application, kind))
        return tuple(sorted(infos, key=lambda info: (info.application, info.kind, info.name)))

    def _path(self, application: str, kind: str, name: str) -> Path:
        return self._folder / _safe(application) / _safe(kind) / f"{_safe(name)}.json"

    def _files(self, application: str | None, kind: str | None) -> Iterator[Path]:
        owner = "*" if application is None else _safe(application)
        return self._folder.glob(f"{owner}/{'*' if kind is None else _safe(kind)}/*.json")


def _safe(name: str) -> str:
    """The name as a file name: one name, one file, and none outside the folder."""
    return quote(name, safe=" ").replace(".", "%2E")


def _document(model: SavedModel) -> dict[str, Any]:
    info = model.info
    return {
        "penstock_model": _FILE_FORMAT,
        "application": info.application,
        "kind": info.kind,
        "name": info.name,
        "created": info.created.isoformat(),
        "format_version": info.format_version,
        "data": None if info.data is None else {"since_s": info.data.since_s, "until_s": info.data.until_s},
        "payload": model.payload,
    }


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        # Without this a crash of the machine could leave the new name with an empty file.
        os.fsync(file.fileno())


def _read(path: Path) -> SavedModel:
    try:
        document = decode_payload(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"The model {path} cannot be read: {error.strerror}.") from None
    except (UsageError, UnicodeDecodeError):
        raise UsageError(f"The model {path} is broken; remove it and learn the model again.") from None
    file_format = document.get("penstock_model")
    if not isinstance(file_format, int):
        raise UsageError(f"The file {path} is not a saved model; remove it.")
    if file_format > _FILE_FORMAT:
        raise UsageError(f"The model {path} was saved by a newer version of Penstock; upgrade Penstock or remove it.")
    try:
        return _model(document)
    except (KeyError, TypeError, ValueError, InvalidModel):
        raise UsageError(f"The model {path} is not complete; remove it and learn the model again.") from None


def _model(document: Mapping[str, Any]) -> SavedModel:
    application, kind, name = document["application"], document["kind"], document["name"]
    version, data, payload = document["format_version"], document["data"], document["payload"]
    if not all(isinstance(text, str) for text in (application, kind, name)):
        raise TypeError
    if not (isinstance(version, int) and isinstance(payload, dict)):
        raise TypeError
    created = datetime.fromisoformat(document["created"])
    info = ModelInfo(application, kind, name, created, version, None if data is None else DataRange(**data))
    return SavedModel(info, payload)
