"""What all profiles share: they are learned from observations alone and refused where they do not fit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from penstock.errors import UsageError
from penstock.model import ApplicationObservation, Observation, Topology


class Profile(Protocol):
    """Something learned about one application.

    `kind` names it in the model library, `error` is its relative error on data it was not learned from.
    """

    @property
    def kind(self) -> str:
        """What was learned: `selectivity`, `usage` or `overhead`."""
        ...

    @property
    def application(self) -> str:
        """The application it was learned from."""
        ...

    @property
    def error(self) -> float:
        """Relative error on held-out data; 0.03 is 3 %."""
        ...

    def to_json(self) -> dict[str, Any]:
        """All there is to know about it, as plain values."""
        ...


def seen(observations: Iterable[Observation], application: str) -> Iterator[tuple[ApplicationObservation, float]]:
    """What was observed of one application, with the length of each window."""
    for observation in observations:
        if application in observation.applications:
            yield observation.applications[application], observation.window_s


def enough(kind: str, application: str, samples: Sequence[object], least: int = 2) -> None:
    """Raise `UsageError` when there are fewer samples than a profile needs."""
    if len(samples) < least:
        raise UsageError(
            f"The {kind} profile of '{application}' needs at least {least} samples, but there are {len(samples)}; "
            "observe the application for longer and under load."
        )


def check_operators(kind: str, topology: Topology, application: str, operators: Iterable[str]) -> None:
    """Raise `UsageError` when a profile is of another application or does not know all its operators."""
    if application != topology.name:
        raise UsageError(f"This {kind} profile is of '{application}' and cannot serve '{topology.name}'.")
    known = set(operators)
    odd = sorted(known ^ set(topology.names))
    if odd:
        how = "knows no operator" if odd[0] not in known else "knows an operator that is not there:"
        raise UsageError(
            f"The {kind} profile of '{application}' {how} '{odd[0]}'; the application has changed, profile it again."
        )


def check_streams(topology: Topology, application: str, streams: Iterable[tuple[str, str]]) -> None:
    """Raise `UsageError` when a selectivity profile is of another application or of other streams."""
    if application != topology.name:
        raise UsageError(f"This selectivity profile is of '{application}' and cannot serve '{topology.name}'.")
    odd = sorted(set(streams) ^ {(stream.upstream, stream.downstream) for stream in topology.streams})
    if odd:
        raise UsageError(
            f"The selectivity profile of '{application}' does not fit at the stream {odd[0][0]} -> {odd[0][1]}; "
            "the application has changed, profile it again."
        )


def field_of(body: Mapping[str, Any], name: str, kind: str) -> Any:
    """One entry of a saved profile, or `UsageError`."""
    if name not in body:
        raise UsageError(f"The saved {kind} profile has no '{name}'; remove it and profile the application again.")
    return body[name]
