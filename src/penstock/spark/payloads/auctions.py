"""An online auction after Nexmark: of 50 events one is a new person, three are new auctions and the rest are bids.

Half of the bids go to the hot auction, which changes with every hundred auctions, and three quarters come from the hot
bidder, who changes with every hundred persons; the others are spread over what is recent.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.spark.payloads.draws import uniform
from penstock.spark.payloads.kind import Columns, Numbers, Payload

_PERSONS, _AUCTIONS, _BLOCK = 1, 3, 50
_HOT_EVERY = 100
_HOT_AUCTION_SHARE = 0.5
_HOT_PERSON_SHARE = 0.75
_RECENT_AUCTIONS = 100
_RECENT_PERSONS = 1000
_FIRST_ID = 1000
_KINDS = ("person", "auction", "bid")


def _auctions(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    block, place = np.divmod(numbers.astype(np.int64), _BLOCK)
    kind = (place >= _PERSONS).astype(np.int64) + (place >= _PERSONS + _AUCTIONS)
    newest_person = block * _PERSONS
    newest_auction = np.maximum(block * _AUCTIONS + np.minimum(place - _PERSONS, _AUCTIONS - 1), 0)
    hot_person = newest_person // _HOT_EVERY * _HOT_EVERY
    some_person = _recent(newest_person, _RECENT_PERSONS, uniform(numbers, seed, 0))
    person = np.where(uniform(numbers, seed, 1) < _HOT_PERSON_SHARE, hot_person, some_person)
    hot_auction = newest_auction // _HOT_EVERY * _HOT_EVERY
    some_auction = _recent(newest_auction, _RECENT_AUCTIONS, uniform(numbers, seed, 2))
    auction = np.where(uniform(numbers, seed, 3) < _HOT_AUCTION_SHARE, hot_auction, some_auction)
    price = np.round(10.0 ** (6.0 * uniform(numbers, seed, 4)) * 100.0).astype(np.int64)
    return (
        pa.array(_KINDS).take(pa.array(kind)),
        pa.array(_FIRST_ID + np.where(kind == 0, newest_person, person)),
        pa.array(np.where(kind == 0, 0, _FIRST_ID + np.where(kind == 1, newest_auction, auction))),
        pa.array(np.where(kind == 0, 0, price)),
    )


def _recent(newest: NDArray[np.int64], count: int, drawn: NDArray[np.float64]) -> NDArray[np.int64]:
    """One of the last `count`, as far as there are so many."""
    known = np.minimum(newest + 1, count)
    return newest - (drawn * known).astype(np.int64)


AUCTIONS = Payload(
    "auctions",
    "persons, auctions and bids after Nexmark; `person` is the new one, the seller or the bidder",
    pa.schema(
        [
            ("kind", pa.string()),
            ("person", pa.int64()),
            ("auction", pa.int64()),
            ("price", pa.int64()),
        ]
    ),
    _auctions,
)
