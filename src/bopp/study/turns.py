"""Turns: of the threads, processes and machines that share a study, one at a time looks for a suggestion.

Turns only save computing time. A worker that waits too long for its turn goes ahead without it, and a lost
turn does no harm: two workers that looked at the same time find out when they claim their trials.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

TURN = 30.0  # seconds to wait for a turn
PAUSE = 0.002  # seconds between attempts to lock a file that another process has locked

Lock = Callable[[int, float], AbstractContextManager[None]]
"""Waits for the lock of a study, at most until a time by `time.monotonic()`, and holds it in the block."""


class Turns:
    """Turns among the threads of this process; `lock` takes care of other processes."""

    def __init__(self, lock: Lock):
        self._lock = lock
        self._threads = threading.Lock()
        self._wait = TURN

    @contextmanager
    def take(self, study: int) -> Iterator[None]:
        """Wait for a turn, but not for ever, and keep it until the end of the block."""
        until = time.monotonic() + self._wait
        held = self._threads.acquire(timeout=self._wait)
        try:
            with self._lock(study, until):
                missed = time.monotonic() >= until
                # whoever holds the turn may be suspended: after one full wait, the next ones are short
                self._wait = TURN / 30 if missed else TURN
                yield
        finally:
            if held:
                self._threads.release()

    def after_fork(self) -> None:
        """Forget the turn of the parent's thread, which does not exist in this process."""
        self._threads = threading.Lock()


@contextmanager
def unlocked(_study: int, _until: float) -> Iterator[None]:
    """The lock of a store that no other process can reach."""
    yield


def by_file(path: Path) -> Lock:
    """Lock one byte of a file for each study; on a file system without locks, nobody waits."""

    @contextmanager
    def lock(study: int, until: float) -> Iterator[None]:
        try:
            import fcntl

            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except (ImportError, OSError):
            yield
            return
        try:
            while time.monotonic() < until:
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, study)
                    break
                except (BlockingIOError, PermissionError):  # another process has it
                    time.sleep(PAUSE)
                except OSError:  # no locks here
                    break
            yield
        finally:
            os.close(file)

    return lock


def by_server(engine: sa.Engine) -> Lock:
    """Hold an advisory lock of PostgreSQL on a separate connection."""

    @contextmanager
    def lock(study: int, until: float) -> Iterator[None]:
        connection = None
        with suppress(exc.DBAPIError):
            connection = engine.connect()
            wait = max(1, int(1000 * (until - time.monotonic())))
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait}")
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(study)))
        try:
            yield
        finally:
            if connection is not None:
                with suppress(exc.DBAPIError):
                    connection.close()

    return lock
