"""Threads that share a study, an optimizer or a lock: no trial goes to two of them, and none is lost."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from bopp import Float, Optimizer, Recipe, Study, Trial, open_study
from bopp.guard import Guard
from bopp.parameter import Parameter
from support.forks import in_child
from support.workers import bowl

SPACE: dict[str, Parameter] = {"x": Float(-5, 5), "y": Float(0, 15)}
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
THREADS = 8
EACH = 6


def opened(url: str, lease: float | None = 60.0) -> Study:
    return open_study(url, "a", SPACE, recipe=Recipe.random(), lease=lease)


def at_once(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """What each thread returns; all of them begin at one moment."""
    start = threading.Barrier(threads)

    def begin(which: int) -> Any:
        start.wait()
        return work(which)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads)))


class Unlocked:
    """Lets everybody suggest at once, so that only the claim decides."""

    def hold(self, _study: int) -> AbstractContextManager[None]:
        return nullcontext()


def ask_and_tell(recorder: Study | Optimizer) -> Callable[[int], list[Trial]]:
    """Each thread asks for trials and tells a value that only it gives."""

    def work(which: int) -> list[Trial]:
        told = []
        for _ in range(EACH):
            trial = recorder.ask()
            time.sleep(0)  # let others in
            told.append(recorder.tell(trial, 1000.0 * which + trial.number))
        return told

    return work


def all_told_once(recorder: Study | Optimizer, told: list[list[Trial]]) -> None:
    numbers = sorted(trial.number for some in told for trial in some)
    assert numbers == list(range(THREADS * EACH))
    assert [trial.number for trial in recorder.trials] == numbers
    values = {
        trial.number: 1000.0 * which + trial.number for which, some in enumerate(told) for trial in some
    }
    assert {trial.number: trial.values.get("value") for trial in recorder.trials} == values
    assert len({tuple(trial.params.values()) for trial in recorder.trials}) == len(numbers)


@pytest.mark.fault(32)
@pytest.mark.parametrize("locked", [True, False], ids=["in turn", "without the lock"])
def test_threads_ask_and_tell_on_one_study(url: str, locked: bool) -> None:
    with opened(url) as study:
        if not locked:
            study._store._suggestion_lock = Unlocked()  # type: ignore[assignment]
        all_told_once(study, at_once(ask_and_tell(study)))
        assert study.held == frozenset()


def test_threads_do_everything_at_once_on_one_optimizer() -> None:
    optimizer = Optimizer(SPACE, recipe=Recipe.random())

    def work(which: int) -> None:
        for step in range(20):
            optimizer.enqueue({"x": which / 10, "y": step / 10})
            optimizer.observe({"x": -which / 10, "y": step / 10}, 1.0)
            trial = optimizer.ask()
            optimizer.release(trial)
            optimizer.fail(optimizer.ask(), "broke")
            optimizer.retry()

    at_once(work)
    trials = optimizer.trials
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert sum(trial.origin == "observed" for trial in trials) == 20 * THREADS
    queued = [tuple(trial.params.values()) for trial in trials if trial.origin == "queued"]
    assert len(queued) == len(set(queued))
    for trial in trials:
        if trial.state == "asked":
            optimizer.tell(trial, 1.0)
    while len(optimizer.trials) < len(trials) + 200:  # what waits still comes, each once
        trial = optimizer.ask()
        queued += [tuple(trial.params.values())] if trial.origin == "queued" else []
        optimizer.tell(trial, 1.0)
    assert sorted(queued) == sorted((w / 10, s / 10) for w in range(THREADS) for s in range(20))


@pytest.mark.fault(32)
def test_a_run_that_ends_leaves_the_trials_of_another_alone(url: str) -> None:
    """The second of two runs on one study is in mid-evaluation when the first, which began before, ends."""
    first, second, go_on = threading.Event(), threading.Event(), threading.Event()

    def quick(params: dict[str, Any]) -> float:
        first.set()
        assert second.wait(60)
        return bowl(params)

    def slow(params: dict[str, Any]) -> float:
        second.set()
        assert go_on.wait(60)
        return bowl(params)

    with opened(url) as study, ThreadPoolExecutor(2) as pool:
        ends = pool.submit(study.optimize, quick, 4, progress=False, callback=lambda *_: True)
        assert first.wait(60)
        goes_on = pool.submit(study.optimize, slow, 4, progress=False)
        ends.result(60)
        assert study.held == {1}
        with opened(url) as other:
            assert other.ask_within(2) is None  # so nobody gets what the second works on
        go_on.set()
        result = goes_on.result(60)
        assert study.held == frozenset()
    assert [trial.state for trial in result.trials] == ["done"] * 4


@pytest.mark.fault(32)
def test_two_runs_share_the_budget_and_wait_for_each_other(url: str) -> None:
    calls: list[int] = []
    seen: list[int] = []

    def counted(params: dict[str, Any]) -> float:
        calls.append(1)
        time.sleep(0.02)
        return bowl(params)

    with opened(url) as study:
        results = at_once(
            lambda _: study.optimize(
                counted, 12, progress=False, callback=lambda _, one: seen.append(one.number)
            ),
            2,
        )
    assert len(calls) == 12
    assert sorted(seen) == list(range(12))
    assert all([trial.state for trial in result.trials] == ["done"] * 12 for result in results)


def test_a_run_does_not_wait_for_what_its_own_thread_holds(tmp_path: Any) -> None:
    with opened(f"sqlite:///{tmp_path}/a.db") as study:
        mine = study.ask()
        result = study.optimize(bowl, 3, progress=False)
        assert [trial.state for trial in result.trials] == ["asked", "done", "done"]
        assert study.held == {mine.number}
        study.tell(mine, 1.0)


def test_one_thread_suggests_what_it_did_before() -> None:
    """With several threads the points are those of one, since each suggestion sees all before it."""
    one, many = (Optimizer(SPACE, seed=3, recipe=Recipe.random()) for _ in range(2))
    all_told_once(many, at_once(ask_and_tell(many)))
    assert [one.ask().params for _ in range(THREADS * EACH)] == [trial.params for trial in many.trials]


def held_elsewhere(guard: Guard) -> tuple[threading.Thread, threading.Event]:
    """A thread that holds a lock until the event."""
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with guard:
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(60)
    return thread, leave


@forks
def test_a_fork_finds_the_locks_of_other_threads_free(tmp_path: Any) -> None:
    optimizer = Optimizer(SPACE, recipe=Recipe.random())
    with opened(f"sqlite:///{tmp_path}/a.db") as study:
        optimizer.tell(optimizer.ask(), 1.0)
        study.ask()
        threads = [held_elsewhere(optimizer._guard), held_elsewhere(study._tickets._guard)]

        def child() -> None:
            assert optimizer.ask().number == 1
            assert study.held == frozenset()
            assert study.ask().number == 1

        assert in_child(child) == 0
        for thread, leave in threads:
            leave.set()
            thread.join()
        assert optimizer.ask().number == 1
        assert study.held == {0}


@forks
@pytest.mark.endurance
def test_forks_beside_threads_that_ask_and_tell_come_up(tmp_path: Any) -> None:
    """A fork does not have the thread that may hold a lock of Python, SQLite or SQLAlchemy."""
    with opened(f"sqlite:///{tmp_path}/a.db") as study:
        ended = threading.Event()

        def work() -> None:
            while not ended.is_set():
                study.tell(study.ask(), 1.0)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            assert [in_child(lambda: None) for _ in range(150)] == [0] * 150
        finally:
            ended.set()
            for thread in threads:
                thread.join()


@forks
def test_a_fork_within_a_lock_may_leave_it() -> None:
    guard = Guard()

    def child() -> None:
        with guard:
            pass
        guard.__exit__()

    with guard:
        assert in_child(child) == 0


def test_an_optimizer_can_be_copied_and_pickled() -> None:
    optimizer = Optimizer(SPACE, recipe=Recipe.random())
    optimizer.tell(optimizer.ask(), 1.0)
    with optimizer._guard:
        copies = [copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))]
    for one in copies:
        assert one._guard is not optimizer._guard
        assert one.trials == optimizer.trials
    expected = optimizer.ask().params
    assert [one.ask().params for one in copies] == [expected, expected]


def test_threads_that_correct_and_ask_leave_no_gap(tmp_path: Any) -> None:
    with opened(f"sqlite:///{tmp_path}/a.db") as study:

        def work(which: int) -> None:
            for step in range(5):
                trial = study.ask()
                if which % 2:
                    study.fail(trial, "broke")
                    study.drop(trial, "the wrong one")
                else:
                    study.note(study.tell(trial, float(step)), "noted")
                    study.amend(trial, float(-step), "a slip")
                _ = study.best if step and not which % 2 else study.trials

        at_once(work, 4)
        trials = study.trials
        assert [trial.number for trial in trials] == list(range(20))
        assert sorted(trial.state for trial in trials) == ["done"] * 10 + ["dropped"] * 10
        with opened(f"sqlite:///{tmp_path}/a.db") as other:
            assert other.trials == trials
