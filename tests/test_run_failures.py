from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bopp
from bopp import AtMost, Float, Optimizer, Result, Trial
from bopp.errors import BoppError, ObjectiveError, RecipeError
from bopp.run.evaluation import Failure
from bopp.run.failures import ALIKE, Failures
from bopp.study.command import Command

SPACE = {"learning_rate": Float(0, 1)}
Objective = Callable[[dict[str, Any]], Any]


def misspelt(params: dict[str, Any]) -> float:
    return float(params["lerning_rate"])


def minimize(objective: Objective, budget: int = 20, **more: Any) -> Result:
    return bopp.minimize(objective, SPACE, budget, progress=False, recipe=bopp.Recipe.random(), **more)


def counted(objective: Objective) -> tuple[Objective, list[dict[str, Any]]]:
    calls: list[dict[str, Any]] = []

    def call(params: dict[str, Any]) -> Any:
        calls.append(params)
        return objective(params)

    return call, calls


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bug_ends_the_run_with_its_traceback_and_the_way_on(workers: int) -> None:
    with pytest.raises(ObjectiveError) as caught:
        minimize(misspelt, workers=workers)
    message = str(caught.value)
    assert message.startswith("3 evaluations in a row failed alike and none has succeeded")
    assert f'File "{__file__}", line ' in message
    assert 'params["lerning_rate"]' in message
    assert "KeyError: 'lerning_rate'" in message
    assert 'failures="continue"' in message


def test_three_evaluations_are_enough_to_see_it_and_one_can_go_on_regardless() -> None:
    objective, calls = counted(misspelt)
    with pytest.raises(ObjectiveError):
        minimize(objective)
    assert len(calls) == ALIKE == 3
    result = minimize(misspelt, 7, failures="continue")
    assert [trial.state for trial in result.trials] == ["failed"] * 7


def test_a_trial_says_where_it_failed() -> None:
    trial = minimize(misspelt, 1).trials[0]
    line = misspelt.__code__.co_firstlineno + 1
    assert trial.error == "KeyError: 'lerning_rate'"
    assert trial.place == f"{Path(__file__).name}, line {line}"
    assert trial.reason == f"KeyError: 'lerning_rate' ({trial.place})"
    assert Result.from_json(minimize(misspelt, 1).to_json()).trials[0].traceback == trial.traceback


@pytest.mark.parametrize(
    ("traceback", "place"),
    [
        (None, None),
        ("no traceback at all", None),
        ('  File "/home/me/train.py", line 7, in loss\n', "train.py, line 7"),
        (
            '  File "/me/a.py", line 7, in f\n  File "/x/site-packages/np/b.py", line 9, in g\n',
            "a.py, line 7",
        ),
        ('  File "/me/a.py", line 7, in f\n  File "/usr/lib/python3.11/json.py", line 9\n', "a.py, line 7"),
        ('  File "/x/site-packages/np/b.py", line 9, in g\n', "b.py, line 9"),
        ('  File "/tmp/ipykernel_12/345.py", line 2, in loss\n', "cell, line 2"),
        ('  File "<stdin>", line 2, in loss\n', "<stdin>, line 2"),
    ],
)
def test_the_place_is_the_last_line_that_is_yours(traceback: str | None, place: str | None) -> None:
    assert Trial(0, {"x": 1.0}, "failed", error="E", traceback=traceback).place == place


def sometimes(*outcomes: Any) -> Objective:
    """Ends one evaluation after the other like this: an exception is raised, anything else returned."""
    rest = iter(outcomes)

    def objective(params: dict[str, Any]) -> Any:
        outcome = next(rest)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return objective


ERROR, OTHER = ValueError("no 0.1 here"), KeyError("x")


@pytest.mark.parametrize(
    "outcomes",
    [
        (ERROR, ERROR, OTHER, ERROR, ERROR),
        (1.0, ERROR, ERROR, ERROR, ERROR),
        (ERROR, ERROR, 1.0, ERROR, ERROR, ERROR),
        (math.nan,) * 6,
        (-math.inf,) * 6,
        ({"value": math.nan, "seconds": 3},) * 6,
        (ERROR, ERROR, math.nan, ERROR, ERROR),
    ],
)
def test_what_is_not_the_same_bug_from_the_start_goes_on(outcomes: tuple[Any, ...]) -> None:
    result = minimize(sometimes(*outcomes), len(outcomes))
    assert len(result.trials) == len(outcomes)


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ((None,) * 3, "the objective returned None"),
        (("much",) * 3, "wanted a number as value, got 'much'"),
        (({"eror": 1.0},) * 3, "'value' is missing"),
        ((OTHER, ValueError("got 0.25"), ValueError("got 1e-9"), ValueError("got 7")), "ValueError: got 7"),
    ],
)
def test_the_same_mistake_with_other_numbers_is_the_same(outcomes: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ObjectiveError) as caught:
        minimize(sometimes(*outcomes))
    assert words in str(caught.value)


def test_observed_values_say_nothing_about_the_objective() -> None:
    optimizer = Optimizer(SPACE)
    optimizer.observe({"learning_rate": 0.5}, 1.0)
    with pytest.raises(ObjectiveError):
        minimize(misspelt, trials=optimizer.trials)


def test_a_value_that_a_constraint_wants_and_that_is_not_returned_is_a_bug() -> None:
    with pytest.raises(ObjectiveError, match="memory"):
        minimize(lambda params: {"value": 1.0}, constraints=[AtMost("memory", 1.0)])


@pytest.mark.parametrize("shell", [False, True])
def test_a_program_that_does_not_exist_ends_the_run_at_once(shell: bool) -> None:
    value = '"$BOPP_PARAM_learning_rate"' if shell else "{learning_rate}"
    command = Command(f"no-such-program {value}", shell=shell)
    with pytest.raises(ObjectiveError, match="no-such-program"):
        minimize(command)
    result = minimize(command, 5, failures="continue")
    assert [trial.state for trial in result.trials] == ["failed"] * 5


def test_a_program_that_fails_alike_ends_the_run_too() -> None:
    command = Command(f"{sys.executable} -c 'import sys; raise ValueError(sys.argv)' {{learning_rate}}")
    with pytest.raises(ObjectiveError, match="exit code 1"):
        minimize(command)


@pytest.mark.parametrize("policy", ["go", None, 3, ["stop"]])
def test_another_word_is_refused(policy: Any) -> None:
    with pytest.raises(RecipeError, match="failures"):
        minimize(misspelt, failures=policy)


def test_only_a_hopeless_failure_is_hopeless() -> None:
    Failures().check(None)
    Failures().check(Failure("broke"))
    Failures("continue").check(Failure("gone", hopeless=True))
    with pytest.raises(BoppError, match="gone"):
        Failures().check(Failure("gone", hopeless=True))
