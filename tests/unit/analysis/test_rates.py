import pytest

from penstock.analysis import (
    OperatorRates,
    application_rates,
    desired_inputs,
    newest,
    offered_inputs,
    recent,
    segment_busy_s,
    selectivities,
    source_inputs,
    weighted_mean,
)
from penstock.model import ApplicationObservation, Observation, Operator, OperatorObservation, Role, Stream, Topology

LINE = Topology("line", (Operator("in", Role.SOURCE), Operator("out", Role.SINK)), (Stream("in", "out"),))
FUSED = Topology("line", LINE.operators, LINE.streams, (("in", "out"),))
CROSS = Topology(
    "cross",
    (
        Operator("a", Role.SOURCE),
        Operator("b", Role.SOURCE),
        Operator("join"),
        Operator("x", Role.SINK),
        Operator("y", Role.SINK),
    ),
    (Stream("a", "join"), Stream("b", "join"), Stream("join", "x"), Stream("join", "y")),
)


def observe(
    at_s: float, window_s: float, operators: dict[str, OperatorObservation], input_per_s: float | None = None
) -> Observation:
    return Observation(at_s, window_s, {"line": ApplicationObservation(operators, input_per_s=input_per_s)}, {})


def test_load_is_averaged_by_time() -> None:
    windows = [observe(10, 10, {}, 100.0), observe(15, 5, {}, 400.0), observe(25, 10, {}, None)]
    assert application_rates(LINE, windows).input_per_s == pytest.approx(200)


def test_rates_of_instances_are_averaged_by_busy_seconds() -> None:
    # 100 rows in 1 busy second, then 900 rows in 3: 1000 rows in 4 seconds.
    first = OperatorObservation(1, processed_per_s=10.0, busy_s=1.0, true_rate_per_s=100.0)
    second = OperatorObservation(1, processed_per_s=90.0, busy_s=3.0, true_rate_per_s=300.0)
    rates = application_rates(LINE, [observe(10, 10, {"in": first}), observe(20, 10, {"in": second})])
    assert rates.operators["in"].true_rate_per_s == pytest.approx(250)
    assert rates.operators["in"].processed_per_s == pytest.approx(50)
    assert rates.operators["in"].rate_per_s == pytest.approx(250)


def test_effective_rates_are_averaged_by_busy_seconds_of_the_segment() -> None:
    # in: 100 rows while the segment was busy for 2 s, then 100 rows in 6 s.
    quick = {
        "in": OperatorObservation(1, busy_s=1.0, time_share=0.5, effective_rate_per_s=50.0),
        "out": OperatorObservation(1, busy_s=1.0, time_share=0.5),
    }
    slow = {
        "in": OperatorObservation(1, busy_s=1.0, time_share=1 / 6, effective_rate_per_s=100 / 6),
        "out": OperatorObservation(1, busy_s=5.0, time_share=5 / 6),
    }
    rates = application_rates(FUSED, [observe(10, 10, quick), observe(20, 10, slow)]).operators["in"]
    assert rates.effective_rate_per_s == pytest.approx(200 / 8)
    assert rates.time_share == pytest.approx(2 / 8)
    assert rates.usage == pytest.approx(8 / 20)


def test_rates_without_busy_seconds_are_averaged_by_time() -> None:
    first, second = OperatorObservation(1, true_rate_per_s=100.0), OperatorObservation(1, true_rate_per_s=400.0)
    rates = application_rates(LINE, [observe(10, 10, {"in": first}), observe(15, 5, {"in": second})])
    assert rates.operators["in"].true_rate_per_s == pytest.approx(200)


def test_what_was_not_seen_is_none() -> None:
    for windows in ([], [observe(10, 10, {"in": OperatorObservation(2)})], [Observation(10, 10, {}, {})]):
        rates = application_rates(LINE, windows)
        assert rates.input_per_s is None
        assert rates.backlog is None
        assert rates.operators == {"in": OperatorRates(), "out": OperatorRates()}
        assert rates.operators["in"].rate_per_s is None
        assert rates.operators["in"].share is None


