"""The profiling phase, what is kept of it, and what a policy makes of that."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.control import Ended
from penstock.control.entries import STOPPED
from penstock.errors import UnknownName, UsageError
from penstock.forecasting import predict
from penstock.model import largest
from penstock.policies import ProfiledElysium, policy
from penstock.service.models import FORECAST, load_forecast, load_profile, model_name, with_saved_models
from penstock.service.profile import ProfileRequest, Watched, history_of, live_source, profile, simulated_source
from penstock.service.requests import RunRequest
from penstock.service.runs import JOURNAL
from penstock.stores import ModelLibrary, SqliteJournal
from penstock.testing import steady_observation
from penstock.workloads import application

Penstock = Callable[..., Any]
NAME = model_name(False, "pipelined")


def test_what_was_learned_is_kept_and_shown(tmp_path: Path) -> None:
    request = ProfileRequest("top-words", "sine:period=300", 1800.0)
    result = profile(request, simulated_source(request), tmp_path)
    assert max(result.usage_errors.values()) < 0.03
    assert result.forecast is not None
    topology = application("top-words").topology
    library = ModelLibrary(tmp_path / "models")
    assert load_profile(library, topology, NAME) == result.profile
    assert load_forecast(library, "top-words", NAME) == result.forecast
    assert result.report is not None
    page = result.report.read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "stop-word-filter" in page
    errors = {(what, of): (error, again) for what, of, _, error, again in result.rows()}
    assert all(re.fullmatch(r"\d\.\d%", text) for text in errors["usage", "counter"])
    body = json.loads(json.dumps(result.as_json()))
    assert body["selectivity"]["splitter -> stop-word-filter"] == pytest.approx(17.86, rel=0.02)
    assert body["usage_errors"].keys() <= body["usage_validation_errors"].keys()
    lowest, highest = min(body["usage_errors"].values()), max(body["usage_errors"].values())
    assert lowest <= body["usage_error"] <= highest
    assert errors["usage", "all operators"] == (
        f"{body['usage_validation_error']:.1%}",
        f"{body['usage_error']:.1%}",
    )
    assert max(body["usage_validation_errors"].values()) < 0.03
    assert len(body["saved"]) == 4


def test_operators_that_take_turns_are_judged_alone_and_together(tmp_path: Path) -> None:
    request = ProfileRequest("top-words", "sine:period=300", 600.0, execution="fused")
    result = profile(request, simulated_source(request), tmp_path)
    assert max(result.usage_errors.values()) < 0.03
    operators = set(application("top-words").topology.order)
    (together,) = result.usage_errors.keys() - operators
    assert together.endswith(" to total-ranker")
    rows = {of: (learned, error) for what, of, learned, error, _ in result.rows() if what == "usage"}
    assert rows[together] == ("sum", "")
    assert result.report is not None
    assert together in result.report.read_text(encoding="utf-8")


def test_a_load_is_forecast_in_the_steps_in_which_it_was_learned(tmp_path: Path) -> None:
    request = ProfileRequest("top-words", "sine:period=120", 600.0, step_s=10.0)
    result = profile(request, simulated_source(request), tmp_path)
    assert result.forecast is not None
    assert result.forecast.error < 0.1
    topologies = {"top-words": application("top-words").topology}

    def informed(text: str) -> Any:
        return with_saved_models(policy(text), result.library, topologies, NAME)

    assert informed("elysium:mode=proactive,step_s=10").forecasters == {"top-words": result.forecast.forecaster}
    with pytest.raises(UsageError, match=r"learned in steps of 10 s .* give 'elysium' step_s=10, or .* --step 60"):
        informed("elysium:mode=proactive")
    assert informed("elysium").forecasters == {}
    with pytest.raises(UsageError, match="at least 10 s, not 5 s"):
        ProfileRequest("top-words", step_s=5.0)


def test_forecasts_are_learned_from_a_history_and_go_on_where_it_ends(tmp_path: Path) -> None:
    request = ProfileRequest("top-words", duration_s=120.0, step_s=10.0, history="sine:low=10,high=90,period=120")
    result = profile(request, simulated_source(request), tmp_path, history_of(request))
    assert result.forecast is not None
    assert result.forecast.error < 0.02
    topologies = {"top-words": application("top-words").topology}
    made = with_saved_models(policy("elysium:mode=proactive,step_s=10"), result.library, topologies, NAME)
    assert isinstance(made, ProfiledElysium)
    known = made.histories["top-words"].series
    # The history is 2,000 s long, 16 waves and two thirds of one.
    assert (known.end_s, known.values[-1]) == (0.0, pytest.approx(78.0, abs=1.0))
    expected = predict(made.forecasters["top-words"], known)
    assert expected is not None
    assert expected[:2] == pytest.approx((60.0, 40.0), abs=2.0)


def test_what_is_no_longer_known_is_forgotten(tmp_path: Path) -> None:
    request = ProfileRequest("top-words", duration_s=60.0, history="sine:period=1200")
    profile(request, simulated_source(request), tmp_path, history_of(request))
    library = ModelLibrary(tmp_path / "models")
    assert load_forecast(library, "top-words", NAME) is not None
    profile(request, simulated_source(request), tmp_path, None)
    assert load_forecast(library, "top-words", NAME) is None


def test_a_trace_is_a_history_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    rows = "".join(f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00,{minute}\n" for minute in range(90))
    path.write_text(f"timestamp,value\n{rows}")
    request = ProfileRequest("top-words", duration_s=60.0, history=f"trace:{path},compress=1,peak=89")
    history = history_of(request)
    assert history is not None
    assert (history.start_s, history.end_s) == (-5400.0, 0.0)
    assert history.values == pytest.approx(range(90))


def test_a_year_is_a_history_as_well() -> None:
    """Its load is looked up: a timetable of its events would neither end in time nor fit into memory."""
    load = "diurnal:low=10,high=90,day=86400,weekend=1"
    request = ProfileRequest("top-words", step_s=3600.0, history=load, history_steps=24 * 365)
    history = history_of(request)
    assert history is not None
    assert len(history.values) == 24 * 365
    assert history.values[:24] == pytest.approx(history.values[-24:])
    assert 10.0 <= min(history.values) < max(history.values) <= 90.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--history", "sinus"], "no load 'sinus'"),
        (["--history", "trace:nowhere.csv"], "nowhere.csv"),
        (["--history", "sine", "--history-steps", "0"], "--history-steps"),
        (["--load-only"], "There is nothing to learn the load from; give --history, "),
    ],
)
def test_a_history_that_is_none_is_refused(penstock: Penstock, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = penstock("profile", "top-words", "--duration", "60", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert list(tmp_path.iterdir()) == []


def test_the_load_alone_is_learned_without_a_run(penstock: Penstock, tmp_path: Path) -> None:
    done = penstock("profile", "top-words", "--history", "sine:period=1200", "--load-only", "--json")
    assert done.code == 0, done.err
    body = json.loads(done.out)
    assert (body["application"], body["usage_errors"], body["report"]) == ("top-words", {}, None)
    assert [Path(path).parent.name for path in body["saved"]] == [FORECAST]
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.name[0] != "."] == ["models"]
    topologies = {"top-words": application("top-words").topology}
    made = with_saved_models(policy("elysium:mode=proactive"), tmp_path / "runs" / "models", topologies, NAME)
    assert isinstance(made, ProfiledElysium)
    assert (set(made.profiles), set(made.forecasters), set(made.histories)) == (set(), {"top-words"}, {"top-words"})
    shown = penstock("profile", "top-words", "--history", "sine:period=1200", "--load-only")
    assert "(used)" in shown.out
    assert shown.err.splitlines() == ["Learning how the load of top-words goes on ...", "Models: runs/models"]


def test_a_load_without_a_pattern_teaches_no_forecast(tmp_path: Path) -> None:
    request = ProfileRequest("sentiment", "constant", 120.0, check_load="step", execution="fused")
    result = profile(request, simulated_source(request), tmp_path)
    assert result.forecast is None
    assert load_forecast(ModelLibrary(tmp_path / "models"), "sentiment", model_name(False, "fused")) is None
    assert result.rows()[-1][:2] == ("forecast", "input load")
    assert result.as_json()["forecast"] is None


def test_observations_may_come_from_anywhere(tmp_path: Path) -> None:
    request = ProfileRequest("top-words", duration_s=60.0)
    simulated, asked = simulated_source(request), []

    def recorded(load: str, seed: int) -> Watched:
        asked.append((load, seed))
        return simulated("sine", 9)

    result = profile(request, recorded, tmp_path)
    assert asked == [("stair", 0), ("sine", 1)]
    assert result.profile is not None
    assert set(result.profile.usage.operators) == set(application("top-words").topology.names)


def test_live_usage_is_learned_from_averages_over_a_minute_after_the_first() -> None:
    app = application("top-words")
    configuration = largest({app.name: app.topology}, app.cluster)
    seen = tuple(
        steady_observation((app,), {app.name: 10.0 * number}, configuration, 10.0 * number) for number in range(1, 25)
    )
    samples = Watched(app.topology, app.cluster, seen, live=True).samples()
    assert [(one.at_s, one.window_s) for one in samples] == [(10.0 * number, 60.0) for number in range(12, 25)]
    assert samples[0].applications[app.name].input_per_s == pytest.approx(95.0)
    assert Watched(app.topology, app.cluster, seen).samples() == seen


def test_a_live_run_must_last_longer_than_its_warm_up() -> None:
    with pytest.raises(UsageError, match="at least 180 s to be learned from, not 120 s"):
        ProfileRequest("top-words", duration_s=120.0, live=True)


def test_a_live_profile_that_is_broken_off_is_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def broken_off(run: RunRequest, out: Path, master: str | None) -> Path:
        asked.append(run.load)
        with SqliteJournal(out / JOURNAL) as journal:
            journal.append(Ended(3.0, STOPPED))
        return out

    monkeypatch.setattr("penstock.service.live_view.run_in_view", broken_off)
    request = ProfileRequest("top-words", duration_s=180.0, live=True, execution="fused")
    with pytest.raises(KeyboardInterrupt):
        profile(request, live_source(request, tmp_path, 2, None), tmp_path)
    assert asked == ["stair"]
    assert [path.name for path in tmp_path.iterdir()] == [JOURNAL]


def test_parameters_belong_to_applications_on_spark() -> None:
    assert ProfileRequest("top-words:service_ms=16", live=True, execution="fused").live
    with pytest.raises(UnknownName, match="service_ms"):
        ProfileRequest("top-words:service_ms=16")


def test_profiles_of_others_are_refused(tmp_path: Path) -> None:
    library = ModelLibrary(tmp_path)
    with pytest.raises(UnknownName, match="learn one first"):
        load_profile(library, application("sentiment").topology, NAME)
    with pytest.raises(UsageError, match="one at a time"):
        ProfileRequest("top-words+sentiment")
    with pytest.raises(UnknownName, match="no load 'sinus'"):
        ProfileRequest("top-words", check_load="sinus")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library after T1 was learned."""
    folder = tmp_path_factory.mktemp("learned")
    request = ProfileRequest("top-words", "sine", 300.0)
    return profile(request, simulated_source(request), folder).library


