import json
from pathlib import Path

import pytest

from penstock.errors import UnknownName, UsageError
from penstock.service.profile import (
    FORECAST,
    NAME,
    ProfileRequest,
    load_forecaster,
    load_profile,
    profile_simulated,
)
from penstock.service.tune import TuneRequest, as_json, table_rows, tune
from penstock.stores import ModelLibrary
from penstock.workloads import application


def test_what_was_learned_is_kept_and_shown(tmp_path: Path) -> None:
    library = ModelLibrary(tmp_path / "models")
    result = profile_simulated(ProfileRequest("top-words", "sine:period=300", 1800.0), library, tmp_path)
    assert max(result.operator_errors.values()) < 0.03
    assert result.forecast is not None
    topology = application("top-words").topology
    assert load_profile(library, topology) == result.profile
    assert load_forecaster(library, "top-words") == result.forecast.forecaster
    assert result.report is not None
    page = result.report.read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "stop-word-filter" in page
    shown = {what: (learned, error) for what, learned, error in result.rows()}
    assert shown["usage of counter"][1].endswith("%")
    body = json.loads(json.dumps(result.as_json()))
    assert body["selectivity"]["splitter -> stop-word-filter"] == pytest.approx(17.86, rel=0.02)
    assert len(body["saved"]) == 4


def test_a_load_without_a_pattern_teaches_no_forecast(tmp_path: Path) -> None:
    library = ModelLibrary(tmp_path / "models")
    request = ProfileRequest("sentiment", "constant", 300.0, check_load="step", execution="fused")
    result = profile_simulated(request, library, tmp_path)
    assert result.forecast is None
    assert load_forecaster(library, "sentiment") is None
    assert result.rows()[-1][0] == "input load"
    assert result.as_json()["forecast"] is None


def test_profiles_of_others_are_refused(tmp_path: Path) -> None:
    library = ModelLibrary(tmp_path)
    with pytest.raises(UnknownName, match="learn one first"):
        load_profile(library, application("sentiment").topology)
    with pytest.raises(UsageError, match="one at a time"):
        ProfileRequest("top-words+sentiment")
    assert (NAME, FORECAST) == ("default", "input-load")


def test_thresholds_are_learned_from_simulated_runs() -> None:
    request = TuneRequest("top-words", duration_s=300.0, steps=10, seeds=1, costs="restart")
    heard: list[str] = []
    learned = tune(request, heard.append)
    assert len(heard) == len(learned.table) == 7
    rows = table_rows(request, learned)
    assert [row[0].endswith("*") for row in rows].count(True) == 1
    assert as_json(request, learned)["best"] == learned.best
    assert tune(request).table == learned.table


@pytest.mark.parametrize("wrong", [{"threshold": "memory_max"}, {"costs": "free"}, {"seeds": 0}])
def test_what_cannot_be_tuned_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        TuneRequest("top-words", **wrong)  # type: ignore[arg-type]
