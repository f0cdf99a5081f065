"""Worker processes of a test, and the study that they share."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

import bopp
from bopp import Float, Params, Recipe, Study, Trial

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
    return [(trial.number, trial.params, trial.values.get("value")) for trial in trials]


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


def execute(url: str, sql: str) -> list[tuple[Any, ...]]:
    """The rows that a statement gives, run past bopp."""
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as raw:
            return raw.execute(sql).fetchall()
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []
