"""Evaluations on a Dask cluster: every result once, whoever of workers, client and cluster dies."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from bopp import Params, Study
from support.faults import Figure
from support.workers import PATIENCE, bowl, kept, opened, started, succeeded, trials_of

pytestmark = pytest.mark.endurance


def evaluate(folder: Path, seconds: float, params: Params) -> float:
    """An objective on a worker that notes who begins and who ends."""
    note(folder, params, ended=False)
    time.sleep(seconds)
    note(folder, params, ended=True)
    return bowl(params)


def note(folder: Path, params: Params, ended: bool) -> None:
    with (folder / "calls").open("a") as file:
        file.write(f"{params['x']!r} {os.getpid()} {int(ended)}\n")


def calls(folder: Path, ended: bool) -> list[tuple[float, int]]:
    """The x and the process of evaluations that began, or that ended."""
    if not (folder / "calls").exists():
        return []
    lines = [line.split() for line in (folder / "calls").read_text().splitlines()]
    return [(float(x), int(pid)) for x, pid, end in lines if int(end) == ended]


def deadly(folder: Path, params: Params) -> float:
    """An objective that kills its worker in a part of the space."""
    note(folder, params, ended=False)
    if params["x"] > 0.8:
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(params)


def local_cluster(workers: int) -> LocalCluster:
    """Processes on this machine, each under a nanny that starts it anew when it dies."""
    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """One cluster for all who leave it as whole as its nannies can make it."""
    with local_cluster(2) as cluster:
        yield cluster


def connected(cluster: LocalCluster | str) -> Client:
    return Client(cluster)  # type: ignore[no-untyped-call]


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with connected(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with opened(f"sqlite:///{tmp_path}/study.db") as study:
        yield study


def each_once(study: Study, budget: int) -> None:
    """The study has as many trials as its budget, all told, each with the value of its params."""
    trials = study.trials
    assert [trial.number for trial in trials] == list(range(budget))
    assert [trial.value for trial in trials] == [bowl(trial.params) for trial in trials]


def test_a_cluster_evaluates_every_trial_once(client: Client, study: Study, tmp_path: Path) -> None:
    result = study.optimize(partial(evaluate, tmp_path, 0.01), 20, executor=client, progress=False)
    each_once(study, 20)
    assert kept(result.trials) == kept(study.trials)
    ended = calls(tmp_path, ended=True)
    assert Counter(x for x, _ in ended) == Counter(trial.params["x"] for trial in study.trials)
    assert len({pid for _, pid in ended}) == 2  # both workers worked


def test_a_cluster_waits_while_a_study_is_paused(client: Client, study: Study, tmp_path: Path) -> None:
    begun: list[int] = []

    def pause(*_: Any) -> None:
        if len(study.trials) >= 3 and not begun:
            study.pause("the cluster is wanted for something else")
            begun.append(len(study.trials))
            timer.start()

    def resume() -> None:
        wait_for(lambda: "asked" not in {trial.state for trial in study.trials})
        time.sleep(0.6)
        begun.append(len(study.trials))
        study.resume()

    timer = threading.Timer(0.0, resume)
    study.optimize(partial(evaluate, tmp_path, 0.1), 8, executor=client, progress=False, callback=pause)
    timer.join()
    each_once(study, 8)
    assert len(begun) == 2
    assert begun[0] == begun[1] < 8


def test_what_a_cluster_raises_is_a_failed_trial(client: Client, study: Study) -> None:
    result = study.optimize(sometimes, 12, executor=client, progress=False)
    failed = [trial for trial in result.trials if trial.params["x"] > 0.5]
    assert 0 < len(failed) < 12
    assert [trial.error for trial in failed] == ["ValueError: too far"] * len(failed)
    assert [trial.state for trial in result.trials if trial not in failed] == ["done"] * (12 - len(failed))


def sometimes(params: Params) -> float:
    if params["x"] > 0.5:
        raise ValueError("too far")
    return bowl(params)


def wait_for(done: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def work_on_cluster(url: str, folder: Path, address: str, budget: int, seconds: float) -> None:
    """One machine, of several perhaps, with a cluster that all have."""
    with connected(address) as client, opened(url) as study:
        result = study.optimize(partial(evaluate, folder, seconds), budget, executor=client, progress=False)
        assert len(result.trials) == budget


@pytest.mark.fault(28)
def test_a_worker_killed_in_mid_trial_loses_nothing(
    client: Client, study: Study, tmp_path: Path, figure: Figure
) -> None:
    killed: list[int] = []

    def kill(*_: Any) -> None:
        if len(study.trials) == 5:
            wait_for(lambda: len(calls(tmp_path, ended=False)) == 5)
            killed.append(calls(tmp_path, ended=False)[-1][1])
            os.kill(killed[0], signal.SIGKILL)

    objective = partial(evaluate, tmp_path, 0.3)
    study.optimize(objective, 12, executor=client, progress=False, callback=kill)
    each_once(study, 12)
    begun, ended = calls(tmp_path, ended=False), calls(tmp_path, ended=True)
    assert len(begun) == 13  # the lost evaluation was begun again
    assert Counter(x for x, _ in ended) == Counter(trial.params["x"] for trial in study.trials)
    wait_for(lambda: len({*client.run(os.getpid).values()} - {*killed}) == 2)  # a new one has taken its place
    figure(f"{len(study.trials)} trials, each told once; {len(begun) - len(study.trials)} begun again")


@pytest.mark.fault(28)
def test_an_objective_that_kills_its_workers_is_a_failed_trial(
    client: Client, study: Study, tmp_path: Path
) -> None:
    result = study.optimize(partial(deadly, tmp_path), 8, executor=client, progress=False)
    lost = [trial for trial in result.trials if trial.params["x"] > 0.8]
    others = [trial for trial in result.trials if trial not in lost]
    assert len(result.trials) == 8
    assert 1 <= len(lost) <= 3
    assert {trial.state for trial in lost} == {"failed"}
    assert all((trial.error or "").startswith("KilledWorker: ") for trial in lost)
    assert [trial.value for trial in others] == [bowl(trial.params) for trial in others]


def test_a_client_killed_and_run_again_goes_on(cluster: LocalCluster, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    arguments = (url, tmp_path, cluster.scheduler_address, 10, 0.2)
    with started(work_on_cluster, arguments) as [process]:
        wait_for(lambda: len(calls(tmp_path, ended=True)) >= 3)
        process.kill()
        process.join()
    told = [trial for trial in trials_of(url) if trial.state == "done"]
    with started(work_on_cluster, arguments) as processes:
        succeeded(processes)
    with opened(url) as study:
        each_once(study, 10)
        assert [study.trials[trial.number] for trial in told] == told


def test_machines_share_a_server_and_a_cluster(
    cluster: LocalCluster, tmp_path: Path, postgres_url: str
) -> None:
    arguments = (postgres_url, tmp_path, cluster.scheduler_address, 30, 0.02)
    with started(work_on_cluster, arguments, arguments, arguments) as processes:
        wait_for(lambda: len(calls(tmp_path, ended=True)) >= 5)
        processes[0].kill()
        succeeded(processes[1:])
    with opened(postgres_url) as study:
        each_once(study, 30)


def lose_cluster(url: str, folder: Path) -> None:
    """Optimise on a cluster that is closed in mid-run, and say how that ended."""
    cluster = local_cluster(1)
    with opened(url) as study:

        def lose(*_: Any) -> None:
            if len(study.trials) == 3:
                cluster.close(timeout=1)

        try:
            objective = partial(evaluate, folder, 0.1)
            study.optimize(objective, 20, executor=connected(cluster), progress=False, callback=lose)
        except Exception as error:
            (folder / "error").write_text(f"{type(error).__name__}: {error}")
    os._exit(0)  # without a word of the client, which has lost its scheduler


def test_a_cluster_that_is_gone_does_not_use_up_the_budget(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    with started(lose_cluster, (url, tmp_path)) as processes:
        succeeded(processes)
    trials = trials_of(url)
    assert len(trials) <= 4
    assert sum(trial.state == "failed" for trial in trials) <= 1
    assert (tmp_path / "error").read_text()
