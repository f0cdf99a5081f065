"""One at a time suggests, unless the lock stays away; on a server, who waits or is idle has no connection."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest

import bopp
from bopp import Float, Recipe, Study
from bopp.errors import StoreError
from bopp.study import faults, suggestion_lock
from bopp.study.asking import Asking
from support.faults import Figure
from support.forks import forked
from support.postgres import Server, binaries, no_server
from support.waiting import wait_until
from support.workers import fresh, started

SPACE = {"x": Float(0.0, 1.0), "y": Float(-5.0, 5.0)}
CONNECTED = """SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""
RESERVED = 3  # connections that PostgreSQL keeps for its administrators


def opened(url: str, recipe: Recipe | None = None) -> Study:
    return bopp.open_study(url, "many", SPACE, recipe=recipe or Recipe.random())


def hold(url: str, mine: Connection) -> None:
    """Hold the suggestion lock until killed."""
    study = opened(url)
    with study._store.suggesting(study._definition.id):
        mine.send("held")
        time.sleep(600)


@contextmanager
def held(url: str) -> Iterator[int]:
    """The id of a process that holds the lock."""
    opened(url).close()
    ours, its = fresh.Pipe()
    with started(hold, (url, its)) as [process]:
        assert ours.recv() == "held"
        yield process.pid or 0


def seconds_of_ask(url: str) -> float:
    with opened(url) as study:
        began = time.monotonic()
        study.ask()
        return time.monotonic() - began


@pytest.mark.parametrize("by", ["thread", "process"])
def test_others_wait_for_the_lock(url: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(url).close()
    inside, most = [], []
    plan = Asking._plan

    def watched(self: Asking, budget: float) -> object:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()
        return plan(self, budget)

    monkeypatch.setattr(Asking, "_plan", watched)
    studies = [opened(url)] * 4 if by == "thread" else [opened(url) for _ in range(4)]
    threads = [threading.Thread(target=study.ask) for study in studies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4
    assert len(studies[0].trials) == 4


@pytest.mark.fault(9)
def test_after_its_holder_is_killed_others_go_on_at_once(url: str, figure: Figure) -> None:
    with held(url) as pid:
        killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
        killer.start()
        seconds = seconds_of_ask(url)
    assert 0.2 < seconds < 0.3 + 1.0 + 2.0  # and more on a busy machine
    figure(f"the suggestion lock: others go on after {max(0.0, seconds - 0.3):.2f} s")


def test_a_holder_that_is_suspended_is_waited_for_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestion_lock, "WAIT", 1.0)
    with held(url) as pid, opened(url) as study:
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        study.ask()
        first = time.monotonic() - began
        study.ask(3)
        rest = time.monotonic() - began - first
    assert first > 0.9
    assert rest < first


@pytest.mark.fault(45)
def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.db.lock").symlink_to(tmp_path / "theirs")
    assert seconds_of_ask(f"sqlite:///{tmp_path}/a.db") < suggestion_lock.WAIT / 2
    assert not (tmp_path / "theirs").exists()


def test_a_file_system_without_locks_delays_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(number, "no locks here")

    monkeypatch.setattr("fcntl.flock", none)
    for number in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
        assert seconds_of_ask(f"sqlite:///{tmp_path}/{number}.db") < suggestion_lock.WAIT / 2


# many workers on a server with few connections


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    """A server for ten connections, of which three are reserved."""
    with Server(binaries() or no_server(), connections=10) as server:
        server.execute("CREATE ROLE worker LOGIN")
        server.execute("GRANT CREATE ON SCHEMA public TO worker", server.url("template1"))
        yield server


@pytest.fixture
def few(small: Server) -> Iterator[str]:
    """A new database for one who is no administrator."""
    made = small.create_database()
    small.execute("GRANT ALL ON SCHEMA public TO worker", made)
    yield made.replace("postgres@", "worker@")
    small.drop_database(made)


@contextmanager
def occupied(url: str) -> Iterator[ExitStack]:
    with ExitStack() as others:
        for _ in range(10 - RESERVED):
            others.enter_context(psycopg.connect(url))
        yield others


def work(url: str, trials: int) -> None:
    with opened(url) as study:
        for _ in range(trials):
            trial = study.ask()
            study.tell(trial, trial.params["x"])


@pytest.mark.fault(31)
def test_an_idle_study_has_no_connection(small: Server, few: str) -> None:
    with opened(few) as study:
        trial = study.ask()
        wait_until(lambda: small.execute(CONNECTED) == [(0,)])
        study.tell(trial, 1.0)
        wait_until(lambda: small.execute(CONNECTED) == [(0,)])


def test_the_holder_of_the_lock_has_one_connection_and_who_waits_none(small: Server, few: str) -> None:
    with opened(few) as study, opened(few) as other:
        seen = []
        plan = study._asking._plan
        waiting = threading.Thread(target=lambda: other.tell(other.ask(), 2.0))

        def watched(budget: float) -> object:
            waiting.start()
            planned = plan(budget)
            for _ in range(20):
                time.sleep(0.01)
                seen.append(small.execute(CONNECTED)[0][0])
            return planned

        study._asking._plan = watched  # type: ignore[method-assign,assignment]
        study.ask()
        waiting.join()
        assert sorted(seen)[len(seen) // 2] <= 2  # now and then the other tries
        assert max(seen) <= 3  # a connection that was closed may still be counted
        assert [trial.state for trial in study.trials] == ["asked", "done"]


@pytest.mark.fault(31)
@pytest.mark.endurance
def test_thirty_workers_share_a_server_with_seven_connections(small: Server, few: str) -> None:
    opened(few).close()
    assert forked(30, lambda: work(few, 2)) == [0] * 30
    assert small.execute("SELECT count(*) FROM bopp_trials WHERE state = 'done'", few) == [(60,)]


@pytest.mark.endurance
def test_the_first_connection_waits_for_a_server_that_is_full(few: str) -> None:
    opened(few).close()
    with occupied(few) as others:
        timer = threading.Timer(7.0, others.close)  # longer than for a server that is not there
        timer.start()
        began = time.monotonic()
        work(few, 1)
        assert time.monotonic() - began > 6.0
        timer.join()


def test_a_server_that_stays_full_is_an_error_that_says_so(few: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(few).close()
    monkeypatch.setattr(faults, "BUSY", 0.3)
    with occupied(few), pytest.raises(StoreError, match="slots"):
        opened(few)


def test_a_lock_whose_connection_dies_is_lost_and_nothing_else(small: Server, few: str) -> None:
    with opened(few) as study:
        plan = study._asking._plan

        def cut(budget: float) -> object:
            planned = plan(budget)
            assert small.kill_connections(few) >= 1
            return planned

        study._asking._plan = cut  # type: ignore[method-assign,assignment]
        assert study.ask().number == 0
        study._asking._plan = plan  # type: ignore[method-assign]
        assert study.ask().number == 1


@pytest.mark.fault(31)
@pytest.mark.slow
def test_two_hundred_workers_share_a_stock_server(figure: Figure) -> None:
    rates = []
    for connections in (100, 500):
        with Server(binaries() or no_server(), connections) as server:
            url = server.create_database()
            opened(url).close()
            began = time.monotonic()
            assert forked(200, lambda url=url: work(url, 5)) == [0] * 200  # type: ignore[misc]
            rates.append(1000 / (time.monotonic() - began))
            assert server.execute("SELECT count(*) FROM bopp_trials WHERE state = 'done'", url) == [(1000,)]
    figure(f"200 workers: {rates[0]:.1f} trials a second on 97 connections, {rates[1]:.1f} on 497")
