"""Requests for more or fewer workers as they are written on the command line: `60:out:1`."""

import math
from collections.abc import Iterable

from penstock.errors import UsageError
from penstock.model import ScaleRequest

_SIGNS = {"out": 1, "in": -1}


def parse_scale_request(text: str) -> ScaleRequest:
    """Read `SECONDS:out:WORKERS` or `SECONDS:in:WORKERS`; raises `UsageError` for anything else."""
    wrong = UsageError(f"'{text}' is no request; write it as 60:out:1 (at 60 s one worker more) or 180:in:1 (fewer).")
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3 or parts[1] not in _SIGNS:
        raise wrong
    try:
        at_s, workers = float(parts[0]), int(parts[2])
    except ValueError:
        raise wrong from None
    if not (0 <= at_s < math.inf and workers >= 1):
        raise wrong
    return ScaleRequest(at_s, _SIGNS[parts[1]] * workers)


def parse_scale_requests(texts: Iterable[str]) -> tuple[ScaleRequest, ...]:
    """All requests of a command line, by their times."""
    return tuple(sorted(map(parse_scale_request, texts), key=lambda request: request.at_s))
