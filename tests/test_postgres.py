from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from support.postgres import Mode, Server, binaries, no_server

TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def postmaster(server_folder: Path) -> int:
    return int((server_folder / "data" / "postmaster.pid").read_text().split()[0])


def test_a_new_database_is_empty_and_apart_from_others(postgres_server: Server, postgres_url: str) -> None:
    other = postgres_server.create_database()
    assert postgres_server.execute(TABLES, postgres_url) == [(0,)]
    postgres_server.execute("CREATE TABLE point (x double precision)", postgres_url)
    assert postgres_server.execute(TABLES, postgres_url) == [(1,)]
    assert postgres_server.execute(TABLES, other) == [(0,)]
    assert other != postgres_url
    postgres_server.drop_database(other)
    with pytest.raises(psycopg.OperationalError, match="exist"):
        psycopg.connect(other)


def test_only_this_machine_can_connect(postgres_server: Server) -> None:
    assert postgres_server.execute("SHOW listen_addresses") == [("127.0.0.1",)]
    assert postgres_server.execute("SHOW unix_socket_directories") == [(str(postgres_server.folder),)]


@pytest.mark.parametrize("mode", ["fast", pytest.param("immediate", marks=pytest.mark.endurance)])
def test_a_restart_keeps_what_was_committed_and_ends_connections(
    postgres_server: Server, postgres_url: str, mode: Mode
) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE point (x integer)")
        connection.execute("INSERT INTO point VALUES (1)")
        connection.commit()
        connection.execute("INSERT INTO point VALUES (2)")
        postgres_server.restart(mode)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        assert connection.closed
    assert postgres_server.execute("SELECT x FROM point", postgres_url) == [(1,)]


def test_a_stopped_server_refuses_until_it_is_started(postgres_server: Server, postgres_url: str) -> None:
    for _ in range(2):
        postgres_server.stop()
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(postgres_url)
    for _ in range(2):
        postgres_server.start()
        assert postgres_server.execute(TABLES, postgres_url) == [(0,)]


def test_killed_connections_are_dead(postgres_server: Server, postgres_url: str) -> None:
    other = postgres_server.create_database()
    with psycopg.connect(postgres_url) as one, psycopg.connect(other) as two:
        assert postgres_server.kill_connections(postgres_url) == 1
        with pytest.raises(psycopg.OperationalError, match="terminating"):
            one.execute("SELECT 1")
        two.execute("SELECT 1")
        assert postgres_server.kill_connections() == 1
        with pytest.raises(psycopg.OperationalError, match="terminating"):
            two.execute("SELECT 1")
    assert postgres_server.kill_connections() == 0
    postgres_server.drop_database(other)


def test_nothing_is_left_after_the_context(postgres_server: Server) -> None:
    programs = binaries()
    assert programs is not None
    with pytest.raises(ZeroDivisionError), Server(programs) as server:  # noqa: PT012
        url, pid = server.create_database(), postmaster(server.folder)
        assert runs(pid)
        assert url.rpartition("/")[0] != postgres_server.url("").rpartition("/")[0]
        _ = 1 / 0
    assert not runs(pid)
    assert not server.folder.exists()
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(url)


@pytest.mark.endurance
@pytest.mark.usefixtures("postgres_server")
def test_nothing_is_left_after_the_tests_are_killed() -> None:
    program = """
import os, time
from support.postgres import Server, binaries
server = Server(binaries())
if os.fork():  # the child is a worker that outlives the tests for a while
    print(server.folder, flush=True)
time.sleep(60)
"""
    here = Path(__file__).parent
    tests = subprocess.Popen(
        [sys.executable, "-c", program], cwd=here, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert tests.stdout is not None
    try:
        folder = Path(tests.stdout.readline().strip())
        pid = postmaster(folder)
        assert runs(pid)
        tests.kill()
        tests.wait()
        deadline = time.monotonic() + 30.0
        while (folder.exists() or runs(pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not runs(pid)
        assert not folder.exists()
    finally:
        tests.stdout.close()
        os.killpg(tests.pid, signal.SIGKILL)


def test_a_missing_server_skips_but_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="PostgreSQL"):
        no_server()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="PostgreSQL"):
        no_server()
