from typing import Any

import numpy as np
import pytest

from bopp import AtMost, Choice, Fixed, Float, Int, Problem, Result, Trial
from bopp.problem import Direction
from bopp.view.coordinates import ABSENT, Axis, Line, Mark, coordinates

SPACE = {"x": Float(0, 10), "n": Int(1, 3), "act": Choice(["relu", None])}


def result_of(values: list[float], direction: Direction = "minimize") -> Result:
    """Values along x."""
    trials = [
        Trial(i, {"x": 10 * i / len(values), "n": 2, "act": None}, "done", {"value": value})
        for i, value in enumerate(values)
    ]
    return Result(Problem(SPACE, {"value": direction}), tuple(trials))


def ends_of(result: Result) -> list[float]:
    return [line.places[-1] for line in coordinates(result).lines]


def test_axes_and_lines() -> None:
    trials = (
        Trial(0, {"x": 5.0, "n": 1, "act": None}, "done", {"error": 4.0}),
        Trial(1, {"x": 0.0, "n": 2, "act": "relu"}, "failed"),
        Trial(2, {"x": 10.0, "n": 3, "act": "relu"}, "done", {"error": 2.0}),
        Trial(3, {"x": 2.5, "n": 2, "act": None}),
        Trial(4, {"x": 2.5, "n": 2, "act": None}, "done", {"error": 3.0}),
    )
    shown = coordinates(Result(Problem(SPACE, {"error": "minimize"}), trials))
    assert shown.axes == (
        Axis("x", tuple(Mark(number / 10, str(number)) for number in (0, 2, 4, 6, 8, 10))),
        Axis("n", (Mark(0.0, "1"), Mark(0.5, "2"), Mark(1.0, "3"))),
        Axis("act", (Mark(0.0, "relu"), Mark(1.0, "None")), numeric=False),
        Axis("error", tuple(Mark(i / 4, text) for i, text in enumerate(("2", "2.5", "3", "3.5", "4")))),
    )
    assert shown.lines == (
        Line(0, (0.5, 0.0, 1.0, 1.0), rank=2, best=False),
        Line(2, (1.0, 1.0, 0.0, 0.0), rank=0, best=True),
        Line(4, (0.25, 0.5, 1.0, 0.5), rank=1, best=False),
        Line(1, (0.0, 0.5, 0.0), rank=None, best=False),
    )
    assert [line.failed for line in shown.lines] == [False, False, False, True]


@pytest.mark.parametrize(("direction", "ranks"), [("minimize", [1, 2, 0, 1]), ("maximize", [1, 0, 2, 1])])
def test_equal_values_share_a_rank_and_the_first_of_equals_is_best(
    direction: Direction, ranks: list[int]
) -> None:
    shown = coordinates(result_of([2.0, 3.0, 1.0, 2.0], direction))
    assert [line.rank for line in shown.lines] == ranks
    assert [line.best for line in shown.lines] == [rank == 0 for rank in ranks]
    equal = coordinates(result_of([2.5] * 4, direction))
    assert [line.rank for line in equal.lines] == [0] * 4
    assert [line.best for line in equal.lines] == [True, False, False, False]


def test_outliers_stand_at_the_end_and_the_label_says_so() -> None:
    result = result_of([*np.linspace(0, 1, 21), 1e9])
    assert ends_of(result)[-1] == 1.0
    assert sorted(ends_of(result))[10] > 0.4
    marks = coordinates(result).axes[-1].marks
    assert [mark.label.startswith("\u2265 ") for mark in marks] == [False] * (len(marks) - 1) + [True]
    assert not any(mark.label.startswith("\u2264 ") for mark in marks)


def test_equal_values_stand_in_the_middle() -> None:
    assert ends_of(result_of([2.5] * 3)) == [0.5] * 3
    assert coordinates(result_of([2.5] * 3)).axes[-1].marks == (Mark(0.5, "2.5"),)
    assert coordinates(result_of([2.5] * 30 + [9.0])).axes[-1].marks == (Mark(0.5, "\u2265 2.5"),)


def test_numbers_get_the_digits_that_tell_them_apart() -> None:
    result = Result(Problem({"x": Float(1e6, 1e6 + 1e-3)}), (Trial(0, {"x": 1e6}, "done", {"value": 1.0}),))
    labels = [mark.label for mark in coordinates(result).axes[0].marks]
    assert len(set(labels)) == len(labels) > 3


def test_trials_that_break_a_constraint_are_lines_like_others_but_never_best() -> None:
    problem = Problem({"x": Float(0, 1)}, {"error": "minimize"}, [AtMost("memory", 10.0)])
    rows = [(0.0, 11.0), (1.0, 5.0), (2.0, 5.0)]
    trials = [
        Trial(i, {"x": i / 2}, "done", {"error": error, "memory": memory})
        for i, (error, memory) in enumerate(rows)
    ]
    shown = coordinates(Result(problem, tuple(trials)))
    assert [line.rank for line in shown.lines] == [0, 1, 2]
    assert [line.best for line in shown.lines] == [False, True, False]
    none = coordinates(Result(problem, (trials[0],)))
    assert [(line.rank, line.best) for line in none.lines] == [(0, False)]


CONDITIONAL = {
    "method": Choice(["sgd", "adam"]),
    "momentum": Float(0, 1, when={"method": ["sgd"]}),
    "epochs": Fixed(30),
    "depth": Float(0, 1, step=0.3),
}


def test_a_line_passes_below_the_axis_of_a_parameter_that_it_lacks() -> None:
    rows: list[tuple[dict[str, Any], float | None]] = [
        ({"method": "sgd", "momentum": 0.25, "epochs": 30, "depth": 0.9}, 1.0),
        ({"method": "adam", "epochs": 30, "depth": 1.0}, 2.0),
        ({"method": "adam", "epochs": 30, "depth": 0.3}, None),
    ]
    trials = [
        Trial(i, params, "failed") if value is None else Trial(i, params, "done", {"value": value})
        for i, (params, value) in enumerate(rows)
    ]
    problem = Problem(CONDITIONAL)
    shown = coordinates(Result(problem, tuple(trials)))
    assert [axis.name for axis in shown.axes] == ["method", "momentum", "depth", "value"]
    assert [line.places for line in shown.lines] == [
        (0.0, 0.25, 0.9, 0.0),
        (1.0, ABSENT, 1.0, 1.0),  # a depth of 1 can be observed, though no whole number of steps leads there
        (1.0, ABSENT, 0.3),
    ]
    absent = Mark(ABSENT, "absent")
    assert [absent in axis.marks for axis in shown.axes] == [False, True, False, False]
    assert shown.axes[2].marks[-1] == Mark(1.0, "1")
    alone = coordinates(Result(problem, (trials[0],)))
    assert not any(absent in axis.marks for axis in alone.axes)
