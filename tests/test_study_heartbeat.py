"""Leases are renewed by a thread while trials are held, and by nobody else."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from bopp import Params, Study
from bopp.errors import LateTell, StoreError
from bopp.study import identity
from bopp.study.store import Store
from support.faults import Figure
from support.forks import in_child
from support.waiting import wait_until
from support.workers import bowl, fresh, opened, started, succeeded, trials_of

LEASE = 0.6  # seconds
HELD_UP = 5.0  # seconds, several leases long


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    monkeypatch.setattr(identity, "is_dead", lambda worker: False)  # so that leases decide
    with opened(f"sqlite:///{tmp_path}/a.db", lease=LEASE) as study:
        yield study


def left_alone(url: str, seconds: float = 2 * LEASE) -> bool:
    """Whether the trial that is held stays with its worker for a while."""
    deadline = time.monotonic() + seconds
    with opened(url, lease=LEASE) as other:
        while time.monotonic() < deadline:
            if other.ask_within(1):
                return False
            time.sleep(0.02)
    return True


def hearts() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "bopp heartbeat"}


def test_a_trial_that_is_held_stays_with_its_worker(study: Study) -> None:
    study.ask()
    assert left_alone(study.url)


def test_one_thread_renews_all_trials_of_a_study_and_ends_with_them(study: Study) -> None:
    before = hearts()
    trials = study.ask(3)
    [heart] = hearts() - before
    assert heart.daemon
    for trial in trials:
        study.tell(trial, 1.0)
    wait_until(lambda: not heart.is_alive())
    study.ask()
    [again] = hearts() - before
    study.close()
    again.join(LEASE / 3)  # at once, not at its next beat
    assert not again.is_alive()


@pytest.mark.parametrize("lease", [LEASE, 600.0])
def test_a_study_that_is_dropped_leaves_its_trial(
    tmp_path: Path, lease: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "is_dead", lambda worker: False)
    before, url = hearts(), f"sqlite:///{tmp_path}/a.db"
    study = opened(url, lease=lease)
    study.ask()
    [heart] = hearts() - before
    del study
    gc.collect()
    heart.join(30.0)  # its next beat may be later
    assert not heart.is_alive()
    assert lease > LEASE or not left_alone(url, 60.0)


@pytest.mark.parametrize("where", ["memory", "until told"])
def test_where_nobody_else_can_take_a_trial_nothing_is_renewed(tmp_path: Path, where: str) -> None:
    before = hearts()
    url, lease = ("sqlite://", 60.0) if where == "memory" else (f"sqlite:///{tmp_path}/a.db", None)
    with opened(url, lease=lease) as study:
        study.ask()
        assert hearts() <= before  # one of an earlier test may end meanwhile


def test_faults_that_pass_are_outlived(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []

    def refuse(*_: object, **__: object) -> None:
        refused.append(1)
        raise StoreError("not now")

    study.ask()
    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", refuse)
        wait_until(lambda: len(refused) > 1)
    assert left_alone(study.url)


def test_a_fork_holds_nothing_and_has_a_heart_of_its_own(study: Study) -> None:
    study.ask()

    def child() -> None:
        assert (hearts(), study.held) == (set(), frozenset())
        trial = study.ask()
        assert (len(hearts()), set(study.held)) == (1, {1})
        study.tell(trial, 1.0)
        study.close()

    assert in_child(child) == 0
    assert study.held == {0}
    assert left_alone(study.url)


OWNER = """
import sys, bopp
study = bopp.open_study(sys.argv[1], "many", {"x": bopp.Float(0, 1)}, recipe=bopp.Recipe.random())
study.ask()
"""


def test_a_heartbeat_does_not_keep_its_process_alive(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", OWNER, f"sqlite:///{tmp_path}/a.db"], check=True, timeout=60.0)


def ask_and_sleep(url: str, mine: Connection) -> None:
    with opened(url, lease=LEASE) as study:
        mine.send(study.ask().number)
        time.sleep(600)


@pytest.mark.endurance
def test_a_process_that_is_suspended_is_silent(study: Study) -> None:
    ours, its = fresh.Pipe()
    with started(ask_and_sleep, (study.url, its)) as [owner]:
        assert ours.recv() == 0
        assert left_alone(study.url)
        os.kill(owner.pid or 0, signal.SIGSTOP)
        assert not left_alone(study.url, 60.0)


def optimize_in_child(url: str, folder: Path) -> None:
    def objective(params: Params) -> float:
        (folder / f"call {params['x']}").touch(exist_ok=False)
        ctypes.PyDLL(None).usleep(int(HELD_UP * 1e6))  # which lets no other thread run
        return bowl(params)

    with opened(url, lease=HELD_UP / 2.5) as study:
        study.optimize(objective, 1, progress=False, trial_timeout=600.0)


@pytest.mark.fault(41)
@pytest.mark.endurance
def test_an_objective_in_a_child_may_hold_the_interpreter(url: str, tmp_path: Path, figure: Figure) -> None:
    with started(optimize_in_child, (url, tmp_path)) as [owner], opened(url, lease=HELD_UP / 2.5) as other:
        wait_until(lambda: len(list(tmp_path.glob("call*"))) == 1)
        while other.trials[0].state == "asked":
            assert other.ask_within(1) is None
            time.sleep(0.05)
        succeeded([owner])
    [trial] = trials_of(url)
    assert trial.value == bowl(trial.params)
    figure(f"in a child, held for {HELD_UP} s with a lease of {HELD_UP / 2.5} s: evaluated once")


def hold_in_process(url: str, mine: Connection) -> None:
    with opened(url, lease=LEASE) as study:
        trial = study.ask()
        mine.send(trial.number)
        ctypes.PyDLL(None).read(mine.fileno(), bytes(1), 1)  # lets no other thread run until there is a word
        try:
            mine.send(study.tell(trial, 1.0).state)
        except LateTell:
            mine.send("late")


@pytest.mark.fault(41)
def test_an_objective_that_holds_the_interpreter_here_is_told_once(tmp_path: Path, figure: Figure) -> None:
    """Its lease runs out, and another evaluates its trial; of the two values one counts."""
    url = f"sqlite:///{tmp_path}/a.db"
    ours, its = fresh.Pipe()
    with started(hold_in_process, (url, its)) as [owner], opened(url, lease=LEASE) as other:
        assert ours.recv() == 0
        while (taken := other.ask_within(1)) is None:
            time.sleep(0.02)
        other.tell(taken, 2.0)
        ours.send("go on")
        assert ours.recv() == "late"
        succeeded([owner])
    assert [trial.value for trial in trials_of(url)] == [2.0]
    figure("in the same process: evaluated twice, told once")
