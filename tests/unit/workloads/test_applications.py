import math
import pickle

import pytest

from penstock.errors import UnknownName
from penstock.model import Role
from penstock.workloads import (
    APPLICATIONS,
    STELA_SCALE_IN,
    STELA_SETTINGS,
    Application,
    OperatorCost,
    application,
)

NAMES = tuple(APPLICATIONS)


def inputs_per_s(app: Application, load_per_s: float) -> dict[str, float]:
    """What arrives at every operator when everything is processed."""
    rates = {source: load_per_s * app.share(source) for source in app.topology.sources}
    for name in app.topology.order:
        for downstream in app.topology.downstream(name):
            sent = rates[name] * app.costs[name].selectivity.get(downstream, 1.0)
            rates[downstream] = rates.get(downstream, 0.0) + sent
    return rates


def capacity_per_s(cost: OperatorCost, instances: int) -> float:
    return cost.rate_per_s * instances / (1 + cost.contention * (instances - 1))


def needed(app: Application, load_per_s: float, usage: float = 1.0) -> dict[str, int]:
    """The least parallelism at which no operator is busier than `usage`."""
    return {
        name: next(k for k in range(1, 1000) if capacity_per_s(app.costs[name], k) * usage >= rate)
        for name, rate in inputs_per_s(app, load_per_s).items()
    }


def throughput_per_s(app: Application, parallelism: dict[str, int]) -> float:
    """Source events per second at which the first operator is full."""
    per_event = inputs_per_s(app, 1.0)
    return min(capacity_per_s(app.costs[name], k) / per_event[name] for name, k in parallelism.items())


def test_all_the_publications_applications_are_there() -> None:
    assert set(NAMES) >= {
        *("top-words", "sentiment", "fission-1", "fission-2", "fission-3", "star", "linear", "diamond", "page-load"),
        *("processing", "network-monitoring", "tag-and-count", "word-count", "log-processing", "debs-routes"),
        *("frequent-patterns", "yahoo-streaming", "nexmark-q5", "nexmark-q11"),
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_application_says_what_it_is_and_where_its_figures_come_from(name: str) -> None:
    app = application(name)
    assert app is APPLICATIONS[name]
    assert app.name == name
    assert app.summary
    assert "assumed:" in app.origin
    assert 0 <= app.low_per_s < app.high_per_s
    assert pickle.loads(pickle.dumps(app)) == app


@pytest.mark.parametrize("name", NAMES)
def test_roles_follow_the_graph(name: str) -> None:
    topology = application(name).topology
    for operator in topology.operators:
        if operator.name in topology.sources:
            assert operator.role is Role.SOURCE
        elif operator.name in topology.sinks:
            assert operator.role is Role.SINK
        else:
            assert operator.role is Role.TRANSFORM
        assert operator.key is None or operator.stateful
        assert set(operator.pins) <= {worker.name for worker in application(name).cluster.workers}


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(STELA_SETTINGS)))
def test_the_whole_load_range_can_be_sustained_within_the_bounds(name: str) -> None:
    app = application(name)
    for operator, instances in needed(app, app.high_per_s).items():
        assert instances <= app.topology.operator(operator).max_parallelism


@pytest.mark.parametrize("name", NAMES)
def test_the_load_range_is_interesting(name: str) -> None:
    app = application(name)
    assert sum(needed(app, app.high_per_s).values()) > sum(needed(app, app.low_per_s).values())


def test_unknown_applications_are_told() -> None:
    with pytest.raises(UnknownName, match=r"no application 'topwords'; did you mean 'top-words'\?"):
        application("topwords")
    with pytest.raises(KeyError):
        APPLICATIONS["topwords"]
    assert "topwords" not in APPLICATIONS


def test_top_words_has_the_published_selectivities() -> None:
    app = application("top-words")
    ratios = [ratio for name in app.topology.order[1:] for ratio in app.costs[name].selectivity.values()]
    assert ratios == [17.86, 0.68, 0.41, 0.01]
    assert {operator.max_parallelism for operator in app.topology.operators} == {4}
    assert (len(app.cluster.workers), app.cluster.slots(4)) == (4, 16)


def test_top_words_needs_one_worker_at_200_and_all_slots_at_800() -> None:
    app = application("top-words")
    assert set(needed(app, 200, usage=0.65).values()) == {1}
    busy = sum(rate / app.costs[name].rate_per_s for name, rate in inputs_per_s(app, 200).items())
    assert busy <= 0.8 * 4
    high = needed(app, 800, usage=0.65)
    assert [high[name] for name in ("splitter", "stop-word-filter", "counter")] == [4, 4, 4]
    assert 12 < sum(high.values()) <= 16


