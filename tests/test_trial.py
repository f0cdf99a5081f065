import json
import math
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bopp import Float, Optimizer, Problem, Trial
from bopp.errors import BoppError, NoResultError, TellError
from bopp.trial import Answer, Superseded, number_of

LATER = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)

NUMBERS = [
    *((3, 3.0), (3.5, 3.5), (-0.0, 0.0), (True, 1.0), (2**70, 2.0**70), (5e-324, 5e-324)),
    *((Fraction(7, 2), 3.5), (Decimal("3.5"), 3.5), (np.float64(3.5), 3.5), (np.float16(3.5), 3.5)),
    *((np.int8(-3), -3.0), (np.uint64(2**63), 2.0**63), (np.bool_(True), 1.0), (np.array(3.5), 3.5)),
]
FAILURES = [
    *(None, math.nan, math.inf, -math.inf, 10**400, -(10**400), Fraction(10**400)),
    *(Decimal("NaN"), Decimal("Infinity"), np.float64("nan"), np.float32("inf"), np.array(np.nan)),
]
NO_NUMBERS = [
    *("3.5", "", b"1", 1 + 2j, [1, 2], (1.0,), ..., math.sqrt, float, np.str_("3.5"), np.array("3.5")),
    *(np.array([1.0]), np.array([[1.0]]), np.array([1.0, 2.0]), np.array([]), np.datetime64("2020-01-01")),
    *(np.complex128(1 + 2j), np.array(1 + 2j)),
]


@pytest.mark.parametrize(("value", "number"), NUMBERS, ids=repr)
def test_numbers_of_any_type_are_values(value: Any, number: float) -> None:
    assert number_of(value) == number
    assert type(number_of(value)) is float
    opt = Optimizer({"x": Float(0, 1)})
    told = opt.tell(opt.ask(), value)
    assert (told.state, told.value, told.error) == ("done", number, None)
    assert type(told.value) is float


@pytest.mark.fault(13, 14, 15)
@pytest.mark.parametrize("value", FAILURES, ids=lambda value: repr(value)[:20])
def test_what_is_no_finite_number_is_a_failed_trial(value: Any) -> None:
    opt = Optimizer({"x": Float(0, 1)})
    told = opt.tell(opt.ask(), value)
    assert (told.state, told.values) == ("failed", {})
    with pytest.raises(NoResultError):
        _ = told.value
    assert told.error
    assert opt.trials == (told,)


@pytest.mark.fault(15)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.filterwarnings("default::numpy.exceptions.ComplexWarning")
def test_what_is_no_number_is_refused_and_the_trial_stays_open(value: Any) -> None:
    """NumPy only warns where it drops the imaginary part, which a user would not see."""
    opt = Optimizer({"x": Float(0, 1)})
    trial = opt.ask()
    with pytest.raises(TellError, match="number") as caught:
        opt.tell(trial, value)
    assert isinstance(caught.value, BoppError)
    assert repr(value)[:20] in str(caught.value)
    assert opt.trials == (trial,)
    assert opt.tell(trial, 0.5).value == 0.5


def test_a_number_that_refuses_to_be_one_says_why() -> None:
    class Angry:
        def __float__(self) -> float:
            raise ValueError("not today")

    with pytest.raises(TellError, match="not today"):
        number_of(Angry())


def test_a_trial_cannot_be_changed() -> None:
    given = {"x": 0.5}
    trial = Trial(0, given)
    for name in ("value", "params"):
        with pytest.raises(AttributeError):
            setattr(trial, name, {})
    given["x"] = trial.params["x"] = 3.0
    assert trial.params == {"x": 0.5}
    assert json.dumps(trial.params) == '{"x": 0.5}'
    assert replace(trial, state="failed").params == pickle.loads(pickle.dumps(trial)).params == trial.params


