"""Streaming applications on Spark: how they are written, run, watched and changed. Importing this loads no Spark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.spark.pipeline import Pipeline
    from penstock.spark.segments import RunningPipeline, RunningSegment, RunOptions

_HOMES = {
    "Pipeline": "pipeline",
    "RunOptions": "segments",
    "RunningPipeline": "segments",
    "RunningSegment": "segments",
}

__all__ = ["Pipeline", "RunOptions", "RunningPipeline", "RunningSegment"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
