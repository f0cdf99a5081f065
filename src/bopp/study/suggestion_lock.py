"""Suggestion lock: of the threads, processes and machines that share a study, one at a time suggests.

The lock only saves computing time: two workers that compute at the same time find out when they claim their
trials. So a worker goes ahead without the lock when it has waited too long, or where there are no locks.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa
from filelock import FileLock, Timeout
from sqlalchemy import exc

from bopp.guard import Guard
from bopp.study import faults

WAIT = 30.0  # seconds for a lock that others hold
FILE_PAUSE = 0.01  # seconds between two attempts to lock a file
SERVER_PAUSES = (0.005, 1.0)  # seconds between two attempts on a server, at least and at most
SHARE = 0.1  # of the time waited so far is the next pause: the more who wait, the less often each one tries
JITTER = random.SystemRandom()  # leaves alone the random numbers of the user, and differs after a fork

Lock = Callable[[int, float], AbstractContextManager[bool]]
"""Waits for the lock of a study for so many seconds; false in a block that does without it."""


class SuggestionLock:
    """One at a time among the threads of this process; `lock` takes care of other processes."""

    def __init__(self, lock: Lock):
        self._lock = lock
        self._threads = Guard()
        self._wait = WAIT

    @contextmanager
    def hold(self, study: int) -> Iterator[None]:
        """Hold the lock of a study, unless somebody else keeps it for too long."""
        with self._threads, self._lock(study, self._wait) as held:
            self._wait = WAIT if held else WAIT / 30  # its holder may be suspended: do not wait as long again
            yield


@contextmanager
def in_process(_study: int, _wait: float) -> Iterator[bool]:
    """The lock of a store that no other process can reach."""
    yield True


def by_file(path: Path) -> Lock:
    """Lock a file, one for all studies of a database; without locks, or behind a planted link, do without."""

    @contextmanager
    def lock(_study: int, wait: float) -> Iterator[bool]:
        with ExitStack() as stack:
            held = True
            if path.parent.is_dir() and not path.is_symlink():  # filelock would create the folder
                try:
                    stack.enter_context(
                        FileLock(path, wait, poll_interval=FILE_PAUSE, fallback_to_soft=False)
                    )
                except Timeout:
                    held = False
                except OSError:
                    pass
            yield held

    return lock


class OfThread(threading.local):
    """The connection on which this thread holds the lock; its transactions share it."""

    connection: sa.Connection | None = None


def by_server(engine: sa.Engine, ours: OfThread) -> Lock:
    """Take an advisory lock of PostgreSQL, which ends with its connection; whoever waits has none."""

    @contextmanager
    def lock(study: int, wait: float) -> Iterator[bool]:
        began, waited = time.monotonic(), 0.0
        with suppress(exc.DBAPIError):  # the transaction to come reports what is wrong
            while not (connection := _locked(engine, study)) and waited < wait:
                soonest, latest = SERVER_PAUSES
                time.sleep(min(max(soonest, SHARE * waited), latest) * JITTER.uniform(0.5, 1.5))
                waited = time.monotonic() - began
            ours.connection = connection
        try:
            yield ours.connection is not None
        finally:
            held, ours.connection = ours.connection, None
            if held is not None:
                with suppress(exc.SQLAlchemyError):
                    held.close()

    return lock


def _locked(engine: sa.Engine, study: int) -> sa.Connection | None:
    """A connection that holds the lock; None if another one does, or if the server takes none now."""
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(engine.connect())
            with connection.begin():
                free = connection.execute(sa.select(sa.func.pg_try_advisory_lock(study))).scalar()
            if free:
                stack.pop_all()
                return connection
    except exc.DBAPIError as error:
        if not faults.not_now(error):
            raise
    return None
