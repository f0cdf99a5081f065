from typing import Any

import numpy as np
import pytest
from scipy import stats

from bopp import Choice, Fixed, Float, Int, Optimizer, Parameter, Space
from bopp.errors import SpaceError
from bopp.kinds import parameter


@pytest.mark.parametrize(
    ("declared", "wanted"),
    [
        ((0.0, 1.0), Float(0.0, 1.0)),
        ((0, 1.5), Float(0, 1.5)),
        ((1, 8), Int(1, 8)),
        ((np.int64(1), np.int64(8)), Int(1, 8)),
        ((1e-4, 1.0, "log"), Float(1e-4, 1.0, log=True)),
        ((1, 1024, "log-uniform"), Int(1, 1024, log=True)),
        (["sgd", "adam"], Choice(["sgd", "adam"])),
        ([8, 16, 32], Choice([8, 16, 32], ordered=True)),
        ([32, 8, 16], Choice([32, 8, 16])),
        ([True, False], Choice([True, False])),
        (range(3), Choice([0, 1, 2], ordered=True)),
        (np.array([0.1, 0.2]), Choice([0.1, 0.2], ordered=True)),
        (stats.uniform(2, 3), Float(2.0, 5.0)),
        (stats.loguniform(1e-3, 1e3), Float(1e-3, 1e3, log=True)),
        (stats.uniform(loc=-2, scale=5), Float(-2.0, 3.0)),
        (stats.loguniform(1e-3, 1, scale=10), Float(0.01, 10.0, log=True)),
        (stats.randint(1, 10), Int(1, 9)),
        (stats.randint(2, 5, loc=3), Int(5, 7)),
        (np.array(["a", "b"]), Choice(["a", "b"])),
        (np.array(3), Fixed(3)),
        (True, Fixed(True)),
        (np.bool_(False), Fixed(False)),
        (3, Fixed(3)),
        ("adam", Fixed("adam")),
        (None, Fixed(None)),
        (np.float64(0.5), Fixed(0.5)),
        (Int(1, 3), Int(1, 3)),
    ],
)
def test_what_people_write_becomes_a_parameter(declared: Any, wanted: Parameter) -> None:
    assert Space({"p": declared, "x": (0.0, 1.0)}).parameters["p"] == wanted


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ((1, 2, 3), ["(low, high)", "(1, 2, 3)", "options go in a list"]),
        (("sgd", "adam"), ["options go in a list", "'sgd'"]),
        ((True, False), ["(low, high)", "(True, False)"]),
        ((3, 1), ["low must be below high"]),
        ((0, 1, "log"), ["log wants low above 0"]),
        (stats.norm(0, 1), ["uniform, loguniform or randint", "got"]),
        (stats.loguniform(1, 10, loc=3), ["without loc", "4", "13"]),
        (stats.uniform(loc=[0, 1]), ["distribution with values", "[0. 1.]"]),
        (np.array([[1, 2], [3, 4]]), ["hashable options", "[1, 2]"]),
        ({"low": 0, "high": 1}, ["Float, Int, Choice or Fixed", "'low'"]),
        ({1, 2}, ["a list of options", "{1, 2}"]),
        ([], ["at least one option"]),
    ],
)
def test_what_cannot_be_a_parameter_is_named(declared: Any, words: list[str]) -> None:
    with pytest.raises(SpaceError) as caught:
        parameter(declared)
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.mark.parametrize("value", [3, True, None, "a", 0.5, float("nan"), (1, 2)])
def test_a_fixed_value_is_passed_on_as_it_is(value: Any) -> None:
    fixed = Fixed(value)
    assert fixed.check(fixed.decode([])) is value
    optimizer = Optimizer({"x": (0.0, 1.0), "f": fixed})
    assert optimizer.ask().params["f"] is value


@pytest.mark.parametrize("value", [np.array([3, 3]), "3", None, True, 3.5])
def test_another_value_than_the_fixed_one_is_refused(value: Any) -> None:
    with pytest.raises(SpaceError, match="fixed"):
        Fixed(3).check(value)
    assert Fixed(3).check(3.0) == Fixed(3).check(np.int64(3)) == 3
    assert Fixed(True).check(np.True_) is True
