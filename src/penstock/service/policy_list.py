"""Lists of policies as they are written on the command line."""

from penstock.errors import UsageError
from penstock.policies import POLICIES

LIVE_ELYSIUM = "elysium:assessment_period_s=5,window_s=10,drain_s=30,lead_s=10,core_max=0.9,cpu_max=0.95"
"""ELYSIUM for micro-batches that are observed every few seconds: a batch may take nearly all of the time there is until
the next, and workers come within ten seconds. Its own defaults are the publication's."""


def split_policies(text: str) -> list[str]:
    """`static,threshold:upper=0.8,window_s=30,ds2` as three policies: a comma ends one only before a policy's name."""
    found: list[str] = []
    for part in (piece.strip() for piece in text.split(",") if piece.strip()):
        if found and part.partition(":")[0] not in POLICIES and (":" in found[-1] and "=" in part):
            found[-1] += f",{part}"
        else:
            found.append(part)
    if not found:
        raise UsageError("No policy is named; give some, separated by commas, such as static,ds2.")
    if len(set(found)) < len(found):
        raise UsageError(f"'{text}' names a policy twice; name each once.")
    return found
