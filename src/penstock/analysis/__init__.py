"""Shared mathematics: pure functions of numbers, topologies and observations."""

from penstock.analysis.benefit import (
    Space,
    benefit_score,
    bootstrap_set,
    resource_ratio,
    score_threshold,
    transferred_samples,
)
from penstock.analysis.change import has_changed
from penstock.analysis.critical_path import CriticalPath, critical_path
from penstock.analysis.etp import OperatorFlow, congested, effective_throughput, with_one_fewer, with_one_more
from penstock.analysis.gaussian_process import (
    GaussianProcess,
    expected_improvement,
    fit_gaussian_process,
    probability_below,
)
from penstock.analysis.importance import (
    centrality,
    descendants,
    link_load,
    nearness_to_sinks,
    nearness_to_sources,
)
from penstock.analysis.jackson import Station, fewest_servers, network_sojourn_s
from penstock.analysis.lattice import best_of_lattice
from penstock.analysis.markov import stationary_distribution, transition_matrix
from penstock.analysis.percentiles import weighted_percentiles
from penstock.analysis.queueing import Queue, erlang_b, erlang_c
from penstock.analysis.rates import (
    ApplicationRates,
    OperatorRates,
    application_rates,
    desired_inputs,
    newest,
    offered_inputs,
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
    "GaussianProcess",
    "OperatorFlow",
    "OperatorRates",
    "Queue",
    "ScalabilityLaw",
    "Space",
    "Station",
    "application_rates",
    "benefit_score",
    "best_of_lattice",
    "bootstrap_set",
    "centrality",
    "congested",
    "critical_path",
    "descendants",
    "desired_inputs",
    "effective_throughput",
    "erlang_b",
    "erlang_c",
    "expected_improvement",
    "fewest_servers",
    "fit_gaussian_process",
    "fit_scalability",
    "has_changed",
    "link_load",
    "make_up_for_limits",
    "nearness_to_sinks",
    "nearness_to_sources",
    "network_sojourn_s",
    "newest",
    "offered_inputs",
    "probability_below",
    "recent",
    "resource_ratio",
    "score_threshold",
    "segment_busy_s",
    "selectivities",
    "source_inputs",
    "stationary_distribution",
    "transferred_samples",
    "transition_matrix",
    "weighted_mean",
    "weighted_percentiles",
    "with_one_fewer",
    "with_one_more",
]