def test_sentiment_needs_one_to_four_workers() -> None:
    app = application("sentiment")
    assert set(needed(app, app.low_per_s, usage=0.65).values()) == {1}
    assert 12 < sum(needed(app, app.high_per_s, usage=0.65).values()) <= 16
    assert inputs_per_s(app, 100)["score"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("name", "load_per_s", "published"),
    [
        ("word-count", 350_000, [3, 4, 12, 10]),
        ("nexmark-q5", 30_000, [1, 18]),
        ("nexmark-q11", 100_000, [1, 11]),
        ("yahoo-streaming", 34_000, [3, 1, 1, 1, 34]),
    ],
)
def test_autrascale_workloads_need_the_published_parallelism(
    name: str, load_per_s: float, published: list[int]
) -> None:
    assert list(needed(application(name), load_per_s).values()) == published


def test_more_instances_than_published_hardly_help_the_yahoo_benchmark() -> None:
    cost = application("yahoo-streaming").costs["count-campaigns"]
    assert capacity_per_s(cost, 40) < 1.02 * capacity_per_s(cost, 34)


def test_the_third_fission_application_needs_the_published_30_replicas_at_its_peak() -> None:
    most = needed(application("fission-3"), 3000)
    assert sum(most.values()) - most["source"] == 30


@pytest.mark.parametrize(("name", "events"), [("fission-1", 63_918), ("fission-3", 84_575)])
def test_fission_applications_without_replicas_are_as_slow_as_published(name: str, events: int) -> None:
    app = application(name)
    assert throughput_per_s(app, dict.fromkeys(app.topology.names, 1)) * 600 == pytest.approx(events, rel=0.01)


def test_frequent_patterns_takes_the_published_sequence_of_detectors() -> None:
    app = application("frequent-patterns")
    detectors, seen = 20, [20]
    for load_per_s in (120, 350, 900, 250, 120):
        for _ in range(3):
            usage = inputs_per_s(app, load_per_s)["detector"] / (detectors * app.costs["detector"].rate_per_s)
            if usage > 0.7:
                detectors = min(2 * detectors, app.topology.operator("detector").max_parallelism)
            elif usage < 0.2:
                detectors = math.ceil(detectors / 2)
            if detectors != seen[-1]:
                seen.append(detectors)
    assert seen == [20, 10, 5, 10, 20, 10, 5]


def test_debs_routes_has_the_published_rates_and_turning_points() -> None:
    app = application("debs-routes")
    rates = {name: cost.rate_per_s for name, cost in app.costs.items()}
    assert rates["parser"] == 233
    assert rates["partial-rank"] == 2371
    assert rates["global-rank"] == 3000
    assert inputs_per_s(app, 105)["partial-rank"] == pytest.approx(0.9 * 2371, rel=0.02)
    assert needed(app, 220)["partial-rank"] == 2
    constant = application("debs-routes-constant")
    assert constant.costs["global-rank"].rate_per_s == 185
    assert inputs_per_s(constant, 80)["partial-rank"] == pytest.approx(2500, rel=0.01)
    assert set(needed(constant, 60).values()) == {1}


@pytest.mark.parametrize("name", STELA_SETTINGS)
def test_stela_settings_fit_their_topologies(name: str) -> None:
    app, settings = application(name), STELA_SETTINGS[name]
    assert settings.processes == settings.executors * len(app.topology.operators)
    assert len(app.cluster.workers) == settings.workers_after
    assert {worker.slots for worker in app.cluster.workers} == {settings.slots}
    start = dict.fromkeys(app.topology.names, settings.executors)
    assert throughput_per_s(app, start) * 1.2 < app.high_per_s, "something must be congested at the start"
    assert throughput_per_s(app, start) > app.low_per_s


STELA_NARROWEST = {
    "star": "centre",
    "linear": "bolt-1",
    "diamond": "sink",
    "page-load": "locate",
    "processing": "merge",
    "network-monitoring": "score",
}


@pytest.mark.parametrize("name", STELA_SETTINGS)
def test_stela_rates_follow_one_rule(name: str) -> None:
    """The narrowest handles a third of the load, the other congested ones two thirds, and all others twice the load."""
    app, settings = application(name), STELA_SETTINGS[name]
    arriving = inputs_per_s(app, app.high_per_s)
    handled = {
        operator: capacity_per_s(app.costs[operator], settings.executors) / rate for operator, rate in arriving.items()
    }
    expected = dict.fromkeys(handled, 2.0) | {STELA_NARROWEST[name]: 1 / 3}
    if name == "network-monitoring":
        expected |= dict.fromkeys(("classify", "anomalies"), 2 / 3)
    assert handled == pytest.approx(expected)


def test_page_load_may_have_the_executors_of_the_scale_in() -> None:
    bounds = {operator.max_parallelism for operator in application("page-load").topology.operators}
    assert bounds == {STELA_SCALE_IN.executors}
