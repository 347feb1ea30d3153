"""Names with parameters, as they are written on the command line: `sine:low=100,high=800`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import UsageError


@dataclass(frozen=True, slots=True)
class Spec:
    """A name and its parameters. `positional` holds what stands without a key, such as a trace's file."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    positional: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """Read `name`, `name:key=value,key=value` or `name:value,key=value`."""
        name, _, rest = text.partition(":")
        if not name.strip():
            raise UsageError(f"'{text}' has no name before the colon; write it as name:key=value,key=value.")
        parameters: dict[str, str] = {}
        positional: list[str] = []
        for part in (piece.strip() for piece in rest.split(",") if piece.strip()):
            key, equals, value = part.partition("=")
            if not equals:
                positional.append(part)
            elif key.strip() in parameters:
                raise UsageError(f"'{text}' gives '{key.strip()}' twice; give it once.")
            else:
                parameters[key.strip()] = value.strip()
        return cls(name.strip(), parameters, tuple(positional))

    def __str__(self) -> str:
        parts = [*self.positional, *(f"{key}={value}" for key, value in self.parameters.items())]
        return f"{self.name}:{','.join(parts)}" if parts else self.name
