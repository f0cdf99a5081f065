"""Who renews leases: a process, which no objective can hold up."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import spawn
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from bopp import Study
from bopp.study import keeping
from support.faults import Figure
from support.forks import in_child
from support.waiting import wait_until
from support.workers import fresh, opened, started

HELD_UP = 5.0  # seconds, several leases long


def keeper() -> subprocess.Popen[bytes]:
    assert keeping._process
    return keeping._process


def hold_the_interpreter(url: str, mine: Connection) -> None:
    """Ask for a trial, and work on it without letting any other thread run."""
    with opened(url, lease=HELD_UP / 2.5) as study:
        trial = study.ask()
        mine.send(trial.number)
        ctypes.PyDLL(None).usleep(int(HELD_UP * 1e6))
        mine.send(study.tell(trial, 1.0).state)
        mine.recv()


@pytest.mark.fault(41)
def test_an_objective_that_holds_the_interpreter_keeps_its_trial(url: str, figure: Figure) -> None:
    ours, its = fresh.Pipe()
    with started(hold_the_interpreter, (url, its)), opened(url, lease=HELD_UP / 2.5) as other:
        assert ours.recv() == 0
        taken = []
        while not ours.poll():
            taken += [trial.number for trial in [other.ask_within(1)] if trial]
            time.sleep(0.05)
        assert (ours.recv(), taken) == ("done", [])
        ours.send("end")
    figure(f"held for {HELD_UP} s, with a lease of {HELD_UP / 2.5} s: evaluated once")


def left_alone(study: Study, seconds: float) -> bool:
    """Whether a trial that is held stays with its worker for a while."""
    deadline = time.monotonic() + seconds
    with opened(study.url, lease=0.6) as other:
        while time.monotonic() < deadline:
            if other.ask_within(1):
                return False
            time.sleep(0.02)
    return True


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    monkeypatch.setattr("bopp.study.identity.is_dead", lambda worker: False)  # so that leases decide
    monkeypatch.setattr(keeping, "_died", 0)
    keeping._stop()
    yield opened(f"sqlite:///{tmp_path}/a.db", lease=0.6)
    keeping._stop()


def test_a_keeper_that_was_killed_is_replaced_with_the_next_trial(study: Study) -> None:
    study.ask()
    first = keeper()
    first.kill()
    first.wait()
    second = study.ask()
    assert keeper().pid != first.pid
    study.tell(second, 1.0)
    assert left_alone(study, 1.5)  # the first trial too is renewed again
    study.close()


def test_a_keeper_that_was_killed_is_replaced_at_once_and_then_by_a_thread(study: Study) -> None:
    """While an objective runs, nobody asks or tells."""
    study.ask()
    for _ in range(keeping.CHANCES):
        killed = keeper()
        killed.kill()
        wait_until(lambda gone=killed: keeping._process is not gone)  # type: ignore[misc]
        assert left_alone(study, 1.0)
    assert keeping._process is None
    study.close()


def test_a_program_that_is_no_python_is_no_keeper(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawn, "get_executable", lambda: "/bin/false")
    study.ask()
    wait_until(lambda: keeping._process is None)
    assert left_alone(study, 1.5)
    study.close()


def test_paths_of_any_kind_may_be_searched_for_modules(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("/nowhere"), 7])
    study.ask()
    assert left_alone(study, 1.5)
    study.close()


def test_one_keeper_for_all_studies_and_trials(study: Study, tmp_path: Path) -> None:
    other = opened(f"sqlite:///{tmp_path}/b.db", lease=5.0)
    study.ask(3)
    pid = keeper().pid
    other.ask(2)
    assert keeper().pid == pid
    assert len(keeping._held) == 5
    study.close()
    other.close()
    assert not keeping._held


def test_a_fork_leaves_the_keeper_to_its_parent(study: Study) -> None:
    study.ask()
    pid = keeper().pid

    def work() -> bool:
        study.close()
        with opened(study.url) as mine:
            mine.tell(mine.ask(), 1.0)
            return keeper().pid != pid

    assert in_child(work) == 0
    assert keeper().poll() is None
    assert left_alone(study, 1.5)
    study.close()


def test_where_no_python_can_be_started_a_thread_renews(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spawn, "get_executable", lambda: "/no/python")
    study.ask()
    assert keeping._process is None
    assert left_alone(study, 1.5)
    study.close()


OWNER = """
import sys, time
import bopp

study = bopp.open_study(sys.argv[1], "s", {"x": bopp.Float(0, 1)}, recipe=bopp.Recipe.random())
study.ask()
from bopp.study import keeping
print(keeping._process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_keeper_ends_with_its_parent(tmp_path: Path, number: int) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    words = [sys.executable, "-c", OWNER, url]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        os.kill(parent.pid, number)
        parent.wait()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
