"""Stores of schema version 4, whose rows have no seals, are read as they are, and get seals as they go on."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bopp import AtMost, Trial, open_study
from bopp.errors import StoreError, StudyError
from bopp.study import schema

FOLDER = Path(__file__).parent / "fixtures" / "0.1.0-corrected"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    shutil.copy(FOLDER / "studies.db", tmp_path)
    return tmp_path / "studies.db"


def shown(trials: tuple[Trial, ...]) -> list[dict[str, Any]]:
    """Trials as the fixture has them."""
    rows = [vars(trial) | {"superseded": list(map(vars, trial.superseded))} for trial in trials]
    read: list[dict[str, Any]] = json.loads(json.dumps(rows, default=str))
    return read


def seals(path: Path, table: str) -> list[str | None]:
    with closing(sqlite3.connect(path)) as database:
        return [seal for (seal,) in database.execute(f"SELECT seal FROM {table} ORDER BY rowid")]


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()


def test_the_store_is_as_old_as_it_should_be() -> None:
    with closing(sqlite3.connect(f"file:{FOLDER}/studies.db?mode=ro", uri=True)) as database:
        assert database.execute("SELECT version FROM bopp_schema").fetchall() == [(4,)]


@pytest.mark.parametrize("read_only", [True, False])
def test_the_studies_are_all_there(path: Path, read_only: bool) -> None:
    before = path.read_bytes()
    with open_study(f"sqlite:///{path}", "corrected", read_only=read_only) as study:
        assert shown(study.trials) == EXPECTED["trials"]
        assert study.problem.constraints == (AtMost("memory", 6.0),)
    with open_study(f"sqlite:///{path}", "queued", read_only=read_only) as study:
        assert (study.queued, study.direction) == ([{"x": 0.5}], "maximize")
    with open_study(f"sqlite:///{path}", "empty", read_only=read_only) as study:
        assert study.trials == ()
    assert not read_only or path.read_bytes() == before


def test_what_changes_gets_a_seal_and_the_rest_stays(path: Path) -> None:
    url = f"sqlite:///{path}"
    with open_study(url, "corrected") as study:
        assert seals(path, "bopp_trials") == [None] * 10
        trial = study.ask()
        assert trial.params["rate"] == pytest.approx(EXPECTED["next"]["rate"], rel=1e-4)
        study.tell(trial, {"error": 0.5, "memory": 1.0})
        study.note(3, "seen again")
        study.switch_recipe(study.recipe)
    with open_study(url, "queued") as study:
        study.tell(study.ask(), 2.0)
        study.enqueue({"x": 0.75})
    sealed = [seal is not None for seal in seals(path, "bopp_trials")]
    assert sealed == [number in (3, 10, 11) for number in range(12)]
    assert [seal is not None for seal in seals(path, "bopp_studies")] == [True, False, False]
    assert [seal is not None for seal in seals(path, "bopp_queue")] == [False, True, True]
    with open_study(url, "corrected", read_only=True) as study:
        assert study.trials[3].notes == "seen again"
        rows = shown(study.trials)
        assert [row for row in rows[:9] if row["number"] != 3] == [
            row for row in EXPECTED["trials"] if row["number"] != 3
        ]


def test_a_store_that_says_it_is_older_than_its_tables_is_refused(path: Path) -> None:
    """Version 6 has the tables of version 5, so a 5 in its place is read the same."""
    url = f"sqlite:///{path}"
    open_study(url, "corrected").close()
    for version in range(1, max(schema.SINCE.values())):
        execute(path, f"UPDATE bopp_schema SET version = {version}")
        for read_only in (True, False):
            with pytest.raises((StudyError, StoreError), match="of a later one in bopp_"):
                open_study(url, "corrected", read_only=read_only)
