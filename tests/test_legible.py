from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from bopp import AtMost, Choice, Fixed, Float, Int, Optimizer, Problem, Space
from bopp.errors import BoppError
from bopp.legible import brief

HUGE = 10**5000  # Python refuses to write it as text, and no float is as large
SPACE = {"f": Float(0, 1), "i": Int(0, 9), "c": Choice(["a", "b", "c"]), "fixed": Fixed(3)}
PARAMS = {"f": 0.5, "i": 5, "c": "a"}
LONG = "9" * 5000
VALUES = [HUGE, -HUGE, Fraction(HUGE, 3), Decimal("1e5000"), (HUGE,), [HUGE], LONG, np.longdouble("inf")]


def test_anything_can_be_named_in_a_message() -> None:
    assert brief(0.1) == "0.1"
    assert brief(HUGE) == "a value of type int of 16610 bits"
    assert brief((HUGE,)) == "a value of type tuple"
    assert len(brief(LONG)) == 200


@pytest.mark.parametrize(
    "declared",
    [
        *(lambda: Float(0, HUGE), lambda: Float(-HUGE, 0), lambda: Float(0, 1, step=HUGE)),
        *(lambda: Float(HUGE, HUGE + 1, log=True), lambda: Float(0, 1, when={"y": HUGE})),
        *(lambda high=high: Float(0, high) for high in VALUES[2:4]),
        *(lambda: Int(0, HUGE), lambda: Int(HUGE, 0), lambda: Int(0, 9, step=-HUGE), lambda: Fixed(HUGE)),
        *(lambda: Int(-HUGE, 9, log=True), lambda: Choice([HUGE, HUGE]), lambda: Choice([(HUGE,), 1])),
        *(lambda wrong=wrong: Choice(wrong) for wrong in ([HUGE], HUGE, [[HUGE]])),
        *(lambda one=one: one for one in ((0, HUGE), (0.0, HUGE), (0, HUGE, 3), [1, HUGE], HUGE)),
    ],
)
def test_a_parameter_of_any_size_is_taken_or_refused_in_one_line(declared: Callable[[], Any]) -> None:
    refused(lambda: Space({"x": declared(), "y": Choice([1, 2, 3])}))


@pytest.mark.parametrize("value", VALUES, ids=brief)
def test_params_noises_and_bounds_of_any_size_are_refused_in_one_line(value: Any) -> None:
    optimizer = Optimizer(SPACE)
    for name in SPACE:
        refused(partial(optimizer.observe, {**PARAMS, name: value}, 1.0))
        refused(partial(optimizer.enqueue, {name: value}))
    refused(lambda: optimizer.observe(PARAMS, 1.0, noise=value))
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
