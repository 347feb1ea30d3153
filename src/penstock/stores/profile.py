"""What was learned about an application, and from which data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.errors import InvalidModel


@dataclass(frozen=True, slots=True)
class DataRange:
    """The time of the data from which something was learned."""

    since_s: float
    until_s: float

    def __post_init__(self) -> None:
        if not -math.inf < self.since_s <= self.until_s < math.inf:
            raise InvalidModel(f"Data cannot reach from {self.since_s:g} to {self.until_s:g} s.")


@dataclass(frozen=True, slots=True)
class Profile:
    """Something learned about an application: a JSON mapping, when it was made, and the data it was made from."""

    application: str
    name: str
    version: int
    created: datetime
    body: Mapping[str, Any]
    data: DataRange | None = None

    def __post_init__(self) -> None:
        check_zone(self.created, f"Profile '{self.name}' of '{self.application}'")


def check_zone(created: datetime, what: str) -> None:
    """Raise `InvalidModel` for a time without a zone, which would mean another time elsewhere."""
    if created.utcoffset() is None:
        raise InvalidModel(f"{what} was created at {created}, which has no time zone; give it one, such as UTC.")
