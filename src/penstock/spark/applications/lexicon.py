"""What words say about a mood: a small lexicon with strengths, and a scorer that heeds negation and emphasis."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from penstock.spark import phrases

SUFFIX = r"(?<=.{3})(ingly|edly|ing|edness|ness|ed|ily|ely|ly|iest|ier|ies|es|s|e|y)$"
"""Endings that are cut off where three letters are left, so that the forms of a word are one.

It means the same to Python and to Spark.
"""

_STRENGTHS: Mapping[float, str] = {
    3.0: """
        adore amazing awesome best brilliant ecstatic excellent exceptional exquisite fantastic flawless
        love magnificent masterpiece outstanding perfect phenomenal splendid stunning superb thrill triumph wonderful
        """,
    2.0: """
        admire beautiful charming cheer delight elegant enjoy fascinating fortunate great happy impress inspire joy
        lovely praise proud recommend remarkable satisfy success win
        """,
    1.0: """
        agree benefit calm clean clear comfort decent easy fine fresh friend fun glad good helpful honest hope
        interest kind like lucky neat nice ok pleasant polite ready safe smile smooth soft solid sweet thank useful
        warm welcome
        """,
    -1.0: """
        awkward bore cold complain confuse delay difficult doubt dull expensive forget lack late limit mess miss
        noise odd old poor problem rough sad slow sorry strange tire uncertain weak wrong
        """,
    -2.0: """
        afraid anger annoy bad bitter break cheat crash cruel cry damage danger disappoint dirty fail fake fear
        frustrate grim guilt harm hurt jealous lie lonely lose mean pain reject rude shame sick ugly unfair upset waste
        """,
    -3.0: """
        abuse appal atrocious awful betray catastrophe curse despise destroy disaster disgust dreadful evil hate
        horrible horrific misery nasty nightmare pathetic repulsive ruin terrible toxic tragic vile worst
        """,
}

_EMPHASIS: Mapping[str, float] = {
    "absolutely": 1.6, "completely": 1.5, "extremely": 1.8, "incredibly": 1.7, "quite": 1.2, "really": 1.4,
    "so": 1.3, "totally": 1.5, "truly": 1.4, "utterly": 1.7, "very": 1.5,
    "kinda": 0.7, "little": 0.6, "rather": 0.9, "slightly": 0.5, "somewhat": 0.7,
}  # fmt: skip

_NEGATION = """
    aint arent cannot cant couldnt didnt doesnt dont hadnt hasnt havent isnt neither never no nobody none nor not
    nothing nowhere shouldnt wasnt werent without wont wouldnt
    """

_REACH = 3
"""A negation reaches this many words ahead."""

_REVERSAL = -0.7
"""Negation weakens as well as reverses: what is not wonderful need not be terrible."""

_CLEAR = 0.5
"""A score beyond this, either way, is a mood; anything else is none."""


def stem(word: str) -> str:
    """The word without its ending."""
    return re.sub(SUFFIX, "", word)


@lru_cache(maxsize=1)
def strengths() -> Mapping[str, float]:
    """How pleasant (above 0) or unpleasant (below 0) a stem is."""
    found = {stem(word): 1.0 for word in phrases.POSITIVE_WORDS} | {stem(word): -1.0 for word in phrases.NEGATIVE_WORDS}
    return found | {stem(word): strength for strength, words in _STRENGTHS.items() for word in words.split()}


@lru_cache(maxsize=1)
def emphasis() -> Mapping[str, float]:
    """By how much a stem strengthens or weakens the word behind it."""
    return {stem(word): factor for word, factor in _EMPHASIS.items()}


@lru_cache(maxsize=1)
def negations() -> frozenset[str]:
    """The stems that reverse what follows."""
    return frozenset(stem(word) for word in _NEGATION.split())


def score(stems: Sequence[str]) -> float:
    """The mood of a text, given as stems: above 0 pleasant, below 0 unpleasant."""
    strength_of, emphasis_of, negation = strengths(), emphasis(), negations()
    total, factor, reversed_until = 0.0, 1.0, -1
    for place, word in enumerate(stems):
        if word in negation:
            reversed_until, factor = place + _REACH, 1.0
        elif word in emphasis_of:
            factor *= emphasis_of[word]
        else:
            strength = strength_of.get(word, 0.0) * factor
            total += strength * _REVERSAL if place <= reversed_until else strength
            factor = 1.0
    return total


def mood(value: float) -> str:
    """The name of a score."""
    if value > _CLEAR:
        return "positive"
    return "negative" if value < -_CLEAR else "neutral"
