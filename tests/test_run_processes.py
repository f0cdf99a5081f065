import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from bopp import Trial
from bopp.called import Objective
from bopp.errors import RecipeError
from bopp.run.processes import Processes
from support.waiting import wait_until

DAY = 86400.0
SOON = 5.0  # seconds


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def square(params: dict[str, Any]) -> float:
    return float(params["x"]) ** 2


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
        case "none":
            return None
        case "essay":
            raise RuntimeError("x" * 1_000_000)
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


def ended(
    objective: Objective, *moods: object, timeout: float | None = None, start_method: str | None = None
) -> dict[int, tuple[Any, Any]]:
    """Every trial evaluated at once in processes: number to value and error."""
    rows = {}
    with Processes(objective, timeout, start_method) as evaluation:
        for number, mood in enumerate(moods):
            evaluation.submit(trial(number, mood))
        assert evaluation.running == len(moods)
        while evaluation.running:
            for done, value, error in evaluation.wait(time.monotonic() + 20.0):
                rows[done.number] = (value, None if error is None else error.error)
    return rows


def test_processes_give_each_trial_its_own_value() -> None:
    rows = ended(square, 1, 2, 3)
    assert rows == {0: (1.0, None), 1: (4.0, None), 2: (9.0, None)}


@pytest.mark.parametrize(
    "start_method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.endurance)]
)
def test_processes_are_started_in_any_way(start_method: str) -> None:
    assert ended(square, 1, start_method=start_method) == {0: (1.0, None)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_only_a_fork_that_was_asked_for_warns_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python 3.12 and later do in a process with several threads."""

    def fork() -> int:
        warnings.warn("This process (pid=1) is multi-threaded, use of fork()", DeprecationWarning, 2)
        return usual()

    usual = os.fork
    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr("bopp.run.supervisor._evaluated", answer_at_once)
    if sys.platform == "linux":
        assert ended(square, 1) == {0: (1.0, None)}
    with pytest.warns(DeprecationWarning, match="multi-threaded"):
        ended(square, 1, start_method="fork")


def answer_at_once(*_: object) -> bytes:
    return pickle.dumps((1.0, None))


@pytest.mark.endurance
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
    assert rows[moods.index("text")] == ("3.5", None)
    assert errors["essay"].endswith("x" * 1000)
    assert rows[moods.index("fine")] == (1.0, None)
    assert rows[moods.index("none")] == (None, "the objective returned None")
    failed = [number for number, mood in enumerate(moods) if mood not in ("fine", "text")]
    assert all(rows[number][0] is None for number in failed)


def test_a_killed_process_ends_its_trial_though_a_child_of_its_lives_on() -> None:
    began = time.monotonic()
    rows = ended(moody, "orphan", "fine", timeout=30.0)
    assert time.monotonic() - began < 10.0
    assert "-9" in rows[0][1]
    assert rows[1] == (1.0, None)


@pytest.mark.parametrize("start_method", ["spawn", "forkserver"])
def test_an_objective_that_cannot_be_sent_is_refused(start_method: str) -> None:
    with (
        Processes(lambda params: 1.0, None, start_method) as evaluation,
        pytest.raises(RecipeError, match="cannot be sent"),
    ):
        evaluation.submit(Trial(0, {"x": 1}))


@pytest.mark.endurance
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


KILLED = """
import os, subprocess, sys, time
import bopp

def sleep(params):
    subprocess.Popen(["sleep", "86400"])
    open(str(os.getpid()), "w").close()
    time.sleep(86400)

if __name__ == "__main__":
    method = sys.argv[1] if len(sys.argv) > 1 else None
    bopp.minimize(sleep, {"x": (0.0, 1.0)}, 4, workers=2, start_method=method, progress=False)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="starts a program that Windows lacks")
@pytest.mark.parametrize(
    "start_method",
    [
        (),
        pytest.param(("spawn",), marks=pytest.mark.endurance),
        pytest.param(("forkserver",), marks=pytest.mark.endurance),
    ],
)
def test_evaluations_end_with_a_parent_that_was_killed(start_method: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED)
    parent = subprocess.Popen([sys.executable, "killed.py", *start_method], cwd=tmp_path)
    try:
        wait_until(lambda: len(list(tmp_path.glob("[0-9]*"))) == 2)
        below = psutil.Process(parent.pid).children(recursive=True)
        below += [
            child
            for path in tmp_path.glob("[0-9]*")
            for child in (*psutil.Process(int(path.name)).parents()[:1], *_below(int(path.name)))
        ]
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not any(map(alive, below)), SOON)


def _below(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def unpicklable_name(params: dict[str, Any]) -> dict[Any, float]:
    return {lambda: 0: 1.0}


@pytest.mark.filterwarnings("ignore")
def test_a_dict_that_cannot_be_sent_ends_its_own_trial() -> None:
    (value, error) = ended(unpicklable_name, 3)[0]
    assert value is None
    assert "no value" in error
