"""The pydantic schemas behind the codec. Imported only when the first value is written or read: pydantic is slow to
load, and the rooms below must not know it."""

from typing import Annotated, Any, cast

from pydantic import ConfigDict, Discriminator, Field, GetCoreSchemaHandler, Tag, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, PydanticSerializationError

from penstock.control.entries import Acted, Decided, Ended, Judged, Observed, Refused, Requested, Started
from penstock.model import Keep, ParallelismChange, PlacementChange, Reconfigure, WorkersChange

# Infinite numbers are written as such, not as null, so that the codec can see and refuse them.
CONFIG = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, ser_json_inf_nan="constants")


def _decision_tag(value: object) -> str | None:
    """Which decision this is: only `Reconfigure` has, and must have, a target."""
    if isinstance(value, dict):
        return "reconfigure" if "target" in value else "keep"
    return {Keep: "keep", Reconfigure: "reconfigure"}.get(type(value))


def _change_tag(value: object) -> str | None:
    """Which change this is: only one of workers has no operator, only one of parallelism goes between numbers."""
    if isinstance(value, dict):
        if "operator" not in value:
            return "workers"
        return "parallelism" if isinstance(value.get("before"), int) else "placement"
    return {WorkersChange: "workers", ParallelismChange: "parallelism", PlacementChange: "placement"}.get(type(value))


_Decision = Annotated[
    Annotated[Keep, Tag("keep")] | Annotated[Reconfigure, Tag("reconfigure")], Discriminator(_decision_tag)
]
_Change = Annotated[
    Annotated[WorkersChange, Tag("workers")]
    | Annotated[ParallelismChange, Tag("parallelism")]
    | Annotated[PlacementChange, Tag("placement")],
    Discriminator(_change_tag),
]


class _TaggedDecision:
    """Makes the field `decision` of a dataclass a tagged union, which its plain annotation cannot say."""

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler.resolve_ref_schema(handler(source))
        arguments = cast("dict[str, Any]", schema)
        while arguments["type"] != "dataclass-args":
            arguments = arguments["schema"]
        (field,) = (field for field in arguments["fields"] if field["name"] == "decision")
        field["schema"] = handler.generate_schema(_Decision)
        return schema


_Entry = Annotated[
    Started | Observed | Refused | Requested | Annotated[Decided, _TaggedDecision()] | Acted | Judged | Ended,
    Field(discriminator="kind"),
]


def entry_adapter() -> TypeAdapter[Any]:
    """The adapter for journal entries, told apart by their `kind`."""
    return TypeAdapter(_Entry, config=CONFIG)


def decision_adapter() -> TypeAdapter[Any]:
    """The adapter for decisions, told apart by whether they have a target."""
    return TypeAdapter(_Decision, config=CONFIG)


def change_adapter() -> TypeAdapter[Any]:
    """The adapter for elementary changes, told apart by what changes."""
    return TypeAdapter(_Change, config=CONFIG)


def value_adapter(kind: Any) -> TypeAdapter[Any]:
    """The adapter for one dataclass. It also takes None: a dataclass by itself would not accept our settings."""
    return TypeAdapter(kind | None, config=CONFIG)


__all__ = [
    "PydanticSerializationError",
    "TypeAdapter",
    "ValidationError",
    "change_adapter",
    "decision_adapter",
    "entry_adapter",
    "value_adapter",
]
