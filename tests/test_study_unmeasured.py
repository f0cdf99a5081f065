"""Values that are measured separately: one that is missing is filled in later, by whoever measures it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bopp import AtMost, Float, Problem, Recipe, Result, Trial, open_study
from bopp.errors import LateTell, StudyError, TellError
from bopp.study import schema
from bopp.study.checksum import with_checksum
from bopp.study.exchange import exported, imported, result_of
from support.stores import execute

RANDOM = Recipe.random()
SEVERAL = Problem({"x": Float(0, 1)}, {"error": "minimize", "latency": "minimize"}, [AtMost("memory", 16.0)])


def told(study: Any, error: float | None = None, latency: float | None = None, **more: Any) -> Trial:
    trial: Trial = study.tell(study.ask(), {"error": error, "latency": latency, "memory": None, **more})
    return trial


def test_what_was_not_measured_is_kept_as_such(url: str) -> None:
    with open_study(url, "a", SEVERAL, recipe=RANDOM) as study:
        given = [told(study, 0.5), told(study, latency=3.0, seconds=4), told(study, memory=1.0)]
        whole = study.tell(study.ask(), {"error": 0.25, "latency": 2.0, "memory": 8.0}, {"latency": 0.5})
    with open_study(url, "a", SEVERAL) as study:
        assert study.trials == (*given, whole)
        assert [dict(trial.values) for trial in study.trials] == [
            {"error": 0.5, "latency": None, "memory": None},
            {"error": None, "latency": 3.0, "memory": None},
            {"error": None, "latency": None, "memory": 1.0},
            {"error": 0.25, "latency": 2.0, "memory": 8.0},
        ]
        assert [trial.state for trial in study.trials] == ["done"] * 4
        assert [next(iter(trial.values.values()), None) for trial in study.trials] == [0.5, None, None, 0.25]


def test_a_later_tell_adds_what_was_not_measured(url: str) -> None:
    with open_study(url, "a", SEVERAL, recipe=RANDOM) as mine, open_study(url, "a") as other:
        first = told(mine, latency=3.0, seconds=4, who="me")
        second = other.tell(
            0, {"error": 0.5, "latency": None, "memory": None, "who": "you", "host": "b"}, {"error": 0.1}
        )
        assert second.values == {"error": 0.5, "latency": 3.0, "memory": None}
        assert second.noise == {"error": 0.1}
        assert second.measurements == {"seconds": 4.0, "who": "me", "host": "b"}
        assert second.told_at == first.told_at
        assert second.superseded == ()
        same = mine.tell(first, {"error": 0.5, "latency": 3.0, "memory": 1.0}, {"error": 0.1})
        assert same.values == {"error": 0.5, "latency": 3.0, "memory": 1.0}
        assert other.trials == mine.trials == (same,)
        assert other.tell(0, {"error": None, "latency": 3.0, "memory": None}) == same


@pytest.mark.parametrize(
    ("value", "noise"),
    [
        ({"error": 0.5, "latency": 4.0, "memory": None}, None),
        ({"error": 0.5, "latency": 3.0, "memory": None}, {"latency": 0.5}),
        ({"error": None, "latency": None, "memory": None}, None),
        ({"error": 0.5, "latency": 3.0}, None),
    ],
)
def test_what_is_there_stays(url: str, value: Any, noise: Any) -> None:
    with open_study(url, "a", SEVERAL, recipe=RANDOM) as study:
        known = told(study, latency=3.0)
    with open_study(url, "a", SEVERAL) as study:
        with pytest.raises(TellError, match=r"trial 0 was told .* already, got"):
            study.tell(0, value, noise)
        assert study.trials == (known,)


def test_who_was_overtaken_may_add_but_not_contradict(url: str) -> None:
    with open_study(url, "a", SEVERAL, recipe=RANDOM) as slow, open_study(url, "a") as quick:
        one, two = slow.ask(2)
        for trial in (one, two):
            quick.tell(trial.number, {"error": 0.5, "latency": None, "memory": None})
        added = slow.tell(one, {"error": None, "latency": 3.0, "memory": None})
        assert added.values == {"error": 0.5, "latency": 3.0, "memory": None}
        with pytest.raises(LateTell):
            slow.tell(two, {"error": 0.75, "latency": 3.0, "memory": None})
        assert quick.trials[1].values == {"error": 0.5, "latency": None, "memory": None}


def test_corrections_keep_what_was_missing(url: str) -> None:
    with open_study(url, "a", SEVERAL, recipe=RANDOM) as study:
        told(study, 0.5)
        told(study, latency=3.0)
        amended = study.amend(0, {"error": None, "latency": 1.0, "memory": None}, "mixed up")
        assert amended.values == {"error": None, "latency": 1.0, "memory": None}
        dropped = study.drop(1, "the wrong sample")
        assert dropped.superseded[0].values == {"error": None, "latency": 3.0, "memory": None}
    with open_study(url, "a") as study:
        assert study.trials == (amended, dropped)
        assert study.trials[0].superseded[0].values == {"error": 0.5, "latency": None, "memory": None}


def test_it_survives_export_import_and_json(tmp_path: Path, url: str) -> None:
    with open_study(url, "a", SEVERAL, recipe=RANDOM) as study:
        told(study, 0.5)
        told(study, latency=3.0)
        study.drop(0, "the wrong sample")
        told(study, memory=3.0)
        content, trials, result = exported(study), study.trials, study.result
    assert json.loads(content.splitlines()[0])["bopp"] == 1
    assert result_of(content) == result
    imported(f"sqlite:///{tmp_path}/b.db", content)
    with open_study(f"sqlite:///{tmp_path}/b.db", "a") as study:
        assert study.trials == trials
        assert exported(study) == content
    assert Result.from_json(result.to_json()) == result


@pytest.mark.parametrize(
    "columns",
    [
        {"more": '{"values": {"latency": null, "memory": null}}'},
        {"more": None},
        {"more": '{"values": {"latency": 3.0}}'},
        {"more": '{"values": {"latency": 3.0, "memory": null}, "noise": {"error": 0.5}}'},
        {"more": '{"values": {"latency": null, "memory": null}}', "value": float("inf")},
    ],
)
def test_a_row_without_any_value_or_with_a_name_too_few_is_refused(
    tmp_path: Path, columns: dict[str, Any]
) -> None:
    with open_study(f"sqlite:///{tmp_path}/a.db", "a", SEVERAL, recipe=RANDOM) as study:
        told(study, latency=3.0)
        told(study, latency=3.0)
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.row_factory = sqlite3.Row
        row = dict(database.execute("SELECT * FROM bopp_trials WHERE number = 1").fetchone())
        new = with_checksum(schema.trials, {**row, **columns})
        change = "UPDATE bopp_trials SET value = ?, more = ?, seal = ? WHERE number = 1"
        database.execute(change, (new["value"], new["more"], new["seal"]))
    refused(tmp_path)


def refused(folder: Path) -> None:
    with (
        open_study(f"sqlite:///{folder}/a.db", "a") as study,
        pytest.raises(StudyError, match="trial 1 of 'a'"),
    ):
        study.trials  # noqa: B018


def test_a_study_of_one_value_still_wants_it(tmp_path: Path) -> None:
    with open_study(f"sqlite:///{tmp_path}/a.db", "a", {"x": Float(0, 1)}, recipe=RANDOM) as study:
        assert study.tell(study.ask(), {"value": None, "seconds": 3.0}).state == "failed"
        study.tell(study.ask(), 0.5)
    execute(tmp_path / "a.db", "UPDATE bopp_trials SET value = NULL, seal = NULL WHERE number = 1")
    refused(tmp_path)


def test_the_best_and_those_that_meet_limits_have_their_values(tmp_path: Path) -> None:
    problem = Problem({"x": Float(0, 1)}, {"error": "minimize"}, [AtMost("memory", 16.0)])
    with open_study(f"sqlite:///{tmp_path}/a.db", "a", problem, recipe=RANDOM) as study:
        study.tell(study.ask(), {"error": None, "memory": 1.0})
        study.tell(study.ask(), {"error": 0.1, "memory": None})
        study.tell(study.ask(), {"error": 0.9, "memory": 1.0})
        assert study.best.number == 2
        study.tell(1, {"error": None, "memory": 16.0})
        assert study.best.number == 1
        study.tell(0, {"error": 0.01, "memory": None})
        assert study.best.number == 0
