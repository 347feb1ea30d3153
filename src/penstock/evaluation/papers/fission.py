"""The experiments of "Self-adaptive processing graph with operator fission": Table 2 and the parameters of section 4.5.

As published, replicas come and go at once, and what overflows a queue is shed; how long queues were is not said, here
they hold `QUEUE` events each (assumed; what application 3 loses depends on it, see the last rows of
`fission-parameters`). "Penstock's actions" are its own instead: durable queues, new workers that take
four seconds to start, and a mid term that does not overshoot.

Loads are drawn in the publication, not listed. Here each is the simplest one that has what is said of it: its peak,
when it surges, the events of SS2 (all there were) and of SS3 (how many of them came while the load was above half its
peak). What the elastic runs processed has no part in it. See `docs/decisions/0013-what-is-left-open.md`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.control import ControlLoop, LoopSettings, Plant, Ports
from penstock.evaluation.papers.experiment import Experiment, Row
from penstock.model import Cluster, Configuration, Objectives
from penstock.policies import Fission
from penstock.simulation import World, WorldSettings
from penstock.stores import MemoryJournal
from penstock.workloads import Application, Constant, Curve, Scaled, Stretched, Sum, application, scenario, surges

QUEUE = 5_000
SHORT_QUEUE = 1_000
_CLUSTER = Cluster.homogeneous(64, 4)
_LOOP = LoopSettings(
    observe_every_s=1.0, decide_every_s=1.0, window_s=10.0, cooldown_s=0.0, scale_down_after_s=0.0, settle_s=1e9
)
"""Windows of a second, and nothing between the policy and the cluster."""
PUBLISHED = Fission(bounded=False)


@dataclass(frozen=True, slots=True)
class Case:
    """One row of Table 2: events processed by SS1, SS3, the elastic run and SS2."""

    number: int
    minutes: int
    ss1: int
    ss3: int
    elastic: int
    ss2: int

    @property
    def app(self) -> Application:
        """The application."""
        return application(f"fission-{self.number}")

    @property
    def curve(self) -> Curve:
        """Its load: low but for surges to the peak, from second 300 on, and for tweets again from second 500 on.

        What SS3 processed less than SS2 came above half the peak, which tells how long the surges last; all that came
        tells how high the load is without them.
        """
        duration_s, peak_per_s = 60.0 * self.minutes, self.app.high_per_s
        starts = (1 / 2,) if self.number == 3 else (1 / 2, 5 / 6)
        at_peak = (self.ss2 - self.ss3) / (peak_per_s / 2) / duration_s
        shape = surges(starts, at_peak / len(starts))
        values = [shape.rate_per_s(step / 600) for step in range(600)]
        mean = sum(values) / len(values) / max(values)
        low_per_s = (self.ss2 / duration_s - peak_per_s * mean) / (1.0 - mean)
        surging = Scaled(Stretched(shape, duration_s), (peak_per_s - low_per_s) / max(values))
        return Sum((Constant(low_per_s), surging))

    def replicas(self, name: str) -> dict[str, int]:
        """The replicas of one of the static scenarios."""
        return scenario(name, self.app, self.curve, 60.0 * self.minutes)

    @property
    def name(self) -> str:
        """How the table calls it."""
        return f"App {self.number} {self.minutes} min"


TABLE_2 = (
    Case(1, 10, 63_918, 144_007, 185_353, 187_333),
    Case(1, 60, 380_704, 873_099, 1_119_554, 1_224_341),
    Case(2, 10, 90_867, 139_947, 186_843, 187_660),
    Case(2, 60, 534_875, 852_410, 1_096_732, 1_112_899),
    Case(3, 10, 84_575, 227_031, 329_574, 382_713),
)
_NOTES = {"SS3": "the load is made from this figure as if there were no queues, and smoothed"}
PARAMETERS: Mapping[str, tuple[Fission, float, float]] = {
    "default": (PUBLISHED, 1.1, 13.8),
    "R' = 8": (Fission(bounded=False, r_mid=8), 0.8, 9.7),
    "upper threshold 0.8": (Fission(bounded=False, upper=0.8), 0.6, 1.4),
    "short term only": (Fission(bounded=False, mid_term=False), 2.5, 16.4),
}
"""Policy, published loss of application 1 and of application 3 in per cent."""


def processed(case: Case, policy: Fission | None, replicas: Mapping[str, int], settings: WorldSettings) -> float:
    """Events processed by the end of the run: under `policy`, or, without one, by just these replicas."""
    app = case.app
    fixed = Configuration({app.name: dict(replicas)}, len(_CLUSTER.workers))
    topologies = {app.name: app.topology}
    start = fixed if policy is None else fixed.fitted(topologies, _CLUSTER)
    world = World([(app, case.curve)], _CLUSTER, start, settings)
    if policy is None:
        world.sleep_until(60.0 * case.minutes)
    else:
        plant = Plant(topologies, _CLUSTER, Objectives())
        loop = ControlLoop(plant, policy, Ports(world, world, world, MemoryJournal()), _LOOP)
        loop.run(60.0 * case.minutes)
    return world.applications[app.name].completed


def _shedding(queue: int = QUEUE) -> WorldSettings:
    """Queues of that length; what arrives in one step must fit into them by far, else steps decide what is lost."""
    return WorldSettings(step_s=min(0.5, queue / 10_000), queue_limit=queue, start_up_s=0.0)


def table_2(quick: bool) -> list[Row]:
    """Events processed, and what share of SS2's the elastic run reaches; quick: the runs of ten minutes."""
    rows = []
    for case in (case for case in TABLE_2 if case.minutes == 10 or not quick):
        ss2 = processed(case, None, case.replicas("ss2"), _shedding())
        elastic = processed(case, PUBLISHED, case.replicas("ss1"), _shedding())
        own = processed(case, Fission(), case.replicas("ss1"), WorldSettings(step_s=0.5))
        fixed = {
            "SS1": (case.ss1, processed(case, None, case.replicas("ss1"), _shedding())),
            "SS3": (case.ss3, processed(case, None, case.replicas("ss3"), _shedding())),
            "elastic": (case.elastic, elastic),
            "SS2": (case.ss2, ss2),
        }
        rows += [
            Row(f"{case.name} {name} events", theirs, round(ours), _NOTES.get(name, ""))
            for name, (theirs, ours) in fixed.items()
        ]
        share = 100.0 * case.elastic / case.ss2
        rows.append(Row(f"{case.name} elastic % of SS2", round(share, 1), 100.0 * elastic / ss2, f"queues of {QUEUE}"))
        rows.append(Row(f"{case.name} Penstock's actions % of SS2", round(share, 1), 100.0 * own / ss2, "above 99.5"))
    return rows


