"""No adaptation: one setting, kept for the whole run. The yardstick of every comparison."""

from dataclasses import dataclass
from typing import Literal

from penstock.errors import UsageError
from penstock.model import Configuration, Decision, Keep, Reconfigure, View, diff, largest, smallest
from penstock.policies.sizing import allowed_workers, on_fewest_workers


@dataclass(frozen=True, slots=True)
class Static:
    """Keeps one setting.

    `preset` is `initial` (whatever runs), `smallest` or `largest` (over-provisioned: every operator at its greatest
    parallelism on every worker). `ss1`, `ss2` and `ss3` are the static scenarios of operator fission: no replicas, the
    fewest that handle the highest load, and half of these; the load is not known here, so the run begins with them, and
    whatever runs is kept. `parallelism` gives every operator that number of instances instead, within its
    bounds; `workers` that number of workers, within the quota. Without `workers` a given parallelism gets the fewest
    workers that hold it. It needs no measurements, so a forced setting is asked for at once.
    """

    preset: Literal["initial", "smallest", "largest", "ss1", "ss2", "ss3"] = "initial"
    workers: int | None = None
    parallelism: int | None = None

    def __post_init__(self) -> None:
        if any(value is not None and value < 1 for value in (self.workers, self.parallelism)):
            raise UsageError("A static policy needs at least 1 worker and a parallelism of at least 1.")

    def start(self) -> None:
        """It remembers nothing."""

    def decide(self, view: View, memory: None) -> tuple[Decision, None]:
        """Ask for the setting until it is the requested one."""
        target = self._target(view)
        if not diff(view.requested, target):
            return Keep("the setting is static"), None
        return Reconfigure(target, f"the setting is static: {self._describe()}"), None

    def _target(self, view: View) -> Configuration:
        if self.preset == "largest":
            target = largest(view.topologies, view.cluster).with_workers(view.max_workers)
        elif self.preset == "smallest":
            target = on_fewest_workers(view, smallest(view.topologies, view.cluster).parallelism)
        else:
            target = view.requested
        if self.parallelism is not None:
            wanted = {
                name: {operator.name: operator.clip(self.parallelism) for operator in topology.operators}
                for name, topology in view.topologies.items()
            }
            target = on_fewest_workers(view, wanted)
        if self.workers is not None:
            target = target.with_workers(allowed_workers(view, self.workers))
        return target

    def _describe(self) -> str:
        given = [f"{name} {value}" for name in ("parallelism", "workers") if (value := getattr(self, name)) is not None]
        return ", ".join([self.preset, *given])
