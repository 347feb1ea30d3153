"""The applications of the publications, with what their operators cost."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from penstock.errors import UnknownName
from penstock.workloads.application import Application
from penstock.workloads.applications import autrascale, elysium, fission, stela, thesis
from penstock.workloads.applications.stela import STELA_SCALE_IN, STELA_SETTINGS, StelaSettings

_MAKERS: Mapping[str, Callable[[], Application]] = {
    "top-words": elysium.top_words,
    "sentiment": elysium.sentiment,
    "fission-1": fission.application_1,
    "fission-2": fission.application_2,
    "fission-3": fission.application_3,
    "star": stela.star,
    "linear": stela.linear,
    "diamond": stela.diamond,
    "page-load": stela.page_load,
    "processing": stela.processing,
    "network-monitoring": stela.network_monitoring,
    "tag-and-count": thesis.tag_and_count,
    "log-processing": thesis.log_processing,
    "frequent-patterns": thesis.frequent_patterns,
    "debs-routes": thesis.debs_routes,
    "debs-routes-constant": thesis.debs_routes_constant,
    "word-count": autrascale.word_count,
    "yahoo-streaming": autrascale.yahoo_streaming,
    "nexmark-q5": autrascale.nexmark_q5,
    "nexmark-q11": autrascale.nexmark_q11,
}


@cache
def application(name: str) -> Application:
    """The built-in application of that name, or `UnknownName`."""
    if name not in _MAKERS:
        raise UnknownName.of("application", name, _MAKERS)
    return _MAKERS[name]()


class _Applications(Mapping[str, Application]):
    """All built-in applications by name; each is made when it is first asked for."""

    def __getitem__(self, name: str) -> Application:
        if name not in _MAKERS:
            raise KeyError(name)
        return application(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_MAKERS)

    def __len__(self) -> int:
        return len(_MAKERS)


APPLICATIONS: Mapping[str, Application] = _Applications()

__all__ = ["APPLICATIONS", "STELA_SCALE_IN", "STELA_SETTINGS", "StelaSettings", "application"]
