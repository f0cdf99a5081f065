"""Many processes on one study: every trial once, every value kept, every queued point popped once."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

import bopp
import store
from bopp import Float, Params, Recipe, Study, Trial
from bopp.errors import StudyError
from faults import Figure
from postgres import Server

PATIENCE = 240.0  # seconds for what takes far fewer on an idle machine
SPACE = {"x": Float(0.0, 1.0), "y": Float(-5.0, 5.0)}
full_size = pytest.mark.slow  # of a fault: as docs/faults.md says, where a smaller one is tested every time

fresh = multiprocessing.get_context("forkserver")  # children of a process that has loaded bopp, and no more
fresh.set_forkserver_preload(["bopp.study", "psycopg", "pytest", "scipy.stats"])


def opened(url: str, recipe: Recipe | None = None, lease: float | None = 60.0) -> Study:
    """The study of a test, without a model unless wanted otherwise."""
    return bopp.open_study(url, "many", SPACE, recipe=recipe or Recipe.random(), lease=lease)


def trials_of(url: str, recipe: Recipe | None = None) -> tuple[Trial, ...]:
    """The trials of the study, seen by one who never worked on it."""
    with opened(url, recipe) as study:
        return study.trials


def kind_of(url: str) -> str:
    """What a store is kept by, as a word of a figure."""
    return "SQLite" if url.startswith("sqlite") else "PostgreSQL"


def bowl(params: Params) -> float:
    """An objective that gives the same value every time."""
    return float((params["x"] - 0.3) ** 2 + (params["y"] - 1.0) ** 2 / 10)


@contextmanager
def started(worker: Callable[..., object], *rows: tuple[Any, ...]) -> Iterator[list[BaseProcess]]:
    """A process for each row of arguments; those that still run in the end are killed."""
    processes: list[BaseProcess] = [fresh.Process(target=worker, args=row) for row in rows]
    for process in processes:
        process.start()
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()


def succeeded(processes: list[BaseProcess]) -> None:
    """Wait for all processes to end, or for the first of them that fails: the others may wait for it."""
    deadline = time.monotonic() + PATIENCE
    while any(process.exitcode is None for process in processes) and time.monotonic() < deadline:
        if any(process.exitcode for process in processes):
            break
        time.sleep(0.01)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def together(worker: Callable[..., object], count: int, *arguments: Any) -> None:
    """Run worker(barrier, me, *arguments) in so many processes, for which a barrier is the one instant."""
    barrier = fresh.Barrier(count)
    with started(worker, *((barrier, me, *arguments) for me in range(count))) as processes:
        succeeded(processes)


def told_by(folder: Path) -> list[tuple[int, Params, float]]:
    """What the processes say that they told, in the order of the trials."""
    lines = [line for file in folder.glob("*.told") for line in file.read_text().splitlines()]
    return sorted(tuple(json.loads(line)) for line in lines)


def kept(trials: tuple[Trial, ...]) -> list[tuple[int, Params, float | None]]:
    """What a study says that it was told."""
    return [(trial.number, trial.params, trial.value) for trial in trials]


def ask_and_tell(
    barrier: Barrier, me: int, url: str, folder: Path, count: int, recipe: Recipe | None = None
) -> None:
    """Tell values that no other process could, and keep a record of them."""
    rng = np.random.default_rng(me)
    barrier.wait(PATIENCE)
    with opened(url, recipe) as study, (folder / f"{me}.told").open("w") as file:
        for _ in range(count):
            trial = study.ask()
            value = rng.random()
            study.tell(trial, value)
            print(json.dumps([trial.number, trial.params, value]), file=file)


def many(url: str, folder: Path, processes: int, count: int, recipe: Recipe | None = None) -> str:
    """So many processes with so many trials each lose none, mix none up and ask for none twice."""
    began = time.monotonic()
    together(ask_and_tell, processes, url, folder, count, recipe)
    rate = processes * count / (time.monotonic() - began)
    trials = trials_of(url, recipe)
    assert [trial.number for trial in trials] == list(range(processes * count))
    assert {trial.state for trial in trials} == {"done"}
    assert told_by(folder) == kept(trials)
    assert len({tuple(trial.params.values()) for trial in trials}) == processes * count
    assert len({trial.worker for trial in trials}) == processes
    return f"{len(trials)} trials of {processes} processes, 0 lost, 0 twice, {rate:.0f} a second"


@pytest.mark.fault(1)
@pytest.mark.parametrize("each", [50, pytest.param(200, marks=full_size)])
def test_eight_processes_share_a_file(tmp_path: Path, each: int, figure: Figure) -> None:
    figure(many(f"sqlite:///{tmp_path}/study.db", tmp_path, 8, each))


@pytest.mark.fault(2)
@pytest.mark.parametrize(("processes", "each"), [(8, 25), pytest.param(16, 100, marks=full_size)])
def test_processes_share_a_server(
    tmp_path: Path, postgres_url: str, processes: int, each: int, figure: Figure
) -> None:
    figure(many(postgres_url, tmp_path, processes, each))


@pytest.mark.fault(1)
@pytest.mark.parametrize("each", [10, pytest.param(25, marks=full_size)])
def test_with_a_model_no_point_is_suggested_twice(tmp_path: Path, each: int, figure: Figure) -> None:
    figure(f"with a model: {many(f'sqlite:///{tmp_path}/study.db', tmp_path, 8, each, Recipe.default())}")


def open_each(barrier: Barrier, me: int, urls: list[str], seeds: bool, folder: Path) -> None:
    """Open one store after the other, each at the instant at which all others do."""
    refused = 0
    for url in urls:
        barrier.wait(PATIENCE)
        try:
            bopp.open_study(url, "many", SPACE, seed=me if seeds else 0).close()
        except StudyError as error:
            if "has seed" not in str(error):
                raise
            refused += 1
    (folder / f"{me}.refused").write_text(str(refused))


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query, asked past bopp."""
    if url.startswith("sqlite"):
        raw = sqlite3.connect(url.removeprefix("sqlite:///"))
        try:
            return raw.execute(sql).fetchall()
        finally:
            raw.close()
    with psycopg.connect(url) as connection:
        return connection.execute(sql.encode()).fetchall()


