"""Whose trial it is: that of the dead and the silent goes to one other, that of the living to none."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from bopp import Params, Study
from bopp.errors import LateTell
from bopp.study import identity
from bopp.study.store import Moment, Store
from support.faults import Figure
from support.postgres import Server
from support.workers import PATIENCE, bowl, execute, fresh, kind_of, opened, started, succeeded, trials_of

SILENCE = 20.0  # seconds without a word from a process that should speak
FOREIGN = "UPDATE bopp_trials SET worker = 'elsewhere/1/x-1', seal = NULL"


def ask_and_keep(url: str, lease: float, mine: Connection) -> None:
    """Ask for a trial, say so, and work on it until told to tell."""
    with opened(url, lease=lease) as study:
        trial = study.ask()
        mine.send(trial.number)
        value, error = mine.recv()
        try:
            told = study.fail(trial, error) if error else study.tell(trial, value)
            mine.send(told.state)
        except LateTell as late:
            mine.send(f"late: {late}")
        mine.recv()


def contend(url: str, lease: float, mine: Connection) -> None:
    """Ask again and again for a trial of others; whoever gets one says so and keeps it."""
    study = opened(url, lease=lease)
    mine.send("ready")
    while True:
        if trial := study.ask_within(1):
            mine.send((trial.number, time.monotonic()))
            mine.recv()
            study.tell(trial, 2.0)
            mine.send("told")
        time.sleep(0.05)


def hear(pipe: Connection) -> Any:
    """What a process says, if it lives to say it."""
    assert pipe.poll(SILENCE)
    return pipe.recv()


def first(pipes: tuple[Connection, ...]) -> Connection:
    """The one pipe that has something to say; it is an error if two have."""
    [spoken] = wait(pipes, PATIENCE)
    assert isinstance(spoken, Connection)
    return spoken


def ready(pipes: tuple[Connection, ...]) -> None:
    assert [hear(pipe) for pipe in pipes] == ["ready"] * len(pipes)


@pytest.mark.fault(6)
def test_the_trial_of_a_dead_worker_goes_to_another(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    mine, others = fresh.Pipe()
    with started(ask_and_keep, (url, 60.0, others)) as [owner], opened(url) as study:
        assert hear(mine) == 0
        assert study.ask_within(1) is None
        owner.kill()
        owner.join()
        assert study.ask_within(1) is not None


@pytest.mark.fault(6)
@pytest.mark.endurance
@pytest.mark.parametrize(("lease", "elsewhere"), [(60.0, False), (2.0, True)])
def test_the_trial_of_the_dead_or_silent_goes_to_one_of_eight(
    url: str, lease: float, elsewhere: bool, figure: Figure
) -> None:
    """At once where the owner is seen to be dead, and after its lease where it is on another machine."""
    waited = []
    mine, others = fresh.Pipe()
    ours, theirs = zip(*(fresh.Pipe() for _ in range(8)), strict=True)
    with started(ask_and_keep, (url, lease, others)) as [owner]:
        assert hear(mine) == 0
        if elsewhere:
            execute(url, FOREIGN)
        with started(contend, *((url, lease, pipe) for pipe in theirs)) as contenders:
            ready(ours)
            assert (
                wait(ours, 1.5 * lease if elsewhere else 0.5) == []
            )  # while it lives, nobody gets its trial
            for _ in range(1 if elsewhere else 3):
                killed = time.monotonic()
                owner.kill()
                winner = first(ours)
                number, at = hear(winner)
                assert number == 0
                waited.append(at - killed)
                assert wait(ours, 1.0) == []  # and nobody else did
                owner = contenders[ours.index(winner)]
            winner.send(None)
            assert hear(winner) == "told"
    assert max(waited) < (lease + 5.0 if elsewhere else 5.0)
    assert not elsewhere or waited[0] > lease / 2
    [trial] = trials_of(url)
    assert (trial.value, trial.worker != "elsewhere/1/x-1") == (2.0, True)
    where = f"with a lease of {lease:.0f} s on another machine" if elsewhere else "on the same machine"
    figure(f"{kind_of(url)}: one of 8 has it after {max(waited):.2f} s {where}")


def another_was_told(study: Study, trial: Any, owner: Connection) -> None:
    study.tell(trial, 2.0)
    owner.send((1.0, None))
    assert hear(owner).startswith("late")
    assert study.trials[0].value == 2.0


def the_late_one_comes_first(study: Study, trial: Any, owner: Connection) -> None:
    owner.send((1.0, None))
    assert hear(owner) == "done"
    with pytest.raises(LateTell, match=r"1\.0 already"):
        study.tell(trial, 2.0)
    assert study.trials[0].value == 1.0


def both_are_alike(study: Study, trial: Any, owner: Connection) -> None:
    study.tell(trial, 2.0)
    owner.send((2.0, None))
    assert hear(owner) == "done"


def the_late_one_failed(study: Study, trial: Any, owner: Connection) -> None:
    owner.send((None, "out of memory"))
    assert hear(owner).startswith("late")
    assert study.trials[0].state == "asked"
    assert study.tell(trial, 2.0).value == 2.0


@pytest.mark.fault(11)
@pytest.mark.endurance
@pytest.mark.parametrize(
    "tell", [another_was_told, the_late_one_comes_first, both_are_alike, the_late_one_failed]
)
def test_of_two_values_the_first_counts(url: str, tell: Callable[[Study, Any, Connection], None]) -> None:
    """A worker is stopped for longer than its lease, and goes on when another has its trial."""
    mine, others = fresh.Pipe()
    with started(ask_and_keep, (url, 1.0, others)) as [owner], opened(url, lease=1.0) as study:
        assert hear(mine) == 0
        os.kill(owner.pid or 0, signal.SIGSTOP)
        stopped = time.monotonic()
        while (trial := study.ask_within(1)) is None:
            time.sleep(0.05)
        assert 0.5 < time.monotonic() - stopped < 6.0
        assert (trial.number, trial.worker) == (0, study.trials[0].worker)
        os.kill(owner.pid or 0, signal.SIGCONT)
        tell(study, trial, mine)
        mine.send(None)
        succeeded([owner])


def work(url: str, me: int, lease: float, budget: int, mine: Connection) -> None:
    """Optimise with values that only this process gives, and say when each evaluation begins."""

    def objective(params: Params) -> float:
        mine.send("begun")
        time.sleep(0.3)
        return me + bowl(params) / 100

    with opened(url, lease=lease) as study:
        result = study.optimize(objective, budget, progress=False)
        mine.send([trial.values.get("value") for trial in result.trials])


def result_of(pipe: Connection) -> list[Any]:
    """What a worker returns in the end."""
    while True:
        if isinstance(said := hear(pipe), list):
            return said


@pytest.mark.fault(11)
@pytest.mark.endurance
def test_a_worker_that_was_stopped_lives_on_without_its_trial(url: str, figure: Figure) -> None:
    (one, others_one), (two, others_two) = fresh.Pipe(), fresh.Pipe()
    with started(work, (url, 100, 1.0, 6, others_one)) as [stopped]:
        assert hear(one) == "begun"
        os.kill(stopped.pid or 0, signal.SIGSTOP)
        time.sleep(1.0)
        with started(work, (url, 200, 1.0, 6, others_two)) as [other]:
            while trials_of(url)[0].state == "asked":
                time.sleep(0.1)
            os.kill(stopped.pid or 0, signal.SIGCONT)
            values = result_of(one)
            assert result_of(two) == values
            succeeded([stopped, other])
    assert len(values) == 6
    assert 200 <= values[0] < 201
    assert {100, 200} == {int(value // 100) * 100 for value in values}
    figure(
        f"{kind_of(url)}: a worker stopped beyond its lease and another told {len(values)} trials, each once"
    )


@pytest.mark.parametrize("value", [7.0, None], ids=["told", "failed"])
def test_a_trial_settled_by_hand_does_not_end_its_worker(url: str, value: float | None) -> None:
    mine, others = fresh.Pipe()
    with started(work, (url, 100, 60.0, 3, others)) as [process], opened(url) as by_hand:
        assert hear(mine) == "begun"
        by_hand.fail(0, "it hangs") if value is None else by_hand.tell(0, value)
        values = result_of(mine)
        succeeded([process])
    assert (values[0], len(values)) == (value, 3)


def test_a_worker_that_gets_its_lost_trial_back_lives_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    calls: list[Params] = []

    def objective(params: Params) -> float:
        calls.append(params)
        mine = len(calls)
        if mine == 1:  # the trial goes to another, who dies: it comes back here while we still work on it
            lost = "seal = NULL, worker = 'x', ticket = 'y', lease = 0, lease_until = 0 WHERE number = 0"
            execute(url, f"UPDATE bopp_trials SET {lost}")
        time.sleep(1.5 if mine == 1 else 0.2)
        return float(mine)

    with opened(url) as study, ThreadPoolExecutor(2) as threads:
        result = study.optimize(objective, 3, 2, executor=threads, progress=False)
    assert len(calls) == 4  # the first trial twice
    assert [(trial.state, trial.error) for trial in result.trials] == [("done", None)] * 3


def shift(by: timedelta, zone: str, of_store: bool) -> None:
    """Set the clock and the time zone of this process; or the clock of the store, as this process sees it."""
    os.environ["TZ"] = os.environ["PGTZ"] = zone
    time.tzset()
    real_now, real_time, real_store = datetime.now, time.time, Store.now

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real_now(tz) + by

    def now(self: Store, connection: sa.Connection) -> Moment:
        moment = real_store(self, connection)
        return Moment(moment.utc, moment.seconds + by.total_seconds())

    if of_store:
        Store.now = now  # type: ignore[method-assign]
    else:
        vars(sys.modules["bopp.study.store"])["datetime"] = Shifted
        time.time = lambda: real_time() + by.total_seconds()


def elsewhen(work: Callable[..., None], of_store: bool, by: timedelta, zone: str, *arguments: object) -> None:
    shift(by, zone, of_store)
    work(*arguments)


@pytest.mark.fault(19)
@pytest.mark.endurance
@pytest.mark.parametrize("of_store", [False, True], ids=["worker", "store"])
def test_other_clocks_and_zones_take_no_trial_from_the_living(
    url: str, of_store: bool, figure: Figure
) -> None:
    lease = 6.0 if of_store else 2.0  # where the store's clock is wrong, only renewals tell, every sixth
    watched = lease / 2 if of_store else 1.5 * lease
    hour, day = timedelta(hours=1), timedelta(days=1)
    clocks = [(hour, "Asia/Tokyo"), (-hour, "America/New_York"), (day, "Asia/Kolkata"), (-day, "UTC")]
    mine, others = fresh.Pipe()
    ours, theirs = zip(*(fresh.Pipe() for _ in clocks), strict=True)
    keep = (ask_and_keep, of_store, timedelta(hours=-5), "Pacific/Auckland", url, lease, others)
    with started(elsewhen, keep) as [owner]:
        assert hear(mine) == 0
        execute(url, FOREIGN)  # so that its lease alone can tell
        contenders = [
            (contend, of_store, *clock, url, lease, pipe) for clock, pipe in zip(clocks, theirs, strict=True)
        ]
        with started(elsewhen, *contenders):
            ready(ours)
            assert wait(ours, watched) == []
            killed = time.monotonic()
            owner.kill()
            winner = first(ours)
            assert time.monotonic() - killed < lease + 5.0
            assert wait([pipe for pipe in ours if pipe is not winner], 0.5) == []
    figure(f"{kind_of(url)}: {len(clocks)} workers with clocks up to a day off took 0 trials of the living")


def tell_elsewhen(url: str, zone: str) -> None:
    shift(timedelta(0), zone, False)
    with opened(url) as study:
        study.tell(study.ask(), 1.0)


@pytest.mark.fault(19)
def test_times_are_utc_whatever_the_zone(url: str, postgres_server: Server) -> None:
    opened(url).close()
    if url.startswith("postgresql"):
        execute(url, f"ALTER DATABASE {url.rpartition('/')[2]} SET timezone = 'Asia/Kolkata'")
    began = datetime.now(UTC)
    with started(tell_elsewhen, (url, "Asia/Tokyo"), (url, "America/New_York")) as processes:
        succeeded(processes)
    ended = datetime.now(UTC)
    times = execute(url, "SELECT asked_at, told_at FROM bopp_trials")
    assert len(times) == 2
    for asked_at, told_at in times:
        assert asked_at.endswith("+00:00")
        assert told_at.endswith("+00:00")
        assert began <= datetime.fromisoformat(asked_at) <= datetime.fromisoformat(told_at) <= ended


def test_a_process_that_may_not_be_looked_at_is_not_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where /proc hides the processes of other users."""

    def hidden(pid: int) -> None:
        raise psutil.NoSuchProcess(pid)

    mine = identity.name()
    assert not identity.is_dead(mine)
    monkeypatch.setattr(psutil, "Process", hidden)
    assert not identity.is_dead(mine)


@pytest.mark.fault(19)
def test_a_clock_that_is_set_makes_nobody_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system derives the time of its boot from its clock, and psutil the time of a birth from that."""
    mine, boot = identity.name(), psutil.boot_time()
    monkeypatch.setattr(psutil._psplatform, "boot_time", lambda: boot + 3600.0)
    assert psutil.boot_time() == boot + 3600.0
    assert identity.name() == mine
    assert not identity.is_dead(mine)
