"""The model library: learned models as JSON files, one each, never pickles."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.errors import BadObservation, InvalidModel, UsageError
from penstock.stores.codec import encode_payload

_FORMAT = "penstock-model-1"


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a saved model is: of which application, which kind of model, which one of them, made when, from what.

    `format_version` is that of the payload and belongs to the kind of model. `since_s` and `until_s` bound the time
    of the data it was learned from, where that is known.
    """

    application: str
    kind: str
    name: str
    created: datetime
    format_version: int = 1
    since_s: float | None = None
    until_s: float | None = None

    def __post_init__(self) -> None:
        for what in (self.application, self.kind, self.name):
            if not what:
                raise InvalidModel("A saved model needs an application, a kind and a name.")
        if self.created.tzinfo is None:
            raise InvalidModel(f"Model '{self.name}' of '{self.application}' must say its time zone in `created`.")


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A learned model as a JSON mapping, and what it is."""

    info: ModelInfo
    payload: Mapping[str, Any]
