"""Where applications store: in a sqlite file of the run, or in the database that the user names."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from penstock.errors import UsageError
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
    place = {"url": _without_password(check_url(parameters["url"]))} if "url" in parameters else {}
    given = {**place, **(options or {})}
    pipeline.sink("store", after=after, mode=mode, format="database", path=None, **given)


def _without_password(url: str) -> str:
    if urlsplit(url).password is not None:
        raise UsageError(
            "The URL of the database holds a password, and would be kept with it; set PGPASSWORD or use a .pgpass file."
        )
    return url
