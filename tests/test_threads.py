"""BLAS works on one thread while the engine computes, and on the user's number again afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

import bopp
from bopp import Data, Float, Known, Optimizer, Params, Recipe, pseudo, threads
from bopp.threads import one_thread
from support.forks import in_child

USERS = 3  # threads, which no machine of ours has by default
SPACE = {"x": Float(0, 1), "y": Float(0, 1)}
SUGGESTIONS = """
import json
import numpy as np
from bopp import Choice, Float, Int, Linear, Optimizer, Problem

rng = np.random.default_rng(0)
suggestions = []
mixed = {"a": Float(0, 1), "b": Int(1, 1000, log=True)}
large = {f"x{i}": Float(0, 1) for i in range(6)}
rate, some = Float(1e-5, 1, log=True), Choice(["x", "y", "z"])
region = {"a": rate, "n": Int(1, 64), "k": some, "t": Float(0, 10)}
walked = Problem(region, constraints=[Linear({"a": 1, "n": 0.1, "t": 1}, equals=6)])
for n, space in ((40, mixed), (300, large), (7, walked)):
    optimizer = Optimizer(space)
    for _ in range(n):
        params = optimizer.space.decode(rng.random(optimizer.space.dimension))
        optimizer.observe(params, sum(round(params[name] % 0.37, 3) for name in params if name != "k"))
    suggestions += [trial.params for trial in optimizer.ask(2)]
print(json.dumps(suggestions))
"""


def numbers() -> set[int]:
    """How many threads the BLAS libraries of NumPy and SciPy work on."""
    return {library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers}


def bowl(params: Params) -> float:
    return float((params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2)


@pytest.fixture(autouse=True)
def users() -> Iterator[None]:
    """A user who wants a certain number of threads."""
    with threadpool_limits(USERS, user_api="blas"):
        assert numbers() == {USERS}
        yield
        assert numbers() == {USERS}


def test_one_meanwhile_and_the_users_number_afterwards() -> None:
    with one_thread():
        with one_thread():
            assert numbers() == {1}
        assert numbers() == {1}
    assert numbers() == {USERS}
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert numbers() == {USERS}
    with threadpool_limits(2, user_api="blas"):  # a number that was changed in between
        with one_thread():
            assert numbers() == {1}
        assert numbers() == {2}


@pytest.mark.parametrize("first_to_end", [0, 1, 2])
def test_of_several_threads_the_last_to_end_gives_the_number_back(first_to_end: int) -> None:
    begun, end = threading.Barrier(4, timeout=30), [threading.Event() for _ in range(3)]

    def compute(me: int) -> set[int]:
        with one_thread():
            begun.wait()
            assert end[me].wait(30)
            return numbers()

    order = [first_to_end, (first_to_end + 1) % 3, (first_to_end + 2) % 3]
    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(compute, me) for me in range(3)]
        begun.wait()
        for me in order:
            assert numbers() == {1}
            end[me].set()
            assert running[me].result() == {1}
    assert numbers() == {USERS}


def test_it_holds_where_another_thread_of_the_user_has_set_the_number() -> None:
    """threadpoolctl lets that thread alone change the number of OpenBLAS while it is in its `with`."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(one_thread_entered).result()
    assert numbers() == {USERS}


