"""Processes and servers killed at any moment: what was told is kept, and the run goes on as it would have."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bopp import Params, Recipe, Space
from bopp.data import Array, History
from bopp.initial import Sobol
from bopp.search import Gradients, Score
from support.faults import Figure
from support.postgres import Mode, Server
from support.workers import (
    PATIENCE,
    bowl,
    fresh,
    full_size,
    kept,
    kind_of,
    opened,
    started,
    succeeded,
    told_by,
    trials_of,
)


def run_and_log(url: str, recipe: Recipe, budget: int, log: Path) -> None:
    """Ask and tell to the end; what tell has acknowledged is on the disk before anything else happens."""
    phase, told = (os.open(log.with_suffix(kind), os.O_WRONLY | os.O_CREAT) for kind in (".phase", ".told"))
    os.lseek(told, 0, os.SEEK_END)

    def begin(word: str) -> None:
        os.pwrite(phase, word.encode().ljust(8), 0)

    begin("opening")
    study = opened(url, recipe)
    begin("asking")
    while trial := study.ask_within(budget):
        begin("telling")
        study.tell(trial, bowl(trial.params))
        os.write(told, (json.dumps([trial.number, trial.params, bowl(trial.params)]) + "\n").encode())
        os.fsync(told)
        begin("asking")
    begin("closing")


def unbroken(recipe: Recipe, budget: int) -> list[tuple[int, Params, float | None]]:
    """The trials of a run that nobody disturbs."""
    with opened("sqlite://", recipe) as study:
        study.optimize(bowl, budget, progress=False)
        return kept(study.trials)


def is_whole(url: str, aside: Path) -> bool:
    """Whether a copy of the file, with its journal, is sound; the file itself waits for the next worker."""
    path = Path(url.removeprefix("sqlite:///"))
    if not path.exists():
        return True
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, aside / file.name)
    copy = sqlite3.connect(aside / path.name)
    answer = copy.execute("PRAGMA integrity_check").fetchall()
    copy.close()
    for file in aside.iterdir():
        file.unlink()
    return answer == [("ok",)]


def kill_often(url: str, folder: Path, recipe: Recipe, kills: int, longest: float) -> Counter[str]:
    """Kill a run again and again, let it end, and compare; the phases in which the kills struck."""
    rng, struck, log, aside = random.Random(kills), Counter[str](), folder / "log", folder / "aside"
    aside.mkdir()
    log.with_suffix(".told").touch()
    while struck.total() < kills:
        log.with_suffix(".phase").write_text("starting")
        with started(run_and_log, (url, recipe, 10**6, log)) as [process]:
            goals = rng.choice([("opening", "asking", "telling"), ("asking",), ("telling",)])
            while log.with_suffix(".phase").read_text().strip() not in goals:
                time.sleep(0.0005)
            process.join(rng.uniform(0.0, rng.choice([0.004, longest])))  # within the phase, or far from it
            assert process.exitcode is None  # it does not fail over what another left behind
            process.kill()
            process.join()
        struck[log.with_suffix(".phase").read_text().strip()] += 1
        if url.startswith("sqlite"):
            assert is_whole(url, aside)
        acknowledged, there = told_by(folder), kept(trials_of(url, recipe))
        assert [there[number] for number, _, _ in acknowledged] == acknowledged
    budget = len(trials_of(url, recipe)) + 5
    with started(run_and_log, (url, recipe, budget, log)) as processes:
        succeeded(processes)
    assert kept(trials_of(url, recipe)) == unbroken(recipe, budget)
    return struck


def struck_by(kills: int, struck: Counter[str]) -> str:
    """The figure of a run that was killed, and that the kills struck where they should."""
    phases = ("opening", "asking", "telling")
    assert set(phases if kills >= 100 else phases[1:2] if kills >= 10 else ()) <= struck.keys()
    where = ", ".join(f"{struck[phase]} {phase}" for phase in phases)
    return f"{kills} kills ({where}), 0 told results lost"


@pytest.mark.fault(4, 5)
@pytest.mark.parametrize(
    ("recipe", "kills", "longest"),
    [
        pytest.param(Recipe.random(), 3, 0.05, id="briefly"),
        pytest.param(Recipe.random(), 25, 0.05, id="plain", marks=pytest.mark.endurance),
        pytest.param(Recipe.default(), 10, 0.2, id="modelled", marks=pytest.mark.endurance),
        pytest.param(Recipe.random(), 100, 0.05, id="plain often", marks=full_size),
        pytest.param(Recipe.random(), 100, 0.4, id="plain late", marks=full_size),
        pytest.param(Recipe.default(), 100, 0.4, id="modelled late", marks=full_size),
    ],
)
def test_a_run_killed_at_many_moments_is_the_run_that_was_not(
    url: str, tmp_path: Path, recipe: Recipe, kills: int, longest: float, figure: Figure
) -> None:
    struck = kill_often(url, tmp_path, recipe, kills, longest)
    figure(f"{kind_of(url)}: {struck_by(kills, struck)}", 4)
    figure("each run as if it had never been killed, bit for bit", 5)


def work_until_done(url: str, me: int, folder: Path, budget: int, pause: float) -> None:
    """Optimise with all others; an evaluation is on record before its value is told."""

    def objective(params: Params) -> float:
        with (folder / f"{me}.calls").open("a") as file:
            print(json.dumps(params), file=file)
        time.sleep(pause)
        return bowl(params)

    with opened(url) as study:
        result = study.optimize(objective, budget, progress=False)
        assert len(result.trials) == budget
        assert {trial.state for trial in result.trials} == {"done"}


def calls(folder: Path) -> list[Params]:
    """The params that were evaluated, by whomever."""
    return [json.loads(line) for file in folder.glob("*.calls") for line in file.read_text().splitlines()]


@pytest.mark.endurance
@pytest.mark.fault(6)
def test_of_four_that_optimize_one_may_be_killed(url: str, tmp_path: Path) -> None:
    """One of four is killed in mid-trial; the others finish, its trial too, and no more."""
    with started(work_until_done, *((url, me, tmp_path, 40, 0.1) for me in range(4))) as processes:
        while len(calls(tmp_path)) < 12:
            time.sleep(0.01)
        processes[0].kill()
        processes[0].join()
        succeeded(processes[1:])
    trials = trials_of(url)
    assert [trial.number for trial in trials] == list(range(40))
    assert [trial.value for trial in trials] == [bowl(trial.params) for trial in trials]
    evaluated = Counter(params["x"] for params in calls(tmp_path))
    assert set(evaluated) == {trial.params["x"] for trial in trials}
    assert 40 <= evaluated.total() <= 41  # at most the trial of the dead was evaluated again


def disturbed(url: str, folder: Path, budget: int, disturb: Iterator[None]) -> None:
    """Four workers go through whatever is done to their server, and nothing is lost or done twice."""
    with started(work_until_done, *((url, me, folder, budget, 0.02) for me in range(4))) as processes:
        while len(calls(folder)) < 8:
            time.sleep(0.01)
        for _ in disturb:
            assert [process.exitcode for process in processes] == [None] * 4  # in mid-run, none has died
        succeeded(processes)
    trials = trials_of(url)
    assert [trial.number for trial in trials] == list(range(budget))
    assert [trial.value for trial in trials] == [bowl(trial.params) for trial in trials]
    assert Counter(params["x"] for params in calls(folder)) == Counter(t.params["x"] for t in trials)


@pytest.mark.endurance
@pytest.mark.fault(21)
@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=full_size)])
def test_workers_outlast_restarts_of_their_server(
    tmp_path: Path, postgres_server: Server, postgres_url: str, rounds: int, figure: Figure
) -> None:
    modes: tuple[Mode, ...] = ("fast", "immediate", "immediate", "fast") * rounds

    def restarts() -> Iterator[None]:
        for mode in modes:
            postgres_server.restart(mode)
            yield
            time.sleep(0.3)

    budget = 150 * rounds
    disturbed(postgres_url, tmp_path, budget, restarts())
    figure(f"{len(modes)} restarts, half of them as in a crash: {budget} of {budget} trials, each once")


@pytest.mark.endurance
@pytest.mark.fault(21)
@pytest.mark.parametrize("times", [8, pytest.param(20, marks=full_size)])
def test_workers_outlast_the_loss_of_their_connections(
    tmp_path: Path, postgres_server: Server, postgres_url: str, times: int, figure: Figure
) -> None:
    lost = []

    def losses() -> Iterator[None]:
        for _ in range(times):
            lost.append(postgres_server.kill_connections(postgres_url))
            yield
            time.sleep(0.05)

    budget = 7 * times
    disturbed(postgres_url, tmp_path, budget, losses())
    assert sum(map(bool, lost)) >= times // 2
    figure(f"{sum(lost)} connections killed, {len(lost)} times: {budget} of {budget} trials, each once")


def hold(url: str, ready: Connection) -> None:
    """Begin to write, past bopp, and never end; with a journal that others have to roll back."""
    if url.startswith("sqlite"):
        raw = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        raw.execute("PRAGMA cache_size = 1")
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("CREATE TABLE rubbish AS SELECT randomblob(1000) FROM bopp_trials, bopp_trials AS b")
        raw.execute("UPDATE bopp_trials SET value = -1.0")
        ready.send(None)
        time.sleep(PATIENCE)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE bopp_studies SET revision = revision + 1")
        connection.execute("UPDATE bopp_trials SET value = -1.0")
        ready.send(None)
        time.sleep(PATIENCE)


def tell_one(url: str, ready: Connection) -> None:
    """Ask for a trial; once all is held, tell it and ask for the next."""
    with opened(url) as study:
        trial = study.ask()
        ready.send(None)
        ready.recv()
        ready.send(None)
        study.tell(trial, 1.0)
        study.ask()
        ready.send(time.monotonic())


@pytest.mark.fault(9)
def test_others_go_on_when_a_writer_is_killed(url: str, figure: Figure) -> None:
    """Whoever waits for a writer that is killed goes on within a second, and finds nothing of it."""
    with opened(url) as study:
        for number in range(20):
            study.tell(study.ask(), number)
        before = kept(study.trials)
    (waiter, others_waiter), (holder, others_holder) = fresh.Pipe(), fresh.Pipe()
    with started(tell_one, (url, others_waiter)) as waiting:
        waiter.recv()
        with started(hold, (url, others_holder)) as [holding]:
            holder.recv()
            waiter.send(None)
            waiter.recv()
            assert not waiter.poll(0.3)  # it waits indeed
            killed = time.monotonic()
            holding.kill()
            went_on = waiter.recv()
        succeeded(waiting)
    assert went_on - killed < 1.0
    assert kept(trials_of(url))[:20] == before
    assert trials_of(url)[20].value == 1.0
    figure(f"{kind_of(url)}, a writer killed: others go on after {went_on - killed:.2f} s")


def slow_search(score: Score, space: Space, history: History, rng: Any) -> Array:
    """A search that takes for ever in the process that wants it so."""
    if "SLOW" in os.environ:
        time.sleep(PATIENCE)
    return Gradients()(score, space, history, rng)


SLOW = Recipe(initial=Sobol(1), search=slow_search)


def ask_slowly(url: str, slowly: bool, ready: Connection) -> None:
    """Ask for a trial, and say when it came."""
    with opened(url, SLOW) as study:
        if slowly:
            os.environ["SLOW"] = "1"
        ready.send(None)
        trial = study.ask()
        ready.send((trial.number, time.monotonic()))
        ready.recv()


@pytest.mark.endurance
@pytest.mark.fault(9)
def test_others_go_on_when_one_that_thinks_is_killed(url: str, figure: Figure) -> None:
    """Whoever waits for the suggestion of one that is killed goes on within a second."""
    with opened(url, SLOW) as study:
        study.tell(study.ask(), 1.0)
    (thinker, others_thinker), (waiter, others_waiter) = fresh.Pipe(), fresh.Pipe()
    with started(ask_slowly, (url, True, others_thinker)) as [thinking]:
        thinker.recv()
        time.sleep(0.3)
        with started(ask_slowly, (url, False, others_waiter)) as [waiting]:
            waiter.recv()
            assert not waiter.poll(0.5)  # one thinks at a time
            killed = time.monotonic()
            thinking.kill()
            number, went_on = waiter.recv()
            waiter.send(None)
            succeeded([waiting])
    assert number == 1
    assert went_on - killed < 1.0
    figure(f"{kind_of(url)}, one that thinks killed: others go on after {went_on - killed:.2f} s")


class Interrupted(BaseException):
    """Ctrl-C, in a test."""


def test_ctrl_c_while_trials_are_read_leaves_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    with opened(url) as worker, opened(url) as reader:
        trials = worker.ask(10)
        for trial in reversed(trials):  # the first trial has the latest revision
            worker.tell(trial, float(trial.number))
        rows = reader._ledger._reader
        answer = rows._answer

        def interrupted(state: Any, value: Any, *rest: Any) -> Any:
            if value == 4.0:
                raise Interrupted
            return answer(state, value, *rest)

        monkeypatch.setattr(rows, "_answer", interrupted)
        with pytest.raises(Interrupted):
            _ = reader.trials
        monkeypatch.undo()
        assert reader.trials == worker.trials


def interrupted_often(url: str, ready: Connection) -> None:
    """Optimise through any number of Ctrl-C, in one process and with one study."""
    with opened(url, lease=2.0) as study:
        ready.send(None)
        done = False
        while not done:
            with suppress(KeyboardInterrupt):  # those that strike outside of a run
                result = study.optimize(bowl, 300, progress=False)
                done = len(result.trials) == 300 and all(trial.state == "done" for trial in result.trials)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        ready.send(None)
        ready.recv()


@pytest.mark.endurance
def test_ctrl_c_at_fifty_moments_loses_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    mine, others = fresh.Pipe()
    rng = random.Random(0)
    with started(interrupted_often, (url, others)) as [process]:
        mine.recv()
        for _ in range(50):
            time.sleep(rng.uniform(0.01, 0.08))
            os.kill(process.pid or 0, signal.SIGINT)
        assert mine.poll(PATIENCE)
        mine.send(None)
        succeeded([process])
    trials = trials_of(url)
    assert [trial.value for trial in trials] == [bowl(trial.params) for trial in trials]
    assert len(trials) == 300
