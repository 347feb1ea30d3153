"""AuTraScale: throughput first, then Bayesian optimisation of latency and resources, carried over between rates."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from penstock.analysis import (
    bootstrap_set,
    desired_inputs,
    has_changed,
    recent,
    score_threshold,
    selectivities,
    source_inputs,
)
from penstock.errors import UsageError
from penstock.model import Decision, Keep, Reconfigure, Topology, View, diff
from penstock.policies.autrascale_memory import (
    AutraScaleMemory,
    Course,
    RateModel,
    Sample,
    Trial,
    Vector,
    is_about,
    with_model,
)
from penstock.policies.autrascale_scene import Scene, running, scene_of
from penstock.policies.autrascale_search import (
    Allowed,
    Goal,
    Surrogate,
    carried_over,
    fits,
    learned,
    most_promising,
    outside,
    with_fewer,
)
from penstock.policies.sizing import on_fewest_workers

_DRAINING = 4
"""A sample is judged after so many running times at the latest, whether its backlog is gone or not, and whether it has
completed anything or not."""

_EVEN = 0.5

_HELPS = 1.005
"""An instance that is added on suspicion must bring at least this much more throughput for another to be added."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """Where an application goes next, why, and what it has learned for good."""

    course: Course
    because: str
    model: RateModel | None = None
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class AutraScale:
    """Finds, by trying, the least parallelism that keeps up and meets the latency target.

    1. Throughput: every operator gets what its input needs over the true rate of an instance (equation 3), at most
       `utilisation` busy, again and again until a recommendation was tried already. Of all that was tried and kept up,
       the one with the fewest instances is the base k'; if none kept up, of those within `tolerance` of the best.
    2. If the base meets the target that is all. Otherwise a Gaussian process learns from `uniform` samples with equal
       parallelism and one per operator with the most it may have; then expected improvement with `xi` proposes what to
       try next, from k' up to the bounds, until the target is met with a benefit score (equation 4, weight `alpha`)
       that allows `over_allocation` (equation 9), or `iterations` were made. As published the process learns the
       score; as `surrogate` the latency is better, because the other part of the score is known without learning.
       Beyond the publication: up to `refinements` further samples with fewer instances follow, as long as the process
       gives them an even chance to meet the target, and the best of all is settled on.
    3. When the input rate changes the throughput step is made again, and the model of the nearest rate is carried over:
       a process learns the difference at the samples of the new rate (Algorithm 2), until there are as many of these
       as a bootstrap would have. For a rate that is known already, what was settled on then is taken at once.

    The rate has changed when the last `rate_windows` observations all lie on the same side of the rate that is fitted,
    by more than the share `rate_tolerance`. A decision is made every `interval_s`; what was asked for runs for
    `running_s` before it is judged by its last `window_s`, longer while a backlog is being worked off. When a settled
    application misses its target, or throughput, in `rate_windows` decisions in a row, it starts again from step 1.
    `seed` decides what is drawn. Where no latency is measured only throughput counts.
    """

    utilisation: float = 0.8
    tolerance: float = 0.05
    alpha: float = 0.8
    over_allocation: float = 0.25
    xi: float = 0.01
    uniform: int = 4
    iterations: int = 20
    refinements: int = 2
    interval_s: float = 10.0
    running_s: float = 60.0
    window_s: float = 30.0
    rate_tolerance: float = 0.1
    rate_windows: int = 3
    surrogate: Surrogate = "latency"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.utilisation <= 1:
            raise UsageError(f"AuTraScale needs a utilisation above 0 and at most 1, not {self.utilisation:g}.")
        if not (0 <= self.alpha <= 1 and 0 <= self.tolerance < 1):
            raise UsageError("AuTraScale needs an alpha between 0 and 1 and a tolerance of at least 0 and below 1.")
        if min(self.over_allocation, self.xi, self.refinements, self.rate_tolerance, self.seed) < 0:
            raise UsageError(
                "AuTraScale needs over_allocation, xi, refinements, rate_tolerance and seed of at least 0."
            )
        if min(self.uniform, self.iterations, self.rate_windows) < 1:
            raise UsageError("AuTraScale needs uniform, iterations and rate_windows of at least 1.")
        if min(self.interval_s, self.running_s, self.window_s) <= 0:
            raise UsageError("AuTraScale needs interval_s, running_s and window_s above 0.")

    def with_library(self, library: Mapping[str, tuple[RateModel, ...]]) -> "InformedAutraScale":
        """The same policy with the models of earlier runs, by application."""
        given = {f.name: getattr(self, f.name) for f in fields(AutraScale)}
        return InformedAutraScale(**given, library=library)

    def start(self) -> AutraScaleMemory:
        """Nothing is known."""
        return AutraScaleMemory()

    def decide(self, view: View, memory: AutraScaleMemory) -> tuple[Decision, AutraScaleMemory]:
        """Let every application take its next step, if it is time."""
        if memory.evaluated_s is not None and view.now_s < memory.evaluated_s + self.interval_s - 1e-3:
            return Keep("the policy interval is not over"), memory
        library = dict(memory.library)
        parallelism = dict(view.requested.parallelism)
        turns: dict[str, _Turn] = {}
        for name, topology in view.topologies.items():
            models = library.get(name, ())
            turn = turns[name] = self._turn(view, topology, self._noticed(view, topology, memory), models)
            if turn.model is not None:
                library[name] = with_model(models, turn.model, self.rate_tolerance)
            if turn.course.wanted is not None:
                parallelism[name] = dict(zip(topology.names, turn.course.wanted, strict=True))
        memory = AutraScaleMemory(view.now_s, {name: turn.course for name, turn in turns.items()}, library)
        target = on_fewest_workers(view, parallelism)
        several = len(turns) > 1
        because = "; ".join(f"{name}: {turn.because}" if several else turn.because for name, turn in turns.items())
        if not any(turn.is_known for turn in turns.values()) or not diff(view.requested, target):
            return Keep(because), memory
        return Reconfigure(target, because), memory

    def _noticed(self, view: View, topology: Topology, memory: AutraScaleMemory) -> Course:
        """The course, with note taken of whether what was asked for is requested by now, or no longer is."""
        course = memory.courses.get(topology.name, Course())
        if course.wanted is None or course.asked_s is None:
            return course
        granted = running(view, topology) == course.wanted
        if granted and course.began_s is None:
            # It was granted after the previous evaluation at the earliest.
            return replace(course, began_s=memory.evaluated_s)
        held = course.began_s is None and view.now_s < course.asked_s + self.running_s
        if granted or held:
            return course
        refused = (*course.refused, course.wanted)
        return replace(course, refused=refused, wanted=None, asked_s=None, began_s=view.now_s)

    def _turn(self, view: View, topology: Topology, course: Course, models: tuple[RateModel, ...]) -> _Turn:
        """Wait for what is under way, or judge it and go on."""
        if course.wanted is not None and course.began_s is None:
            return _Turn(course, "what was asked for is held back")
        since_s = None
        if course.began_s is not None:
            if view.now_s < course.began_s + self.running_s - 1e-3:
                return _Turn(course, f"what runs is judged after {self.running_s:g} s")
            since_s = course.began_s + self.running_s / 2
        scene = scene_of(view, topology, models, recent(view.observations, since_s), self.window_s)
        if scene is None:
            return _Turn(course, "input or throughput is not known yet", is_known=bool(course.rates))
        course = replace(course, rates={**course.rates, **scene.rates})
        overdue = course.began_s is not None and view.now_s >= course.began_s + _DRAINING * self.running_s
        if scene.shows_nothing and not overdue:
            return _Turn(course, "nothing was completed lately, so nothing is known")
        if scene.drains and course.began_s is not None and not overdue:
            return _Turn(course, "a backlog is being worked off")
        return self._step(scene, course)

    def _step(self, scene: Scene, course: Course) -> _Turn:
        if self._is_new_rate(scene, course):
            return self._begin(scene, course)
        if course.phase == "throughput":
            return self._throughput(scene, course)
        return self._watched(scene, course) if course.phase == "settled" else self._judged(scene, course)

    def _is_new_rate(self, scene: Scene, course: Course) -> bool:
        if course.rate_per_s is None:
            return True
        seen = (o.applications.get(scene.topology.name) for o in scene.view.observations)
        rates = [a.input_per_s for a in seen if a is not None and a.input_per_s is not None]
        return has_changed(rates, course.rate_per_s, self.rate_tolerance, self.rate_windows)

    def _begin(self, scene: Scene, course: Course) -> _Turn:
        """Fit a new rate: one that is known at once, another from the throughput step on.

        What was learned of the old rate so far is kept, even if nothing was settled on.
        """
        unfinished = course.phase in ("bootstrap", "search", "refine") and len(course.samples) > 1
        model = self._best(scene, course, course.base) if unfinished and course.base is not None else None
        fresh = Course(rate_per_s=scene.input_per_s, rates=course.rates, began_s=course.began_s)
        known = next((m for m in scene.models if is_about(scene.input_per_s, m.rate_per_s, self.rate_tolerance)), None)
        if known is None:
            return replace(self._throughput(scene, fresh), model=model)
        fresh = replace(fresh, phase="search", base=known.base, samples=known.samples)
        fresh = replace(fresh, rate_per_s=known.rate_per_s, refined=self.refinements)
        because = f"{known.rate_per_s:.0f} events/s are known from before"
        return replace(self._asked(scene, fresh, known.settled, because), model=model)

    def _asked(self, scene: Scene, course: Course, wanted: Vector, because: str) -> _Turn:
        """Ask for a parallelism; what runs already is judged at the next evaluation."""
        began_s = scene.now_s - self.running_s if wanted == scene.running else None
        return _Turn(replace(course, wanted=wanted, asked_s=scene.now_s, began_s=began_s), because)

    def _throughput(self, scene: Scene, course: Course) -> _Turn:
        """One iteration of the throughput step."""
        wanted = self._recommended(scene, course)
        if wanted is None:
            return _Turn(course, "the rate of some operator's instances is not known yet")
        kept_up = scene.keeps_up(self.tolerance)
        # What keeps up may still be busier than it should be.
        spare = self.utilisation == 1 or all(k >= w for k, w in zip(scene.running, wanted, strict=True))
        trials = (*course.trials, Trial(scene.running, scene.throughput_per_s, kept_up and spare))
        course = replace(course, trials=trials)
        tried = {*(trial.parallelism for trial in trials), *course.refused}
        if wanted in tried and not kept_up:
            wanted = self._with_one_more(scene, course)
        ends = kept_up and self.utilisation == 1 and sum(scene.running) <= sum(wanted)
        if wanted not in tried and not ends:
            course = replace(course, iterations=course.iterations + 1)
            return self._asked(scene, course, wanted, f"throughput, step {course.iterations}: {scene.words(wanted)}")
        base = self._reviewed(trials)
        course = replace(course, phase="base", base=base, iterations=0)
        return self._asked(scene, course, base, f"throughput needs {scene.words(base)}")

    def _reviewed(self, trials: tuple[Trial, ...]) -> Vector:
        """The fewest instances among those that kept up, or, if none did, that came close to the best."""
        kept_up = [trial.parallelism for trial in trials if trial.kept_up]
        best = max(trial.throughput_per_s for trial in trials)
        close = [t.parallelism for t in trials if t.throughput_per_s >= (1 - self.tolerance) * best]
        return min(kept_up or close, key=sum)

    def _with_one_more(self, scene: Scene, course: Course) -> Vector:
        """What runs, with one more instance of the operator that has the least to spare.

        Rates are measured with errors, so what should keep up may not. Where that last step brought nothing, no
        further one is made.
        """
        *before, last = course.trials
        if before and last.throughput_per_s < _HELPS * max(trial.throughput_per_s for trial in before):
            return scene.running
        needs = self._needs(scene, course)
        operators = scene.topology.operators
        tightness = [needs.get(o.name, 0.0) / k for o, k in zip(operators, scene.running, strict=True)]
        tightest = tightness.index(max(tightness))
        return tuple(
            operator.clip(k + 1) if index == tightest else k
            for index, (operator, k) in enumerate(zip(operators, scene.running, strict=True))
        )

    def _needs(self, scene: Scene, course: Course) -> dict[str, float]:
        """Equation 3 by the inputs that the sources bring: instances of every operator, as far as they are known."""
        topology = scene.topology
        ratios = selectivities(topology, scene.view.observations)
        desired = desired_inputs(topology, source_inputs(topology, scene.lately), ratios)
        needs = {}
        for name, arriving in desired.items():
            rate = course.rates.get(name)
            if arriving == 0:
                needs[name] = 0.0
            elif arriving is not None and rate:
                needs[name] = arriving / (rate * self.utilisation)
        return needs

    def _recommended(self, scene: Scene, course: Course) -> Vector | None:
        """What every operator needs, rounded up and within bounds; None while no rate is known that is needed."""
        needs = self._needs(scene, course)
        if not course.rates and scene.input_per_s > 0:
            return None
        return tuple(
            operator.clip(math.ceil(needs[operator.name] - 1e-9)) if operator.name in needs else running
            for operator, running in zip(scene.topology.operators, scene.running, strict=True)
        )

    def _judged(self, scene: Scene, course: Course) -> _Turn:
        """Take what runs as a sample, and settle on it or try another."""
        base = course.base
        if base is None or scene.latency_s is None:
            return self._settled(scene, course, "no latency is measured, so only throughput counts")
        keeps_up = scene.keeps_up(self.tolerance)
        sample = Sample(scene.running, scene.latency_s if keeps_up else None)
        others = tuple(s for s in course.samples if s.parallelism != scene.running)
        course = replace(course, samples=(*others, sample))
        if course.phase == "base" and not keeps_up:
            if any(trial.kept_up for trial in course.trials if trial.parallelism == base):
                return self._throughput(scene, course.without_trial(base))
            return self._settled(scene, course, "more than this cannot be handled, whatever the latency")
        if self._is_good(scene, base, sample) or course.phase == "refine":
            return self._refined(scene, course, base)
        return self._next(scene, course, base)

    def _refined(self, scene: Scene, course: Course, base: Vector) -> _Turn:
        """Try with fewer instances while that is likely to be in time, then settle on the best."""
        best = self._best(scene, course, base).settled
        fewer = self._likely_with_fewer(scene, course, base, sum(best)) if course.refined < self.refinements else None
        if fewer is not None:
            course = replace(course, phase="refine", queue=(), refined=course.refined + 1)
            return self._asked(scene, course, fewer, f"with fewer, step {course.refined}: {scene.words(fewer)}")
        if best == scene.running:
            return self._settled(scene, course, f"{scene.latency_s:.3g} s are within the target")
        return self._given_up(scene, course, base)

    def _is_good(self, scene: Scene, base: Vector, sample: Sample) -> bool:
        if sample.latency_s is None or sample.latency_s > scene.target_s:
            return False
        return self._goal(scene).score(sample, base) >= score_threshold(self.alpha, self.over_allocation) - 1e-9

    def _next(self, scene: Scene, course: Course, base: Vector) -> _Turn:
        """The next sample: of the bootstrap set where nothing is known, else the most promising one."""
        queue = course.queue
        if course.phase == "base" and carried_over(scene.models, scene.input_per_s) is None:
            queue = bootstrap_set(scene.space(base), self.uniform)
        queue = tuple(v for v in queue if course.is_open(v) and fits(scene.view, scene.topology)(np.array([v]))[0])
        if queue:
            left = "the last one" if len(queue) == 1 else f"{len(queue)} left"
            course = replace(course, phase="bootstrap", queue=queue[1:])
            return self._asked(scene, course, queue[0], f"a sample to begin with ({left}): {scene.words(queue[0])}")
        allowed = self._open(scene, course)
        found = self._search(scene, course, base, allowed) if course.iterations < self.iterations else None
        if found is None:
            return self._given_up(scene, course, base)
        course = replace(course, phase="search", queue=(), iterations=course.iterations + 1)
        return self._asked(scene, course, found, f"search, step {course.iterations}: {scene.words(found)}")

    def _likely_with_fewer(self, scene: Scene, course: Course, base: Vector, instances: int) -> Vector | None:
        """A point with fewer instances that has an even chance to be in time; none where scores are learned."""
        if self.surrogate == "score":
            return None
        return self._search(scene, course, base, with_fewer(instances, self._open(scene, course)), _EVEN)

    def _search(
        self, scene: Scene, course: Course, base: Vector, allowed: Allowed, least_chance: float = 0.0
    ) -> Vector | None:
        space, goal = scene.space(base), self._goal(scene)
        values = learned(course.samples, space, scene.models, scene.input_per_s, self.uniform, goal)
        return most_promising(space, values, goal, allowed, self.seed + course.iterations, least_chance)

    def _open(self, scene: Scene, course: Course) -> Allowed:
        closed = [*(sample.parallelism for sample in course.samples), *course.refused]
        return outside(closed, fits(scene.view, scene.topology))

    def _goal(self, scene: Scene) -> Goal:
        return Goal(scene.target_s, self.alpha, self.xi, self.surrogate)

    def _given_up(self, scene: Scene, course: Course, base: Vector) -> _Turn:
        """Settle on the best that was found."""
        model = self._best(scene, course, base)
        turn = self._asked(scene, course, model.settled, f"the best that was found: {scene.words(model.settled)}")
        return replace(turn, course=replace(turn.course, phase="settled", queue=(), misses=0), model=model)

    def _best(self, scene: Scene, course: Course, base: Vector) -> RateModel:
        """What was learned, and the best sample: within the target, if there are any, that of the highest score."""
        values = {sample.parallelism: self._goal(scene).score(sample, base) for sample in course.samples}
        within = [s.parallelism for s in course.samples if s.latency_s is not None and s.latency_s <= scene.target_s]
        best = max(within or values, key=values.__getitem__)
        return RateModel(_rate(scene, course), base, course.samples, best)

    def _settled(self, scene: Scene, course: Course, because: str) -> _Turn:
        rest = replace(course, phase="settled", wanted=None, asked_s=None, began_s=None, queue=(), misses=0)
        base = course.base or scene.running
        return _Turn(rest, because, RateModel(_rate(scene, course), base, course.samples, scene.running))

    def _watched(self, scene: Scene, course: Course) -> _Turn:
        """Start again when a settled application is no longer as it should be."""
        was_s = course.latency_s(scene.running)
        if was_s is None:
            return _Turn(replace(course, misses=0), "settled")
        late = scene.latency_s is not None and scene.latency_s > max(scene.target_s, (1 + self.rate_tolerance) * was_s)
        if not late and scene.keeps_up(self.tolerance):
            return _Turn(replace(course, misses=0), "settled")
        if course.misses + 1 < self.rate_windows:
            return _Turn(replace(course, misses=course.misses + 1), "settled, but not as it should be")
        return self._throughput(scene, Course(rate_per_s=scene.input_per_s, rates=course.rates))


@dataclass(frozen=True, slots=True)
class InformedAutraScale(AutraScale):
    """AuTraScale that begins with a model library."""

    library: Mapping[str, tuple[RateModel, ...]] = field(default_factory=dict)

    def start(self) -> AutraScaleMemory:
        """Nothing but the models of earlier runs is known."""
        return AutraScaleMemory(library=self.library)


def _rate(scene: Scene, course: Course) -> float:
    return scene.input_per_s if course.rate_per_s is None else course.rate_per_s
