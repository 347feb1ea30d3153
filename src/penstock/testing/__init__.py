"""Shipped contract suites and test data, for third-party policies, stores and solvers as much as for our own."""

from penstock.testing.policies import PolicyContract
from penstock.testing.views import Turn, crossing, drive, pipeline, steady_observation, steady_view, view_of

__all__ = [
    "PolicyContract",
    "Turn",
    "crossing",
    "drive",
    "pipeline",
    "steady_observation",
    "steady_view",
    "view_of",
]
