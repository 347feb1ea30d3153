"""JSON for journal entries and model values; what is read equals what was written.

Everything declared in a dataclass is written, so a file explains itself. On reading nothing is converted and nothing
unknown is passed over: text that does not fit exactly is refused.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from penstock.control.entries import Decided, Entry
from penstock.errors import BadObservation, UsageError
from penstock.model import Change, Decision

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")


@cache
def _entries() -> "TypeAdapter[Any]":
    from penstock.stores import _schemas

    return _schemas.entry_adapter()


@cache
def _decisions() -> "TypeAdapter[Any]":
    from penstock.stores import _schemas

    return _schemas.decision_adapter()


@cache
def _changes() -> "TypeAdapter[Any]":
    from penstock.stores import _schemas

    return _schemas.change_adapter()


@cache
def _values(kind: Any) -> "TypeAdapter[Any]":
    from penstock.stores import _schemas

    if kind is Decided:
        return _entries()
    return _schemas.value_adapter(kind)


def encode_entry(entry: Entry) -> str:
    """The entry as one line of JSON. Raises `BadObservation` for what `encode` would refuse."""
    return _encode(_entries(), entry)


def decode_entry(text: str) -> Entry:
    """The entry that was written. Raises `UsageError` when the text is no entry."""
    return cast(Entry, _decode(_entries(), text, "a journal entry"))


def encode(value: object) -> str:
    """A model value (any dataclass of the model or control room) as one line of JSON.

    Raises `BadObservation` for numbers that are not finite and for values that are not of their declared type,
    because these would not be read back as what they are.
    """
    return _encode(_values(cast(Any, type(value))), value)


def decode(kind: type[T], text: str) -> T:
    """The value of that dataclass that was written. Raises `UsageError` when the text does not fit it."""
    value = _decode(_values(cast(Any, kind)), text, f"a value of {kind.__name__}")
    if not isinstance(value, kind):
        raise UsageError(f"The text is not a value of {kind.__name__}: it says {type(value).__name__}.")
    return value


def decode_decision(text: str) -> Decision:
    """The decision that was written with `encode`. Raises `UsageError` when the text is none."""
    return cast(Decision, _decode(_decisions(), text, "a decision"))


def decode_change(text: str) -> Change:
    """The elementary change that was written with `encode`. Raises `UsageError` when the text is none."""
    return cast(Change, _decode(_changes(), text, "a change"))


def _encode(adapter: "TypeAdapter[Any]", value: object) -> str:
    from penstock.stores._schemas import PydanticSerializationError

    try:
        data = adapter.dump_json(value, warnings="error")
    except PydanticSerializationError as error:
        reason = " ".join(str(error).split())
        raise BadObservation(f"This {type(value).__name__} cannot be written as JSON: {reason}") from None
    if b"NaN" in data or b"Infinity" in data:
        _refuse_infinite(adapter, data, type(value).__name__)
    return data.decode()


def _refuse_infinite(adapter: "TypeAdapter[Any]", data: bytes, name: str) -> None:
    """Raise when a number in `data` is not finite; the words alone may also stand in a text."""
    from penstock.stores._schemas import ValidationError

    try:
        adapter.validate_json(data)
    except ValidationError as error:
        raise BadObservation(f"This {name} must not be written: {_first(error)}.") from None


def _decode(adapter: "TypeAdapter[Any]", text: str, what: str) -> Any:
    from penstock.stores._schemas import ValidationError

    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise UsageError(f"The text is not {what}: {_first(error)}.") from None


def _first(error: "ValidationError") -> str:
    """The first thing that was found wrong, and where."""
    detail = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in detail["loc"])
    message = " ".join(detail["msg"].split())
    return f"{place}: {message}" if place else message


def encode_payload(payload: Mapping[str, Any]) -> str:
    """Any mapping of JSON values as one line of JSON; tuples become lists.

    Raises `BadObservation` for numbers that are not finite, keys that are not text, and anything that JSON
    does not have.
    """
    try:
        return json.dumps(_plain(payload, "payload"), allow_nan=False)
    except ValueError as error:
        raise BadObservation(f"The payload cannot be written as JSON: {error}.") from None


def decode_payload(text: str) -> dict[str, Any]:
    """The mapping that was written. Raises `UsageError` when the text is not a JSON object."""
    try:
        payload = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise UsageError(f"The text is not JSON: {error}.") from None
    if not isinstance(payload, dict):
        raise UsageError(f"The text is not a JSON object: it is a {type(payload).__name__}.")
    return payload


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number that JSON has")


def _plain(value: object, place: str) -> object:
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise BadObservation(f"The key {key!r} of {place} is not text, which JSON demands.")
        return {key: _plain(item, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{i}]") for i, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise BadObservation(f"The {type(value).__name__} at {place} cannot be written as JSON; make it a plain value.")
