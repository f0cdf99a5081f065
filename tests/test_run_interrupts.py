"""Ctrl-C and requests to terminate: never lost, whatever the moment."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import scipy.stats  # noqa: F401  so that no signal comes in the middle of importing it

import bopp
from bopp import Float, Params, Recipe
from bopp.run import interrupts
from bopp.run.interrupts import heeded, uninterrupted
from bopp.run.processes import Processes
from support.faults import Figure

SPACE = {"x": Float(0, 1)}
STORM = (signal.SIGINT, signal.SIGTERM)

in_fork = {"signal": False}  # what the hook below does


def _interrupt_once() -> None:
    if in_fork["signal"]:
        in_fork["signal"] = False
        signal.raise_signal(signal.SIGINT)


os.register_at_fork(after_in_parent=_interrupt_once)  # where Python drops every exception


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    yield
    in_fork["signal"] = False
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


class Dropping:
    """An object in whose finalizer a Ctrl-C arrives, where Python drops it."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(("times", "wanted"), [(1, ["first", "all of it"]), (2, ["first"])])
def test_an_interrupt_is_put_off_until_the_block_ends_and_a_second_is_not(
    times: int, wanted: list[str]
) -> None:
    done = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("first")
            for _ in range(times - 1):
                signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == wanted


def test_handlers_that_do_not_raise_are_called_once() -> None:
    calls: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    try:
        with heeded() as check, uninterrupted():
            signal.raise_signal(signal.SIGINT)
            assert calls == []
        check()
        assert calls == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_was_set_in_the_block_stays() -> None:
    def mine(*_: Any) -> None: ...

    before = signal.getsignal(signal.SIGINT)
    try:
        with heeded():
            signal.signal(signal.SIGINT, mine)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_handler_of_the_users_own_raises_ends_the_run(workers: int) -> None:
    def leave(*_: Any) -> None:
        sys.exit(7)

    before = signal.signal(signal.SIGTERM, leave)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    try:
        with pytest.raises(SystemExit) as ended:
            bopp.minimize(_slowly, SPACE, 10**6, workers=workers, progress=False, recipe=Recipe.random())
        assert ended.value.code == 7
    finally:
        signal.signal(signal.SIGTERM, before)


def _slowly(params: Params) -> float:
    time.sleep(0.05)
    return float(params["x"])


def test_a_handler_that_calls_the_one_before_it_is_called_once(tmp_path: Path) -> None:
    """Set by the objective in mid-run, when that one is a stand-in."""
    calls: list[int] = []

    def objective(params: Params) -> float:
        if not calls:
            calls.append(0)
            old: Any = signal.getsignal(signal.SIGINT)

            def count(number: int, frame: FrameType | None) -> None:
                calls.append(number)
                old(number, frame)

            signal.signal(signal.SIGINT, count)
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        return _slowly(params)

    before = signal.getsignal(signal.SIGINT)
    try:
        with bopp.open_study(f"sqlite:///{tmp_path}/a.db", "s", SPACE, recipe=Recipe.random()) as study:
            study.optimize(objective, 1000, progress=False)
            assert len(study.trials) < 1000
        assert calls == [0, signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


IMPATIENT = """
import sys, time
import bopp

def slow(params):
    time.sleep(600)

print("begins", flush=True)
bopp.minimize(slow, {"x": bopp.Float(0, 1)}, 50, workers=4, progress=False, recipe=bopp.Recipe.random())
print("ends", flush=True)
"""


@pytest.mark.endurance
@pytest.mark.fault(29)
@pytest.mark.parametrize("times", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_two_interrupts_end_a_run_and_all_that_it_started(times: int) -> None:
    """The second may come while the first is obeyed, or after that."""
    rng = random.Random(times)
    for _ in range(times):
        words = [sys.executable, "-c", IMPATIENT]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
            assert run.stdout
            run.stdout.readline()
            time.sleep(rng.uniform(0.3, 0.8))
            for pause in (0.0, rng.choice([0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02])):
                time.sleep(pause)
                run.send_signal(signal.SIGINT)
            try:
                run.communicate(timeout=30.0)  # its evaluations have the pipe too
            finally:
                run.kill()


def test_an_interrupt_as_a_run_ends_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Processes, *_: object) -> None:
        leave(self)
        raise KeyboardInterrupt

    leave = Processes.__exit__
    monkeypatch.setattr(Processes, "__exit__", interrupted)
    result = bopp.minimize(_slowly, SPACE, 3, workers=2, progress=False, recipe=Recipe.random())
    assert [trial.state for trial in result.trials] == ["done"] * 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_python_dropped_is_raised_again() -> None:
    went_on = []

    def work() -> None:
        with heeded() as check:
            Dropping()
            went_on.append(True)
            check()
            went_on.append(False)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert went_on == [True]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_was_dropped_last_is_raised_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), heeded():
        Dropping()


def test_an_error_made_of_an_interrupt_is_one() -> None:
    def work() -> None:
        with heeded():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise RuntimeError("cannot be imported") from None

    with pytest.raises(KeyboardInterrupt):
        work()


