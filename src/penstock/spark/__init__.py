"""Streaming applications on Spark: how they are written, run, watched and changed. Importing this loads no Spark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.spark.actuator import SparkActuator
    from penstock.spark.completion import SourceLoad
    from penstock.spark.intents import IntentLog
    from penstock.spark.monitor import SparkMonitor
    from penstock.spark.pipeline import Pipeline
    from penstock.spark.segments import RunningPipeline, RunningSegment, RunOptions
    from penstock.spark.workers import WorkerNames

_HOMES = {
    "IntentLog": "intents",
    "Pipeline": "pipeline",
    "RunOptions": "segments",
    "RunningPipeline": "segments",
    "RunningSegment": "segments",
    "SourceLoad": "completion",
    "SparkActuator": "actuator",
    "SparkMonitor": "monitor",
    "WorkerNames": "workers",
}

__all__ = [
    "IntentLog",
    "Pipeline",
    "RunOptions",
    "RunningPipeline",
    "RunningSegment",
    "SourceLoad",
    "SparkActuator",
    "SparkMonitor",
    "WorkerNames",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
