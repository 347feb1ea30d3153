"""The stochastic simulation agrees with queueing theory."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, stdev

import pytest

from penstock.analysis.queueing import Queue
from penstock.model import Observation
from penstock.simulation import World
from penstock.workloads import Application, OperatorCost

STEP_S = 0.1
BATCH_S = 500.0


def half_width(batches: Sequence[float]) -> float:
    """About 95 % confidence, by batch means."""
    return 2.0 * stdev(batches) / math.sqrt(len(batches))


@pytest.mark.parametrize(
    ("arrival_per_s", "servers", "dispatch", "seed"),
    [(0.6, 1, "shortest-queue", 1), (1.8, 3, "shortest-queue", 3), (1.2, 2, "hashed", 4)],
)
def test_numbers_and_times_are_those_of_the_queue(
    make_app: Callable[..., Application],
    make_world: Callable[..., World],
    observe: Callable[..., list[Observation]],
    arrival_per_s: float,
    servers: int,
    dispatch: str,
    seed: int,
) -> None:
    """M/M/1 and M/M/3; hashed instances are M/M/1 queues side by side."""
    app = make_app({"queue": OperatorCost(1.0)})
    settings = {"stochastic": True, "step_s": STEP_S, "seed": seed, "dispatch": dispatch}
    world = make_world(app, arrival_per_s, {"queue": servers}, **settings)
    observe(world, 500.0, 500.0)
    numbers, times = [], []
    for batch in range(25):
        seen = [o.applications["app"] for o in observe(world, 500.0 + (batch + 1) * BATCH_S, 5.0)]
        numbers.append(fmean(a.backlog or 0.0 for a in seen))
        waited = [(a.latency.mean_s * (a.completed or 0.0), a.completed or 0.0) for a in seen if a.latency]
        times.append(sum(w for w, _ in waited) / sum(n for _, n in waited))
    queues = servers if dispatch == "hashed" else 1
    queue = Queue(arrival_per_s / queues, 1.0, servers // queues)
    # Within a step what happens first is not known: queues are off by what arrives in one, times by its length.
    assert abs(fmean(numbers) - queues * queue.mean_number) < 4 * half_width(numbers) + arrival_per_s * STEP_S
    assert abs(fmean(times) - queue.mean_sojourn_s) < 4 * half_width(times) + STEP_S
    # The sample is large enough to tell this queue from one that is a fifth busier.
    busier = replace(queue, arrival_per_s=1.2 * queue.arrival_per_s)
    assert queues * busier.mean_number - fmean(numbers) > half_width(numbers)
    assert busier.mean_sojourn_s - fmean(times) > half_width(times)


def test_usage_is_that_of_the_queue(
    make_app: Callable[..., Application],
    make_world: Callable[..., World],
    observe: Callable[..., list[Observation]],
) -> None:
    world = make_world(make_app({"queue": OperatorCost(1.0)}), 1.8, {"queue": 3}, stochastic=True, step_s=STEP_S)
    seen = observe(world, 3000.0, 50.0)
    usages = [o.applications["app"].operators["queue"].usage(o.window_s) or 0.0 for o in seen]
    assert abs(fmean(usages) - 0.6) < 4 * half_width(usages)
