"""How pipelines are declared, what is refused, and how they are cut into segments."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.control.actions import Level
from penstock.errors import InvalidModel, UsageError
from penstock.model import Role, Stream
from penstock.spark import Pipeline
from penstock.spark.compiler import SegmentPlan, compile_pipeline
from penstock.spark.markers import Mark, Side, marks_in

Frame = Any


def same(df: Frame) -> Frame:
    return df


def word_count() -> Pipeline:
    pipeline = Pipeline("word-count")
    sentences = pipeline.source("sentences", load="text")

    @pipeline.operator(after=sentences, parallelism=(1, 8))
    def split(df: Frame) -> Frame:
        return df

    @pipeline.operator(after=split)
    def lower(df: Frame) -> Frame:
        return df

    @pipeline.operator(after=lower, key="word", stateful=True, parallelism=(1, 4))
    def count(df: Frame) -> Frame:
        return df

    @pipeline.sink(after=count, mode="update")
    def store(df: Frame, batch: int) -> None:
        return None

    return pipeline


def diamond(**join: Any) -> Pipeline:
    pipeline = Pipeline("diamond")
    pipeline.source("in", load="numbers")
    pipeline.operator("a", after="in", parallelism=(1, 4))(same)
    pipeline.operator("b", after="a", parallelism=(1, 4))(same)
    pipeline.operator("c", after="a", parallelism=(1, 4))(same)
    pipeline.operator("d", after=["b", "c"], parallelism=(1, 4), **join)(same)
    pipeline.sink("out", after="d", format="noop")
    return pipeline


def nodes(pipeline: Pipeline, execution: str = "fused") -> list[tuple[str, ...]]:
    return [plan.nodes for plan in compile_pipeline(pipeline, execution)]


class TestDeclaring:
    def test_a_decorated_function_stays_a_plain_function(self) -> None:
        pipeline = Pipeline("p")
        source = pipeline.source("in", load="text")

        @pipeline.operator(after=source)
        def double(df: int) -> int:
            return 2 * df

        assert double(21) == 42

    def test_functions_handles_and_names_all_name_an_upstream(self) -> None:
        graph = word_count().graph()
        assert graph.upstream("split") == ("sentences",)
        assert graph.upstream("lower") == ("split",)
        assert diamond().graph().upstream("d") == ("b", "c")

    def test_later_operators_may_be_named(self) -> None:
        pipeline = Pipeline("p")
        pipeline.operator("b", after="a")(same)
        pipeline.operator("a", after="in")(same)
        pipeline.source("in", load="text")
        pipeline.sink("out", after="b", format="noop")
        assert pipeline.graph().order == ("in", "a", "b", "out")

    def test_a_function_with_as_many_parameters_as_upstreams_gets_one_frame_of_each(self) -> None:
        pipeline = Pipeline("p")
        one, two = pipeline.source("one", load="text"), pipeline.source("two", load="text")
        pipeline.operator("both", after=[one, two])(lambda left, right: left)
        pipeline.operator("union", after=[one, two])(lambda df: df)
        pipeline.sink("out", after="both", format="noop")
        pipeline.sink("out2", after="union", format="noop")
        joins = {operator.name: operator.joins for operator in pipeline.graph().operators}
        assert joins == {"both": True, "union": False}

    def test_the_mode_may_be_given_to_the_operator_or_to_the_sink(self) -> None:
        def pipeline(of_operator: Any, of_sink: Any) -> Pipeline:
            made = Pipeline("p")
            made.source("in", load="text")
            made.operator("count", after="in", key="k", stateful=True, mode=of_operator)(same)
            made.operator("format", after="count")(same)
            made.sink("out", after="format", format="noop", mode=of_sink)
            return made

        assert pipeline(None, None).graph().mode("count") == "update"
        assert pipeline("append", None).graph().mode("count") == "append"
        assert pipeline(None, "complete").graph().mode("count") == "complete"
        with pytest.raises(InvalidModel, match=r"'count'.*several modes \(append, update\)"):
            pipeline("append", "update").graph()


def declare_bounds(bounds: Any) -> Callable[[Pipeline], object]:
    return lambda pipeline: pipeline.operator("op", after="in", parallelism=bounds)(same)


def with_foreign_handle(pipeline: Pipeline) -> None:
    foreign = Pipeline("other").source("there", load="text")
    pipeline.operator("op", after=foreign)(same)


def with_shared_function(pipeline: Pipeline) -> None:
    pipeline.operator("one", after="in")(same)
    pipeline.operator("two", after="in")(same)
    pipeline.operator("op", after=same)(same)


class TestRefusedAtDefinition:
    @pytest.mark.parametrize(
        ("declare", "sentence"),
        [
            (declare_bounds((0, 4)), r"'op'.*at least 1"),
            (declare_bounds((5, 4)), r"'op'.*\(5, 4\)"),
            (declare_bounds(0), r"'op'.*at least 1"),
            (lambda p: p.operator("op", after="in", stateful=True)(same), r"'op' is stateful and has no key"),
            (lambda p: p.operator("op", after="in", key="k")(same), r"'op' has a key and no parallelism"),
            (lambda p: p.operator("op", after="in", mode="update")(same), r"'op' has a mode and is not stateful"),
            (lambda p: p.operator("op", after="in", key="k", stateful=True, mode="all")(same), r"'op'.*'all'"),
            (lambda p: p.operator("in", after="in")(same), r"'in' more than once"),
            (lambda p: p.source("in", load="text"), r"'in' more than once"),
            (lambda p: p.operator("op", after="in")(lambda a, b: a), r"'op' must take one DataFrame\."),
            (lambda p: p.operator("op", after=["in", "x"])(lambda a, b, c: a), r"'op' must take one .* or 2 "),
            (lambda p: p.operator("op", after="in")(lambda: None), r"'op' must take one DataFrame"),
            (lambda p: p.operator("op", after=[])(same), r"'op'.*comes after nothing"),
            (lambda p: p.operator("op", after=["in", "in"])(same), r"'op'.*the same operator twice"),
            (lambda p: p.operator("op", after=print)(same), r"'op' comes after 'print', which is no operator"),
            (lambda p: p.operator("a/b", after="in")(same), r"cannot be called 'a/b'"),
            (lambda p: p.source("s", load=lambda: None), r"'s' must take one argument, the session"),
            (lambda p: p.sink("out", after="in")(same), r"'out' must take two arguments"),
            (lambda p: p.sink("out", after="in", format="noop", mode="all"), r"'out' has the mode 'all'"),
            (lambda p: p.sink(after="in", format="noop"), r"needs a name"),
            (with_foreign_handle, r"'op' comes after 'there' of another pipeline, 'other'"),
            (with_shared_function, r"'op' comes after 'same', which is the function of several"),
        ],
    )
    def test_with_one_sentence_that_names_the_culprit(
        self, declare: Callable[[Pipeline], object], sentence: str
    ) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text")
        with pytest.raises(InvalidModel, match=sentence) as refusal:
            declare(pipeline)
        assert str(refusal.value).endswith(".")
        assert "\n" not in str(refusal.value)


class TestRefusedAsAWhole:
    def refused(self, pipeline: Pipeline) -> str:
        with pytest.raises(InvalidModel) as refusal:
            pipeline.topology()
        return str(refusal.value)

    def test_without_a_source(self) -> None:
        pipeline = Pipeline("p")
        pipeline.operator("op", after="in")(same)
        assert self.refused(pipeline) == "Pipeline 'p' has no source."

    def test_without_a_sink(self) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text")
        assert self.refused(pipeline) == "Pipeline 'p' has no sink."

    def test_an_upstream_that_was_never_defined(self) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text")
        pipeline.sink("out", after="op", format="noop")
        assert "'out' of pipeline 'p' comes after 'op', which is not defined" in self.refused(pipeline)

    def test_an_operator_behind_a_sink(self) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text")
        pipeline.sink("out", after="in", format="noop")
        pipeline.operator("op", after="out")(same)
        assert "'op' of pipeline 'p' comes after sink 'out'" in self.refused(pipeline)

    def test_a_cycle(self) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text")
        pipeline.operator("a", after=["in", "b"])(same)
        pipeline.operator("b", after="a")(same)
        pipeline.sink("out", after="b", format="noop")
        message = self.refused(pipeline)
        assert "cycle" in message
        assert "a -> b" in message or "b -> a" in message

    def test_a_sink_that_wants_all_results_where_there_is_no_state(self) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text")
        pipeline.sink("out", after="in", format="noop", mode="complete")
        assert "Sink 'out' wants all results" in self.refused(pipeline)

    def test_an_operator_that_leads_nowhere(self) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text")
        pipeline.operator("op", after="in")(same)
        pipeline.sink("out", after="in", format="noop")
        assert "'op' of pipeline 'p' feeds nothing" in self.refused(pipeline)

    def test_an_unknown_execution_mode(self) -> None:
        with pytest.raises(UsageError, match="no execution mode 'merged'; choose one of: fused, pipelined"):
            word_count().topology("merged")


class TestSegments:
    def test_fused_makes_one_query_of_a_chain(self) -> None:
        (plan,) = compile_pipeline(word_count(), "fused")
        assert plan.nodes == ("sentences", "split", "lower", "count", "store")
        assert plan.operators == ("sentences", "split", "count")
        assert (plan.name, plan.mode, plan.sink, plan.writes) == ("count", "update", "store", None)
        assert (plan.sources, plan.hot, plan.stateful) == (("sentences",), ("split",), ("count",))

    def test_pipelined_gives_every_elastic_operator_its_own(self) -> None:
        first, second = compile_pipeline(word_count(), "pipelined")
        assert first.nodes == ("sentences", "split", "lower")
        assert (first.writes, first.mode, first.stateful) == ("lower", "append", ())
        assert second.nodes == ("count", "store")
        assert (second.reads, second.inputs) == (("lower",), ("lower",))

    def test_a_source_with_a_declared_parallelism_stands_alone_when_pipelined(self) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text", parallelism=2)
        pipeline.operator("op", after="in", parallelism=(1, 2))(same)
        pipeline.sink("out", after="op", format="noop")
        assert nodes(pipeline, "pipelined") == [("in",), ("op", "out")]
        assert nodes(pipeline) == [("in", "op", "out")]

    def test_fan_out_cuts_and_fan_in_does_not(self) -> None:
        assert nodes(diamond()) == [("in", "a"), ("b", "c", "d", "out")]
        assert compile_pipeline(diamond(), "fused")[1].inputs == ("a",)
        assert nodes(diamond(), "pipelined") == [("in", "a"), ("b",), ("c",), ("d", "out")]

    def test_a_chained_fan_in_joins_one_of_its_upstreams_when_pipelined(self) -> None:
        pipeline = Pipeline("p")
        for name in ("x", "y"):
            pipeline.source(f"in-{name}", load="text")
            pipeline.operator(name, after=f"in-{name}", parallelism=(1, 2))(same)
        pipeline.operator("both", after=["x", "y"])(same)
        pipeline.sink("out", after="both", format="noop")
        segments = nodes(pipeline, "pipelined")
        assert segments == [("in-y", "y"), ("in-x", "x", "both", "out")]
        assert nodes(pipeline) == [("in-x", "in-y", "x", "y", "both", "out")]

    def test_every_sink_has_a_query(self) -> None:
        pipeline = word_count()
        pipeline.sink("second", after="count", format="noop")
        assert nodes(pipeline) == [("sentences", "split", "lower", "count"), ("store",), ("second",)]
        plans = compile_pipeline(pipeline, "fused")
        assert [plan.name for plan in plans] == ["count", "store", "second"]
        assert plans[0].mode == "update"
        assert plans[1].mode == "append"

    def test_a_cut_that_was_asked_for(self) -> None:
        assert nodes(diamond(cut=True)) == [("in", "a"), ("b",), ("c",), ("d", "out")]

    @pytest.mark.parametrize(
        ("mode", "bounds", "shared"),
        [("append", (1, 2), True), ("append", (1, 4), False), ("update", (1, 2), False)],
    )
    def test_stateful_operators_share_a_query_only_where_spark_can(
        self, mode: Any, bounds: tuple[int, int], shared: bool
    ) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text")
        pipeline.operator("one", after="in", key="k", stateful=True, mode=mode, parallelism=(1, 2))(same)
        pipeline.operator("two", after="one", key="k", stateful=True, mode=mode, parallelism=bounds)(same)
        pipeline.sink("out", after="two", format="noop")
        together = [("in", "one", "two", "out")]
        assert nodes(pipeline) == (together if shared else [("in", "one"), ("two", "out")])

    def test_stateful_operators_on_parallel_branches_are_kept_apart(self) -> None:
        pipeline = Pipeline("p")
        for name in ("x", "y"):
            pipeline.source(f"in-{name}", load="text")
            pipeline.operator(name, after=f"in-{name}", key="k", stateful=True)(same)
        pipeline.sink("out", after="both", format="noop")
        pipeline.operator("both", after=["x", "y"])(same)
        assert nodes(pipeline) == [("in-y", "y"), ("in-x", "x", "both", "out")]


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    """Random graphs of chained, elastic and stateful operators over one or two sources."""
    pipeline = Pipeline("p")
    names = [f"in{i}" for i in range(draw(st.integers(1, 2)))]
    for name in names:
        pipeline.source(name, load="text", parallelism=draw(st.sampled_from([None, 2])))
    fed: set[str] = set()
    for i in range(draw(st.integers(0, 7))):
        after = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        stateful = draw(st.booleans())
        elastic = draw(st.booleans())
        pipeline.operator(
            f"op{i}",
            after=after,
            parallelism=(1, draw(st.integers(1, 4))) if elastic else None,
            stateful=stateful,
            key="k" if stateful else (),
            mode=draw(st.sampled_from(["append", "update"])) if stateful else None,
            cut=draw(st.booleans()),
        )(same)
        names.append(f"op{i}")
        fed |= set(after)
    for name in sorted(set(names) - fed):
        pipeline.sink(f"out-{name}", after=name, format="noop")
    return pipeline


class TestAnyPipeline:
    @settings(deadline=None, max_examples=150)
    @given(pipelines(), st.sampled_from(["fused", "pipelined"]))
    def test_segments_cover_the_graph_and_only_the_ends_are_joined(self, pipeline: Pipeline, execution: str) -> None:
        graph, plans = pipeline.graph(), compile_pipeline(pipeline, execution)
        home = {node: plan.name for plan in plans for node in plan.nodes}
        assert sorted(home) == sorted(graph.nodes)
        assert sum(len(plan.nodes) for plan in plans) == len(graph.nodes)
        assert len({plan.name for plan in plans}) == len(plans)
        seen: set[str] = set()
        for plan in plans:
            assert (plan.writes is None) != (plan.sink is None)
            assert set(plan.reads) <= seen
            seen |= {plan.writes} if plan.writes else set()
            for node in plan.nodes[:-1]:
                consumers = graph.downstream(node)
                assert len(consumers) == 1
                assert home[consumers[0]] == plan.name
            stand_alone = [n for n in plan.operators if n not in plan.sources or graph.bounds(n).most > 1]
            assert execution == "fused" or len(stand_alone) <= 1
            assert len(plan.stateful) <= 1 or plan.mode == "append"

    @settings(deadline=None, max_examples=60)
    @given(pipelines())
    def test_fused_never_makes_more_segments_than_pipelined(self, pipeline: Pipeline) -> None:
        assert len(nodes(pipeline)) <= len(nodes(pipeline, "pipelined"))

    @settings(deadline=None, max_examples=60)
    @given(pipelines(), st.sampled_from(["fused", "pipelined"]), st.data())
    def test_what_is_resolved_is_allowed_and_stays_as_it_is(
        self, pipeline: Pipeline, execution: str, data: st.DataObject
    ) -> None:
        for plan in compile_pipeline(pipeline, execution):
            wanted = {name: data.draw(st.integers(1, 9)) for name in plan.operators}
            resolved = plan.resolve(wanted)
            assert set(resolved) == set(plan.operators)
            for name, count in resolved.items():
                assert plan.bounds[name].least <= count <= plan.bounds[name].most
            assert plan.resolve(resolved) == resolved
            assert plan.level(resolved, resolved) is None


class TestTopology:
    def test_chained_operators_are_part_of_what_feeds_them(self) -> None:
        topology = word_count().topology()
        assert topology.names == ("sentences", "split", "count")
        assert topology.streams == (Stream("sentences", "split"), Stream("split", "count"))
        assert topology.segments == (("sentences", "split", "count"),)

    def test_operators_carry_what_was_declared(self) -> None:
        topology = word_count().topology("pipelined")
        source, split, count = topology.operators
        assert (source.role, source.min_parallelism, source.max_parallelism) == (Role.SOURCE, 1, 1)
        assert (split.role, split.min_parallelism, split.max_parallelism) == (Role.TRANSFORM, 1, 8)
        assert (count.role, count.stateful, count.key, count.max_parallelism) == (Role.SINK, True, "word", 4)
        assert topology.segments == (("sentences", "split"), ("count",))

    def test_streams_go_through_chained_operators(self) -> None:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text")
        pipeline.operator("a", after="in", parallelism=(1, 2))(same)
        pipeline.operator("left", after="a")(same)
        pipeline.operator("right", after="a")(same)
        pipeline.operator("b", after=["left", "right"], parallelism=(1, 2))(same)
        pipeline.sink("out", after="b", format="noop")
        assert pipeline.topology().streams == (Stream("in", "a"), Stream("a", "b"))


class TestParallelism:
    def plan(self) -> SegmentPlan:
        pipeline = Pipeline("p")
        pipeline.source("in", load="text", parallelism=(1, 2))
        pipeline.operator("wide", after="in", parallelism=(2, 8))(same)
        pipeline.operator("narrow", after="wide", parallelism=(1, 3))(same)
        pipeline.operator("fixed", after="narrow", parallelism=5)(same)
        pipeline.operator("count", after="fixed", parallelism=(1, 4), key="k", stateful=True)(same)
        pipeline.sink("out", after="count", format="noop")
        (plan,) = compile_pipeline(pipeline, "fused")
        return plan

    def test_stateless_operators_share_the_largest_number_within_their_bounds(self) -> None:
        plan = self.plan()
        resolved = plan.resolve({"in": 9, "wide": 6, "narrow": 1, "fixed": 1, "count": 2})
        assert resolved == {"in": 2, "wide": 6, "narrow": 3, "fixed": 5, "count": 2}
        assert plan.hot_number(resolved) == 6
        assert plan.state_number(resolved) == 2
        assert (plan.hot, plan.pinned) == (("wide", "narrow"), ("fixed",))

    @pytest.mark.parametrize(
        ("changed", "level"),
        [({"wide": 3}, Level.HOT), ({"in": 2}, Level.RESTART), ({"count": 3, "in": 2}, Level.STATE), ({}, None)],
    )
    def test_the_deepest_change_sets_the_level(self, changed: dict[str, int], level: Level | None) -> None:
        plan = self.plan()
        before = plan.resolve({"in": 1, "wide": 2, "narrow": 2, "fixed": 5, "count": 1})
        assert plan.level(before, plan.resolve({**before, **changed})) == level


class TestMarks:
    def test_marks_are_found_in_the_text_of_a_plan(self) -> None:
        text = "Filter ((v > 1) AND (SPARK_PARTITION_ID() >= -1007))\n Filter (spark_partition_id() >= -1004)"
        assert marks_in(text) == (Mark(3, Side.OUT), Mark(2, Side.IN))

    def test_other_filters_are_not_taken_for_marks(self) -> None:
        assert marks_in("Filter (SPARK_PARTITION_ID() >= -3) Filter (x >= -1003)") == ()

    @given(st.integers(0, 500), st.sampled_from(list(Side)))
    def test_a_number_stands_for_one_operator_and_side(self, operator: int, side: Side) -> None:
        mark = Mark(operator, side)
        assert marks_in(f"(SPARK_PARTITION_ID() >= -{mark.number})") == (mark,)


def test_importing_the_room_loads_no_spark() -> None:
    code = "import sys; from penstock.spark import Pipeline, RunningPipeline; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