def parameters(quick: bool) -> list[Row]:
    """Loss against SS2 with other parameters; quick or not, it is the runs of ten minutes that were published."""
    rows = []
    for case, queue in ((TABLE_2[0], QUEUE), (TABLE_2[0], SHORT_QUEUE), (TABLE_2[4], QUEUE)):
        note = f"queues of {queue} events"
        if (case.number, queue) == (1, SHORT_QUEUE):
            note += ", so that application 1 loses anything at all"
        most = processed(case, None, case.replicas("ss2"), _shedding(queue))
        for name, (policy, first, third) in PARAMETERS.items():
            loss = max(0.0, 100.0 * (1.0 - processed(case, policy, case.replicas("ss1"), _shedding(queue)) / most))
            rows.append(Row(f"App {case.number} {name}: % lost", first if case.number == 1 else third, loss, note))
    return [*rows, *_by_queue(TABLE_2[4])]


def _by_queue(case: Case) -> list[Row]:
    """The loss with the default parameters, by the length of the queues that is assumed."""
    rows = []
    for queue in (1_000, 2_000, 4_000, 10_000):
        most = processed(case, None, case.replicas("ss2"), _shedding(queue))
        loss = 100.0 * (1.0 - processed(case, PUBLISHED, case.replicas("ss1"), _shedding(queue)) / most)
        rows.append(Row(f"App {case.number} default, queues of {queue}: % lost", 13.8, loss, "what QUEUE stands for"))
    return rows


EXPERIMENTS = (
    Experiment("fission-table-2", "events processed without replicas, elastically and with all replicas", table_2),
    Experiment("fission-parameters", "loss of events with other replicas, thresholds and analysers", parameters),
)
