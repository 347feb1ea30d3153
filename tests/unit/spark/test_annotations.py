"""What the applications find in texts: languages, spam, moods, names and patterns."""

import pickle

import pytest

from penstock.spark import names
from penstock.spark.applications.entities import entities_of
from penstock.spark.applications.fission_3 import moods
from penstock.spark.applications.frequent_patterns import patterns_of
from penstock.spark.applications.languages import UNKNOWN, detected, is_spanish
from penstock.spark.applications.ranking import Ranking
from penstock.spark.applications.registry import spark_pipeline
from penstock.spark.applications.spam import trained_classifier
from penstock.spark.payloads.news import labelled_news


class TestLanguages:
    def test_plain_sentences_are_recognised(self) -> None:
        sentences = {
            "es": "la ayuda para las familias llegó esta mañana a la ciudad",
            "en": "the help for the families arrived in the city this morning",
            "fr": "l'aide pour les familles est arrivée ce matin dans la ville",
            "de": "die hilfe für die familien ist heute morgen in der stadt angekommen",
        }
        assert detected(list(sentences.values())) == list(sentences)

    def test_nothing_has_no_language(self) -> None:
        assert detected([""]) == [UNKNOWN]
        assert not is_spanish("")

    @pytest.mark.parametrize(
        "text", ["terremoto ciudad agua", "terrmoto ciudd agua", "replica montana", "trabajo wxyz ayuda"]
    )
    def test_the_dictionary_forgives_a_letter_and_all_accents(self, text: str) -> None:
        assert is_spanish(text)

    @pytest.mark.parametrize("text", ["earthquake city water", "trrmto cddd aggua xx", "ciudad water river"])
    def test_the_dictionary_wants_most_words_to_be_spanish(self, text: str) -> None:
        assert not is_spanish(text)


class TestSpam:
    def test_the_classifier_finds_most_spam_among_phrases_it_has_not_seen(self) -> None:
        texts, labels = labelled_news(3000, seed=5)
        found = trained_classifier().are_spam(texts)
        hits = sum(label and spam for label, spam in zip(labels, found, strict=True))
        assert hits / sum(labels) > 0.75
        assert hits / sum(found) > 0.75

    def test_it_can_be_sent_to_other_processes(self) -> None:
        texts, _ = labelled_news(50, seed=6)
        sent = pickle.loads(pickle.dumps(trained_classifier()))
        assert sent.are_spam(texts) == trained_classifier().are_spam(texts)
        assert sent.are_spam([]) == []


class TestEntities:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("Maria Novak met Pedro in New York.", [("person", "Maria Novak"), ("place", "New York")]),
            ("the Aurora Bank of London", [("organisation", "Aurora Bank"), ("place", "London")]),
            ("a new york minute", []),
            ("Paula", []),
            ("South Africa beat Chile and Unknown Word", [("place", "South Africa"), ("place", "Chile")]),
            ("", []),
        ],
    )
    def test_rules_and_gazetteer(self, text: str, found: list[tuple[str, str]]) -> None:
        assert entities_of(text) == found

    def test_every_name_of_the_news_is_found(self) -> None:
        assert all([name for _, name in entities_of(f"today {name} again")] == [name] for name in names.ALL_NAMES)
        kinds = {kind for name in names.ALL_NAMES for kind, _ in entities_of(name)}
        assert kinds == {"person", "place", "organisation"}


def test_moods_of_phrases() -> None:
    assert moods(["A wonderful day.", "this was not good.", "the train leaves."]) == ["positive", "negative", "neutral"]


def test_patterns_are_all_sets_of_words() -> None:
    assert patterns_of(["a", "b", "c"], 2) == ["a b", "a c", "b c"]
    assert patterns_of(["a", "b", "c"], 3) == ["a b", "a c", "b c", "a b c"]
    assert patterns_of(["a"], 2) == []


def test_as_many_windows_are_remembered_as_may_still_change() -> None:
    assert Ranking("word", 10, window_s=60, slide_s=60, lateness_s=30).windows == 3
    assert Ranking("route", 10, window_s=30, slide_s=5, lateness_s=5).windows == 8


@pytest.mark.parametrize("name", ["nexmark-q11", "yahoo-streaming", "nexmark-q5"])
def test_operators_have_the_names_of_the_simulated_ones(name: str) -> None:
    from penstock.workloads import APPLICATIONS

    assert set(APPLICATIONS[name].topology.names) <= set(spark_pipeline(name).topology().names)


@pytest.mark.parametrize(
    ("name", "not_on_spark"),
    # A sink is no operator here, and the watermark of Spark tells the time.
    [("fission-1", "store"), ("fission-2", "store"), ("fission-3", "store"), ("debs-routes", "metronome")],
)
def test_one_operator_is_not_needed_on_spark(name: str, not_on_spark: str) -> None:
    from penstock.workloads import APPLICATIONS

    names_on_spark = set(spark_pipeline(name).topology().names)
    assert set(APPLICATIONS[name].topology.names) - names_on_spark == {not_on_spark}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("fission-1:url=mysql://host/db", "is no database"),
        ("fission-1:url=postgresql://me:secret@host/db", "holds a password"),
        ("yahoo-streaming:store_per_s=-1", "must be 0 or more"),
        ("yahoo-streaming:store_per_s=many", "is not a number"),
        ("nexmark-q5:gap_s=3", "no parameter of 'nexmark-q5' called 'gap_s'"),
    ],
)
def test_what_makes_no_sense_is_refused(spec: str, sentence: str) -> None:
    from penstock.errors import UsageError

    with pytest.raises(UsageError, match=sentence):
        spark_pipeline(spec)
