"""Advertisements that were viewed, clicked and followed by a purchase: as columns, and as JSON."""

from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.spark.payloads.draws import choice
from penstock.spark.payloads.kind import Columns, Numbers, Payload

AD_TYPES = ("banner", "modal", "sponsored-search", "mail", "mobile")
AD_EVENT_TYPES = ("view", "click", "purchase")
ADS_PER_CAMPAIGN = 10

_AD_COLUMNS = ("user_id", "page_id", "ad_id", "ad_type", "event_type", "ip")
_CAMPAIGNS = 100
_USERS = 10_000
_PAGES = 1000
_ADDRESSES = 4096


def ad_campaigns() -> list[tuple[str, str]]:
    """Every advertisement of the `ads` payload with its campaign."""
    return [
        (f"ad-{number:04d}", f"campaign-{number // ADS_PER_CAMPAIGN:03d}")
        for number in range(_CAMPAIGNS * ADS_PER_CAMPAIGN)
    ]


def _ads(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    users, pages, ads, addresses = _ad_names()
    return (
        users.take(pa.array(choice(numbers, seed, 0, _USERS))),
        pages.take(pa.array(choice(numbers, seed, 1, _PAGES))),
        ads.take(pa.array(choice(numbers, seed, 2, len(ads)))),
        pa.array(AD_TYPES).take(pa.array(choice(numbers, seed, 3, len(AD_TYPES)))),
        pa.array(AD_EVENT_TYPES).take(pa.array(choice(numbers, seed, 4, len(AD_EVENT_TYPES)))),
        addresses.take(pa.array(choice(numbers, seed, 5, _ADDRESSES))),
    )


@lru_cache(maxsize=1)
def _ad_names() -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
    # Addresses from the block that is kept for examples in documents and benchmarks (RFC 2544).
    addresses = [f"198.18.{number // 256}.{number % 256}" for number in range(_ADDRESSES)]
    return (
        pa.array([f"user-{number:05d}" for number in range(_USERS)]),
        pa.array([f"page-{number:04d}" for number in range(_PAGES)]),
        pa.array([ad for ad, _ in ad_campaigns()]),
        pa.array(addresses),
    )


def _ad_json(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    import pyarrow.compute as pc

    # As in the Yahoo streaming benchmark: every value is text, the time in milliseconds since 1970.
    values = (*_ads(numbers, times_us, seed), pc.cast(pa.array(times_us // 1000), pa.string()))
    parts: list[pa.Array | str] = []
    for name, value in zip((*_AD_COLUMNS, "event_time"), values, strict=True):
        parts += ['{"' if not parts else '", "', name, '": "', value]
    return (pc.binary_join_element_wise(*parts, '"}', ""),)


ADS = Payload(
    "ads",
    "advertisements viewed, clicked and followed by a purchase",
    pa.schema([(name, pa.string()) for name in _AD_COLUMNS]),
    _ads,
)

AD_JSON = Payload("ad-json", "the same as JSON text", pa.schema([("event", pa.string())]), _ad_json)
