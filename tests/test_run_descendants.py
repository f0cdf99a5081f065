"""What evaluations start ends with them, and with bopp, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bopp
from bopp import Float, Recipe
from bopp.run.processes import Processes
from bopp.trial import Trial
from support.faults import Figure
from support.waiting import LONG, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux finds every descendant")

SOON = 2.0  # seconds in which all must have ended
DAY = "86400"

STARTS = {
    "a pipe": f"sleep {DAY} | sleep {DAY}",
    "in the background": f"sleep {DAY} & sleep {DAY}",
    "in another session": f"setsid sleep {DAY} & sleep {DAY}",
    "a daemon": f"(setsid sh -c 'sleep {DAY} & sleep {DAY}' &) ; sleep {DAY}",
}
"""Commands of which each starts two processes that sleep, at least."""


def sleepers(folder: Path) -> list[int]:
    """The processes at work in a folder that sleep."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            here = process.name.isdecimal() and os.readlink(process / "cwd") == str(folder)
            if here and (process / "cmdline").read_bytes().split(b"\0")[0].endswith(b"sleep"):
                found.append(int(process.name))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    left = sleepers(tmp_path)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def start(command: str, folder: Path, params: dict[str, Any]) -> float:
    subprocess.run(["/bin/sh", "-c", command], cwd=folder, check=False)
    return 1.0


def leave(command: str, folder: Path, params: dict[str, Any]) -> float:
    """Start something and do not wait for it."""
    subprocess.Popen(["/bin/sh", "-c", command], cwd=folder)
    wait_until(lambda: len(sleepers(folder)) >= 2)
    return 1.0


def crash(command: str, folder: Path, params: dict[str, Any]) -> float:
    leave(command, folder, params)
    os.kill(os.getpid(), signal.SIGKILL)
    return 1.0


@pytest.mark.endurance
def test_a_time_out_ends_all_that_was_started(folder: Path) -> None:
    commands = list(STARTS.values())

    def work(params: dict[str, Any]) -> float:
        return start(commands[params["x"]], folder, params)

    ended = []
    with Processes(work, 4.0) as evaluation:
        for number in range(len(commands)):
            evaluation.submit(Trial(number, {"x": number}))
        wait_until(lambda: len(sleepers(folder)) >= 2 * len(commands), 4.0)
        while evaluation.running:
            ended += evaluation.wait(time.monotonic() + LONG)
        assert sleepers(folder) == []
    assert {failure and failure.error for _, _, failure in ended} == {"no value within 4.0 seconds"}


@pytest.mark.parametrize("objective", [leave, crash])
def test_what_an_evaluation_leaves_behind_is_ended(objective: Any, folder: Path) -> None:
    with Processes(partial(objective, STARTS["a daemon"], folder), None) as evaluation:
        for number in range(2):
            evaluation.submit(Trial(number, {"x": number}))
            while not (ended := evaluation.wait(time.monotonic() + LONG)):
                pass
            assert sleepers(folder) == []
            assert (ended[0][1] == 1.0) is (objective is leave)


@pytest.mark.endurance
def test_other_evaluations_go_on_when_one_is_cleared_away(folder: Path) -> None:
    busy, brief = folder / "busy", folder / "brief"
    for path in (busy, brief):
        path.mkdir()

    def work(params: dict[str, Any]) -> float:
        if params["x"]:
            return leave(STARTS["a daemon"], brief, params)
        return start(f"setsid sleep {DAY} & sleep 3", busy, params)

    with Processes(work, None) as evaluation:
        evaluation.submit(Trial(0, {"x": 0}))
        wait_until(lambda: len(sleepers(busy)) == 2)
        evaluation.submit(Trial(1, {"x": 1}))
        first = [row[0].number for row in evaluation.wait(time.monotonic() + LONG)]
        while not first:
            first = [row[0].number for row in evaluation.wait(time.monotonic() + LONG)]
        if first == [1]:  # else the machine was so busy that both have ended
            assert (sleepers(brief), len(sleepers(busy))) == ([], 2)
        while evaluation.running:
            evaluation.wait(time.monotonic() + LONG)