def test_share_follows_from_the_two_rates() -> None:
    assert OperatorRates(true_rate_per_s=100.0, effective_rate_per_s=25.0).share == 0.25
    assert OperatorRates(true_rate_per_s=100.0, effective_rate_per_s=25.0, time_share=0.3).share == 0.3
    assert OperatorRates(true_rate_per_s=100.0).rate_per_s == 100.0


def test_busy_time_of_a_segment() -> None:
    both = ApplicationObservation({"in": OperatorObservation(1, busy_s=2.0), "out": OperatorObservation(1, busy_s=3.0)})
    assert segment_busy_s(both, ("in", "out")) == 5
    assert segment_busy_s(both, ("in",)) == 2
    chained = ApplicationObservation(
        {"in": OperatorObservation(1, busy_s=2.0, time_share=0.4), "out": OperatorObservation(1)}
    )
    assert segment_busy_s(chained, ("in", "out")) == pytest.approx(5)
    unknown = ApplicationObservation({"in": OperatorObservation(1, busy_s=2.0), "out": OperatorObservation(1)})
    assert segment_busy_s(unknown, ("in", "out")) is None
    assert segment_busy_s(ApplicationObservation({}), ("in",)) is None


def test_usage_in_the_middle_of_a_long_batch_is_unknown() -> None:
    def seen(busy_s: float, input_per_s: float, backlog: float | None = None) -> Observation:
        operators = {name: OperatorObservation(1, input_per_s=input_per_s, busy_s=busy_s / 2) for name in ("in", "out")}
        return Observation(10, 10, {"line": ApplicationObservation(operators, backlog=backlog)}, {})

    def usage(*windows: Observation) -> float | None:
        return application_rates(FUSED, windows).operators["in"].usage

    assert usage(seen(0.0, 50.0)) is None
    assert usage(seen(0.0, 0.0, backlog=400.0)) is None
    assert usage(seen(0.0, 0.0, backlog=0.0)) == 0
    assert usage(seen(0.0, 0.0)) == 0
    assert usage(seen(0.0, 50.0), seen(0.0, 50.0), seen(45.0, 50.0)) == 1
    assert usage(seen(4.0, 50.0), seen(2.0, 50.0)) == pytest.approx(0.3)


def test_an_operator_apart_is_idle_when_nothing_reaches_it() -> None:
    stuck = {"in": OperatorObservation(1, input_per_s=9.0, busy_s=0.0), "out": OperatorObservation(1, busy_s=0.0)}
    windows = [Observation(10, 10, {"line": ApplicationObservation(stuck, backlog=400.0)}, {})]
    rates = application_rates(LINE, windows).operators
    assert rates["in"].usage is None
    assert rates["out"].usage == 0


def test_selectivity_is_all_output_over_all_input() -> None:
    first = OperatorObservation(1, processed_per_s=10.0, output_per_s={"out": 30.0})
    second = OperatorObservation(1, processed_per_s=90.0, output_per_s={"out": 70.0})
    idle = OperatorObservation(1, processed_per_s=0.0, output_per_s={"out": 0.0})
    blind = OperatorObservation(1, processed_per_s=50.0)
    windows = [observe(10 * i, 10, {"in": o}) for i, o in enumerate((first, second, idle, blind), 1)]
    assert selectivities(LINE, windows) == {("in", "out"): pytest.approx(1.0)}
    assert selectivities(LINE, windows[2:]) == {}
    assert selectivities(LINE, []) == {}


def test_desired_inputs_of_several_sources_and_sinks() -> None:
    ratios = {("a", "join"): 2.0, ("b", "join"): 0.5, ("join", "x"): 3.0, ("join", "y"): 0.1}
    desired = desired_inputs(CROSS, {"a": 100.0, "b": 40.0}, ratios)
    assert desired == pytest.approx({"a": 100, "b": 40, "join": 220, "x": 660, "y": 22})


