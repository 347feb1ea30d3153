from dataclasses import FrozenInstanceError

import pytest

from penstock.errors import InvalidModel, UnknownName
from penstock.model import Operator, Role, Stream, Topology

SOURCE = Operator("source", Role.SOURCE)
SPLIT = Operator("split", max_parallelism=8)
COUNT = Operator("count", max_parallelism=4, stateful=True)
SINK = Operator("sink", Role.SINK)
STREAMS = (Stream("source", "split"), Stream("split", "count"), Stream("count", "sink"))


def words(segments: tuple[tuple[str, ...], ...] = ()) -> Topology:
    return Topology("words", (SOURCE, SPLIT, COUNT, SINK), STREAMS, segments)


def test_the_graph_can_be_walked() -> None:
    topology = words()
    assert topology.names == ("source", "split", "count", "sink")
    assert topology.upstream("count") == ("split",)
    assert topology.downstream("count") == ("sink",)
    assert topology.sources == ("source",)
    assert topology.sinks == ("sink",)
    assert topology.operator("count") is COUNT


def test_every_operator_comes_after_those_that_feed_it() -> None:
    backwards = Topology("words", (SINK, COUNT, SPLIT, SOURCE), STREAMS)
    assert backwards.order == ("source", "split", "count", "sink")
    assert backwards.names == ("sink", "count", "split", "source")


def test_fan_in_and_fan_out_are_allowed() -> None:
    operators = (SOURCE, Operator("other", Role.SOURCE), SPLIT, SINK, Operator("alert", Role.SINK))
    edges = (("source", "split"), ("other", "split"), ("split", "sink"), ("split", "alert"))
    topology = Topology("crossing", operators, tuple(Stream(*edge) for edge in edges))
    assert topology.sources == ("source", "other")
    assert topology.sinks == ("sink", "alert")
    assert topology.upstream("split") == ("source", "other")


@pytest.mark.parametrize(
    ("operators", "streams", "segments", "said"),
    [
        ((), (), (), "Application 'words' has no operators."),
        ((SOURCE, SOURCE), (), (), "Application 'words' defines operator 'source' more than once."),
        (
            (SOURCE, SINK),
            (Stream("source", "sinc"),),
            (),
            "Stream source -> sinc names 'sinc', which is no operator of 'words'.",
        ),
        (
            (SOURCE, SINK),
            (Stream("source", "sink"), Stream("source", "sink")),
            (),
            "Application 'words' has the same stream twice.",
        ),
        (
            (SPLIT, COUNT, Operator("rank")),
            (Stream("split", "count"), Stream("count", "rank"), Stream("rank", "split")),
            (),
            "Application 'words' has a cycle: split -> count -> rank -> split.",
        ),
        ((SOURCE, SPLIT), (Stream("split", "split"),), (), "Application 'words' has a cycle: split -> split."),
        (
            (SPLIT, SOURCE),
            (Stream("split", "source"),),
            (),
            "Operator 'split' of 'words' has no upstream operator.",
        ),
        (
            (SOURCE, Operator("other", Role.SOURCE)),
            (Stream("source", "other"),),
            (),
            "Source 'other' of 'words' must not have an upstream operator.",
        ),
        (
            (SOURCE, SINK, SPLIT),
            (Stream("source", "sink"), Stream("sink", "split")),
            (),
            "Sink 'sink' of 'words' must not have a downstream operator.",
        ),
        ((SOURCE,), (), (("source", "x"),), "A segment of 'words' names unknown operator 'x'."),
        ((SOURCE,), (), (("source",), ("source",)), "An operator of 'words' is in more than one segment."),
        ((SOURCE,), (), ((),), "A segment of 'words' has no operators."),
    ],
)
def test_a_contradiction_is_refused_in_one_sentence(
    operators: tuple[Operator, ...], streams: tuple[Stream, ...], segments: tuple[tuple[str, ...], ...], said: str
) -> None:
    with pytest.raises(InvalidModel) as caught:
        Topology("words", operators, streams, segments)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        (0, 1, "Operator 'a' has min_parallelism 0; it must be at least 1."),
        (3, 2, "Operator 'a' has max_parallelism 2 below its min_parallelism 3."),
    ],
)
def test_bounds_of_an_operator_are_checked(least: int, most: int, said: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        Operator("a", min_parallelism=least, max_parallelism=most)
    assert str(caught.value) == said


def test_an_operator_needs_a_name() -> None:
    with pytest.raises(InvalidModel, match="needs a name"):
        Operator("")


@pytest.mark.parametrize(("asked", "given"), [(0, 2), (2, 2), (3, 3), (5, 5), (9, 5)])
def test_an_operator_clips_to_its_bounds(asked: int, given: int) -> None:
    assert Operator("a", min_parallelism=2, max_parallelism=5).clip(asked) == given


def test_pipelined_operators_each_have_a_segment_and_slots_of_their_own() -> None:
    topology = words()
    assert topology.all_segments == (("source",), ("split",), ("count",), ("sink",))
    assert topology.slots({"source": 1, "split": 6, "count": 3, "sink": 1}) == 11


def test_fused_operators_take_turns_on_the_slots_of_the_widest() -> None:
    fused = words((("source", "split", "count", "sink"),))
    assert fused.slots({"source": 1, "split": 6, "count": 3, "sink": 1}) == 6


def test_operators_in_no_segment_have_one_of_their_own() -> None:
    partly = words((("split", "count"),))
    assert partly.all_segments == (("split", "count"), ("source",), ("sink",))
    assert partly.slots({"source": 1, "split": 6, "count": 3, "sink": 2}) == 9


def test_an_unknown_operator_comes_with_a_hint() -> None:
    with pytest.raises(UnknownName) as caught:
        words().operator("splitt")
    assert str(caught.value) == "There is no operator of 'words' called 'splitt'; did you mean 'split'?"


def test_values_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        SPLIT.max_parallelism = 9  # type: ignore[misc]
