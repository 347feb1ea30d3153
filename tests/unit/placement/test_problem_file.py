"""What is wrong in a problem file is refused in one sentence that names the entry."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import EnvironmentMissing, UsageError
from penstock.placement import NetworkMetric
from penstock.placement.problem_file import parse_problem, problem_document, read_problem

GOOD: dict[str, Any] = {
    "operators": [
        {"name": "source", "resources": 1, "execution_time_ms": 1.0, "candidates": ["n1"]},
        {"name": "split", "resources": 1, "execution_time_ms": 3.0, "max_replicas": 2, "service_rate_per_s": 150},
    ],
    "streams": [{"from": "source", "to": "split", "rate_per_s": 100.0, "bytes_per_tuple": None}],
    "nodes": [
        {"name": "n1", "resources": 2, "speedup": 1.0, "availability": 0.999, "spawn_s": 0.0},
        {"name": "n2", "resources": 2},
    ],
    "links": [{"from": "n1", "to": "n2", "delay_ms": 17.0}, {"from": "n2", "to": "n1", "delay_ms": 17}],
    "network_metric": "usage",
    "weights": {"response_time": 0.5, "downtime": 0.5},
    "normalisation": {"response_time_ms": [0, 1000], "availability": [0.5, 1.0]},
    "bounds": {"response_time_ms": 200, "cost": None, "downtime_s": None},
    "current": {"source": ["n1"], "split": ["n1"]},
    "reconfiguration": {"sync_s": 0.25, "store_delay_ms": 5, "store_rate_bytes_per_s": 12500000},
}


def test_a_good_file_becomes_a_problem(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    problem = read_problem(tmp_path / "good.json")
    assert problem.network_metric is NetworkMetric.USAGE
    assert problem.operators[0].candidates == ("n1",)
    assert problem.network.delay_ms.tolist() == [[0.0, 17.0], [17.0, 0.0]]
    assert problem.current == {"source": ("n1",), "split": ("n1",)}
    assert problem_document(parse_problem(json.dumps(problem_document(problem)))) == problem_document(problem)


def change(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def apply(document: dict[str, Any]) -> None:
        at: Any = document
        for step in path[:-1]:
            at = at[step]
        if isinstance(at, list) and path[-1] == len(at):
            at.append(to)
        else:
            at[path[-1]] = to

    return apply


def drop(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def apply(document: dict[str, Any]) -> None:
        at: Any = document
        for step in path[:-1]:
            at = at[step]
        del at[path[-1]]

    return apply


WRONG: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (change("operators", 0, "candidates", to=["n9"]), r"'n9'.*operator 'source'|operator 'source'.*'n9'"),
    (change("operators", 0, "candidates", to=[]), "'source' has no candidates"),
    (change("operators", 0, "candidates", to=["n1", "n1"]), "'source' names a candidate twice"),
    (change("operators", 0, "candidates", to="n1"), r"operators\[0\].candidates"),
    (change("operators", 1, "name", to="source"), "more than one operator 'source'"),
    (change("operators", 1, "name", to=""), r"operators\[1\].name"),
    (change("operators", 1, "name", to=7), r"operators\[1\].name"),
    (change("operators", 1, "resources", to=-1), r"operators\[1\].resources"),
    (change("operators", 1, "resources", to="1"), r"operators\[1\].resources"),
    (change("operators", 1, "resources", to=True), r"operators\[1\].resources"),
    (change("operators", 1, "resources", to=5), "'split' needs 5 resources, more than any"),
    (change("operators", 1, "max_replicas", to=0), r"operators\[1\].max_replicas"),
    (change("operators", 1, "max_replicas", to=1.5), r"operators\[1\].max_replicas"),
    (change("operators", 1, "service_rate_per_s", to=0), r"operators\[1\].service_rate_per_s"),
    (change("operators", 1, "service_rate_per_s", to=20), "'split' cannot keep up with its load even with 2"),
    (change("operators", 1, "execution_time_ms", to=float("nan")), r"operators\[1\].execution_time_ms"),
    (change("operators", 1, "execution_time_ms", to=float("inf")), r"operators\[1\].execution_time_ms"),
    (change("operators", 1, "latency_profile", to=[[10, 5], [5, 9]]), "latency profile of operator 'split'"),
    (change("operators", 1, "latency_profile", to=[]), "latency profile of operator 'split'"),
    (change("operators", 1, "speed", to=1), r"operators\[1\].speed"),
    (change("operators", to=[]), "no operators"),
    (drop("operators"), "operators"),
    (drop("operators", 1, "name"), r"operators\[1\].name"),
    (change("streams", 0, "to", to="joint"), "source -> joint names unknown operator 'joint'"),
    (change("streams", 1, to={"from": "split", "to": "source"}), "cycle: .*source.*split|cycle: .*split.*source"),
    (change("streams", 0, "to", to="source"), "cycle: source"),
    (change("streams", 1, to={"from": "source", "to": "split"}), "more than one stream 'source -> split'"),
    (change("streams", 0, "rate_per_s", to=-0.5), r"streams\[0\].rate_per_s"),
    (change("streams", 0, "rate_per_s", to=None), r"streams\[0\].rate_per_s"),
    (change("nodes", to=[]), "no nodes"),
    (change("nodes", 1, "name", to="n1"), "more than one node 'n1'"),
    (change("nodes", 1, "speedup", to=0), r"nodes\[1\].speedup"),
    (change("nodes", 1, "availability", to=1.1), r"nodes\[1\].availability"),
    (change("nodes", 1, "availability", to=0), r"nodes\[1\].availability"),
    (change("nodes", 0, "resources", to=0.5), "'source' needs 1 resources"),
    (drop("links", 1), "no link n2 -> n1"),
    (change("links", 1, "to", to="n3"), "link n2 -> n3 names unknown node 'n3'"),
    (change("links", 1, to={"from": "n1", "to": "n2"}), "more than one link n1 -> n2"),
    (change("links", 2, to={"from": "n1", "to": "n1", "delay_ms": 1}), "link n1 -> n1 joins a node to itself"),
    (change("links", 0, "delay_ms", to=-1), r"links\[0\].delay_ms"),
    (change("links", 0, "delay_ms", to=[1]), r"links\[0\].delay_ms"),
    (change("network_metric", to="hops"), "network_metric"),
    (change("weights", "downtime", to=0.2), "weights sum to 0.7"),
    (change("weights", "downtime", to=-0.5), "weights.downtime"),
    (change("weights", "speed", to=0.5), "weights.speed"),
    (change("weights", to=[0.5]), "weights"),
    (change("normalisation", "response_time_ms", to=[10, 10]), "normalisation of response_time_ms"),
    (change("normalisation", "response_time_ms", to=[10]), "normalisation.response_time_ms"),
    (change("normalisation", "response_time_ms", to=[0, 1e-300]), "normalisation of response_time_ms is too narrow"),
    (change("normalisation", "availability", to=[0, 1]), "normalisation of availability"),
    (change("bounds", "cost", to=-3), "bounds.cost"),
    (change("current", "joint", to=["n1"]), "operator .*current deployment.*'joint'"),
    (change("current", "split", to=["n7"]), "node .*current deployment.*'n7'"),
    (change("current", "split", to=[]), "current deployment has no node for operator 'split'"),
    (drop("current", "split"), "current deployment has no node for operator 'split'"),
    (drop("current"), "downtime is above 0 without a current deployment"),
    (change("reconfiguration", "store_rate_bytes_per_s", to=0), "reconfiguration.store_rate_bytes_per_s"),
    (change("reconfiguration", "model", to="never"), "reconfiguration.model"),
    (change("surprise", to=1), "surprise"),
]


@pytest.mark.parametrize(("spoil", "names"), WRONG, ids=[names for _, names in WRONG])
def test_a_wrong_entry_is_named(spoil: Callable[[dict[str, Any]], None], names: str) -> None:
    document = copy.deepcopy(GOOD)
    spoil(document)
    with pytest.raises(UsageError, match=names) as refused:
        parse_problem(json.dumps(document))
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))


def test_capacities_that_cannot_suffice_are_named() -> None:
    crowded = copy.deepcopy(GOOD)
    crowded["operators"][1] |= {"candidates": ["n1"], "resources": 1.5, "service_rate_per_s": 500}
    with pytest.raises(UsageError, match=r"Node 'n1' has 2 resources, and operators that run nowhere else need 2.5"):
        parse_problem(json.dumps(crowded))
    many = copy.deepcopy(GOOD)
    many["operators"] += [{"name": f"o{index}"} for index in range(4)]
    many["current"] |= {f"o{index}": ["n2"] for index in range(4)}
    with pytest.raises(UsageError, match="need 6 resources in all, more than the 4 of the nodes"):
        parse_problem(json.dumps(many))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b'{"operators": [], "operators": []}', "'operators' is given twice"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_not_a_document_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_problem(content)


def test_a_missing_file_and_a_wrong_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match=r"nowhere\.json cannot be read"):
        read_problem(tmp_path / "nowhere.json")
    with pytest.raises(EnvironmentMissing, match="cannot be read"):
        read_problem(tmp_path)
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(UsageError, match=r"empty\.json: The entry operators"):
        read_problem(tmp_path / "empty.json")
