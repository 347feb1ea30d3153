"""What events hold: made up from their number and a seed, so that any slice can be made, and made again.

Every generator is vectorised over event numbers and keeps no state: the same numbers, times and seed give the same rows
in every process and on every replay.
"""

from collections.abc import Mapping
from types import MappingProxyType

from penstock.errors import UnknownName
from penstock.spark.payloads.ads import AD_JSON, ADS
from penstock.spark.payloads.auctions import AUCTIONS
from penstock.spark.payloads.kind import TIMESTAMP, Payload
from penstock.spark.payloads.news import NEWS
from penstock.spark.payloads.numbers import NUMBERS
from penstock.spark.payloads.text import TEXT, TWEETS
from penstock.spark.payloads.trips import TRIP_LINES, TRIPS

PAYLOADS: Mapping[str, Payload] = MappingProxyType(
    {each.name: each for each in (NUMBERS, TEXT, TWEETS, NEWS, TRIPS, TRIP_LINES, ADS, AD_JSON, AUCTIONS)}
)
"""Every payload by its name."""


def payload(name: str) -> Payload:
    """The payload called `name`; raises `UnknownName`."""
    try:
        return PAYLOADS[name]
    except KeyError:
        raise UnknownName.of("payload", name, PAYLOADS) from None


__all__ = ["PAYLOADS", "TIMESTAMP", "Payload", "payload"]
