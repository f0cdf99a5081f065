from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bopp import AtMost, Choice, Fixed, Float, Int, Optimizer, Problem, Space
from bopp.errors import BoppError
from bopp.legible import brief

HUGE = 10**5000  # Python refuses to write it as text, and no float is as large
SPACE = {"f": Float(0, 1), "i": Int(0, 9), "c": Choice(["a", "b", "c"]), "fixed": Fixed(3)}
PARAMS = {"f": 0.5, "i": 5, "c": "a"}
VALUES = [
    HUGE,
    -HUGE,
    Fraction(HUGE, 3),
    Decimal("1e5000"),
    (HUGE,),
    [HUGE],
    "9" * 5000,
    np.longdouble("inf"),
]


def test_anything_can_be_named_in_a_message() -> None:
    assert brief(0.1) == "0.1"
    assert brief(HUGE) == "a value of type int of 16610 bits"
    assert brief((HUGE,)) == "a value of type tuple"
    assert len(brief("9" * 5000)) == 200


@pytest.mark.parametrize(
    "declared",
    [
        Float(0, HUGE),
        Float(-HUGE, 0),
        Float(0, 1, step=HUGE),
        Float(HUGE, HUGE + 1, log=True),
        Float(0, Decimal("1e5000")),  # type: ignore[arg-type]
        Float(0, Fraction(HUGE, 3)),  # type: ignore[arg-type]
        Int(0, HUGE),
        Int(HUGE, 0),
        Int(0, 9, step=-HUGE),
        Int(-HUGE, 9, log=True),
        Choice([HUGE]),
        Choice([HUGE, HUGE]),
        Choice([(HUGE,), 1]),
        Choice(HUGE),  # type: ignore[arg-type]
        Choice([[HUGE]]),  # type: ignore[list-item]
        Fixed(HUGE),
        (0, HUGE),
        (0.0, HUGE),
        (0, HUGE, 3),
        [1, HUGE],
        HUGE,
        Float(0, 1, when={"y": HUGE}),
    ],
    ids=brief,
)
def test_a_parameter_of_any_size_is_taken_or_refused_in_one_line(declared: Any) -> None:
    refused(lambda: Space({"x": declared, "y": Choice([1, 2, 3])}))


@pytest.mark.parametrize("value", VALUES, ids=brief)
@pytest.mark.parametrize("name", list(SPACE))
def test_params_of_any_size_are_refused_in_one_line(name: str, value: Any) -> None:
    refused(lambda: Optimizer(SPACE).observe({**PARAMS, name: value}, 1.0))
    refused(lambda: Optimizer(SPACE).enqueue({name: value}))


@pytest.mark.parametrize("value", VALUES, ids=brief)
def test_noises_and_bounds_of_any_size_are_refused_in_one_line(value: Any) -> None:
    refused(lambda: Optimizer(SPACE).observe(PARAMS, 1.0, noise=value))
    refused(lambda: Problem(SPACE, constraints=[AtMost("memory", value)]))


def test_a_value_of_any_size_fails_its_trial_or_is_refused() -> None:
    for value in VALUES[:4]:
        assert Optimizer(SPACE).observe(PARAMS, value).state == "failed"
    refused(lambda: Optimizer(SPACE).observe(PARAMS, (HUGE,)))
    refused(lambda: Optimizer(SPACE).observe(PARAMS, [HUGE]))
    kept = Optimizer(SPACE).observe(PARAMS, {"value": 1.0, "more": HUGE})
    assert kept.state == "done"


def refused(call: Callable[[], Any]) -> None:
    with pytest.raises(BoppError) as caught:
        call()
    assert len(str(caught.value)) < 700
    assert "\n" not in str(caught.value)
