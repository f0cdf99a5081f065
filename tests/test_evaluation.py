import asyncio
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bopp import Trial
from bopp.errors import RecipeError
from bopp.evaluation import Here, Objective, Processes, evaluate, evaluator

DAY = 86400.0


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


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
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(3)
        case "hang":
            time.sleep(DAY)
        case "text":
            return "3.5"
        case "nan":
            return math.nan
        case "none":
            return None
        case "huge":
            return 10**400
        case "essay":
            raise RuntimeError("x" * 1_000_000)
        case "mute":
            raise Mute
        case "cancel":
            raise asyncio.CancelledError
        case "orphan":
            if os.fork() == 0:
                time.sleep(DAY)
            os.kill(os.getpid(), signal.SIGKILL)
    return 1.0


def nap(params: dict[str, Any]) -> float:
    time.sleep(1.0)
    return 1.0


def wait_for(path: Path, params: dict[str, Any]) -> float:
    while not path.exists():
        time.sleep(0.01)
    return 1.0


def hang(directory: Path, params: dict[str, Any]) -> float:
    (directory / str(os.getpid())).touch()
    time.sleep(DAY)
    return 0.0


def trial(number: int, x: object) -> Trial:
    return Trial(number, {"x": x})


def ended(objective: Objective, *moods: object, timeout: float | None = None) -> dict[int, tuple[float, Any]]:
    """Every trial evaluated at once in processes: number to value and error."""
    rows = {}
    with Processes(objective, timeout) as evaluation:
        for number, mood in enumerate(moods):
            evaluation.submit(trial(number, mood))
        assert evaluation.running == len(moods)
        while evaluation.running:
            for done, value, error in evaluation.wait(time.monotonic() + 20.0):
                rows[done.number] = (value, error)
    return rows


def test_evaluate_gives_the_number() -> None:
    assert evaluate(square, {"x": 3}) == (9.0, None)
    assert evaluate(lambda params: np.float32(0.5), {}) == (0.5, None)
    assert evaluate(lambda params: -math.inf, {}) == (-math.inf, None)


@pytest.mark.parametrize(
    ("mood", "words"),
    [("raise", ["RuntimeError", "out of order"]), ("text", ["objective", "number", "'3.5'"])],
)
def test_evaluate_says_what_went_wrong(mood: str, words: list[str]) -> None:
    value, error = evaluate(moody, {"x": mood})
    assert math.isnan(value)
    assert error is not None
    assert [word for word in words if word not in error] == []


@pytest.mark.parametrize("mood", ["none", "nan", "huge"])
def test_evaluate_passes_on_what_is_no_finite_number(mood: str) -> None:
    value, error = evaluate(moody, {"x": mood})
    assert not math.isfinite(value)
    assert error is None


def test_the_objective_cannot_change_the_params_of_the_trial() -> None:
    params = {"x": 1.0}
    assert evaluate(lambda own: own.pop("x"), params) == (1.0, None)
    assert params == {"x": 1.0}


def test_here_evaluates_what_was_submitted_in_order() -> None:
    with Here(moody) as evaluation:
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


def test_processes_give_each_trial_its_own_value() -> None:
    rows = ended(square, 1, 2, 3)
    assert rows == {0: (1.0, None), 1: (4.0, None), 2: (9.0, None)}


def test_whatever_an_evaluation_does_ends_its_own_trial_and_no_other() -> None:
    moods = ("raise", "kill", "exit", "hang", "text", "none", "essay", "fine")
    began = time.monotonic()
    rows = ended(moody, *moods, timeout=2.0)
    assert 2.0 <= time.monotonic() - began < 6.0
    assert rows.keys() == set(range(len(moods)))
    errors = {mood: rows[number][1] for number, mood in enumerate(moods)}
    assert errors["raise"] == "RuntimeError: out of order"
    assert "-9" in errors["kill"]
    assert "SystemExit: 3" in errors["exit"]
    assert "2.0 seconds" in errors["hang"]
    assert "'3.5'" in errors["text"]
    assert errors["essay"].endswith("x" * 1000)
    assert rows[moods.index("fine")] == (1.0, None)
    assert errors["none"] is None
    failed = [number for number, mood in enumerate(moods) if mood != "fine"]
    assert all(math.isnan(rows[number][0]) for number in failed)


