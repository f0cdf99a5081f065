from __future__ import annotations

from typing import Any

import pytest

from bopp import Choice, Fixed, Float, Int, Recipe, Study, open_study
from bopp.errors import SpaceError, StudyError

BEFORE: dict[str, Any] = {"x": Float(0, 1), "c": Choice(["a", (1, 2)])}
POINTS: list[dict[str, Any]] = [{"x": 0.1, "c": "a"}, {"x": 0.5, "c": (1, 2)}, {"x": 0.9, "c": "a"}]


def begun(url: str, space: dict[str, Any] = BEFORE) -> None:
    with open_study(url, "s", space) as study:
        for number, params in enumerate(POINTS):
            study.observe(params, float(number))


def moved(url: str, space: dict[str, Any], migrate: Any = True) -> Study:
    return open_study(url, "s", space, migrate=migrate)


def states(study: Study) -> list[str]:
    return [trial.state for trial in study.trials]


def test_a_changed_space_is_refused_with_the_remedy(url: str) -> None:
    begun(url)
    with pytest.raises(StudyError, match=r"'x'.*migrate=True"):
        open_study(url, "s", {**BEFORE, "x": Float(0, 2)})
    with pytest.raises(StudyError, match=r"'y'.*migrate=True"):
        open_study(url, "s", {**BEFORE, "y": Float(0, 2)})


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"x": Float(-1, 2)}, [0, 1, 2]),
        ({"x": Float(0.3, 1)}, [1, 2]),
        ({"c": Choice(["b", (1, 2), "a"])}, [0, 1, 2]),
        ({"c": Choice(["a", "b"])}, [0, 2]),
        ({"c": Fixed("a")}, [0, 2]),
        ({"x": Float(0.01, 1, log=True)}, [0, 1, 2]),
        ({"x": Float(0.0, 1, when={"c": ["a"]})}, [0, 1, 2]),
    ],
)
def test_trials_that_fit_are_kept_and_used(url: str, changes: dict[str, Any], kept: list[int]) -> None:
    begun(url)
    with moved(url, {**BEFORE, **changes}) as study:
        assert [trial.number for trial in study.trials if trial.counts] == kept
        assert len(study.result.history().data) == len(kept)
        trial = study.ask()
        study.tell(trial, 0.5)
        study.space.check(trial.params)
    with open_study(url, "s", {**BEFORE, **changes}) as again:
        for trial in again.trials:
            assert trial.counts == (trial.number in [*kept, 3])
            assert trial.counts or trial.superseded[-1].reason.startswith("outside of the space: ")


def test_a_new_parameter_wants_the_value_it_had_so_far(url: str) -> None:
    begun(url)
    space = {**BEFORE, "dropout": Float(0, 0.5)}
    with pytest.raises(StudyError, match="'dropout' is new"):
        moved(url, space)
    with open_study(url, "s", BEFORE) as study:  # nothing was changed
        assert states(study) == ["done"] * 3
    with moved(url, space, {"dropout": 0.25}) as study:
        assert [trial.params["dropout"] for trial in study.trials] == [0.25] * 3
        assert study.ask().params.keys() == space.keys()


def test_a_new_parameter_of_a_new_option_wants_none(url: str) -> None:
    begun(url)
    space = {"x": Float(0, 1), "c": Choice(["a", (1, 2), "b"]), "depth": Int(1, 9, when={"c": ["b"]})}
    with moved(url, space) as study:
        assert states(study) == ["done"] * 3
        study.observe({"x": 0.2, "c": "b", "depth": 3}, 0.0)


def test_a_parameter_does_not_vanish(url: str) -> None:
    begun(url)
    with pytest.raises(StudyError, match=r"'c'.*Fixed"):
        moved(url, {"x": Float(0, 1)})


def test_what_was_outside_comes_back_when_the_range_is_widened_again(url: str) -> None:
    begun(url)
    with moved(url, {**BEFORE, "x": Float(0.3, 0.6)}) as study:
        assert states(study) == ["dropped", "done", "dropped"]
        study.drop(1, "on purpose")
    with moved(url, BEFORE) as study:
        assert states(study) == ["done", "dropped", "done"]
        assert [trial.params for trial in study.trials] == POINTS
        assert study.trials[0].superseded == ()


def test_queued_params_that_fit_stay_in_the_queue(url: str) -> None:
    begun(url)
    with open_study(url, "s") as study:
        study.enqueue({"x": 0.2, "c": (1, 2)})
        study.enqueue({"x": 0.8})
    with moved(url, {"x": Float(0, 0.5), "c": Choice([(1, 2), "a"])}) as study:
        assert study.queued == [{"x": 0.2, "c": (1, 2)}]


def test_nobody_may_be_working(url: str) -> None:
    begun(url)
    with open_study(url, "s") as busy:
        trial = busy.ask()
        with pytest.raises(StudyError, match="trial 3"):
            moved(url, {**BEFORE, "x": Float(-1, 2)})
        busy.tell(trial, 1.0)
    with moved(url, {**BEFORE, "x": Float(-1, 2)}) as study:
        assert len(study.trials) == 4


def test_the_same_space_and_a_new_study_need_no_migration(url: str) -> None:
    with moved(url, BEFORE) as study:
        study.observe(POINTS[0], 1.0)
    with moved(url, BEFORE) as study:
        assert states(study) == ["done"]


@pytest.mark.parametrize(
    ("migrate", "error", "words"),
    [
        ({"z": 1}, StudyError, "'z' is not in the new space"),
        ("dropout", StudyError, "migrate: wanted True, or a dict"),
        ({"dropout": 7}, SpaceError, r"'dropout': wanted a number in \[0.0, 0.5\], got 7"),
    ],
)
def test_a_wrong_request_changes_nothing(url: str, migrate: Any, error: Any, words: str) -> None:
    begun(url)
    with pytest.raises(error, match=words):
        moved(url, {**BEFORE, "dropout": Float(0, 0.5)}, migrate)
    with open_study(url, "s", BEFORE) as study:
        assert states(study) == ["done"] * 3


@pytest.mark.parametrize(
    "other",
    [{"direction": "maximize"}, {"seed": 7}, {"recipe": Recipe.random()}],
    ids=lambda one: next(iter(one)),
)
def test_a_study_that_is_not_the_one_wanted_is_not_moved(url: str, other: dict[str, Any]) -> None:
    begun(url)
    with pytest.raises(StudyError, match=f"has {next(iter(other))}"):
        open_study(url, "s", {**BEFORE, "x": Float(0.3, 1)}, migrate=True, **other)
    with open_study(url, "s", BEFORE) as study:
        assert states(study) == ["done"] * 3
