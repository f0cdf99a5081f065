import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest

from bopp import Float, Recipe, Result, Trial, maximize, minimize
from bopp.errors import RecipeError
from bopp.run.futures import Futures

SPACE = {"x": Float(0, 1)}


def square(params: dict[str, Any]) -> float:
    return float(params["x"]) ** 2


def moody(params: dict[str, Any]) -> Any:
    """Does what `x` says."""
    match params["x"]:
        case "raise":
            raise RuntimeError("out of order")
        case "dict":
            return {"value": 1.5, "more": [1, 2]}
    return 1.0


def ended(evaluation: Futures) -> dict[int, tuple[Any, str | None]]:
    rows = {}
    deadline = time.monotonic() + 30.0
    while evaluation.running and time.monotonic() < deadline:
        for done, value, error in evaluation.wait(deadline):
            rows[done.number] = (value, None if error is None else error.error)
    return rows


def test_threads_give_each_trial_what_was_returned() -> None:
    with ThreadPoolExecutor(2) as threads, Futures(moody, threads) as evaluation:
        for number, mood in enumerate(("raise", "dict", "fine")):
            evaluation.submit(Trial(number, {"x": mood}))
        assert evaluation.running == 3
        rows = ended(evaluation)
    assert rows == {
        0: (None, "RuntimeError: out of order"),
        1: ({"value": 1.5, "more": "[1, 2]"}, None),
        2: (1.0, None),
    }


def test_what_the_executor_cannot_send_is_a_failed_trial() -> None:
    with ProcessPoolExecutor(1) as processes, Futures(lambda params: 1.0, processes) as evaluation:
        evaluation.submit(Trial(0, {"x": 1.0}))
        value, error = ended(evaluation)[0]
    assert value is None
    assert error


@pytest.mark.parametrize("run", [minimize, maximize])
def test_an_executor_evaluates_so_many_at_once(run: Callable[..., Result]) -> None:
    both = threading.Barrier(2)

    def together(params: dict[str, Any]) -> float:
        both.wait(30.0)  # or it fails
        return square(params)

    with ThreadPoolExecutor(2) as threads:
        result = run(together, SPACE, 4, executor=threads, workers=2, progress=False, recipe=Recipe.random())
        assert [trial.state for trial in result.trials] == ["done"] * 4
        result = run(square, SPACE, 2, executor=threads, progress=False, recipe=Recipe.random())
        assert [trial.state for trial in result.trials] == ["done"] * 2
        with pytest.raises(RecipeError, match="start_method"):
            run(square, SPACE, executor=threads, start_method="spawn", progress=False)
    for executor in (3, "threads", ThreadPoolExecutor):
        with pytest.raises(RecipeError, match="executor"):
            run(square, SPACE, executor=executor, progress=False)


def test_a_deadline_ends_the_waiting() -> None:
    go = threading.Event()
    with (
        ThreadPoolExecutor(1) as threads,
        Futures(lambda params: float(go.wait(30.0)), threads) as evaluation,
    ):
        evaluation.submit(Trial(0, {"x": 1.0}))
        assert evaluation.wait(time.monotonic() + 0.05) == []
        assert evaluation.running == 1
        go.set()
        assert ended(evaluation) == {0: (1.0, None)}


def test_leaving_cancels_what_has_not_begun() -> None:
    go, seen = threading.Event(), []

    def wait(params: dict[str, Any]) -> float:
        seen.append(params["x"])
        return float(go.wait(30.0))

    with ThreadPoolExecutor(1) as threads:
        with Futures(wait, threads) as evaluation:
            for number in range(3):
                evaluation.submit(Trial(number, {"x": number}))
            while not seen:
                time.sleep(0.01)
        go.set()
    assert seen == [0]


class Closing(Executor):
    """An executor that takes nothing any more."""

    def submit(self, *_: Any, **__: Any) -> Any:
        future: Future[Any] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_a_trial_that_was_cancelled_elsewhere_ends_the_run_in_words() -> None:
    with Futures(square, Closing()) as evaluation:
        evaluation.submit(Trial(1, {"x": 1.0}))
        with pytest.raises(RecipeError, match="cancelled"):
            evaluation.wait(time.monotonic() + 5.0)
