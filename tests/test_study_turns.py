"""Many workers on a server with few connections: whoever waits or is idle has none."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

import bopp
from bopp import Float, Recipe, Study
from bopp.errors import StoreError
from bopp.study import faults, turns
from bopp.study.connections import IDLE
from support.faults import Figure
from support.forks import in_child
from support.postgres import Server, binaries, no_server

SPACE = {"x": Float(0.0, 1.0), "y": Float(-5.0, 5.0)}
CONNECTED = """SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""
RESERVED = 3  # connections that PostgreSQL keeps for its administrators


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    """A server for ten connections, of which three are reserved."""
    with Server(binaries() or no_server(), connections=10) as server:
        server.execute("CREATE ROLE worker LOGIN")
        server.execute("GRANT CREATE ON SCHEMA public TO worker", server.url("template1"))
        yield server


@pytest.fixture
def url(small: Server) -> Iterator[str]:
    """A new database for one who is no administrator."""
    made = small.create_database()
    small.execute("GRANT ALL ON SCHEMA public TO worker", made)
    yield made.replace("postgres@", "worker@")
    small.drop_database(made)


def opened(url: str, recipe: Recipe | None = None) -> Study:
    return bopp.open_study(url, "many", SPACE, recipe=recipe or Recipe.random())


@contextmanager
def occupied(url: str, connections: int) -> Iterator[ExitStack]:
    with ExitStack() as others:
        for _ in range(connections):
            others.enter_context(psycopg.connect(url))
        yield others


def work(url: str, trials: int) -> None:
    with opened(url) as study:
        for _ in range(trials):
            trial = study.ask()
            study.tell(trial, trial.params["x"])


def forked(count: int, act: Callable[[], object]) -> list[int]:
    """The exit codes of so many forks that do the same at once."""
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            os._exit(in_child(act))
        pids.append(pid)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def soon_unconnected(server: Server) -> bool:
    """Whether nobody has a connection a moment later."""
    deadline = time.monotonic() + 20 * IDLE
    while server.execute(CONNECTED) != [(0,)] and time.monotonic() < deadline:
        time.sleep(IDLE / 5)
    return server.execute(CONNECTED) == [(0,)]


@pytest.mark.fault(31)
def test_an_idle_study_has_no_connection(small: Server, url: str) -> None:
    with opened(url) as study:
        trial = study.ask()
        assert soon_unconnected(small)
        study.tell(trial, 1.0)
        assert study.best.value == 1.0
        assert soon_unconnected(small)


def test_a_run_that_waits_for_the_end_of_a_pause_has_none(small: Server, url: str) -> None:
    with opened(url) as study:
        study.pause()

        def wait() -> None:
            study.optimize(lambda x, y: x, 3, progress=False, time_limit=1.5)

        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.3)  # by then it has asked once
        seen = []
        while waiting.is_alive():
            seen.append(small.execute(CONNECTED)[0][0])
            time.sleep(0.02)
        assert sorted(seen)[len(seen) // 2] == 0  # now and then it looks
        assert len(seen) > 10


def test_a_turn_takes_one_connection_and_who_waits_for_it_none(small: Server, url: str) -> None:
    with opened(url) as study, opened(url) as other:
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
        assert sorted(seen)[len(seen) // 2] == 1  # now and then the other knocks
        assert max(seen) <= 2
        assert [trial.state for trial in study.trials] == ["asked", "done"]


@pytest.mark.fault(31)
def test_thirty_workers_share_a_server_with_seven_connections(small: Server, url: str) -> None:
    opened(url).close()
    assert forked(30, lambda: work(url, 2)) == [0] * 30
    assert small.execute("SELECT count(*) FROM bopp_trials WHERE state = 'done'", url) == [(60,)]


def test_the_first_connection_waits_for_a_server_that_is_full(url: str) -> None:
    opened(url).close()
    with occupied(url, 10 - RESERVED) as others:
        timer = threading.Timer(7.0, others.close)  # longer than for a server that is not there
        timer.start()
        began = time.monotonic()
        work(url, 1)
        assert time.monotonic() - began > 6.0
        timer.join()


def test_a_server_that_stays_full_is_an_error_that_says_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(url).close()
    monkeypatch.setattr(faults, "BUSY", 0.3)
    with occupied(url, 10 - RESERVED), pytest.raises(StoreError, match="connection slots are reserved"):
        opened(url)


def test_a_turn_whose_connection_dies_is_lost_and_nothing_else(small: Server, url: str) -> None:
    with opened(url) as study:
        plan = study._asking._plan

        def cut(budget: float) -> object:
            planned = plan(budget)
            assert small.kill_connections(url) == 1
            return planned

        study._asking._plan = cut  # type: ignore[method-assign,assignment]
        assert study.ask().number == 0
        study._asking._plan = plan  # type: ignore[method-assign]
        assert study.ask().number == 1
        assert soon_unconnected(small)


def test_a_queue_that_moves_is_waited_for(tmp_path: Path) -> None:
    lock, order = turns.by_file(tmp_path / "turns"), tmp_path / "order"

    def take() -> None:
        with lock(5, 0.6) as taken:
            assert taken
            time.sleep(0.25)
            with order.open("a") as file:
                print(os.getpid(), file=file)

    assert forked(6, take) == [0] * 6  # the last waits for more than a second
    assert len(set(order.read_text().split())) == 6


def test_a_folder_of_another_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = tmp_path / f"bopp-{os.getuid()}"
    assert turns._file_of_account() == mine / "turns"
    assert mine.stat().st_mode & 0o777 == 0o700
    mine.chmod(0o777)
    assert turns._file_of_account() is None
    mine.rmdir()
    mine.symlink_to(tmp_path)
    assert turns._file_of_account() is None


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
    assert rates[0] > 0.8 * rates[1]
