"""In which language a text is written: by a library at once, or slowly and more tolerantly by a dictionary."""

import unicodedata
from functools import lru_cache
from typing import Any

from penstock.spark import phrases

LANGUAGES = ("de", "en", "es", "fr", "it", "pt")
"""The languages that are told apart."""

UNKNOWN = "unknown"

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_ENOUGH = 0.5


def detected(texts: list[str]) -> list[str]:
    """The language of every text, as py3langid finds it from the pieces of words."""
    identifier = _identifier()
    return [identifier.classify(text)[0] if text else UNKNOWN for text in texts]


@lru_cache(maxsize=1)
def _identifier() -> Any:
    """The library's detector, loaded once in every process that needs it."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(LANGUAGES)
    return identifier


def is_spanish(text: str) -> bool:
    """Whether most of the words are in a Spanish dictionary, give or take one letter and all accents."""
    words = text.split()
    known = _dictionary()
    found = sum(word in known or not known.isdisjoint(_misspellings(word)) for word in map(without_accents, words))
    return found > _ENOUGH * len(words)


@lru_cache(maxsize=1)
def _dictionary() -> frozenset[str]:
    words = {*phrases.vocabulary("es"), *phrases.EMERGENCY_WORDS}
    return frozenset(without_accents(word) for word in words)


def without_accents(word: str) -> str:
    """The word in plain letters."""
    return "".join(mark for mark in unicodedata.normalize("NFD", word) if not unicodedata.combining(mark))


def _misspellings(word: str) -> set[str]:
    """Everything that is one letter away: one left out, one too many, one wrong, or two in the wrong order."""
    if len(word) < 4:
        return set()
    halves = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    return {
        *(left + right[1:] for left, right in halves if right),
        *(left + right[1] + right[0] + right[2:] for left, right in halves if len(right) > 1),
        *(left + letter + right[1:] for left, right in halves if right for letter in _ALPHABET),
        *(left + letter + right for left, right in halves for letter in _ALPHABET),
    }