def open_at_once(urls: list[str], folder: Path) -> str:
    """Eight processes open every store at one instant; in the last quarter each wants another seed."""
    agreed = len(urls) - len(urls) // 4
    for part, seeds, refused in ((urls[:agreed], False, 0), (urls[agreed:], True, 7)):
        together(open_each, 8, part, seeds, folder)
        assert sum(int(file.read_text()) for file in folder.glob("*.refused")) == refused * len(part)
    for url in urls:
        assert rows(url, "SELECT count(*) FROM bopp_studies") == [(1,)]
        assert rows(url, "SELECT count(*) FROM bopp_schema") == [(1,)]
        assert rows(url, "SELECT count(*) FROM bopp_trials") == [(0,)]
    return f"{kind_of(urls[0])}: {len(urls)} stores, 8 processes each, 0 errors"


@pytest.mark.fault(3)
@pytest.mark.parametrize("times", [8, pytest.param(20, marks=full_size)])
def test_eight_create_one_file_at_one_instant(tmp_path: Path, times: int, figure: Figure) -> None:
    figure(open_at_once([f"sqlite:///{tmp_path}/{number}.db" for number in range(times)], tmp_path))


@pytest.mark.fault(3)
@pytest.mark.parametrize("times", [4, pytest.param(20, marks=full_size)])
@pytest.mark.usefixtures("postgres_url")
def test_eight_create_one_database_at_one_instant(
    tmp_path: Path, postgres_server: Server, times: int, figure: Figure
) -> None:
    urls = [postgres_server.create_database() for _ in range(times)]
    figure(open_at_once(urls, tmp_path))
    for url in urls:
        postgres_server.drop_database(url)


def pop(barrier: Barrier, me: int, url: str, folder: Path, rounds: int) -> None:
    """Ask once in every round, with all others, and keep a record of what came."""
    with opened(url) as study, (folder / f"{me}.told").open("w") as file:
        for _ in range(rounds):
            barrier.wait(PATIENCE)  # the queue is full
            trial = study.ask()
            print(json.dumps([trial.number, trial.params, trial.origin == "queued"]), file=file)
            barrier.wait(PATIENCE)  # all have asked
            study.tell(trial, 0.0)


def pop_at_once(url: str, folder: Path, rounds: int) -> str:
    """Ten queued points and sixteen who ask at one instant: each point goes to one of them."""
    study, barrier = opened(url), fresh.Barrier(17)
    wanted = [{"x": k / (10 * rounds), "y": 0.5} for k in range(10 * rounds)]
    with started(pop, *((barrier, me, url, folder, rounds) for me in range(16))) as processes:
        for k in range(rounds):
            for params in wanted[10 * k : 10 * k + 10]:
                study.enqueue(params)
            barrier.wait(PATIENCE)
            barrier.wait(PATIENCE)
        succeeded(processes)
    said = told_by(folder)
    assert [number for number, _, _ in said] == list(range(16 * rounds))
    popped = [params for _, params, queued in said if queued]
    assert popped == wanted  # first come, first served, in every round
    assert study.queued == []
    assert sum(trial.origin == "suggested" for trial in study.trials) == 6 * rounds
    study.close()
    return f"{kind_of(url)}: {len(popped)} popped by 16 processes in {rounds} rounds, each once"


