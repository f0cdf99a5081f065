"""Stores of schema version 3 and files of format 2 can be opened, are all there, and go on."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bopp import AtMost, Optimizer, Result, Trial, open_study
from bopp.study.exchange import imported

FOLDER = Path(__file__).parent / "fixtures" / "0.1.0-named"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())


@pytest.fixture
def url(tmp_path: Path) -> str:
    shutil.copy(FOLDER / "studies.db", tmp_path)
    return f"sqlite:///{tmp_path}/studies.db"


def shown(trials: tuple[Trial, ...]) -> list[dict[str, Any]]:
    """Trials as the fixture has them; what came later is empty."""
    rows = [dict(vars(trial)) for trial in trials]
    assert all(row.pop("traceback") is None and row.pop("superseded") == () for row in rows)
    read: list[dict[str, Any]] = json.loads(json.dumps(rows, default=str))
    return read


def assert_near(params: dict[str, Any]) -> None:
    """The next suggestion, which on another processor may differ in its last digits."""
    rate = EXPECTED["next"]["rate"]
    assert params["rate"] == pytest.approx(rate, rel=1e-4)
    assert params["layers"] == EXPECTED["next"]["layers"]


def test_the_store_is_as_old_as_it_should_be() -> None:
    with closing(sqlite3.connect(f"file:{FOLDER}/studies.db?mode=ro", uri=True)) as database:
        assert database.execute("SELECT version FROM bopp_schema").fetchall() == [(3,)]


@pytest.mark.parametrize("read_only", [True, False])
def test_the_studies_are_all_there(url: str, read_only: bool) -> None:
    with open_study(url, "named", read_only=read_only) as study:
        assert shown(study.trials) == EXPECTED["trials"]
        assert study.problem.objectives == {"error": "minimize"}
        assert study.problem.constraints == (AtMost("memory", 6.0),)
        assert (study.best.values["memory"] or 9.0) <= 6.0
    with open_study(url, "queued", read_only=read_only) as study:
        assert (study.queued, study.direction) == ([{"x": 0.5}], "maximize")


def test_a_study_goes_on_and_can_be_corrected(url: str) -> None:
    with open_study(url, "named") as study:
        trial = study.ask()
        assert_near(trial.params)
        study.fail(trial, "broke", "a traceback")
        study.drop(0, "the wrong one")
        study.retry(reason="mended")
    with open_study(url, "named") as study:
        assert [trial.state for trial in study.trials].count("asked") == 3
        assert study.trials[0].superseded[0].noise == {"error": 0.01}
        assert study.trials[-1].superseded[0].traceback == "a traceback"


def test_exports_and_results_are_read(url: str) -> None:
    name = imported(url, (FOLDER / "named.jsonl").read_bytes(), "copy")
    with open_study(url, name) as study:
        assert shown(study.trials) == EXPECTED["trials"]
    result = Result.from_json((FOLDER / "result.json").read_text())
    assert shown(result.trials) == EXPECTED["trials"]
    assert_near(Optimizer(result.problem, seed=7, trials=result.trials).ask().params)
