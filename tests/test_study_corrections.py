from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from bopp import Float, Int, Recipe, Study, delete_study, open_study
from bopp.errors import LateTell, ObjectiveError, StudyError, TellError
from bopp.study.exchange import exported, imported

SPACE = {"x": Float(0, 1), "n": Int(1, 5)}


@pytest.fixture
def study(url: str) -> Iterator[Study]:
    with open_study(url, "s", SPACE, recipe=Recipe.random()) as study:
        yield study


def states(study: Study) -> list[str]:
    return [trial.state for trial in study.trials]


def told(study: Study, *values: float | None) -> None:
    for value in values:
        study.tell(study.ask(), value)


def broken(params: dict[str, Any]) -> float:
    raise RuntimeError("a bug")


def test_failed_trials_are_evaluated_again_before_all_else(study: Study) -> None:
    told(study, 1.0, None, None, 3.0)
    study.retry(2, reason="the cable was loose")
    assert states(study) == ["done", "failed", "asked", "done"]
    assert [trial.number for trial in study.retry(reason="all of them")] == [1]
    assert states(study) == ["done", "asked", "asked", "done"]
    params = [trial.params for trial in study.trials[1:3]]
    first, second, third = study.ask(), study.ask(), study.ask()
    assert [first.params, second.params] == params
    assert (first.number, second.number, third.number) == (1, 2, 4)
    study.tell(second, 0.5)
    trial = study.trials[2]
    assert (trial.state, trial.value, trial.error) == ("done", 0.5, None)
    (past,) = trial.superseded
    assert (past.state, past.reason) == ("failed", "the cable was loose")
    assert "None" in str(past.error)
    assert past.told_at is not None
    assert past.at - past.told_at < timedelta(minutes=10)


def test_a_retried_trial_no_longer_repels(url: str) -> None:
    with open_study(url, "s", {"x": Float(0, 1)}) as study:
        told(study, 1.0, 2.0, None, 0.5)
        study.fail(study.ask(), "broke", "trace")
        assert len(study.result.history().failed) == 2
        study.retry()
        assert len(study.result.history().failed) == 0
        for _ in range(2):
            study.tell(study.ask(), 1.0)
        assert {trial.state for trial in study.trials} == {"done"}


@pytest.mark.parametrize(("state", "value"), [("done", 1.0), ("asked", None)])
def test_only_failed_trials_are_retried(study: Study, state: str, value: float | None) -> None:
    trial = study.ask()
    if value is not None:
        study.tell(trial, value)
    with pytest.raises(TellError, match=f"trial 0, which is {state}"):
        study.retry(0)
    told(study, None)
    with pytest.raises(TellError):  # all or none
        study.retry(1, 0)
    assert study.trials[1].state == "failed"


def test_a_late_tell_of_a_retried_trial_does_not_count(url: str) -> None:
    with open_study(url, "s", SPACE, recipe=Recipe.random()) as one, open_study(url, "s") as other:
        trial = one.ask()
        other.fail(trial, "by hand")
        other.retry(trial)
        with pytest.raises(LateTell):
            one.fail(trial, "late")
        again = other.ask()
        assert again.number == trial.number
        other.tell(again, 1.0)
        with pytest.raises(LateTell):
            one.tell(trial, 2.0)
        assert [trial.value for trial in other.trials] == [1.0]


def test_a_wrong_value_is_amended_and_stays_in_the_record(study: Study) -> None:
    told(study, 100.0, 3.0)
    study.amend(0, 1.0, "a slip of the hand", noise=0.1)
    assert (study.best.number, study.trials[0].noise) == (0, {"value": 0.1})
    study.amend(0, 2.0, "and another")
    assert [(past.values, past.reason) for past in study.trials[0].superseded] == [
        ({"value": 100.0}, "a slip of the hand"),
        ({"value": 1.0}, "and another"),
    ]
    study.amend(1, None, "the scales were broken")
    assert study.trials[1].state == "failed"
    with pytest.raises(TellError, match=r"2\.0 already"):  # exactly once, still
        study.tell(0, 7.0)
    assert study.tell(0, 2.0).value == 2.0