@pytest.mark.fault(12)
@pytest.mark.parametrize("rounds", [2, pytest.param(50, marks=full_size)])
def test_sixteen_pop_ten_queued_points(url: str, tmp_path: Path, rounds: int, figure: Figure) -> None:
    figure(pop_at_once(url, tmp_path, rounds))


def optimize(barrier: Barrier, me: int, url: str, budget: int, workers: int) -> None:
    """Work on the study together with the others; it has its whole budget when this returns."""
    with opened(url) as study:
        barrier.wait(PATIENCE)
        result = study.optimize(bowl, budget, workers, progress=False)
        assert len(result.trials) == budget
        assert {trial.state for trial in result.trials} == {"done"}


@pytest.mark.parametrize(("processes", "workers"), [(4, 1), (2, 2)])
def test_processes_that_optimize_with_one_budget_share_it(
    tmp_path: Path, processes: int, workers: int
) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    together(optimize, processes, url, 31, workers)
    trials = trials_of(url)
    assert len(trials) == 31
    assert [trial.value for trial in trials] == [bowl(trial.params) for trial in trials]


def test_machines_that_optimize_on_a_server_share_the_budget(postgres_url: str) -> None:
    together(optimize, 4, postgres_url, 41, 1)
    trials = trials_of(postgres_url)
    assert [trial.value for trial in trials] == [bowl(trial.params) for trial in trials]
    assert len(trials) == 41


def test_several_local_workers_evaluate_at_once_and_each_trial_once(tmp_path: Path) -> None:
    def counted(params: Params) -> float:
        with (tmp_path / "calls").open("a") as file:
            print(os.getpid(), params["x"], file=file)
        time.sleep(0.05)
        return bowl(params)

    with opened(f"sqlite:///{tmp_path}/study.db") as study:
        result = study.optimize(counted, 24, workers=4, progress=False)
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    assert sorted(float(x) for _, x in calls) == sorted(trial.params["x"] for trial in result.trials)
    assert len({pid for pid, _ in calls}) == 24
    assert [trial.value for trial in result.trials] == [bowl(trial.params) for trial in result.trials]


def in_children(url: str, folder: Path, count: int) -> None:
    """Fork with a study in hand, on which parent and children then work at once."""
    study = opened(url)
    mine = study.ask()
    with (folder / "parent.told").open("w") as file:
        children = []
        for me in range(4):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    child(study, me, folder, count)
                    status = 0
                finally:
                    os._exit(status)
            children.append(pid)
        for _ in range(count):
            trial = study.ask()
            study.tell(trial, bowl(trial.params))
            print(json.dumps([trial.number, trial.params, bowl(trial.params)]), file=file)
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
        raced = opened(url).ask()
        assert raced.number == 5 * count + 1  # what the children closed was theirs alone
        assert study.tell(mine, 1.0).state == "done"


def child(study: Study, me: int, folder: Path, count: int) -> None:
    with (folder / f"{me}.told").open("w") as file, study:
        for _ in range(count):
            trial = study.ask()
            study.tell(trial, bowl(trial.params))
            print(json.dumps([trial.number, trial.params, bowl(trial.params)]), file=file)


def forked(url: str, folder: Path) -> None:
    """A study lives on in a forked process, with connections and leases of its own."""
    with started(in_children, (url, folder, 10)) as processes:
        succeeded(processes)
    assert told_by(folder) == kept(trials_of(url))[1:-1]


def test_a_study_on_a_file_survives_a_fork(tmp_path: Path) -> None:
    forked(f"sqlite:///{tmp_path}/study.db", tmp_path)


def test_a_study_on_a_server_survives_a_fork(tmp_path: Path, postgres_url: str) -> None:
    forked(postgres_url, tmp_path)


def clocks() -> Iterator[store.Clock]:
    """The clock for each try of a measurement; on a machine that is too busy, our own time in the end."""
    yield from [time.perf_counter] * store.RUNS
    if os.getloadavg()[0] > (os.cpu_count() or 1):
        yield time.process_time


def test_one_process_asks_and_tells_a_hundred_times_a_second(on_disk: Path) -> None:
    rate = store.pairs_per_second(f"sqlite:///{on_disk}/a.db", 300)
    if rate < store.PAIRS:  # a slower machine: there plain SQLite is slower too
        assert store.times_plain(on_disk, 150) < store.PLAIN, rate


def test_a_store_adds_less_than_ten_milliseconds_to_a_suggestion(on_disk: Path) -> None:
    beyond: list[float] = []
    for clock in clocks():
        in_study, in_memory = store.ask_seconds(f"sqlite:///{on_disk}/{len(beyond)}.db", 1000, clock)
        beyond.append(in_study - in_memory)
        if beyond[-1] < store.OVERHEAD:
            return
    pytest.fail(f"wanted less than {store.OVERHEAD} s, got {beyond}")
