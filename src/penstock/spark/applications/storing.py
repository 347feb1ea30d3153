"""Where applications store: in a sqlite file of the run, or in the database that the user names."""

from collections.abc import Mapping

from penstock.spark.databases import check_url
from penstock.spark.graph import Mode
from penstock.spark.pipeline import Pipeline


def add_store(
    pipeline: Pipeline,
    after: str,
    parameters: Mapping[str, str],
    mode: Mode | None = None,
    options: Mapping[str, str] | None = None,
) -> None:
    """Give the pipeline the sink `store`, in the database that the parameter `url` names if there is one."""
    place = {"url": check_url(parameters["url"])} if "url" in parameters else {}
    given = {**place, **(options or {})}
    pipeline.sink("store", after=after, mode=mode, format="database", path=None, **given)
