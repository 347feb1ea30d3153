"""A spam classifier: naive Bayes over the words of a text, trained with made-up phrases whose kind is known."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from penstock.spark.payloads.news import labelled_news

_EXAMPLES = 4000
_SEED = 20_120
"""Of the phrases to learn from; runs take other seeds, so that no classifier meets the phrases it was trained with."""


@dataclass(frozen=True, slots=True)
class SpamClassifier:
    """A trained model, which can be sent to other processes."""

    model: Any

    def are_spam(self, texts: list[str]) -> list[bool]:
        """Whether each text is spam."""
        return [bool(label) for label in self.model.predict(texts)] if texts else []


@lru_cache(maxsize=1)
def trained_classifier() -> SpamClassifier:
    """The classifier; the same one every time."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    texts, labels = labelled_news(_EXAMPLES, _SEED)
    return SpamClassifier(make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, labels))
