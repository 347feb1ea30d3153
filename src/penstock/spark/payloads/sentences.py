"""Sentences of several kinds, from the words of each kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.spark.payloads.draws import choice, uniform, zipf_choice
from penstock.spark.payloads.kind import Numbers

_HALVES = 1 << 13
_HALF_WORDS = (6, 13)


@dataclass(frozen=True, slots=True)
class Mixture:
    """Kinds of sentences with the share and the words of each, its most frequent word first."""

    shares: tuple[float, ...]
    words: tuple[tuple[str, ...], ...]

    def kinds(self, numbers: Numbers, seed: int) -> NDArray[np.int64]:
        """Of which kind every event is."""
        return np.searchsorted(np.cumsum(self.shares)[:-1], uniform(numbers, seed, 0), side="right")

    def sentences(self, numbers: Numbers, seed: int) -> pa.Array:
        """The sentence of every event, some 18 words."""
        import pyarrow.compute as pc

        # Put together from two halves of the same kind: far more sentences than need be kept.
        firsts, seconds = _halves(self, seed)
        kinds = self.kinds(numbers, seed)
        beginning = firsts.take(pa.array(kinds * _HALVES + choice(numbers, seed, 1, _HALVES)))
        ending = seconds.take(pa.array(kinds * _HALVES + choice(numbers, seed, 2, _HALVES)))
        return pc.binary_join_element_wise(beginning, ending, " ")


@lru_cache(maxsize=8)
def _halves(mixture: Mixture, seed: int) -> tuple[pa.Array, pa.Array]:
    """First and second halves of sentences: `_HALVES` of each per kind, in the order of the kinds."""
    firsts = [_half(words, seed, 10 * index, "") for index, words in enumerate(mixture.words)]
    seconds = [_half(words, seed, 10 * index + 5, ".") for index, words in enumerate(mixture.words)]
    return pa.concat_arrays(firsts), pa.concat_arrays(seconds)


def _half(words: Sequence[str], seed: int, field: int, end: str) -> pa.Array:
    import pyarrow.compute as pc

    numbers = np.arange(_HALVES, dtype=np.uint64)
    shortest, longest = _HALF_WORDS
    lengths = shortest + choice(numbers, seed, 100 + field, longest - shortest)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    drawn = zipf_choice(np.arange(offsets[-1], dtype=np.uint64), seed, 101 + field, len(words))
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(words).take(pa.array(drawn)))
    return pc.binary_join_element_wise(pc.binary_join(lists, " "), end, "")