def test_a_killed_process_ends_its_trial_though_a_child_of_its_lives_on() -> None:
    began = time.monotonic()
    rows = ended(moody, "orphan", "fine", timeout=30.0)
    assert time.monotonic() - began < 10.0
    assert "-9" in rows[0][1]
    assert rows[1] == (1.0, None)


@pytest.mark.parametrize(
    ("mood", "word"), [("mute", "Mute"), ("cancel", "CancelledError"), ("exit", "SystemExit")]
)
def test_odd_exceptions_are_failures_too(mood: str, word: str) -> None:
    value, error = evaluate(moody, {"x": mood})
    assert math.isnan(value)
    assert word in (error or "")


def test_an_objective_that_cannot_be_sent_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bopp.evaluation.multiprocessing", multiprocessing.get_context("spawn"))
    with (
        evaluator(lambda params: 1.0, 2, None) as evaluation,
        pytest.raises(RecipeError, match="cannot be sent to a process"),
    ):
        evaluation.submit(Trial(0, {"x": 1}))


def test_processes_evaluate_at_the_same_time() -> None:
    began = time.monotonic()
    ended(nap, 0, 1, 2)
    assert time.monotonic() - began < 2.5


def test_a_deadline_ends_the_waiting_but_not_the_evaluation(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with Processes(partial(wait_for, go), None) as evaluation:
        evaluation.submit(trial(0, 0))
        assert evaluation.wait(time.monotonic() + 0.05) == []
        assert evaluation.running == 1
        go.touch()
        assert [row[1:] for row in evaluation.wait(time.monotonic() + 20.0)] == [(1.0, None)]


def test_leaving_ends_every_process(tmp_path: Path) -> None:
    with Processes(partial(hang, tmp_path), None) as evaluation:
        for number in range(2):
            evaluation.submit(trial(number, 0))
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
    for path in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)


def test_waiting_for_nothing_gives_nothing() -> None:
    with Processes(square, None) as evaluation:
        assert evaluation.wait(time.monotonic() + 0.01) == []


def test_processes_are_taken_for_several_workers_or_a_time_out() -> None:
    assert isinstance(evaluator(square, 1, None), Here)
    assert isinstance(evaluator(square, 2, None), Processes)
    assert isinstance(evaluator(square, 1, 5.0), Processes)


@pytest.mark.parametrize(
    ("objective", "workers", "timeout", "words"),
    [
        (3, 1, None, ["objective", "function", "3"]),
        (None, 1, None, ["objective", "None"]),
        (square, 0, None, ["workers", ">= 1", "0"]),
        (square, -2, None, ["workers", "-2"]),
        (square, 1.5, None, ["workers", "integer", "1.5"]),
        (square, "2", None, ["workers", "'2'"]),
        (square, 1, 0, ["trial_timeout", "0"]),
        (square, 1, -1.0, ["trial_timeout", "-1.0"]),
        (square, 1, math.nan, ["trial_timeout", "nan"]),
        (square, 1, "5", ["trial_timeout", "'5'"]),
    ],
)
def test_bad_arguments_are_named(objective: Any, workers: Any, timeout: Any, words: list[str]) -> None:
    with pytest.raises(RecipeError) as caught:
        evaluator(objective, workers, timeout)
    assert [word for word in words if word not in str(caught.value)] == []


KILLED = """
import os, sys, time
import bopp

def sleep(params):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    time.sleep(60)

bopp.minimize(sleep, {"x": bopp.Float(0, 1)}, budget=4, workers=2, progress=False)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_evaluations_end_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    try:
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    finally:
        parent.kill()
        parent.wait()
    pids = [int(path.name) for path in tmp_path.iterdir()]
    wait_until(lambda: not any(map(alive, pids)))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
