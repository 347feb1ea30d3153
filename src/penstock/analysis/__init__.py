"""Shared mathematics: pure functions of numbers, topologies and observations."""

from penstock.analysis.critical_path import CriticalPath, critical_path
from penstock.analysis.percentiles import weighted_percentiles
from penstock.analysis.queueing import Queue, erlang_b, erlang_c
from penstock.analysis.rates import (
    ApplicationRates,
    OperatorRates,
    application_rates,
    desired_inputs,
    newest,
    recent,
    segment_busy_s,
    selectivities,
    source_inputs,
    weighted_mean,
)
from penstock.analysis.scalability import ScalabilityLaw, fit_scalability
from penstock.analysis.segments import make_up_for_limits

__all__ = [
    "ApplicationRates",
    "CriticalPath",
    "OperatorRates",
    "Queue",
    "ScalabilityLaw",
    "application_rates",
    "critical_path",
    "desired_inputs",
    "erlang_b",
    "erlang_c",
    "fit_scalability",
    "make_up_for_limits",
    "newest",
    "recent",
    "segment_busy_s",
    "selectivities",
    "source_inputs",
    "weighted_mean",
    "weighted_percentiles",
]
