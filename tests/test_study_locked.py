"""Ctrl-C gets through while another process keeps a store locked."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from bopp import Float, Recipe, Study, open_study
from bopp.errors import StoreError
from support.faults import Figure

PATIENCE = 60.0
SOON = 2.0  # seconds from Ctrl-C to the end
SLACK = 4.0  # more on a machine that is busy with other tests
PROGRAM = """
import sys, time
from pathlib import Path
from bopp import Float, Recipe, cli, open_study
from bopp.cli.running import Job, _evaluate

def objective(x):
    print("asked", flush=True)
    time.sleep(1.0)
    return x

def run(*_, **__):  # as bopp run does, with the recipe that takes no time
    with open_study(sys.argv[1], "a", {"x": Float(0, 1)}, recipe=Recipe.random()) as study:
        _evaluate(study, Job(objective, 50, 1, None, None, "stop"), "again", "resume", Path("log"))

cli.app = run
cli.main()
"""


@contextmanager
def locked(url: str, statement: str) -> Iterator[None]:
    """Another has the store locked."""
    if url.startswith("sqlite"):
        file = url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(file, isolation_level=None, timeout=30)) as other:
            other.execute(statement)
            yield
    else:
        with psycopg.connect(url) as server:
            server.execute(statement.encode())
            yield


def stopped(url: str, statement: str, number: signal.Signals, times: int) -> tuple[int, float, str]:
    """The exit code of a run that gets a signal while its store is locked, the seconds, and what it says."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "asked\n"
            with locked(url, statement):
                time.sleep(2.0)  # now it wants to tell
                began = time.monotonic()
                for _ in range(times):
                    process.send_signal(number)
                    time.sleep(0.2)
                _, said = process.communicate(timeout=PATIENCE)
                return process.returncode, time.monotonic() - began, said
        finally:
            process.kill()


def new(url: str) -> Study:
    return open_study(url, "a", {"x": Float(0, 1)}, recipe=Recipe.random())


@pytest.mark.fault(35)
@pytest.mark.endurance
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("begin", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_run_stops_while_another_has_the_file_locked(
    tmp_path: Path, begin: str, times: int, figure: Figure
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    new(url).close()
    code, seconds, said = stopped(url, begin, signal.SIGINT if times == 1 else signal.SIGTERM, times)
    assert (code, seconds < SOON + SLACK) == (130, True), (seconds, said)
    figure(f"{begin}, {times} signals: {seconds:.1f} s")
    assert times > 1 or "kept" in said
    with new(url) as study:  # the process is dead, so its trial is free
        assert study.ask().number == 0


@pytest.mark.fault(35)
@pytest.mark.endurance
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM bopp_studies FOR UPDATE",
        "LOCK TABLE bopp_trials IN ACCESS EXCLUSIVE MODE",
        "SELECT pg_advisory_lock(id) FROM bopp_studies",
    ],
)
def test_a_run_stops_while_another_has_a_lock_on_the_server(
    postgres_url: str, statement: str, figure: Figure
) -> None:
    new(postgres_url).close()
    code, seconds, said = stopped(postgres_url, statement, signal.SIGINT, 1)
    assert (code, seconds < SOON + SLACK) == (130, True), (seconds, said)
    figure(f"{statement.split(' FROM')[0]}: {seconds:.1f} s")
    with new(postgres_url) as study:
        told = "advisory" in statement  # which keeps others from asking alone
        assert study.ask().number == int(told)


@pytest.mark.fault(35)
def test_after_an_interrupt_a_busy_store_is_tried_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with new(url) as study, locked(url, "BEGIN IMMEDIATE"):
        began = time.monotonic()
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            with pytest.raises(StoreError, match="locked"):
                study.enqueue({"x": 0.5})
        assert time.monotonic() - began < SLACK
