"""Whatever is written as JSON is read back equal, to the last bit and of the same types."""

from dataclasses import fields, is_dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.control.actions import Action, Level
from penstock.control.entries import Acted, Decided, Ended, Entry, Judged, Observed, Refused, Requested, Started
from penstock.control.settings import LoopSettings
from penstock.model import (
    ApplicationObservation,
    Change,
    Cluster,
    Configuration,
    Decision,
    Expected,
    Keep,
    Latency,
    Link,
    Objectives,
    Observation,
    Operator,
    OperatorObservation,
    ParallelismChange,
    PlacementChange,
    Reconfigure,
    Role,
    ScaleRequest,
    Stream,
    Topology,
    View,
    Worker,
    WorkerObservation,
    WorkersChange,
)
from penstock.stores import decode, decode_change, decode_decision, decode_entry, encode, encode_entry

quick = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
names = st.text(max_size=6) | st.sampled_from(
    ["NaN", "Infinity", "target", "kind", "null", "\u2028", '"\\', "\x00", "\U0001d54f"]
)
floats = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=1e-300, allow_infinity=False)
counts = st.integers(1, 9)
nonzero = st.integers(-9, 9).filter(bool)


def maps(keys: st.SearchStrategy[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(keys, values, max_size=3)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def tuples(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=3).map(tuple)


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    parallelism = draw(maps(names, maps(names, counts)))
    placement = None
    if draw(st.booleans()):
        placement = {
            application: {name: tuple(draw(st.lists(names, min_size=n, max_size=n))) for name, n in operators.items()}
            for application, operators in parallelism.items()
        }
    return Configuration(parallelism, draw(counts), placement)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    ours = draw(st.lists(names.filter(bool), min_size=2, max_size=4, unique=True))
    operators = []
    for index, name in enumerate(ours):
        role = Role.SOURCE if index == 0 else draw(st.sampled_from([Role.TRANSFORM, Role.SINK]))
        low = draw(counts)
        rest = (low + draw(counts), draw(st.booleans()), draw(maybe(names)), draw(tuples(names)))
        operators.append(Operator(name, role, low, *rest))
    streams = tuple(Stream(ours[0], name) for name in ours[1:])
    return Topology(draw(names), tuple(operators), streams, draw(st.sampled_from([(), (tuple(ours),)])))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    ours = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    shares = st.floats(0.01, 1.0)
    workers = tuple(Worker(name, draw(counts), draw(positive), draw(shares), draw(floats)) for name in ours)
    ends = st.sampled_from(ours)
    links = st.builds(Link, ends, ends, st.floats(0, 1e9), maybe(floats), floats, floats)
    return Cluster(workers, draw(tuples(links)))


operators = st.builds(
    OperatorObservation,
    st.integers(0, 9),
    *(maybe(floats), maybe(floats), maps(names, floats)),
    *(maybe(floats) for _ in range(8)),
    *(maybe(st.integers(0, 2**60)) for _ in range(2)),
)
applications = st.builds(
    ApplicationObservation,
    maps(names, operators),
    *(maybe(floats), maybe(floats), floats, floats, maybe(floats), maybe(floats), maybe(floats)),
    maybe(st.builds(Latency, floats, floats, floats, floats)),
    floats,
)
workers = st.builds(
    WorkerObservation, maybe(floats), maybe(counts), maybe(st.integers(0, 2**60)), maps(names, st.integers(0, 9))
)
observations = st.builds(Observation, floats, positive, maps(names, applications), maps(names, workers))
expectations = st.builds(Expected, maps(names, floats), maps(names, floats), maps(names, floats))
decisions: st.SearchStrategy[Decision] = st.builds(Keep, names) | st.builds(
    Reconfigure, configurations(), names, maybe(expectations), tuples(names), st.booleans()
)
placed = maybe(tuples(names))
changes: st.SearchStrategy[Change] = (
    st.builds(WorkersChange, counts, counts)
    | st.builds(ParallelismChange, names, names, counts, counts)
    | st.builds(PlacementChange, names, names, placed, placed)
)
objectives = st.builds(Objectives, floats, floats, floats, floats, maybe(st.integers(9, 18)), counts)
periods = st.tuples(st.floats(0, 10), st.floats(11, 20))
loops = st.builds(LoopSettings, cooldown_s=st.floats(0, 1e9), excluded=tuples(periods), dry_run=st.booleans())
actions = st.builds(Action, names, st.sampled_from(Level), maybe(names), floats, floats)
entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(
        Started,
        floats,
        maps(names, names),
        tuples(topologies()),
        clusters(),
        objectives,
        configurations(),
        loops,
        resumed=st.booleans(),
    ),
    st.builds(Observed, floats, observations),
    st.builds(Refused, floats, names),
    st.builds(Requested, floats, nonzero),
    st.builds(Decided, floats, decisions, maybe(configurations()), maybe(names)),
    st.builds(Acted, floats, configurations(), tuples(actions), maybe(names)),
    st.builds(Judged, floats, st.sampled_from(["met", "short", "worse"]), names, maybe(configurations())),
    st.builds(Ended, floats, names, maps(names, names)),
)
views = st.builds(
    View,
    floats,
    maps(names, topologies()),
    clusters(),
    objectives,
    configurations(),
    configurations(),
    maybe(configurations()),
    tuples(observations),
    tuples(st.builds(ScaleRequest, floats, nonzero)),
)


def shape(value: Any) -> Any:
    """The types of a value and of all its parts: equal values may still differ in these (1 and 1.0, list and tuple)."""
    if is_dataclass(value):
        return type(value), [shape(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, dict):
        return dict, [(key, shape(item)) for key, item in value.items()]
    if isinstance(value, tuple):
        return tuple, [shape(item) for item in value]
    return type(value), repr(value)


@settings(quick, max_examples=120)
@given(entries)
def test_every_entry_is_read_back_equal(entry: Entry) -> None:
    text = encode_entry(entry)
    back = decode_entry(text)
    assert back == entry
    assert shape(back) == shape(entry)
    assert "\n" not in text
    assert encode_entry(back) == text
    assert decode(type(entry), encode(entry)) == entry


@settings(quick, max_examples=80)
@given(decisions)
def test_every_decision_is_read_back_as_the_one_it_was(decision: Decision) -> None:
    back = decode_decision(encode(decision))
    assert back == decision
    assert shape(back) == shape(decision)


@settings(quick, max_examples=80)
@given(changes)
def test_every_change_is_read_back_as_the_one_it_was(change: Change) -> None:
    back = decode_change(encode(change))
    assert back == change
    assert shape(back) == shape(change)


@settings(quick, max_examples=30)
@given(views)
def test_every_view_is_read_back_equal(view: View) -> None:
    back = decode(View, encode(view))
    assert back == view
    assert shape(back) == shape(view)
