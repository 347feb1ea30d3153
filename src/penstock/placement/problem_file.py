"""Problems as JSON files. What is wrong in a file is refused in one sentence that names the entry."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.errors import EnvironmentMissing, InvalidModel, UsageError
from penstock.placement.feasibility import refuse_hopeless
from penstock.placement.problem import (
    AvailabilityModel,
    Bounds,
    DowntimeModel,
    Network,
    NetworkMetric,
    Node,
    Normalisation,
    Operator,
    Problem,
    Reconfiguration,
    Stream,
    Weights,
    check_unique,
)

_LARGEST = 1e12
_LEAST = 1e-6
Number = Annotated[float, Field(ge=0, le=_LARGEST, allow_inf_nan=False, strict=True)]
Positive = Annotated[float, Field(ge=_LEAST, le=_LARGEST, allow_inf_nan=False, strict=True)]
Share = Annotated[float, Field(ge=_LEAST, le=1, allow_inf_nan=False, strict=True)]
Resources = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False, strict=True)]
# Names appear in messages and tables, so they are of one line.
Name = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$", max_length=200, strict=True)]
Replicas = Annotated[int, Field(ge=1, le=1000, strict=True)]
Pair = tuple[Number, Number]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Operator(_Entry):
    name: Name
    resources: Resources = 1.0
    execution_time_ms: Number = 0.0
    candidates: list[Name] | None = None
    max_replicas: Replicas = 1
    service_rate_per_s: Positive | None = None
    cost: Number = 1.0
    state_bytes: Number = 0.0
    code_bytes: Number = 0.0
    input_rate_per_s: Number | None = None
    latency_profile: list[Pair] | None = None

    def value(self) -> Operator:
        fields = self.model_dump()
        fields["candidates"] = None if self.candidates is None else tuple(self.candidates)
        fields["latency_profile"] = None if self.latency_profile is None else tuple(self.latency_profile)
        return Operator(**fields)


class _Stream(_Entry):
    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    rate_per_s: Number = 0.0
    bytes_per_tuple: Number | None = None


class _Node(_Entry):
    name: Name
    resources: Resources = 1.0
    speedup: Annotated[float, Field(ge=_LEAST, le=1e6, allow_inf_nan=False, strict=True)] = 1.0
    availability: Share = 1.0
    spawn_s: Number = 0.0


class _Link(_Entry):
    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    delay_ms: Number = 0.0
    availability: Share = 1.0
    bandwidth_per_s: Number | None = None
    cost: Number = 0.0

    def __str__(self) -> str:
        return f"link {self.source} -> {self.target}"


class _Weights(_Entry):
    response_time: Number = 0.0
    availability: Number = 0.0
    network: Number = 0.0
    cost: Number = 0.0
    downtime: Number = 0.0


class _Normalisation(_Entry):
    response_time_ms: Pair | None = None
    availability: Pair | None = None
    network: Pair | None = None
    cost: Pair | None = None
    downtime_s: Pair | None = None


class _Bounds(_Entry):
    response_time_ms: Number | None = None
    cost: Number | None = None
    downtime_s: Number | None = None


class _Reconfiguration(_Entry):
    sync_s: Number = 0.0
    store_delay_ms: Number = 0.0
    store_rate_bytes_per_s: Positive = 12_500_000.0
    model: DowntimeModel = DowntimeModel.PAUSE_AND_RESUME
    local_rate_bytes_per_s: Positive | None = None


class _File(_Entry):
    operators: list[_Operator]
    streams: list[_Stream] = []
    nodes: list[_Node]
    links: list[_Link] = []
    network_metric: NetworkMetric = NetworkMetric.USAGE
    weights: _Weights = _Weights(response_time=1.0)
    normalisation: _Normalisation = _Normalisation()
    bounds: _Bounds = _Bounds()
    current: dict[Name, list[Name]] | None = None
    reconfiguration: _Reconfiguration | None = None
    availability_model: AvailabilityModel | None = None


def read_problem(path: Path) -> Problem:
    """The problem in a JSON file. Raises a `UsageError` that names the file and the wrong entry."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EnvironmentMissing(f"The problem file {path} cannot be read: {error.strerror or error}.") from None
    try:
        return parse_problem(content)
    except UsageError as error:
        raise type(error)(f"{path}: {error}") from None


def parse_problem(content: bytes | str) -> Problem:
    """The problem that a JSON document describes. Raises a `UsageError` that names the wrong entry."""
    try:
        document = json.loads(content, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"This is not JSON ({_one_line(str(error))}).") from None
    if not isinstance(document, Mapping):
        raise UsageError("A problem must be a JSON object with the entries operators, streams, nodes and links.")
    try:
        file = _File.model_validate(document)
    except ValidationError as error:
        raise InvalidModel(_first(error)) from None
    problem = _problem(file)
    refuse_hopeless(problem)
    return problem


