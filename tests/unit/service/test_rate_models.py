"""What AuTraScale has learned in one run is there in the next."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.policies import RateModel, models_from_json, models_to_json, policy
from penstock.policies.autrascale_memory import Sample
from penstock.service.models import RATES, load_rate_models, model_name
from penstock.stores import ModelLibrary
from penstock.workloads import application

Penstock = Callable[..., Any]

LOAD = "constant:rate=400"
NAME = model_name(False, "pipelined")
MODEL = RateModel(400.0, (1, 2), (Sample((1, 2), 0.5), Sample((2, 2), None)), (2, 2))


def run(penstock: Penstock, *more: str, load: str = LOAD) -> dict[str, Any]:
    command = ("simulate", "top-words", "--policy", "autrascale", "--load", load, "--duration", "900")
    done = penstock(*command, "--initial", "smallest", "--models", "learned", "--json", *more)
    assert done.code == 0, done.err
    result: dict[str, Any] = json.loads(done.out)
    return result


def test_a_second_run_takes_up_what_the_first_has_learned(penstock: Penstock, tmp_path: Path) -> None:
    first = run(penstock)
    (model,) = load_rate_models(ModelLibrary(tmp_path / "learned"), application("top-words").topology, NAME)
    assert model.rate_per_s == pytest.approx(400.0, rel=0.1)
    second = run(penstock)
    reasons = [decision["reason"] for decision in second["decisions"]]
    assert any("are known from before" in reason for reason in reasons)
    assert not any("are known from before" in decision["reason"] for decision in first["decisions"])
    assert second["reconfigurations"] <= first["reconfigurations"]


def test_another_rate_joins_the_library(penstock: Penstock, tmp_path: Path) -> None:
    run(penstock)
    run(penstock, load="constant:rate=200")
    models = load_rate_models(ModelLibrary(tmp_path / "learned"), application("top-words").topology, NAME)
    assert sorted(model.rate_per_s for model in models) == pytest.approx([200.0, 400.0], rel=0.1)


def test_what_is_written_is_read() -> None:
    saved = json.loads(json.dumps(models_to_json(("a", "b"), (MODEL,))))
    assert models_from_json(("a", "b"), saved) == (MODEL,)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"operators": ["a", "c"]}, "are of the operators a, c, not of a, b"),
        ({"models": [{"rate_per_s": 1.0}]}, "are broken"),
        ({"models": [{"rate_per_s": "x", "base": [1, 1], "samples": [], "settled": [1, 1]}]}, "are broken"),
        ({"models": [{"rate_per_s": 1.0, "base": [1], "samples": [], "settled": [1]}]}, "are of the operators"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        models_from_json(("a", "b"), models_to_json(("a", "b"), (MODEL,)) | change)


def test_models_of_an_application_that_has_changed_are_refused_before_anything_starts(
    penstock: Penstock, tmp_path: Path
) -> None:
    run(penstock)
    path = tmp_path / "learned" / "top-words" / RATES / f"{NAME}.json"
    path.write_text(path.read_text().replace('"splitter"', '"other"'))
    done = penstock("simulate", "top-words", "--policy", "autrascale", "--models", "learned")
    assert done.code == 2
    assert "remove them and let them be learned again" in done.err


def test_the_policy_begins_with_its_library() -> None:
    made = policy("autrascale:xi=0.02").with_library({"app": (MODEL,)})  # type: ignore[attr-defined]
    assert made.xi == 0.02
    assert made.start().library == {"app": (MODEL,)}
