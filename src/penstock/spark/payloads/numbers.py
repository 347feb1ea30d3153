"""Numbers: a key and a value."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.spark.payloads.draws import choice, uniform
from penstock.spark.payloads.kind import Columns, Numbers, Payload

_NUMBER_KEYS = 1000


def _numbers(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    return pa.array(choice(numbers, seed, 0, _NUMBER_KEYS)), pa.array(uniform(numbers, seed, 1))


NUMBERS = Payload(
    "numbers",
    "a key out of 1000 and a value between 0 and 1",
    pa.schema([("key", pa.int64()), ("value", pa.float64())]),
    _numbers,
)