@pytest.mark.endurance
def test_a_storm_of_signals_leaves_the_usual_handlers() -> None:
    cut = whole = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        if frame and frame.f_code.co_filename in (interrupts.__file__, contextlib.__file__):
            raise KeyboardInterrupt

    def storm() -> None:
        rng = random.Random(0)
        while cut < 50:
            time.sleep(rng.uniform(0.0, 0.0005))
            os.kill(os.getpid(), rng.choice(STORM))

    usual = [signal.signal(number, interrupt) for number in STORM]
    thread = threading.Thread(target=storm)
    thread.start()
    while thread.is_alive():
        try:
            with heeded(), uninterrupted():
                whole += 1
        except KeyboardInterrupt:
            cut += 1
    gc.collect()  # a block that was cut short before it could end itself ends when it is collected
    assert [signal.getsignal(number) for number in STORM] == [interrupt, interrupt]
    assert whole > cut
    for number, handler in zip(STORM, usual, strict=True):
        signal.signal(number, handler)


@pytest.mark.fault(29)
@pytest.mark.filterwarnings("ignore")
def test_an_interrupt_during_a_fork_ends_the_run() -> None:
    in_fork["signal"] = True
    result = bopp.minimize(
        lambda params: params["x"], SPACE, budget=50, workers=2, progress=False, recipe=Recipe.random()
    )
    assert len(result.trials) < 5


@pytest.mark.filterwarnings("ignore")
def test_an_interrupt_dropped_while_it_evaluates_ends_the_run() -> None:
    def drop(params: Params) -> float:
        if not made:
            made.append(Dropping())
            made.clear()
            made.append(None)
        return float(params["x"])

    made: list[Any] = []
    result = bopp.minimize(drop, SPACE, budget=50, progress=False, recipe=Recipe.random())
    assert [trial.state for trial in result.trials] == ["done"]


LOOP = """
import os, sys, time
import bopp

def slow(params):
    time.sleep(0.05)
    return params["x"]

space = {"x": bopp.Float(0, 1)}
pid = 0
while True:
    seconds = sys.stdin.readline()
    if not seconds:
        break
    pid = os.fork()
    if pid == 0:
        print(os.getpid(), flush=True)
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        result = bopp.minimize(
            slow, space, budget=10**6, workers=2, progress=False, recipe=bopp.Recipe.random()
        )
        os._exit(0 if result.trials else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print("ended", code, flush=True)
"""


@pytest.mark.endurance
@pytest.mark.fault(29)
@pytest.mark.parametrize("times", [5, pytest.param(500, marks=pytest.mark.slow)])
def test_a_run_is_interrupted_at_any_moment(times: int, figure: Figure) -> None:
    rng = random.Random(times)
    parent = subprocess.Popen(
        [sys.executable, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdin
    assert parent.stdout
    with parent:
        for _ in range(times):
            parent.stdin.write("go\n")
            parent.stdin.flush()
            pid = int(parent.stdout.readline())
            time.sleep(rng.uniform(0.1, 0.5))
            ended = _ended_after(signal.SIGINT, pid, parent)
            assert ended.startswith("ended"), "the run went on"
        parent.stdin.close()
    figure(f"{times} of {times} interrupts of minimize ended it")


def _ended_after(number: int, pid: int, parent: subprocess.Popen[str]) -> str:
    """What the parent says once its child has ended; the child is killed if it does not end."""
    assert parent.stdout
    killer = threading.Timer(20.0, os.kill, (pid, signal.SIGKILL))
    killer.start()
    os.kill(pid, number)
    said = parent.stdout.readline()
    killer.cancel()
    return "killed" if said == "ended -9\n" else said


STUDY = """
[study]
name = "s"
store = "sqlite:///{folder}/s.db"
budget = 1000000
recipe = "random"
workers = 2
[objective]
command = "sleep 0.05$BOPP_PARAM_x"
shell = true
[space]
x = {{ type = "int", low = 1, high = 9 }}
"""


@pytest.mark.fault(29)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
@pytest.mark.parametrize("times", [pytest.param(250, marks=pytest.mark.slow)])
def test_a_run_on_the_command_line_is_interrupted_at_any_moment(
    tmp_path: Path, number: int, times: int, figure: Figure
) -> None:
    rng = random.Random(times)
    (tmp_path / "study.toml").write_text(STUDY.format(folder=tmp_path))
    for _ in range(times):
        (tmp_path / "s.db").unlink(missing_ok=True)
        words = [sys.executable, "-m", "bopp", "run", "--failures", "continue", "study.toml"]
        run = subprocess.Popen(
            words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert run.stderr
        with run:
            run.stderr.readline()  # the first trial has ended
            time.sleep(rng.uniform(0.0, 0.4))
            run.send_signal(number)
            try:
                _, said = run.communicate(timeout=20.0)
            finally:
                run.kill()
        assert run.returncode == 130
        assert "To go on: bopp run" in said
    figure(f"{times} of {times} by {signal.Signals(number).name} ended bopp run, with 130")


@pytest.mark.endurance
def test_whoever_is_impatient_sees_the_same_exit_code(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.format(folder=tmp_path))
    words = [sys.executable, "-m", "bopp", "run", "--failures", "continue", "study.toml"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr
        run.stderr.readline()
        while run.poll() is None:
            run.send_signal(signal.SIGTERM)
            time.sleep(0.2)
    assert run.returncode == 130