def test_a_dropped_trial_does_not_count_but_is_there(study: Study) -> None:
    told(study, 1.0, 2.0)
    study.drop(0, "the wrong sample")
    assert (study.trials[0].state, study.best.number) == ("dropped", 1)
    assert study.trials[0].superseded[0].values == {"value": 1.0}
    assert len(study.result.history()) == 1
    with pytest.raises(TellError, match="dropped"):
        study.drop(0, "again")
    with pytest.raises(TellError, match="dropped"):
        study.tell(0, 1.0)
    with pytest.raises(TellError, match="dropped"):
        study.amend(0, 1.0, "back")
    study.optimize(lambda params: params["x"], budget=3, progress=False)
    assert states(study) == ["dropped", "done", "done", "done"]


def test_a_trial_that_is_dropped_while_it_runs_ends_nobody(url: str) -> None:
    with open_study(url, "s", SPACE, recipe=Recipe.random()) as study:

        def objective(params: dict[str, Any]) -> float:
            with open_study(url, "s") as other:
                if len(other.trials) == 2:
                    other.drop(1, "not this one")
            return 1.0

        result = study.optimize(objective, budget=3, progress=False)
        assert [trial.state for trial in result.trials] == ["done", "dropped", "done", "done"]


def test_nothing_is_taken_back_without_a_reason_and_an_unknown_trial_is_named(study: Study) -> None:
    told(study, 1.0)
    for reason in ("", "  ", None, 3):
        with pytest.raises(TellError, match="reason"):
            study.amend(0, 2.0, reason)  # type: ignore[arg-type]
        with pytest.raises(TellError, match="reason"):
            study.drop(0, reason)  # type: ignore[arg-type]
    for number in (-1, 7, np.int64(7)):
        with pytest.raises(TellError, match=f"trial {number} "):
            study.drop(number, "away")  # type: ignore[arg-type]
    assert study.trials[0].value == 1.0


def test_the_record_survives_export_and_import(study: Study, url: str) -> None:
    told(study, 1.0, None, 3.0)
    study.retry(1, reason="why not")
    study.amend(0, 2.0, "slip")
    study.drop(2, "wrong")
    imported(url, exported(study), "copy")
    with open_study(url, "copy") as copy:
        assert copy.trials == study.trials


def test_a_stop_takes_back_what_failed_and_the_study_goes_on_as_if_it_never_had(url: str) -> None:
    with open_study(url, "s", SPACE, seed=3) as study:
        with pytest.raises(ObjectiveError, match="a bug"):
            study.optimize(broken, budget=6, progress=False)
        assert [trial.state for trial in study.trials] == ["asked"] * 3
        assert all("RuntimeError" in (trial.superseded[0].traceback or "") for trial in study.trials)
        result = study.optimize(lambda params: params["x"], budget=6, progress=False)
    with open_study(url, "without a bug", SPACE, seed=3) as study:
        clean = study.optimize(lambda params: params["x"], budget=6, progress=False)
    assert [trial.params for trial in result.trials] == [trial.params for trial in clean.trials]
    assert [trial.state for trial in result.trials] == ["done"] * 6


def test_notes_add_up_and_those_that_no_longer_fit_are_refused(study: Study) -> None:
    told(study, 1.0)
    study.note(0, "cold")
    study.note(0, "cold")
    assert study.note(0, "x" * 9000).notes == f"cold\n{'x' * 9000}"
    with pytest.raises(TellError, match="10000 characters"):
        study.note(0, "y" * 2000)
    assert study.note(0, "short").notes == f"cold\n{'x' * 9000}\nshort"


def test_a_study_is_deleted_and_others_stay(url: str) -> None:
    for name in ("one", "two"):
        with open_study(url, name, SPACE, recipe=Recipe.random()) as study:
            told(study, 1.0, 2.0)
            study.enqueue({"x": 0.5})
    delete_study(url, "one")
    for act in (open_study, delete_study):
        with pytest.raises(StudyError, match=r"'one'.*'two'"):
            act(url, "one")
    with open_study(url, "two") as study:
        assert (len(study.trials), len(study.queued)) == (2, 1)
        delete_study(url, "two")
        with pytest.raises(StudyError, match="no longer in its store"):
            study.tell(study.ask(), 1.0)
    with open_study(url, "one", SPACE) as study:
        assert (study.trials, study.queued) == ((), [])
