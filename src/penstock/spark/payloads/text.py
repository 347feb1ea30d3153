"""Texts that people write: sentences in four languages, and tweets that are mostly Spanish and not always tidy."""

import unicodedata

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.spark import phrases
from penstock.spark.payloads.draws import zipf_choice
from penstock.spark.payloads.kind import Columns, Numbers, Payload
from penstock.spark.payloads.sentences import Mixture

_AUTHORS = 10_000
_SCHEMA = pa.schema([("author", pa.int64()), ("text", pa.string())])


def _sloppy(word: str) -> str:
    """The word as it is typed in a hurry: without accents, and without one of its inner vowels if it is long."""
    bare = "".join(mark for mark in unicodedata.normalize("NFD", word) if not unicodedata.combining(mark))
    inner = [place for place, letter in enumerate(bare) if 0 < place < len(bare) - 1 and letter in "aeiou"]
    return bare if len(bare) < 5 or not inner else bare[: inner[-1]] + bare[inner[-1] + 1 :]


_SPANISH = phrases.tweet_words()
_TEXT = Mixture((0.8, 0.08, 0.06, 0.06), tuple(map(phrases.vocabulary, ("en", "es", "fr", "de"))))
_TWEETS = Mixture(
    (0.55, 0.2, 0.17, 0.04, 0.04),
    (_SPANISH, tuple(map(_sloppy, _SPANISH)), *map(phrases.vocabulary, ("en", "fr", "de"))),
)


def _texts(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    return pa.array(zipf_choice(numbers, seed, 3, _AUTHORS)), _TEXT.sentences(numbers, seed)


def _tweets(numbers: Numbers, times_us: NDArray[np.int64], seed: int) -> Columns:
    return pa.array(zipf_choice(numbers, seed, 3, _AUTHORS)), _TWEETS.sentences(numbers, seed)


TEXT = Payload("text", "sentences of some 18 words in four languages, with their author", _SCHEMA, _texts)
TWEETS = Payload("tweets", "tweets about an earthquake, three quarters in Spanish, with their author", _SCHEMA, _tweets)
