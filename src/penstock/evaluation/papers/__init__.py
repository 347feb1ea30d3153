"""The experiments behind published tables and figures, by name; one module per publication."""

from collections.abc import Mapping

from penstock.evaluation.papers import autrascale, elysium, fission, forecasting, stela, thesis
from penstock.evaluation.papers.experiment import Experiment, Row

EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *elysium.EXPERIMENTS,
        *forecasting.EXPERIMENTS,
        *fission.EXPERIMENTS,
        *autrascale.EXPERIMENTS,
        *stela.EXPERIMENTS,
        *thesis.EXPERIMENTS,
    )
}

__all__ = ["EXPERIMENTS", "Experiment", "Row"]
