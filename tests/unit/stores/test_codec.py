import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from pydantic import TypeAdapter

from penstock.control.entries import Decided, Entry, Observed, Refused
from penstock.errors import BadObservation, InvalidModel, UsageError
from penstock.model import (
    ApplicationObservation,
    Configuration,
    Expected,
    Keep,
    Observation,
    OperatorObservation,
    ParallelismChange,
    PlacementChange,
    Reconfigure,
    View,
    WorkerObservation,
    WorkersChange,
)
from penstock.stores import decode, decode_change, decode_decision, decode_entry, encode, encode_entry
from penstock.stores._schemas import change_adapter, decision_adapter, entry_adapter, value_adapter
from penstock.stores.codec import decode_payload, encode_payload
from penstock.testing.stores import example_entries, example_observation

target = Configuration({"words": {"count": 2}}, 1)


@pytest.mark.parametrize("entry", example_entries(), ids=lambda entry: entry.kind)
def test_every_kind_of_entry_is_read_back_equal(entry: Entry) -> None:
    assert decode_entry(encode_entry(entry)) == entry
    assert decode(type(entry), encode(entry)) == entry


def test_a_decision_is_never_mistaken_for_the_other_kind() -> None:
    keep, move = Keep("target"), Reconfigure(target, "because")
    assert type(decode_decision(encode(keep))) is Keep
    assert type(decode_decision(encode(move))) is Reconfigure
    for decision in (keep, move):
        entry = decode_entry(encode_entry(Decided(1.0, decision, None)))
        assert isinstance(entry, Decided)
        assert type(entry.decision) is type(decision)
    with pytest.raises(UsageError, match="because"):
        decode_decision("{}")
    with pytest.raises(UsageError, match="workers"):
        decode_decision('{"because": "x", "target": {"parallelism": {}}}')


def test_a_change_is_never_mistaken_for_another_kind() -> None:
    for change in (
        WorkersChange(1, 2),
        ParallelismChange("words", "count", 1, 2),
        PlacementChange("words", "count", None, None),
        PlacementChange("words", "count", None, ("w1",)),
        PlacementChange("words", "count", (), ("w1",)),
    ):
        assert decode_change(encode(change)) == change


not_a_number = OperatorObservation(1, output_per_s={"count": float("nan")})


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (Refused(float("nan"), "x"), "at_s"),
        (Refused(float("-inf"), "x"), "at_s"),
        (Observed(1.0, Observation(1.0, float("inf"), {}, {})), "observation.window_s"),
        (Observed(1.0, Observation(1.0, 1.0, {"a": ApplicationObservation({"b": not_a_number})}, {})), "a.operators.b"),
        (Decided(1.0, Reconfigure(target, "x", Expected(usage={"b": float("nan")})), None), "expected.usage.b"),
        (WorkerObservation(float("nan")), "usage"),
    ],
)
def test_numbers_that_are_not_finite_are_refused_with_their_place(value: Any, place: str) -> None:
    with pytest.raises(BadObservation, match="finite") as caught:
        encode(value)
    assert place in str(caught.value)
    assert "\n" not in str(caught.value)


def test_not_a_number_may_be_written_about() -> None:
    entry = Refused(1.0, "count has NaN, read has -Infinity")
    assert decode_entry(encode_entry(entry)) == entry


@pytest.mark.parametrize(
    "entry",
    [
        Refused(1.0, cast(str, 3)),
        Refused(1.0, "\ud800"),
        Decided(1.0, Reconfigure(target, "x", None, cast(Any, ["w1"])), None),
        Decided(1.0, cast(Any, "keep"), None),
        Observed(1.0, replace(example_observation(), workers={"w1": WorkerObservation(instances=cast(int, 2.5))})),
        Observed(1.0, replace(example_observation(), workers={"w1": WorkerObservation(instances=cast(int, object()))})),
        cast(Entry, "an entry"),
    ],
)
def test_what_would_be_read_back_as_something_else_is_refused(entry: Entry) -> None:
    with pytest.raises(BadObservation, match="cannot be written") as caught:
        encode_entry(entry)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "journal entry"),
        ("{", "journal entry"),
        ("[]", "journal entry"),
        ('{"kind": "dreamt"}', "dreamt"),
        ('{"kind": "refused", "at_s": "1", "because": "x"}', "refused.at_s"),
        ('{"kind": "refused", "at_s": NaN, "because": "x"}', "refused.at_s"),
        ('{"kind": "refused", "because": "x"}', "refused.at_s"),
        ('{"kind": "refused", "at_s": 1, "because": "x", "more": 1}', "refused.more"),
    ],
)
def test_text_that_is_no_entry_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        decode_entry(text)
    assert "\n" not in str(caught.value)


def test_values_keep_their_invariants_when_they_are_read() -> None:
    with pytest.raises(InvalidModel, match="0 workers"):
        decode(Configuration, '{"parallelism": {}, "workers": 0, "placement": null}')


def test_nothing_is_no_value() -> None:
    with pytest.raises(UsageError, match="not a value of Configuration"):
        decode(Configuration, "null")


def test_what_was_added_to_an_entry_with_a_default_may_be_missing() -> None:
    assert decode_entry('{"kind": "ended", "at_s": 1, "because": "x"}').at_s == 1.0


def test_a_payload_is_plain_json() -> None:
    payload = {"weights": [[0.1, 2e-17], (3, None)], "name": "ä\u2028\ud800", "deep": {"on": True}}
    assert decode_payload(encode_payload(payload)) == {**payload, "weights": [[0.1, 2e-17], [3, None]]}
    for bad in ({1: 2}, {"a": float("nan")}, {"a": {"b": {1, 2}}}, {"a": [object()]}):
        with pytest.raises(BadObservation):
            encode_payload(cast(Any, bad))
    for text in ("[1]", "{", "", '{"a": NaN}', '{"a": -Infinity}'):
        with pytest.raises(UsageError):
            decode_payload(text)


def plain_unions(schema: object) -> Iterator[object]:
    if isinstance(schema, dict):
        if schema.get("type") == "union":
            yield schema
        schema = list(schema.values())
    if isinstance(schema, list | tuple):
        for part in schema:
            yield from plain_unions(part)


@pytest.mark.parametrize("adapter", [entry_adapter(), value_adapter(View), decision_adapter(), change_adapter()])
def test_no_union_is_left_to_be_guessed(adapter: TypeAdapter[Any]) -> None:
    assert list(plain_unions(adapter.core_schema)) == []


def fastest_s(action: Callable[[], object], times: int = 300) -> float:
    best = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - begun)
    return best


def test_an_observation_of_six_operators_is_written_and_read_in_microseconds() -> None:
    operator = OperatorObservation(2, 1.5, 2.5, {"next": 3.5}, 4.5, 0.5, 6.5, 7.5, 8.5, 1.5, 0.5, 7, 9)
    application = ApplicationObservation({f"operator{i}": operator for i in range(6)}, 1.5, 2.5)
    workers = {f"w{i}": WorkerObservation(0.5, 3, 9, {"operator1": 1}) for i in range(4)}
    entry = Observed(10.0, Observation(10.0, 10.0, {"words": application}, workers))
    text = encode_entry(entry)
    assert fastest_s(lambda: encode_entry(entry)) < 200e-6
    assert fastest_s(lambda: decode_entry(text)) < 300e-6


def test_pydantic_is_not_loaded_before_it_is_needed() -> None:
    check = "import penstock.stores, sys; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