def test_equal_trials_have_the_same_hash() -> None:
    trial = Trial(0, {"x": 0.5}).told(Answer({"value": 1.0}), LATER)
    assert {trial, replace(trial, params={"x": 0.5})} == {trial}
    assert trial != replace(trial, params={"x": 0.6})


def test_an_answer_that_was_taken_back_stays_in_the_record() -> None:
    failed = Trial(3, {"x": 0.5}).told(Answer(error="KeyError: 'y'", traceback="line 1"), LATER)
    again = failed.reopened(LATER, "the bug is mended")
    assert again.state == "asked"
    assert again.error is None
    assert again.traceback is None
    assert again.superseded == (
        Superseded("failed", LATER, "the bug is mended", {}, "KeyError: 'y'", "line 1", LATER),
    )
    amended = again.told(Answer({"value": 1.0}), LATER).amended(Answer({"value": 2.0}), LATER, "mistyped")
    assert amended.value == 2.0
    assert [past.reason for past in amended.superseded] == [
        "the bug is mended",
        "mistyped",
    ]
    assert amended.superseded[1].values == {"value": 1.0}


def test_a_dropped_trial_neither_counts_nor_can_be_told() -> None:
    dropped = Trial(3, {"x": 0.5}).told(Answer({"value": 1.0}), LATER).dropped(LATER, "wrong sample")
    assert not dropped.counts
    assert dropped.values == {}
    assert dropped.superseded[0].values == {"value": 1.0}
    with pytest.raises(TellError, match="wrong sample"):
        dropped.told(Answer({"value": 1.0}), LATER)


GAPS = Problem({"x": Float(0, 1)}, {"error": "minimize", "speed": "maximize"})


def test_values_that_were_not_measured_are_told_later() -> None:
    opt = Optimizer(GAPS)
    trial = opt.ask()
    first = opt.tell(trial, {"error": None, "speed": 2, "who": "me"}, {"speed": 0.5})
    assert (first.state, first.unmeasured) == ("done", ["error"])
    whole = opt.tell(trial, {"error": 1, "speed": None, "who": "you", "host": "b"}, {"error": 0.25})
    assert list(whole.values.items()) == [("error", 1.0), ("speed", 2.0)]
    assert whole.noise == {"error": 0.25, "speed": 0.5}
    assert whole.measurements == {"who": "me", "host": "b"}
    assert (whole.told_at, whole.unmeasured) == (first.told_at, [])
    assert opt.trials == (whole,)


@pytest.mark.parametrize("more", [{}, {"seconds": 3.0}])
def test_the_same_gap_again_changes_nothing(more: Any) -> None:
    again = {"error": None, "speed": 2.0, **more}
    first = Trial(0, {}).told(GAPS.answer({"error": None, "speed": 2.0}), LATER)
    assert first.told(GAPS.answer(again), LATER) is first
    whole = first.told(GAPS.answer({"error": 1.0, "speed": 2.0}), LATER)
    assert whole.values == {"error": 1.0, "speed": 2.0}
    assert whole.told(GAPS.answer(again), LATER) is whole


@pytest.mark.parametrize(
    ("value", "noise"),
    [
        ({"error": 1.0, "speed": 3.0}, None),
        ({"error": None, "speed": 3.0}, None),
        ({"error": 1.0, "speed": 2.0}, {"speed": 0.5}),
        ({"error": None, "speed": None}, None),
        ({"error": math.nan, "speed": 2.0}, None),
        ({"error": 1.0}, None),
    ],
)
def test_a_value_that_is_there_is_neither_changed_nor_taken_away(value: Any, noise: Any) -> None:
    gap = GAPS.answer({"error": None, "speed": 2.0})
    first, failed = (Trial(0, {}).told(one, LATER) for one in (gap, Answer(error="broke")))
    with pytest.raises(TellError, match="already"):
        first.told(GAPS.answer(value, noise), LATER)
    with pytest.raises(TellError, match="'failed' already"):
        failed.told(gap, LATER)
