"""Stores of schema version 6 and files of format 4, with several objectives, limits and gaps, go on."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bopp import AtLeast, AtMost, Linear, Result, Study, Trial, fitted, open_study
from bopp.study.exchange import imported
from support import processors

FOLDER = Path(__file__).parent / "fixtures" / "0.1.0-goals"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
SAME_BITS = processors.fingerprint() == EXPECTED["processor"]
TOLERANCE = 1e-6  # of the range, on another processor, as docs/studies.md promises
NAMES = ("goals", "limited")
ANSWERS = {
    "goals": {"error": 0.5, "speed": 9.0, "memory": 6.0},
    "limited": {"cost": -1.0, "heat": 0.5, "yield": 0.3},
}
"""Better than anything that the fixture has."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    shutil.copy(FOLDER / "studies.db", tmp_path)
    return f"sqlite:///{tmp_path}/studies.db"


def shown(trials: tuple[Trial, ...]) -> list[Any]:
    return [[trial.params, trial.state, dict(trial.values)] for trial in trials]


def best(result: Result | Study) -> list[int]:
    several = len(result.problem.objectives) > 1
    return [trial.number for trial in (result.front if several else (result.best,))]


def assert_goes_on(study: Study, name: str) -> Trial:
    fitted.forget()
    trial = study.ask()
    cube = study.problem.space.encode(trial.params).tolist()
    wanted = [float.fromhex(x) for x in EXPECTED[name]["cube"]]
    assert trial.number == len(EXPECTED[name]["trials"])
    if SAME_BITS:
        assert (trial.params, cube) == (EXPECTED[name]["next"], wanted)
    assert cube == pytest.approx(wanted, abs=TOLERANCE)
    return trial


def test_the_store_is_as_old_as_it_should_be() -> None:
    with closing(sqlite3.connect(f"file:{FOLDER}/studies.db?mode=ro", uri=True)) as database:
        assert database.execute("SELECT version FROM bopp_schema").fetchall() == [(6,)]
        assert database.execute("SELECT count(*) FROM bopp_studies WHERE seal IS NULL").fetchone() == (0,)


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_the_studies_are_all_there(url: str, name: str, read_only: bool) -> None:
    with open_study(url, name, read_only=read_only) as study:
        assert shown(study.trials) == EXPECTED[name]["trials"]
        assert best(study) == best(study.result) == EXPECTED[name]["best"]


def test_they_have_what_they_are_to_show(url: str) -> None:
    with open_study(url, "goals", read_only=True) as study:
        assert study.problem.objectives == {"error": "minimize", "speed": "maximize"}
        assert study.problem.reference == {"error": 3.0, "speed": 0.0}
        limit, line = study.problem.constraints
        assert limit == AtMost("memory", 6.5)
        assert isinstance(line, Linear)
        assert (study.trials[9].unmeasured, study.trials[11].unmeasured) == (["memory"], ["error"])
        assert study.trials[6].unmeasured == []  # told later
        assert study.trials[2].noise == {"error": 0.01}
        assert study.trials[5].superseded[0].reason == "read off the wrong scale"
        assert {trial.state for trial in study.trials} == {"done", "failed"}
        assert any(study.problem.broken(trial) for trial in study.trials if not trial.unmeasured)
    with open_study(url, "limited", read_only=True) as study:
        assert study.problem.constraints == (AtMost("heat", 0.5), AtLeast("yield", 0.3))
        assert study.trials[-1].state == "asked"
        assert any("heat" in trial.unmeasured for trial in study.trials)


@pytest.mark.parametrize("name", NAMES)
def test_they_go_on_and_stay_as_they_go_on(url: str, name: str) -> None:
    with open_study(url, name) as study:
        trial = study.tell(assert_goes_on(study, name), ANSWERS[name])
    with open_study(url, name, read_only=True) as study:
        assert study.trials[-1].values == ANSWERS[name]
        assert trial.number in best(study)
        assert shown(study.trials)[:-1] == EXPECTED[name]["trials"]


def test_what_was_not_measured_can_still_be_told(url: str) -> None:
    with open_study(url, "goals") as study:
        study.tell(11, {"error": 0.01, "speed": None, "memory": None})
        assert 11 in best(study)


@pytest.mark.parametrize("name", NAMES)
def test_exports_and_results_are_read_and_go_on(url: str, name: str) -> None:
    copy = imported(url, (FOLDER / f"{name}.jsonl").read_bytes(), "copy")
    with open_study(url, copy) as study:
        assert shown(study.trials) == EXPECTED[name]["trials"]
        assert best(study) == EXPECTED[name]["best"]
        if name == "limited":  # what was under way is handed out again
            assert study.ask().number == len(EXPECTED[name]["trials"]) - 1
        assert_goes_on(study, name)
    result = Result.from_json((FOLDER / f"{name}.result.json").read_text())
    assert shown(result.trials) == EXPECTED[name]["trials"]
    assert best(result) == EXPECTED[name]["best"]
