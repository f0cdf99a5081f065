"""Many processes on one study: every trial once, every value kept, every queued point popped once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

import bopp
import store
from bopp import Params, Recipe
from bopp.errors import StudyError
from support.faults import Figure
from support.postgres import Server
from support.workers import (
    PATIENCE,
    SPACE,
    bowl,
    execute,
    fresh,
    full_size,
    kind_of,
    many,
    opened,
    started,
    succeeded,
    together,
    told_by,
    trials_of,
)


@pytest.mark.fault(1, 2)
@pytest.mark.parametrize(
    ("processes", "each"),
    [
        (2, 5),
        pytest.param(8, 50, marks=pytest.mark.endurance),
        pytest.param(8, 200, marks=full_size),
        pytest.param(16, 100, marks=full_size),
    ],
)
def test_processes_share_a_store(tmp_path: Path, url: str, processes: int, each: int, figure: Figure) -> None:
    figure(many(url, tmp_path, processes, each), 1 if url.startswith("sqlite") else 2)


@pytest.mark.fault(1)
@pytest.mark.endurance
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


def open_at_once(urls: list[str], folder: Path) -> str:
    """Eight processes open every store at one instant; in the last quarter each wants another seed."""
    agreed = len(urls) - len(urls) // 4
    for part, seeds, refused in ((urls[:agreed], False, 0), (urls[agreed:], True, 7)):
        together(open_each, 8, part, seeds, folder)
        assert sum(int(file.read_text()) for file in folder.glob("*.refused")) == refused * len(part)
    for url in urls:
        assert execute(url, "SELECT count(*) FROM bopp_studies") == [(1,)]
        assert execute(url, "SELECT count(*) FROM bopp_schema") == [(1,)]
        assert execute(url, "SELECT count(*) FROM bopp_trials") == [(0,)]
    return f"{kind_of(urls[0])}: {len(urls)} stores, 8 processes each, 0 errors"


@pytest.mark.fault(3)
@pytest.mark.parametrize(
    "times", [1, pytest.param(8, marks=pytest.mark.endurance), pytest.param(20, marks=full_size)]
)
def test_eight_create_one_file_at_one_instant(tmp_path: Path, times: int, figure: Figure) -> None:
    figure(open_at_once([f"sqlite:///{tmp_path}/{number}.db" for number in range(times)], tmp_path))


@pytest.mark.fault(3)
@pytest.mark.endurance
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


def pop_at_once(url: str, folder: Path, rounds: int, points: int = 10, poppers: int = 16) -> str:
    """Fewer queued points than processes that ask at one instant: each point goes to one of them."""
    study, barrier = opened(url), fresh.Barrier(poppers + 1)
    wanted = [{"x": k / (points * rounds), "y": 0.5} for k in range(points * rounds)]
    with started(pop, *((barrier, me, url, folder, rounds) for me in range(poppers))) as processes:
        for k in range(rounds):
            for params in wanted[points * k : points * k + points]:
                study.enqueue(params)
            barrier.wait(PATIENCE)
            barrier.wait(PATIENCE)
        succeeded(processes)
    said = told_by(folder)
    assert [number for number, _, _ in said] == list(range(poppers * rounds))
    popped = [params for _, params, queued in said if queued]
    assert popped == wanted  # first come, first served, in every round
    assert study.queued == []
    assert sum(trial.origin == "suggested" for trial in study.trials) == (poppers - points) * rounds
    study.close()
    return f"{kind_of(url)}: {len(popped)} popped by {poppers} processes in {rounds} rounds, each once"


@pytest.mark.fault(12)
@pytest.mark.parametrize(
    ("rounds", "points", "poppers"),
    [
        (2, 2, 3),
        pytest.param(2, 10, 16, marks=pytest.mark.endurance),
        pytest.param(50, 10, 16, marks=full_size),
    ],
)
def test_more_ask_than_points_are_queued(
    url: str, tmp_path: Path, rounds: int, points: int, poppers: int, figure: Figure
) -> None:
    figure(pop_at_once(url, tmp_path, rounds, points, poppers))


def optimize(barrier: Barrier, me: int, url: str, budget: int, workers: int) -> None:
    """Work on the study together with the others; it has its whole budget when this returns."""
    with opened(url) as study:
        barrier.wait(PATIENCE)
        result = study.optimize(bowl, budget, workers, progress=False)
        assert len(result.trials) == budget
        assert {trial.state for trial in result.trials} == {"done"}


@pytest.mark.endurance
@pytest.mark.parametrize(("processes", "workers"), [(4, 1), (2, 2)])
def test_processes_that_optimize_with_one_budget_share_it(url: str, processes: int, workers: int) -> None:
    together(optimize, processes, url, 31, workers)
    trials = trials_of(url)
    assert len(trials) == 31
    assert [trial.value for trial in trials] == [bowl(trial.params) for trial in trials]


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


def clocks() -> Iterator[store.Clock]:
    """The clock for each try of a measurement; on a machine that is too busy, our own time in the end."""
    yield from [time.perf_counter] * store.RUNS
    if os.getloadavg()[0] > (os.cpu_count() or 1):
        yield time.process_time


@pytest.mark.endurance
def test_one_process_asks_and_tells_a_hundred_times_a_second(on_disk: Path) -> None:
    rate = store.pairs_per_second(f"sqlite:///{on_disk}/a.db", 300)
    if rate < store.PAIRS:  # a slower machine: there plain SQLite is slower too
        assert store.times_plain(on_disk, 150) < store.PLAIN, rate


@pytest.mark.endurance
def test_a_store_adds_less_than_ten_milliseconds_to_a_suggestion(on_disk: Path) -> None:
    beyond: list[float] = []
    for clock in clocks():
        in_study, in_memory = store.ask_seconds(f"sqlite:///{on_disk}/{len(beyond)}.db", 1000, clock)
        beyond.append(in_study - in_memory)
        if beyond[-1] < store.OVERHEAD:
            return
    pytest.fail(f"wanted less than {store.OVERHEAD} s, got {beyond}")