STUDY = """
[study]
name = "s"
store = "sqlite:///s.db"
budget = 100
recipe = "random"
workers = 2
[objective]
command = "{command}; echo $BOPP_PARAM_x"
shell = true
[space]
x = {{ type = "int", low = 1, high = 9 }}
"""

SCRIPT = """
import subprocess, sys
import bopp

def work(params):
    subprocess.run(["/bin/sh", "-c", sys.argv[1]])

bopp.minimize(work, {"x": bopp.Float(0, 1)}, budget=9, workers=2, progress=False, recipe=bopp.Recipe.random())
"""


def killed(run: subprocess.Popen[bytes], how: str) -> None:
    """Kill a run: itself, with its process group, or all processes of its name."""
    if how == "group":
        os.killpg(run.pid, signal.SIGKILL)
    elif how == "name":
        name = Path(f"/proc/{run.pid}/comm").read_bytes()
        for process in Path("/proc").iterdir():
            if process.name.isdecimal() and _is_of(run, process) and (process / "comm").read_bytes() == name:
                os.kill(int(process.name), signal.SIGKILL)
    else:
        run.kill()
    run.wait()


def _is_of(run: subprocess.Popen[bytes], process: Path) -> bool:
    try:
        return os.readlink(process / "cwd") == os.readlink(f"/proc/{run.pid}/cwd")
    except OSError:
        return False


@pytest.mark.endurance
@pytest.mark.fault(30)
@pytest.mark.parametrize(
    ("kind", "how", "function"),
    [
        ("a pipe", "alone", False),
        ("a daemon", "group", False),
        ("in another session", "name", False),
        ("a daemon", "alone", True),
    ],
)
def test_nothing_that_was_started_outlives_a_killed_run(
    kind: str, how: str, function: bool, folder: Path, figure: Figure
) -> None:
    (folder / "study.toml").write_text(STUDY.format(command=STARTS[kind]))
    words = ["-c", SCRIPT, STARTS[kind]] if function else ["-m", "bopp", "run", "study.toml"]
    run = subprocess.Popen(
        [sys.executable, *words], cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        wait_until(lambda: len(sleepers(folder)) >= 4)
    finally:
        killed(run, how)
    began = time.monotonic()
    wait_until(lambda: sleepers(folder) == [], SOON)
    figure(f"{kind}, killed {how}: {time.monotonic() - began:.1f} s")


def test_adopted_processes_that_end_are_forgotten_meanwhile(folder: Path) -> None:
    def adopt(params: dict[str, Any]) -> float:
        subprocess.run(["/bin/sh", "-c", "for i in 1 2 3; do (setsid true &) ; done"], check=False)
        children = Path(f"/proc/{os.getppid()}/task/{os.getppid()}/children")
        wait_until(lambda: children.read_text().split() == [str(os.getpid())])
        return 1.0

    with Processes(adopt, None) as evaluation:
        evaluation.submit(Trial(0, {"x": 1}))
        while not (ended := evaluation.wait(time.monotonic() + LONG)):
            pass
    assert ended[0][1:] == (1.0, None)


def test_a_supervisor_that_is_killed_fails_its_trial_and_is_replaced() -> None:
    def kill_supervisor(params: dict[str, Any]) -> float:
        if params["x"] < 0.5:
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(float(DAY))
        return 1.0

    result = bopp.minimize(
        kill_supervisor,
        {"x": Float(0, 1)},
        budget=8,
        workers=2,
        progress=False,
        recipe=Recipe.random(),
        failures="continue",
    )
    assert {trial.state for trial in result.trials} == {"done", "failed"}
    errors = {trial.error for trial in result.trials if trial.error}
    assert errors == {"the process that looked after it was killed"}