def one_thread_entered() -> bool:
    with one_thread():
        return numbers() == {1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_while_another_thread_computes_has_the_users_number() -> None:
    begun, end = threading.Event(), threading.Event()

    def compute() -> None:
        with one_thread():
            begun.set()
            assert end.wait(30)

    def child() -> bool:
        assert numbers() == {USERS}
        with one_thread():
            assert numbers() == {1}
        return numbers() == {USERS}

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(compute)
        assert begun.wait(30)
        try:
            assert in_child(child) == 0
            assert numbers() == {1}
        finally:
            end.set()
        running.result()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_within_a_computation_may_finish_it() -> None:
    def child() -> bool:
        before = numbers()
        with one_thread():
            assert numbers() == {1}
        return before == numbers() == {USERS}

    with one_thread():
        assert in_child(child) == 0
        assert numbers() == {1}
    with threads._lock:  # which is not stuck
        assert in_child(one_thread_entered) == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
@pytest.mark.parametrize("moments", [300, pytest.param(2000, marks=pytest.mark.endurance)])
def test_ctrl_c_at_any_moment_gives_the_number_back(moments: int) -> None:
    """Interrupted at random moments; where the interrupt fell into this module is counted."""
    with one_thread():  # which looks the libraries up
        pass
    rng = np.random.default_rng(0)
    usual = signal.signal(signal.SIGALRM, signal.default_int_handler)
    landed = 0
    try:
        for _ in range(moments):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 4e-5))
                with one_thread():
                    pass
                while True:
                    time.sleep(0.01)
            except KeyboardInterrupt as interrupt:
                frames = traceback.extract_tb(interrupt.__traceback__)
                landed += any(frame.filename == threads.__file__ for frame in frames)
            assert (threads._found, numbers()) == ({}, {USERS})
    finally:
        signal.signal(signal.SIGALRM, usual)
    assert landed > moments / 20


def seen_by_a_policy(seen: list[set[int]]) -> Recipe:
    def policy(known: Known) -> Data:
        seen.append(numbers())
        return Data.empty(known.dimension)

    return replace(Recipe.default(), pseudo=pseudo.Pending() + policy)


def test_a_suggestion_is_computed_on_one_and_the_objective_has_the_users() -> None:
    inside: list[set[int]] = []
    outside: list[set[int]] = []

    def objective(params: Params) -> float:
        outside.append(numbers())
        return bowl(params)

    result = bopp.minimize(objective, SPACE, budget=8, recipe=seen_by_a_policy(inside), progress=False)
    assert inside == [{1}] * 3
    assert outside == [{USERS}] * 8
    result.plot_slice()
    result.plot_importance()
    assert numbers() == {USERS}


def has_users_number(params: Params) -> float:
    return 1.0 if numbers() == {USERS} else 0.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the number of a spawned process is its own")
def test_an_objective_in_a_process_has_the_users_number() -> None:
    result = bopp.minimize(has_users_number, SPACE, budget=8, workers=2, progress=False)
    assert [trial.value for trial in result.trials] == [1.0] * 8


@pytest.mark.parametrize("executor", ["threads", "dask"])
def test_the_number_comes_back_where_objectives_run_beside_suggestions(executor: str) -> None:
    study = bopp.open_study("sqlite://", "beside", SPACE)
    if executor == "threads":
        with ThreadPoolExecutor(3) as pool:
            study.optimize(bowl, budget=12, workers=3, executor=pool, progress=False)
    else:
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=3, processes=False, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            study.optimize(bowl, budget=12, executor=client, progress=False)
    assert len(study.trials) == 12
    assert numbers() == {USERS}


def test_optimizers_on_many_threads_compute_on_one_and_leave_the_users() -> None:
    seen: list[set[int]] = []

    def work(seed: int) -> None:
        optimizer = Optimizer(SPACE, seed=seed, recipe=seen_by_a_policy(seen))
        for _ in range(12):
            trial = optimizer.ask()
            optimizer.tell(trial, bowl(trial.params))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert seen == [{1}] * (6 * 7)
    assert numbers() == {USERS}


def test_no_bit_of_a_suggestion_depends_on_the_users_number() -> None:
    suggested = [
        subprocess.run(
            [sys.executable, "-c", SUGGESTIONS],
            env=without_numbers() | setting,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for setting in ({}, {"OPENBLAS_NUM_THREADS": "1"}, {"OPENBLAS_NUM_THREADS": "4"})
    ]
    assert len(json.loads(suggested[0])) == 6
    assert suggested[1:] == suggested[:1] * 2


def without_numbers() -> dict[str, str]:
    """The environment of somebody who set nothing."""
    return {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}


def test_it_costs_less_than_a_fifth_of_a_millisecond() -> None:
    seconds = []
    for _ in range(100):
        begin = time.perf_counter()
        with one_thread():
            pass
        seconds.append(time.perf_counter() - begin)
    assert median(seconds) < 2e-4
