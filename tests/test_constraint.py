import math
import pickle
from typing import Any

import pytest

from bopp import AtMost, Choice, Fixed, Float, Holds, Int, Linear, Problem, Space
from bopp.constraint import checked_constraint, met
from bopp.errors import NoResultError, RecipeError
from bopp.plain import Absent

SPACE = {
    "a": Float(0, 1),
    "n": Int(1, 9),
    "k": Choice(["x", "y"]),
    "two": Fixed(2),
    "word": Fixed("w"),
    "c": Float(0, 1, when={"k": "x"}),
}


@pytest.mark.parametrize(
    ("linear", "name"),
    [
        (Linear({"a": 1, "b": 2}, at_most=3), "a + 2 b <= 3"),
        (Linear({"a": -1, "b": -0.5}, at_least=-3), "-a - 0.5 b >= -3"),
        (Linear({"a": 1, "b": 1}, equals=1), "a + b = 1"),
        (Linear({"a": 1}, at_most=2, at_least=1), "1 <= a <= 2"),
        (Linear({"a": 1}, equals=1, name="all of it"), "all of it"),
    ],
)
def test_a_linear_condition_is_named_by_its_formula(linear: Linear, name: str) -> None:
    assert linear.name == name


@pytest.mark.parametrize(
    ("linear", "params", "holds"),
    [
        (Linear({"a": 1, "b": 2}, at_most=3), {"a": 1.0, "b": 1}, True),
        (Linear({"a": 1, "b": 2}, at_most=3), {"a": 1.1, "b": 1}, False),
        (Linear({"a": 1, "b": 2}, at_most=3), {"a": 3.0}, True),  # b does not apply
        (Linear({"a": 1, "b": 2}, at_least=3), {"a": 2.0}, False),
        (Linear({"a": 1, "b": 2}, at_least=3, at_most=4), {"a": 0.0, "b": 1.75}, True),
        (Linear({"a": 1, "b": 2}, at_least=3, at_most=4), {"a": 0.0, "b": 2.25}, False),
        (Linear({"a": 0.1, "b": 0.2}, equals=0.3), {"a": 1.0, "b": 1.0}, True),  # up to rounding
        (Linear({"a": 1}, equals=1), {"a": 1.0 + 1e-9}, True),
        (Linear({"a": 1}, equals=1), {"a": 1.0 + 1e-8}, False),
        (Linear({"a": 1e20, "b": -1e20}, equals=0), {"a": 1.0, "b": 1.0 + 1e-12}, True),
        (Linear({"a": 1e308, "b": -1e308}, equals=0), {"a": 100.0, "b": 100.0}, False),  # inf - inf
    ],
)
def test_a_linear_condition_is_met_up_to_a_billionth(
    linear: Linear, params: dict[str, Any], holds: bool
) -> None:
    assert linear(params) is holds


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({},), ["coefficients", "{}"]),
        (("a + b", 1), ["coefficients", "'a + b'"]),
        (({1: 2.0}, 1), ["names of parameters", "1"]),
        (({"a": "1"}, 1), ["coefficient of 'a'", "'1'"]),
        (({"a": True}, 1), ["coefficient of 'a'", "True"]),
        (({"a": math.nan}, 1), ["coefficient of 'a'", "nan"]),
        (({"a": 10**400}, 1), ["coefficient of 'a'"]),
        (({"a": 0, "b": 0.0}, 1), ["not 0", "'a': 0"]),
        (({"a": 1},), ["equals, or at_most or at_least", "none of them"]),
        (({"a": 1}, 1.0, None, 1.0), ["equals, or at_most", "at_most=1.0, equals=1.0"]),
        (({"a": 1}, 1.0, 2.0), ["at_least must not be above at_most", "2.0, 1.0"]),
        (({"a": 1}, math.inf), ["finite number as at_most", "inf"]),
    ],
)
def test_what_is_wrong_with_a_linear_condition_is_said(arguments: tuple[Any, ...], words: list[str]) -> None:
    with pytest.raises(RecipeError) as caught:
        Linear(*arguments)
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("b", ["'b'", "'a', 'n'"]), ("k", ["'k'", "Choice", "Holds"]), ("word", ["'word'", "Fixed"])],
)
def test_a_linear_condition_wants_numbers_of_the_space(name: str, words: list[str]) -> None:
    with pytest.raises(RecipeError) as caught:
        Problem(SPACE, constraints=[Linear({"a": 1, name: 1}, at_most=1, name="mine")])
    assert [word for word in ["'mine'", *words] if word not in str(caught.value)] == []


def test_linear_conditions_are_values() -> None:
    one, same = Linear({"a": 1, "n": 2}, 3), Linear({"a": 1.0, "n": 2.0}, at_most=3.0)
    assert one == same == pickle.loads(pickle.dumps(one))
    assert len({one, same, Linear({"a": 1, "n": 2}, at_least=3)}) == 2
    given = {"a": 1.0}
    linear = Linear(given, 1)
    given["a"] = 2.0
    assert linear.coefficients == {"a": 1.0}


def test_conditions_are_known_and_limits_are_measured() -> None:
    linear, holds = Linear({"a": 1, "n": 0.1, "two": 1}, at_most=2.5), Holds("k", lambda p: p["k"] == "x")
    problem = Problem(SPACE, constraints=[linear, AtMost("m", 1), holds])
    assert problem.conditions == (linear, holds)
    assert problem.limits == (AtMost("m", 1.0),)
    assert problem.names == ["value", "m"]
    assert problem.allows({"a": 0.2, "n": 3, "k": "x", "two": 2, "c": 0.5})
    assert not problem.allows({"a": 0.3, "n": 3, "k": "x", "two": 2, "c": 0.5})
    assert not problem.allows({"a": 0.2, "n": 3, "k": "y", "two": 2})


def test_a_condition_that_cannot_be_told_is_an_error_of_what_was_declared() -> None:
    with pytest.raises(
        RecipeError, match=r"the constraint 'odd' raised ZeroDivisionError.* for \{'a': 1\}"
    ) as caught:
        met(Holds("odd", lambda params: 1 / 0 > 0), {"a": 1})
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    away = Holds("mine", Absent("mine", {}))
    with pytest.raises(RecipeError, match="function of your own"):
        met(away, {"a": 1})
    with pytest.raises(NoResultError, match="function of your own"):
        away({"a": 1})
    assert checked_constraint(away) is away


def test_a_problem_without_conditions_has_its_space_as_region() -> None:
    problem = Problem(SPACE, constraints=[AtMost("m", 1)])
    assert problem.region is problem.space
    assert type(problem.space) is Space
