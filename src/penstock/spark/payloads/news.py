"""Phrases from the news, with the names they speak of, and spam among them."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.spark import names, phrases
from penstock.spark.payloads.kind import Columns, Numbers, Payload
from penstock.spark.payloads.sentences import Mixture


def _strewn(words: Sequence[str], among: Sequence[str], every: int) -> tuple[str, ...]:
    """`among`, with one of `words` after every `every` as long as there are any."""
    mixed: list[str] = []
    for index, word in enumerate(among):
        mixed.append(word)
        if index % every == every - 1 and index // every < len(words):
            mixed.append(words[index // every])
    return tuple(mixed)


_ENGLISH = phrases.vocabulary("en")
_HONEST = _strewn(names.ALL_NAMES, _ENGLISH, 5)
_NEWS = Mixture((0.88, 0.12), (_strewn(phrases.SPAM_WORDS, _HONEST, 40), _strewn(phrases.SPAM_WORDS, _ENGLISH, 2)))


def _news(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    return (_NEWS.sentences(numbers, seed),)


def labelled_news(count: int, seed: int) -> tuple[list[str], list[bool]]:
    """As many phrases, and whether each is spam: what a classifier can be trained with."""
    numbers = np.arange(count, dtype=np.uint64)
    return _NEWS.sentences(numbers, seed).to_pylist(), (_NEWS.kinds(numbers, seed) == 1).tolist()


NEWS = Payload(
    "news",
    "phrases from the news with the names they speak of, some of them spam",
    pa.schema([("text", pa.string())]),
    _news,
)
