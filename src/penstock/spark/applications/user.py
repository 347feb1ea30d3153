"""Pipelines that users have written, found by file and name."""

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.errors import PenstockError, UnknownName, UsageError
from penstock.spark.pipeline import Pipeline

DEFAULT_NAME = "pipeline"


def load_user_pipeline(target: str) -> Pipeline:
    """The pipeline that `target`, written `file.py:name`, stands for; without a name it is `pipeline`.

    The file is run as a module. The name may also be that of a function without parameters that returns a pipeline.
    """
    path, _, name = target.partition(".py")
    file = Path(f"{path}.py")
    name = name.removeprefix(":") or DEFAULT_NAME
    if not file.is_file():
        raise UsageError(f"There is no file {file}; write an application as file.py:name.")
    module = _run(file)
    if not hasattr(module, name):
        pipelines = [key for key, value in vars(module).items() if isinstance(value, Pipeline)]
        if not pipelines:
            raise UsageError(f"{file} defines no '{name}' and no other pipeline; assign one to a name in it.")
        raise UnknownName.of(f"pipeline in {file} called", name, pipelines)
    found = getattr(module, name)
    if callable(found) and not isinstance(found, type):
        found = found()
    if not isinstance(found, Pipeline):
        raise UsageError(f"'{name}' in {file} is a {type(found).__name__}; it must be a penstock.spark.Pipeline.")
    found.graph()
    return found


def _run(file: Path) -> ModuleType:
    name = f"penstock_user_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} cannot be read as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(file.parent.absolute())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except PenstockError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"line {last.lineno} of {Path(last.filename).name}"
        raise UsageError(f"{file} cannot be loaded: {type(error).__name__}: {error} ({where}).") from error
    _send_with_functions(module)
    return module


def _send_with_functions(module: ModuleType) -> None:
    """Let executors get the module's functions as code: they could not import the file."""
    from pyspark import cloudpickle

    register: Any = cloudpickle.register_pickle_by_value
    register(module)
