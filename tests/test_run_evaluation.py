import asyncio
import math
import re
import sys
from typing import Any

import numpy as np
import pytest

from bopp import Float, Optimizer, Trial
from bopp.called import called
from bopp.run.evaluation import Failure, InThisProcess, evaluate


def square(params: dict[str, Any]) -> float:
    return float(params["x"]) ** 2


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def moody(params: dict[str, Any]) -> Any:
    """Does what `x` says."""
    match params["x"]:
        case "raise":
            raise RuntimeError("out of order")
        case "exit":
            sys.exit(3)
        case "text":
            return "3.5"
        case "nan":
            return math.nan
        case "none":
            return None
        case "huge":
            return 10**400
        case "mute":
            raise Mute
        case "cancel":
            raise asyncio.CancelledError
        case "close":
            raise GeneratorExit
        case "base":
            raise BaseException("from below")
    return 1.0


def trial(number: int, x: object) -> Trial:
    return Trial(number, {"x": x})


def test_evaluate_gives_the_number() -> None:
    assert evaluate(square, {"x": 3}) == (9.0, None)
    assert evaluate(lambda params: np.float32(0.5), {}) == (0.5, None)
    assert evaluate(lambda params: -math.inf, {}) == (-math.inf, None)


def test_a_traceback_begins_in_the_objective() -> None:
    value, failure = evaluate(moody, {"x": "raise"})
    assert value is None
    assert failure is not None
    first, place, *_, last = (failure.traceback or "").splitlines()
    assert first == "Traceback (most recent call last):"
    assert re.fullmatch(rf'  File "{re.escape(__file__)}", line \d+, in moody', place)
    assert failure.error == last == "RuntimeError: out of order"


def deep(count: int) -> float:
    return deep(count - 1) if count else 1 / 0


def test_a_long_traceback_keeps_its_end() -> None:
    def caused(params: dict[str, Any]) -> float:
        try:
            return deep(400)
        except ZeroDivisionError as error:
            raise ValueError("because " + "x" * 9000) from error

    _, failure = evaluate(caused, {})
    assert failure is not None
    assert failure.traceback is not None
    assert failure.traceback.startswith("...")
    assert failure.traceback.endswith("x\n")
    assert len(failure.traceback) < 9000


def test_none_is_said_to_be_none() -> None:
    assert evaluate(moody, {"x": "none"}) == (None, Failure("the objective returned None"))


@pytest.mark.parametrize(("mood", "passed_on"), [("nan", "nan"), ("huge", "inf"), ("text", "3.5")])
def test_evaluate_passes_on_what_is_no_finite_number(mood: str, passed_on: Any) -> None:
    """Whether that is a value is for the problem to say."""
    value, error = evaluate(moody, {"x": mood})
    assert str(value) == passed_on
    assert error is None


def test_the_objective_cannot_change_the_params_of_the_trial() -> None:
    params = {"x": 1.0}
    assert evaluate(lambda own: own.pop("x"), params) == (1.0, None)
    assert params == {"x": 1.0}


def test_here_evaluates_what_was_submitted_in_order() -> None:
    with InThisProcess(moody) as evaluation:
        for number, mood in enumerate(("raise", 1)):
            evaluation.submit(trial(number, mood))
        assert evaluation.running == 2
        rows = evaluation.wait(math.inf)
        assert evaluation.running == 0
        assert evaluation.wait(math.inf) == []
    assert [done.number for done, _, _ in rows] == [0, 1]
    assert rows[1][1:] == (1.0, None)


def test_ctrl_c_in_the_objective_is_not_swallowed() -> None:
    def interrupt(params: dict[str, Any]) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(interrupt, {})


@pytest.mark.parametrize(
    ("mood", "word"),
    [
        ("mute", "Mute"),
        ("cancel", "CancelledError"),
        ("exit", "SystemExit"),
        ("close", "GeneratorExit"),
        ("base", "BaseException: from below"),
    ],
)
def test_odd_exceptions_are_failures_too(mood: str, word: str) -> None:
    value, failure = evaluate(moody, {"x": mood})
    assert value is None
    assert failure is not None
    assert word in failure.error


async def gives_up(params: dict[str, Any]) -> float:
    raise GeneratorExit


def test_a_coroutine_may_give_up_too() -> None:
    optimizer = Optimizer({"x": Float(0, 1)})
    _, failure = evaluate(called(gives_up, optimizer.problem.space), {"x": 0.5})
    assert failure is not None
    assert "GeneratorExit" in failure.error


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_what_a_dict_holds_can_be_sent_anywhere() -> None:
    """Numbers and texts as they are; anything else, which another process may not know, as its text."""
    plain = {"flag": True, "none": None, "whole": 2**70, "word": "fine", "endless": math.inf}
    others: dict[str, tuple[Any, Any]] = {
        "value": (np.float32(0.5), 0.5),
        "count": (np.int64(3), 3.0),
        "array": (np.array(2.5), 2.5),
        "list": ([1, 2], "[1, 2]"),
        "odd": (Odd(), "Odd"),
        "rows": (np.array([1.0, 2.0]), "array([1., 2.])"),
    }
    returned = plain | {name: thing for name, (thing, _) in others.items()} | {"nan": np.float64("nan")}
    given, error = evaluate(lambda params: returned, {})
    returned["value"] = 2.0  # what an objective keeps is not what it gave
    assert error is None
    assert math.isnan(given.pop("nan"))
    assert given == plain | {name: text for name, (_, text) in others.items()}
    assert {type(value) for value in given.values()} == {float, bool, type(None), str}
