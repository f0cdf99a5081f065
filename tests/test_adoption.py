from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import bopp
from bopp import Choice, Float, Int, Optimizer, Problem, Recipe, Result, Trial
from bopp.adoption import adopted
from bopp.errors import TellError

NOW = datetime(2026, 11, 16, tzinfo=UTC)
SPACE = {"x": Float(0, 1), "n": Int(1, 9)}
RANDOM = Recipe.random()


def loss(params: dict[str, Any]) -> float:
    return float(params["x"]) + float(params["n"])


def minimize(budget: int, space: Any = SPACE, **more: Any) -> Result:
    return bopp.minimize(loss, space, budget, progress=False, **more)


def test_a_run_goes_on_where_an_earlier_one_ended() -> None:
    first = minimize(8, seed=3)
    result = minimize(12, seed=3, trials=first.trials)
    assert result.trials[:8] == first.trials
    assert [trial.params for trial in result.trials] == [
        trial.params for trial in minimize(12, seed=3).trials
    ]
    assert minimize(8, trials=first.trials).trials == first.trials  # the budget is that of both runs


def test_unfinished_trials_are_evaluated_first() -> None:
    optimizer = Optimizer(SPACE, recipe=RANDOM)
    optimizer.tell(optimizer.ask(), 1.0)
    pending = optimizer.ask(2)
    result = minimize(4, recipe=RANDOM, trials=optimizer.trials)
    assert [trial.state for trial in result.trials] == ["done"] * 4
    assert [trial.params for trial in result.trials[1:3]] == [trial.params for trial in pending]


def test_in_a_narrower_range_only_what_fits_counts() -> None:
    first = minimize(8, recipe=RANDOM)
    narrow = {**SPACE, "x": Float(0, 0.5)}
    kept = sum(trial.params["x"] <= 0.5 for trial in first.trials)
    result = minimize(kept + 1, narrow, recipe=RANDOM, trials=first.trials)
    for before, after in zip(first.trials, result.trials, strict=False):
        assert after.counts == (before.params["x"] <= 0.5)
        assert after.counts or after.superseded[0].values == before.values
    assert len(result.trials) == 9
    widened = minimize(10, recipe=RANDOM, trials=result.trials)
    assert widened.trials[:8] == first.trials


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"x": Float(0, 1)}, "'n' is no longer in the space"),
        ({**SPACE, "m": Int(0, 1)}, "'m' is new in the space"),
    ],
)
def test_trials_of_another_problem_are_refused(space: Any, words: str) -> None:
    first = minimize(2, recipe=RANDOM)
    with pytest.raises(TellError, match=words):
        minimize(1, space, trials=first.trials)


HERE = {"x": 0.5, "n": 1}


@pytest.mark.parametrize(
    "wrong", ["x", Trial(1, HERE), Trial(0, HERE, "done", {"loss": 1.0}), Trial(0, HERE, "dropped")]
)
def test_what_is_no_trial_of_this_problem_is_named(wrong: Any) -> None:
    with pytest.raises(TellError, match=r"wanted trial 0 .*got"):
        minimize(1, trials=[wrong])


def test_what_no_longer_applies_is_left_out() -> None:
    space = {"method": Choice(["sgd", "adam"]), "momentum": Float(0, 1, when={"method": ["sgd"]})}
    trials = [
        Trial(0, {"method": "adam", "momentum": 0.5}, "done", {"value": 1.0}),
        Trial(1, {"method": "sgd", "momentum": 0.5}, "done", {"value": 2.0}),
    ]
    moved = adopted(Problem(space), trials, NOW)
    assert [trial.params for trial in moved] == [{"method": "adam"}, trials[1].params]
    assert adopted(Problem(space), moved, NOW) == moved


def test_a_trial_that_was_dropped_on_purpose_stays_dropped() -> None:
    trial = Trial(0, {"x": 0.5, "n": 1}, "done", {"value": 1.0}).dropped(NOW, "wrong")
    assert adopted(Problem(SPACE), [trial], NOW) == (trial,)
    assert adopted(Problem({"y": Float(0, 1)}), [trial], NOW) == (trial,)
    assert replace(trial.restored(), superseded=()).value == 1.0
