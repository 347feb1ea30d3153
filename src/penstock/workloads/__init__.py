"""What runs and under what load: applications with their costs, load curves and their timetables, infrastructures."""

from penstock.workloads.application import Application, OperatorCost
from penstock.workloads.applications import APPLICATIONS, STELA_SCALE_IN, STELA_SETTINGS, StelaSettings, application
from penstock.workloads.curves import (
    Bursts,
    Clipped,
    Constant,
    Curve,
    Diurnal,
    Noisy,
    Ramp,
    Scaled,
    Sine,
    Square,
    Stair,
    Step,
    Sum,
)
from penstock.workloads.fourier import Fourier, Peak, Stretched, news_like, surges, twitter_like
from penstock.workloads.infrastructures import ansnet, waxman
from penstock.workloads.loads import LOAD_INFOS, LOADS, LoadInfo, parse_load
from penstock.workloads.scenarios import SCENARIOS, scenario
from penstock.workloads.schedule import Schedule
from penstock.workloads.trace import Trace, read_trace

__all__ = [
    "APPLICATIONS",
    "LOADS",
    "LOAD_INFOS",
    "SCENARIOS",
    "STELA_SCALE_IN",
    "STELA_SETTINGS",
    "Application",
    "Bursts",
    "Clipped",
    "Constant",
    "Curve",
    "Diurnal",
    "Fourier",
    "LoadInfo",
    "Noisy",
    "OperatorCost",
    "Peak",
    "Ramp",
    "Scaled",
    "Schedule",
    "Sine",
    "Square",
    "Stair",
    "StelaSettings",
    "Step",
    "Stretched",
    "Sum",
    "Trace",
    "ansnet",
    "application",
    "news_like",
    "parse_load",
    "read_trace",
    "scenario",
    "surges",
    "twitter_like",
    "waxman",
]
