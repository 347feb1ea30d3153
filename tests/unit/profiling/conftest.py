from collections.abc import Sequence

import pytest

from penstock.model import Configuration, Observation
from penstock.testing import pipeline, steady_observation
from penstock.workloads import Application

LOADS = tuple(20.0 * i for i in range(1, 13))


def watched(
    application: Application, instances: Sequence[int], loads: Sequence[float] = LOADS
) -> tuple[Observation, ...]:
    """What is observed of a pipeline under one load after the other."""
    parallelism = {application.name: dict(zip(application.topology.names, instances, strict=True))}
    configuration = Configuration(parallelism, 4)
    return tuple(
        steady_observation([application], {application.name: load}, configuration, 10.0 * (i + 1))
        for i, load in enumerate(loads)
    )


@pytest.fixture
def piped() -> Application:
    return pipeline((1000.0, 200.0, 400.0), selectivity=0.5)


@pytest.fixture
def fused() -> Application:
    return pipeline((1000.0, 500.0, 400.0), selectivity=0.5, fused=True)