def test_elysium_decides_by_saved_models(penstock: Penstock, models: Path, tmp_path: Path) -> None:
    simulate = ("simulate", "top-words", "--policy", "elysium", "--load", "step", "--duration", "400", "--json")
    without = json.loads(penstock(*simulate).out)
    done = penstock(*simulate, "--models", str(models))
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["reconfigurations"] > 0
    # Whoever knows what everything costs before the first event needs no observation of it.
    assert result["decisions"][0]["at_s"] <= without["decisions"][0]["at_s"]
    topologies = {"top-words": application("top-words").topology}
    made = with_saved_models(policy("elysium"), models, topologies, NAME)
    assert isinstance(made, ProfiledElysium)
    assert set(made.profiles) == {"top-words"}
    assert len(list(tmp_path.glob("runs/*/journal.sqlite"))) == 2


def test_models_go_to_those_that_use_them(penstock: Penstock, models: Path, tmp_path: Path) -> None:
    arguments = ("compare", "top-words", "--policies", "joint,elysium", "--duration", "60", "--json")
    done = penstock(*arguments, "--models", str(models))
    assert done.code == 0, done.err
    assert [row["policy"] for row in json.loads(done.out)] == ["joint", "elysium"]
    folders = {path.parent.name for path in tmp_path.glob("runs/*/journal.sqlite")}
    assert ["models" in name for name in sorted(folders)] == [True, False]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sentiment"], "There is no selectivity model of 'sentiment' in "),
        (["top-words+sentiment"], "There is no selectivity model of 'sentiment' in "),
        (["top-words", "--execution", "fused"], "selectivity model of 'top-words' called 'simulated-fused'; "),
        (["top-words", "--policy", "ds2"], "Only the policies 'elysium' and 'autrascale' use saved models; "),
        (["top-words", "--models", "nowhere"], "There is no folder 'nowhere'; "),
    ],
)
def test_models_that_do_not_fit_are_refused(
    penstock: Penstock, models: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = penstock("simulate", "--policy", "elysium", "--models", str(models), "--json", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_models_of_an_application_that_has_changed_are_refused(
    penstock: Penstock, models: Path, tmp_path: Path
) -> None:
    shutil.copytree(models, tmp_path / "models")
    path = tmp_path / "models" / "top-words" / "usage" / f"{NAME}.json"
    body = json.loads(path.read_text())
    del body["payload"]["operators"]["counter"]
    path.write_text(json.dumps(body))
    done = penstock("simulate", "top-words", "--policy", "elysium", "--models", "models")
    assert (done.code, done.out) == (2, "")
    assert "knows no operator 'counter'; the application has changed, profile it again." in done.err
    assert FORECAST == "input-load"


def test_the_command_prints_one_json_document(penstock: Penstock, tmp_path: Path) -> None:
    done = penstock("profile", "top-words", "--load", "sine", "--duration", "100", "--out", "learned", "--json")
    assert done.code == 0, done.err
    body = json.loads(done.out)
    assert body["models"] == "learned/models"
    assert max(body["usage_errors"].values()) < 0.03
    assert done.err.splitlines()[0].startswith("Profiling top-words under sine for 100 s")
    assert (tmp_path / "learned" / "profile-top-words.html").is_file()


def test_a_person_gets_a_table(penstock: Penstock) -> None:
    done = penstock("profile", "sentiment", "--duration", "100")
    assert done.code == 0
    assert re.search(r"^usage +stemmer +\w+ +\d\.\d% +\d\.\d%", done.out, re.MULTILINE)
    assert re.search(r"^selectivity +stemmer -> positive-words +[01][.0-9]* ± ", done.out, re.MULTILINE)
    assert done.err.splitlines()[1:] == ["Models: runs/models", "Report: runs/profile-sentiment.html"]
