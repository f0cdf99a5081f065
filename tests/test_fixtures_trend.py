"""Stores, exports and results whose recipe has a trend can be opened, are all there, and go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bopp import Recipe, Result, Trial, fitted, open_study
from bopp.acquisition import log_ei
from bopp.fit import MAP, LogNormal, Priors
from bopp.initial import Sobol
from bopp.kernels import Matern52
from bopp.outcome import power
from bopp.plain import read_recipe, write_recipe
from bopp.pseudo import Failed, Pending
from bopp.search import Gradients
from bopp.study.exchange import imported
from support import processors

FOLDER = Path(__file__).parent / "fixtures" / "0.1.0-trend"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
SAME_BITS = processors.fingerprint() == EXPECTED["processor"]
TOLERANCE = 1e-6  # of the range, on another processor, as docs/studies.md promises

RECIPE = Recipe(
    kernel=Matern52(ard=True),
    fit=MAP(
        Priors(LogNormal(-0.7, 1.0), LogNormal(0.0, 1.0), LogNormal(-10.0, 3.0), LogNormal(-3.0, 3.0)),
        variance=None,
        noise=None,
        largest=400,
        lengthscale=(0.005, 1000.0),
        least_noise=1e-11,
        tolerance=1e-3,
        refit=0.1,
        seen=2000,
    ),
    pseudo=Pending("expected") + Failed("pessimistic"),
    acquisition=log_ei,
    search=Gradients(candidates=500, local=250, starts=10, steps=50, finalists=4, ample=200),
    initial=Sobol(5),
    outcome=power,
)
"""That of the time of the fixture, whatever is the default today."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    shutil.copy(FOLDER / "studies.db", tmp_path)
    return f"sqlite:///{tmp_path}/studies.db"


def shown(trials: tuple[Trial, ...]) -> list[Any]:
    return [[trial.params, trial.state, trial.value] for trial in trials]


def assert_goes_on(study: Any) -> Trial:
    fitted.forget()
    trial: Trial = study.ask()
    space = study.problem.space
    cube, wanted = space.encode(trial.params).tolist(), [float.fromhex(x) for x in EXPECTED["cube"]]
    assert trial.number == len(EXPECTED["trials"])
    if SAME_BITS:
        assert (trial.params, cube) == (EXPECTED["next"], wanted)
    assert cube == pytest.approx(wanted, abs=TOLERANCE)
    return trial


@pytest.mark.parametrize("read_only", [True, False])
def test_a_study_with_a_trend_is_all_there(url: str, read_only: bool) -> None:
    with open_study(url, "trend", read_only=read_only) as study:
        assert shown(study.trials) == EXPECTED["trials"]
        assert study.recipe == RECIPE


def test_the_recipe_is_read_as_it_was_meant_and_written_as_it_was_but_for_what_is_new() -> None:
    assert read_recipe(EXPECTED["recipe"]) == RECIPE
    written = write_recipe(RECIPE)
    assert written["fit"]["settings"].pop("second_noise") is None
    assert written["fit"]["settings"].pop("starts") == 1
    assert written == EXPECTED["recipe"]


def test_the_values_lie_beyond_a_milestone() -> None:
    done = sum(state == "done" for _, state, _ in EXPECTED["trials"])
    assert isinstance(RECIPE.fit, MAP)
    assert RECIPE.fit.milestone(done) < done
    assert [state for _, state, _ in EXPECTED["trials"]].count("failed") == 1


def test_a_study_with_a_trend_goes_on(url: str) -> None:
    with open_study(url, "trend") as study:
        study.tell(assert_goes_on(study), 0.1)
    with open_study(url, "trend", read_only=True) as study:
        assert study.trials[-1].value == 0.1


def test_exports_and_results_are_read_and_go_on(url: str) -> None:
    name = imported(url, (FOLDER / "trend.jsonl").read_bytes(), "copy")
    with open_study(url, name) as study:
        assert shown(study.trials) == EXPECTED["trials"]
        assert study.recipe == RECIPE
        assert_goes_on(study)
    result = Result.from_json((FOLDER / "result.json").read_text())
    assert shown(result.trials) == EXPECTED["trials"]
