"""What the user asked to run, checked before anything starts."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.control import LoopSettings
from penstock.errors import UsageError
from penstock.model import Cluster, Configuration, Objectives, ScaleRequest, Topology, largest, smallest
from penstock.policies import SPARK_DYNAMIC_ALLOCATION, AutraScale, Elysium, Policy, Static, policy, serves_requests
from penstock.workloads import SCENARIOS, Application, Curve, application, parse_load, scenario

EXECUTIONS = ("fused", "pipelined")
PRESETS = ("largest", "smallest")


def uses_models(text: str) -> bool:
    """Whether the policy that `text` asks for has a use for models that were learned before."""
    return isinstance(policy(text), Elysium | AutraScale)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run: an application (or several, joined by `+`) under a load with a policy in charge.

    Several applications have the same load, or one each, joined by `+` in their order. None stands for the
    application's own value. `initial` is where the run starts: with everything that is allowed (`largest`) or with the
    least (`smallest`). `models` is the folder of what was learned before, and of what this run learns (None: nothing),
    `requests` what the user will ask for, and when.
    """

    application: str
    policy: str
    load: str
    duration_s: float
    seed: int = 0
    execution: str = "pipelined"
    live: bool = False
    workers: int | None = None
    initial: str = "largest"
    latency_target_s: float | None = None
    settings: LoopSettings = field(default_factory=LoopSettings)
    models: Path | None = None
    requests: tuple[ScaleRequest, ...] = ()
    trigger_s: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.duration_s < math.inf:
            raise UsageError(f"The duration must be longer than 0 s and have an end, not {self.duration_s:g}.")
        if self.duration_s < self.settings.observe_every_s:
            raise UsageError(
                f"A run of {self.duration_s:g} s ends before its first observation; "
                f"make it at least {self.settings.observe_every_s:g} s long."
            )
        if self.execution not in EXECUTIONS:
            raise UsageError(f"The execution is 'fused' or 'pipelined', not '{self.execution}'.")
        if self.initial not in PRESETS:
            raise UsageError(f"A run starts with 'largest' or 'smallest', not '{self.initial}'.")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"At least 1 worker is needed, not {self.workers}.")
        if self.latency_target_s is not None and not 0 < self.latency_target_s < math.inf:
            raise UsageError(f"The latency target must be longer than 0 s, not {self.latency_target_s:g}.")
        if not 0 < self.trigger_s < math.inf:
            raise UsageError(f"The time between two batches must be longer than 0 s, not {self.trigger_s:g}.")
        if self.seed < 0:
            raise UsageError(f"The seed must be at least 0, not {self.seed}.")
        self._check_requests()
        if len(self.loads) != len(self.names):
            raise UsageError(
                f"'{self.load}' are {len(self.loads)} loads for {len(self.names)} applications; "
                "give one for all, or one for each, joined by '+'."
            )
        if self.live:
            self._check_live()
        else:
            self._check_simulated()

    def _check_simulated(self) -> None:
        if self.left_to_spark:
            raise UsageError(
                f"'{self.policy}' is Spark's own doing and cannot be simulated; use it with 'penstock run' or "
                "'penstock compare --live'."
            )
        for simulated in self.applications():
            self.curve(simulated)
        self.make_policy({simulated.name: simulated.topology for simulated in self.applications()})

    def _check_live(self) -> None:
        made = policy(self.policy)
        if isinstance(made, Static) and made.preset in SCENARIOS:
            raise UsageError(
                f"'{self.policy}' follows from what a simulated application costs, which is not known of a live one; "
                "give static:parallelism=N instead."
            )

    def _check_requests(self) -> None:
        made = policy(self.policy)
        if self.requests and not serves_requests(made):
            raise UsageError(f"The policy '{self.policy}' serves no requests; choose stela, or leave out --request.")
        for request in self.requests:
            if request.at_s >= self.duration_s:
                raise UsageError(
                    f"A request at {request.at_s:g} s comes after a run of {self.duration_s:g} s; make it earlier."
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The applications that run side by side."""
        return tuple(self.application.split("+"))

    @property
    def left_to_spark(self) -> bool:
        """Whether Spark itself allocates the executors."""
        return self.policy == SPARK_DYNAMIC_ALLOCATION

    @property
    def loads(self) -> tuple[str, ...]:
        """The load of every application, in their order."""
        if len(self.names) == 1:
            return (self.load,)
        given = tuple(self.load.split("+"))
        return given * len(self.names) if len(given) == 1 else given

    def applications(self) -> tuple[Application, ...]:
        """The applications of a simulated run."""
        if len(set(self.names)) < len(self.names):
            raise UsageError(f"'{self.application}' names an application twice; name each once.")
        return tuple(application(name) for name in self.names)

    def curve(self, simulated: Application) -> Curve:
        """The load of one application of a simulated run."""
        load = self.loads[self.names.index(simulated.name)]
        return parse_load(load, simulated.low_per_s, simulated.high_per_s, self.duration_s)

    @property
    def identity(self) -> Mapping[str, str]:
        """What a journal says about the run."""
        return {
            "application": self.application,
            "policy": self.policy,
            "load": self.load,
            "duration_s": f"{self.duration_s:g}",
            "seed": str(self.seed),
            "live": str(self.live).lower(),
            "execution": self.execution,
            **({} if self.models is None else {"models": str(self.models)}),
            **({"requests": self._asked} if self.requests else {}),
        }

    @property
    def _asked(self) -> str:
        return ",".join(
            f"{one.at_s:g}:{'out' if one.workers > 0 else 'in'}:{abs(one.workers)}" for one in self.requests
        )

    @property
    def slug(self) -> str:
        """A folder name that differs for different runs."""
        kind = "live" if self.live else f"seed{self.seed}"
        parts = [self.application, self.policy, self.load, f"{self.duration_s:g}s", self.execution, kind]
        parts += [] if self.models is None else [f"models={self.models.name}"]
        parts += [self._asked] if self.requests else []
        return "-".join(re.sub(r"[^A-Za-z0-9.=+]+", "_", part).strip("_") for part in parts)[:180]

    def with_policy(self, text: str) -> "RunRequest":
        """The same run with another policy in charge."""
        return replace(self, policy=text)

    def make_policy(self, topologies: Mapping[str, Topology]) -> Policy[Any]:
        """The policy that is in charge, with what was learned before about these applications."""
        made = policy(self.policy)
        if self.models is None:
            return made
        from penstock.service.models import model_name, with_saved_models

        return with_saved_models(made, self.models, topologies, model_name(self.live, self.execution))

    def keep_learned(self, memory: object, topologies: Mapping[str, Topology]) -> None:
        """Keep what the policy has learned in this run for the next one, where models are kept."""
        if self.models is None:
            return
        from penstock.service.models import keep_learned, model_name

        keep_learned(self.models, memory, topologies, model_name(self.live, self.execution))

    def objectives(self, default_target_s: float) -> Objectives:
        """What the user wants; the target of the application where none was given."""
        return Objectives(latency_target_s=self.latency_target_s or default_target_s)

    def start(self, topologies: Mapping[str, Topology], cluster: Cluster) -> Configuration:
        """The configuration with which the run begins.

        Where Spark allocates executors it finds the most partitions there may be: it never changes their number. A
        static setting that has a name is there from the beginning.
        """
        most, least = largest(topologies, cluster), smallest(topologies, cluster)
        chosen = policy(self.policy)
        preset = chosen.preset if isinstance(chosen, Static) else "initial"
        if preset in SCENARIOS:
            return self._scenario(preset).fitted(topologies, cluster)
        if (self.initial if preset == "initial" else preset) == "largest":
            return most
        return most.with_workers(least.workers) if self.left_to_spark else least

    def _scenario(self, name: str) -> Configuration:
        """Every application with the replicas of a static scenario."""
        return Configuration(
            {app.name: scenario(name, app, self.curve(app), self.duration_s) for app in self.applications()}, 1
        )
