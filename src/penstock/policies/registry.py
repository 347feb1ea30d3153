"""The policies that there are, by name."""

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from penstock.errors import UnknownName, UsageError
from penstock.model import Spec
from penstock.policies.base import Policy

_policies: dict[str, "PolicyInfo"] = {}

POLICIES: Mapping[str, "PolicyInfo"] = types.MappingProxyType(_policies)
"""Every registered policy; always up to date, in the order of registration."""


@dataclass(frozen=True, slots=True)
class PolicyInfo:
    """A policy that can be asked for by name: one line about it, its parameters with their defaults, and its maker."""

    name: str
    summary: str
    parameters: Mapping[str, object]
    factory: Callable[..., Policy[Any]]

    def __str__(self) -> str:
        return self.summary


def register(name: str, summary: str, factory: Callable[..., Policy[Any]]) -> None:
    """Make `factory`, a dataclass whose fields are the policy's parameters, known as `name`.

    Every field needs a default and a type that can be written as text: bool, int, float, str, a Literal of strings, or
    one of these or None. A name is registered once.
    """
    if name in _policies:
        raise UsageError(f"There already is a policy '{name}'; register yours under another name.")
    if not name or any(character in name for character in ":,= "):
        raise UsageError(f"'{name}' cannot be a policy's name; leave out colons, commas, equals signs and blanks.")
    _policies[name] = PolicyInfo(name, summary, types.MappingProxyType(_defaults(name, factory)), factory)


def _defaults(name: str, factory: object) -> dict[str, object]:
    if not (isinstance(factory, type) and is_dataclass(factory)):
        raise UsageError(f"Policy '{name}' must be a dataclass whose fields are its parameters.")
    defaults: dict[str, object] = {}
    for field in fields(factory):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if default is MISSING:
            raise UsageError(f"Parameter '{field.name}' of policy '{name}' needs a default.")
        defaults[field.name] = default
    return defaults


def policy(text: str) -> Policy[Any]:
    """The policy that `text` asks for: `ds2`, `threshold:upper=0.8,cooldown_rounds=6`, `static:largest`.

    What stands without a key goes to the parameters in their order. Raises `UnknownName` for a name or parameter that
    is not there and `UsageError` for a value that does not fit, each with one sentence.
    """
    spec = Spec.parse(text)
    info = _policies.get(spec.name)
    if info is None:
        raise UnknownName.of("policy", spec.name, _policies)
    hints = get_type_hints(info.factory)
    names = list(info.parameters)
    if len(spec.positional) > len(names):
        raise UsageError(f"'{text}' gives more values than policy '{spec.name}' has parameters ({len(names)}).")
    given = dict(zip(names, spec.positional, strict=False))
    for key, value in spec.parameters.items():
        if key not in info.parameters:
            raise UnknownName.of(f"parameter of policy '{spec.name}' called", key, names)
        if key in given:
            raise UsageError(f"'{text}' gives '{key}' twice; give it once.")
        given[key] = value
    return info.factory(**{key: _value(spec.name, key, value, hints[key]) for key, value in given.items()})


def _value(name: str, key: str, text: str, wanted: Any) -> object:
    """`text` as the type of a field, or a `UsageError` that says what is wanted."""
    choices = get_args(wanted) if get_origin(wanted) in (Union, types.UnionType) else (wanted,)
    if type(None) in choices and text.lower() == "none":
        return None
    for choice in choices:
        try:
            return _READERS.get(choice, _literal(choice))(text)
        except ValueError:
            continue
    expected = " or ".join(_NAMES.get(choice, "one of " + ", ".join(map(str, get_args(choice)))) for choice in choices)
    raise UsageError(f"Parameter '{key}' of policy '{name}' must be {expected}, not '{text}'.")


def _boolean(text: str) -> bool:
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in known:
        raise ValueError(text)
    return known[text.lower()]


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _literal(wanted: Any) -> Callable[[str], object]:
    def read(text: str) -> str:
        if get_origin(wanted) is not Literal or text not in get_args(wanted):
            raise ValueError(text)
        return text

    return read


_READERS: Mapping[Any, Callable[[str], object]] = {bool: _boolean, int: int, float: _finite, str: str}
_NAMES: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "none",
}
