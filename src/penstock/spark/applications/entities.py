"""Whom and what a text names, by rules and a gazetteer."""

import re
from functools import lru_cache

from penstock.spark import names

_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 2


def entities_of(text: str) -> list[tuple[str, str]]:
    """The kind (person, place, organisation) and the name of every entity, in the order of the text.

    A place is in the gazetteer, by its longest name; a known first name with a capitalised word behind it is a person;
    a capitalised word with the ending of an organisation behind it is one.
    """
    words = _WORD.findall(text)
    found: list[tuple[str, str]] = []
    place = 0
    while place < len(words):
        kind, length = _entity_at(words, place)
        if kind:
            found.append((kind, " ".join(words[place : place + length])))
        place += length
    return found


def _entity_at(words: list[str], place: int) -> tuple[str | None, int]:
    """The kind of the entity that begins at that word, None if none does, and how many words to go on by."""
    word = words[place]
    if not word[0].isupper():
        return None, 1
    for length in range(_LONGEST, 0, -1):
        if " ".join(words[place : place + length]) in _places():
            return "place", length
    following = words[place + 1] if place + 1 < len(words) else ""
    if following in names.ORGANISATION_ENDINGS:
        return "organisation", 2
    if word in names.FIRST_NAMES and following[:1].isupper():
        return "person", 2
    return None, 1


@lru_cache(maxsize=1)
def _places() -> frozenset[str]:
    return frozenset(names.PLACES)