def test_what_waits_before_a_segment_is_offered_to_all_its_members() -> None:
    """Of 300 that arrive 100 are handled; the middle sends two for each, and the last has a segment of its own."""
    stages = (Operator("in", Role.SOURCE), Operator("middle"), Operator("out", Role.SINK))
    streams = (Stream("in", "middle"), Stream("middle", "out"))
    seen = {
        "in": OperatorObservation(1, input_per_s=300.0, processed_per_s=100.0),
        "middle": OperatorObservation(1, input_per_s=100.0, processed_per_s=100.0),
        "out": OperatorObservation(1, input_per_s=200.0, processed_per_s=150.0),
    }
    ratios = {("in", "middle"): 1.0, ("middle", "out"): 2.0}

    def offered(*segments: tuple[str, ...]) -> dict[str, float | None]:
        topology = Topology("line", stages, streams, segments)
        return offered_inputs(topology, application_rates(topology, [observe(10, 10, seen)]), ratios)

    assert offered(("in", "middle")) == {"in": 300.0, "middle": 300.0, "out": 200.0}
    assert offered(("in", "middle", "out")) == {"in": 300.0, "middle": 300.0, "out": 600.0}
    assert offered() == {"in": 300.0, "middle": 100.0, "out": 200.0}


def test_what_is_offered_is_unknown_where_what_arrives_is() -> None:
    rates = application_rates(FUSED, [observe(10, 10, {"in": OperatorObservation(1), "out": OperatorObservation(1)})])
    assert offered_inputs(FUSED, rates, {}) == {"in": None, "out": None}


def test_the_unknown_spreads_downstream_only() -> None:
    ratios = {("a", "join"): 2.0, ("join", "x"): 3.0, ("join", "y"): 0.1}
    desired = desired_inputs(CROSS, {"a": 100.0, "b": 40.0}, ratios)
    assert desired == {"a": 100.0, "b": 40.0, "join": None, "x": None, "y": None}
    assert desired_inputs(CROSS, {"a": 100.0}, ratios)["b"] is None
    part = desired_inputs(CROSS, {"a": 100.0, "b": 0.0}, {("a", "join"): 2.0, ("join", "x"): 3.0})
    assert part == {"a": 100.0, "b": 0.0, "join": 200.0, "x": 600.0, "y": None}


def test_sources_take_the_application_s_input_when_there_is_one_of_them() -> None:
    own = {"in": OperatorObservation(1, input_per_s=80.0)}
    assert source_inputs(LINE, application_rates(LINE, [observe(10, 10, own, 100.0)])) == {"in": 100}
    assert source_inputs(LINE, application_rates(LINE, [observe(10, 10, own)])) == {"in": 80}
    two = ApplicationObservation({"a": OperatorObservation(1, input_per_s=80.0)}, input_per_s=100.0)
    seen = application_rates(CROSS, [Observation(10, 10, {"cross": two}, {})])
    assert source_inputs(CROSS, seen) == {"a": 80, "b": None}


def test_recent_and_newest_windows() -> None:
    windows = tuple(observe(at, 10, {}) for at in (10.0, 20.0, 30.0, 40.0))
    assert recent(windows, None) == windows
    assert recent(windows, 20.0) == windows[2:]
    assert recent(windows, 20.1) == windows[3:]
    assert newest(windows, 20.0) == windows[2:]
    assert newest(windows, 1.0) == windows[3:]
    assert newest((), 20.0) == ()


def test_weighted_mean_leaves_out_the_unknown() -> None:
    assert weighted_mean([(1.0, 1.0), (None, 5.0), (4.0, 2.0), (9.0, None)]) == pytest.approx(3.0)
    assert weighted_mean([(1.0, 0.0)]) is None
    assert weighted_mean([]) is None