def problem_document(problem: Problem) -> dict[str, Any]:
    """The JSON document of `problem`; `parse_problem` makes an equal problem of it."""
    names = [node.name for node in problem.nodes]
    network = problem.network
    links = [
        _Link(
            **{"from": names[u], "to": names[v]},
            delay_ms=float(network.delay_ms[u, v]),
            availability=1.0 if network.availability is None else float(network.availability[u, v]),
            bandwidth_per_s=_limit(network.bandwidth_per_s, u, v),
            cost=0.0 if network.cost is None else float(network.cost[u, v]),
        )
        for u in range(len(names))
        for v in range(len(names))
        if u != v
    ]
    file = _File(
        operators=[_Operator.model_validate(operator, from_attributes=True) for operator in problem.operators],
        streams=[
            _Stream(**{"from": s.source, "to": s.target}, rate_per_s=s.rate_per_s, bytes_per_tuple=s.bytes_per_tuple)
            for s in problem.streams
        ],
        nodes=[_Node.model_validate(node, from_attributes=True) for node in problem.nodes],
        links=links,
        network_metric=problem.network_metric,
        weights=_Weights.model_validate(problem.weights, from_attributes=True),
        normalisation=_Normalisation.model_validate(problem.normalisation, from_attributes=True),
        bounds=_Bounds.model_validate(problem.bounds, from_attributes=True),
        current=None if problem.current is None else {name: list(nodes) for name, nodes in problem.current.items()},
        reconfiguration=None
        if problem.reconfiguration is None
        else _Reconfiguration.model_validate(problem.reconfiguration, from_attributes=True),
        availability_model=problem.availability_model,
    )
    return file.model_dump(mode="json", by_alias=True)


def _limit(bandwidth: np.ndarray[Any, Any] | None, u: int, v: int) -> float | None:
    return None if bandwidth is None or np.isinf(bandwidth[u, v]) else float(bandwidth[u, v])


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        twice = next(key for index, (key, _) in enumerate(pairs) if key in dict(pairs[:index]))
        raise ValueError(f"the entry {_one_line(twice)!r} is given twice")
    return keys


def _first(error: ValidationError) -> str:
    """The first mistake as a sentence: where it is, what it says, and what was found."""
    mistake = error.errors(include_url=False, include_context=False)[0]
    where = ""
    for part in mistake["loc"]:
        where += f"[{part}]" if isinstance(part, int) else f".{_one_line(str(part))}"
    what = _KINDS.get(mistake["type"], mistake["msg"][:1].lower() + mistake["msg"][1:])
    found = "" if mistake["type"] == "missing" else f", and {_one_line(repr(mistake['input']))} was given"
    return f"The entry {where.lstrip('.') or 'at the top'} is wrong: {what}{found}."


_KINDS = {
    "model_type": "it should be an object",
    "dict_type": "it should be an object",
    "list_type": "it should be a list",
    "tuple_type": "it should be a list of two numbers",
    "too_long": "it should be a list of two numbers",
    "missing": "it is missing",
    "extra_forbidden": "there is no such entry",
    "string_pattern_mismatch": "it should be a name of one line",
}
"""Mistakes for which the validator has words of its own, in ours."""


def _one_line(text: str, longest: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def _problem(file: _File) -> Problem:
    nodes = tuple(Node(**node.model_dump()) for node in file.nodes)
    if not nodes:
        raise InvalidModel("There are no nodes to place operators on; name at least one.")
    check_unique("node", [node.name for node in nodes])
    return Problem(
        tuple(operator.value() for operator in file.operators),
        tuple(Stream(s.source, s.target, s.rate_per_s, s.bytes_per_tuple) for s in file.streams),
        nodes,
        _network([node.name for node in nodes], file.links),
        Weights(**file.weights.model_dump()),
        file.network_metric,
        Normalisation(**file.normalisation.model_dump()),
        Bounds(**file.bounds.model_dump()),
        None if file.current is None else {name: tuple(at) for name, at in file.current.items()},
        None if file.reconfiguration is None else Reconfiguration(**file.reconfiguration.model_dump()),
        file.availability_model,
    )


def _network(names: list[str], links: list[_Link]) -> Network:
    """The links as matrices; every pair of different nodes must have one."""
    index = {name: position for position, name in enumerate(names)}
    shape = (len(index), len(index))
    delay, availability, cost = np.full(shape, np.nan), np.ones(shape), np.zeros(shape)
    bandwidth = np.full(shape, np.inf)
    np.fill_diagonal(delay, 0.0)
    for link in links:
        for end in (link.source, link.target):
            if end not in index:
                raise InvalidModel(f"The {link} names unknown node '{end}'.")
        at = index[link.source], index[link.target]
        if at[0] == at[1]:
            _refuse_loop(link)
        elif not np.isnan(delay[at]):
            raise InvalidModel(f"There is more than one {link}; give each once.")
        else:
            delay[at], availability[at], cost[at] = link.delay_ms, link.availability, link.cost
            bandwidth[at] = np.inf if link.bandwidth_per_s is None else link.bandwidth_per_s
    missing = np.argwhere(np.isnan(delay))
    if len(missing):
        u, v = missing[0]
        raise InvalidModel(f"There is no link {names[u]} -> {names[v]}; links must join all pairs in both directions.")
    return Network(delay, availability, None if np.isinf(bandwidth).all() else bandwidth, cost)


def _refuse_loop(link: _Link) -> None:
    if link.delay_ms or link.cost or link.availability < 1 or link.bandwidth_per_s is not None:
        raise InvalidModel(f"The {link} joins a node to itself, which is always free; leave it out.")
