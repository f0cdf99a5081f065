import math

import numpy as np
import pytest

from bopp import AtMost, Float, Holds, Problem, Result, Trial
from bopp.problem import Direction
from bopp.run.progress import spent
from bopp.view.convergence import convergence
from bopp.view.values import spent_after

SPACE = {"x": Float(0, 1)}


def trial_of(number: int, value: float | None) -> Trial:
    params = {"x": number / 10}
    return (
        Trial(number, params, "failed") if value is None else Trial(number, params, "done", {"value": value})
    )


@pytest.mark.parametrize(
    ("direction", "best"), [("minimize", [3.0, 1.0, 1.0, 0.5, 0.5]), ("maximize", [3.0, 3.0, 3.0, 3.0, 4.0])]
)
def test_values_best_so_far_and_failures(direction: Direction, best: list[float]) -> None:
    values = [3.0, None, 1.0, 2.0, None, 0.5, 4.0]
    trials = [trial_of(number, value) for number, value in enumerate(values)]
    shown = convergence(Result(Problem(SPACE, {"value": direction}), (*trials, Trial(7, {"x": 0.7}))))
    assert shown.numbers == [0, 2, 3, 5, 6]
    np.testing.assert_array_equal(shown.values, [3.0, 1.0, 2.0, 0.5, 4.0])
    np.testing.assert_array_equal(shown.best, best)


@pytest.mark.parametrize(
    ("direction", "best"), [("minimize", [math.nan, 6.0, 6.0, 2.0]), ("maximize", [math.nan, 6.0, 6.0, 6.0])]
)
def test_only_trials_that_meet_the_constraints_can_be_best(direction: Direction, best: list[float]) -> None:
    problem = Problem(
        SPACE, {"error": direction}, [AtMost("memory", 10.0), Holds("x", lambda p: p["x"] < 0.5)]
    )
    rows = [(0.1, 1.0, 11.0), (0.2, 6.0, 10.0), (0.6, 9.0, 1.0), (0.3, 2.0, 3.0)]
    trials = [
        Trial(number, {"x": x}, "done", {"error": error, "memory": memory})
        for number, (x, error, memory) in enumerate(rows)
    ]
    shown = convergence(Result(problem, tuple(trials)))
    np.testing.assert_array_equal(shown.values, [1.0, 6.0, 9.0, 2.0])
    np.testing.assert_array_equal(shown.best, best)
    none = convergence(Result(problem, (trials[0], trials[2])))
    np.testing.assert_array_equal(none.values, [1.0, 9.0])
    assert np.isnan(none.best).all()


def test_evaluations_are_counted_as_the_budget_counts_them() -> None:
    """What was observed elsewhere costs nothing, what failed costs one, what was dropped is not there."""
    done = {"value": 1.0}
    trials = (
        Trial(0, {"x": 0.0}, "done", done, origin="observed"),
        Trial(1, {"x": 0.1}, "done", done),
        Trial(2, {"x": 0.2}, "failed", error="no"),
        Trial(3, {"x": 0.3}, "dropped"),
        Trial(4, {"x": 0.4}, "failed", error="no", origin="observed"),
        Trial(5, {"x": 0.5}),
        Trial(6, {"x": 0.6}, "done", done, origin="queued"),
        Trial(7, {"x": 0.7}, "done", done, origin="observed"),
    )
    result = Result(Problem(SPACE), trials)
    shown = convergence(result)
    assert dict(zip(shown.numbers, shown.spent, strict=True)) == {0: 0, 1: 1, 6: 3, 7: 3}
    assert spent_after(result) == {0: 0, 1: 1, 2: 2, 3: 2, 4: 2, 5: 2, 6: 3, 7: 3}
    assert shown.observed.tolist() == [True, False, False, True]
    assert shown.spent[-1] == spent(result)


def test_where_a_constraint_cannot_be_checked_no_trial_is_best() -> None:
    problem = Problem(SPACE, constraints=[Holds("x", lambda p: p["x"] < 0.5)])
    again = Result.from_json(Result(problem, (trial_of(0, 2.0), trial_of(1, 1.0))).to_json())
    shown = convergence(again)
    np.testing.assert_array_equal(shown.values, [2.0, 1.0])
    assert np.isnan(shown.best).all()
