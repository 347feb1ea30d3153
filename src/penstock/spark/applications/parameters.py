"""The parameters of an application as they are written on the command line, read with their types."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from penstock.errors import UnknownName, UsageError

Value = TypeVar("Value")


def check_known(application: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse parameters that the application does not have."""
    names = sorted(known)
    for name in given:
        if name not in names:
            raise UnknownName.of(f"parameter of '{application}' called", name, names)


def read(given: Mapping[str, str], name: str, kind: Callable[[str], Value], default: Value) -> Value:
    """One parameter, or its default where it is not given."""
    if name not in given:
        return default
    try:
        return kind(given[name])
    except ValueError:
        raise UsageError(f"'{name}={given[name]}' is not a number; write it as {name}={default}.") from None


def positive(text: str) -> int:
    """A whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise UsageError(f"{number} is too small here; it must be at least 1.")
    return number


def not_negative(text: str) -> float:
    """A number of at least 0."""
    number = float(text)
    if not 0 <= number < math.inf:
        raise UsageError(f"{text} makes no sense here; it must be 0 or more.")
    return number


def above_zero(text: str) -> float:
    """A number above 0."""
    number = float(text)
    if not 0 < number < math.inf:
        raise UsageError(f"{text} makes no sense here; it must be above 0.")
    return number
