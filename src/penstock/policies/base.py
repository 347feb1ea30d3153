"""What a policy is: a pure function from what was observed, and its own memory, to a decision."""

from typing import Protocol, TypeVar

from penstock.model import Decision, View

Memory = TypeVar("Memory")


class Policy(Protocol[Memory]):
    """Decides and never acts.

    Implementations are frozen dataclasses whose fields are their parameters. They read no clock, do no I/O and
    draw no unseeded randomness, so the same views in the same order always give the same decisions. `Memory`
    is a frozen value that travels through `decide`; the policy object itself never changes.
    """

    def start(self) -> Memory:
        """The memory before the first decision."""
        ...

    def decide(self, view: View, memory: Memory) -> tuple[Decision, Memory]:
        """The decision for this view, and the memory for the next."""
        ...


def serves_requests(policy: object) -> bool:
    """Whether a policy serves what the user asks for while it is in charge; it says so by `SERVES_REQUESTS = True`."""
    return bool(getattr(policy, "SERVES_REQUESTS", False))


__all__ = ["Memory", "Policy", "serves_requests"]
