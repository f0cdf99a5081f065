"""Study.observe_all: many results from elsewhere, all of them or none."""

from datetime import UTC, datetime

import pytest

from bopp import Float, Optimizer, Recipe, Trial, open_study
from bopp.errors import SpaceError, TellError

SPACE = {"x": Float(0, 1)}


def trials(count: int = 3) -> list[Trial]:
    return [
        Trial(number, {"x": number / 10}, "done", {"value": float(number)}, notes=f"note {number}")
        for number in range(count)
    ]


def test_they_come_after_those_that_are_there(url: str) -> None:
    with open_study(url, "s", SPACE) as study, open_study(url, "s") as other:
        study.tell(study.ask(), 7.0)
        assert other.best.value == 7.0
        asked = study.ask()
        kept = study.observe_all(trials())
        assert [trial.number for trial in kept] == [2, 3, 4]
        assert kept == study.trials[2:] == other.trials[2:]
        assert [(trial.values.get("value"), trial.notes) for trial in kept] == [
            (0.0, "note 0"),
            (1.0, "note 1"),
            (2.0, "note 2"),
        ]
        assert {trial.origin for trial in kept} == {"observed"}
        assert all(trial.told_at is not None for trial in kept)
        assert study.best == kept[0]
        study.tell(asked, 8.0)
        assert study.ask().number == 5


def test_they_are_suggested_from_as_if_observed_one_by_one() -> None:
    with open_study("sqlite://", "all", SPACE) as many, open_study("sqlite://", "each", SPACE) as each:
        many.observe_all(trials(8))
        for trial in trials(8):
            each.observe(trial.params, trial.value)
        assert many.ask().params == each.ask().params


def test_what_is_not_finished_is_left_out() -> None:
    optimizer = Optimizer(SPACE, recipe=Recipe.random())
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.ask()
    optimizer.fail(optimizer.ask(), "broke \0")
    dropped = Trial(3, {"y": 1}).dropped(datetime.now(UTC), "wrong")
    with open_study("sqlite://", "s", SPACE) as study:
        kept = study.observe_all([*optimizer.trials, dropped])
        assert [(trial.values.get("value"), trial.error) for trial in kept] == [
            (1.0, None),
            (None, r"broke \x00"),
        ]
        assert study.trials == kept
        assert study.observe_all([]) == ()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (Trial(3, {"x": 2.0}, "done", {"value": 1.0}), SpaceError),
        (Trial(3, {"x": 0.5}, "done", {"error": 1.0}), TellError),
        (Trial(3, {"x": 0.5}, "done"), TellError),
    ],
)
def test_one_that_does_not_fit_keeps_all_out(wrong: Trial, error: type[Exception]) -> None:
    with open_study("sqlite://", "s", SPACE) as study:
        with pytest.raises(error, match="wanted a"):
            study.observe_all([*trials(), wrong])
        assert study.trials == ()
