"""Suggestion lock: of the threads, processes and machines that share a study, one at a time suggests.

The lock only saves computing time: two workers that compute at the same time find out when they claim their
trials. So a worker goes ahead without the lock when one other keeps it for too long, or where there are no
locks. It does not while the lock goes from hand to hand: hundreds that computed at once would block a server.
"""

from __future__ import annotations

import os
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

WAIT = 30.0  # seconds to wait while one other keeps the lock; where it goes from hand to hand, all wait
FILE_PAUSE = 0.01  # seconds between two attempts to lock a file
SERVER_PAUSES = (0.005, 5.0)  # seconds between two attempts on a server, at least and at most
SHARE = 0.1  # of the time waited so far is the next pause: the more who wait, the less often each one tries
JITTER = random.SystemRandom()  # leaves alone the random numbers of the user, and differs after a fork

HOLDER = sa.text(
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND (classid::bigint << 32) | objid::bigint = :study"
).bindparams(sa.bindparam("study", type_=sa.BigInteger))

Lock = Callable[[int, float], AbstractContextManager[bool]]
"""Waits for the lock of a study while others get it within so many seconds; false in a block without it."""


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


def by_file(path: Path) -> Lock:
    """Lock a file, one for all studies of a database; where that cannot be done, do without."""

    @contextmanager
    def lock(_study: int, wait: float) -> Iterator[bool]:
        with ExitStack() as stack:
            held = True
            if path.parent.is_dir():  # or filelock would create the folder
                with suppress(OSError):  # no locks here, no right to make a file, or a planted link
                    held = _enter(stack, path, wait)
            yield held

    return lock


def _enter(stack: ExitStack, path: Path, wait: float) -> bool:
    """Lock a file; false if one other keeps it, which sets its time when it gets it."""
    lock, before = FileLock(path, wait, poll_interval=FILE_PAUSE, fallback_to_soft=False), None
    while True:
        try:
            stack.enter_context(lock)
        except Timeout:
            if before == (before := path.lstat().st_mtime_ns):
                return False
        else:
            os.utime(path, follow_symlinks=False)
            return True


class OfThread(threading.local):
    """The connection on which this thread holds the lock; its transactions share it."""

    connection: sa.Connection | None = None


def by_server(engine: sa.Engine, ours: OfThread) -> Lock:
    """Take an advisory lock of PostgreSQL, which ends with its connection; whoever waits has none."""

    @contextmanager
    def lock(study: int, wait: float) -> Iterator[bool]:
        began = moved = now = time.monotonic()
        holder: int | None = None
        connection: sa.Connection | None = None
        with suppress(exc.DBAPIError):  # the transaction to come reports what is wrong
            while not connection and now - moved <= wait:
                before, (connection, holder) = holder, _locked(engine, study)
                soonest, latest = (0.0, 0.0) if connection else SERVER_PAUSES
                time.sleep(min(max(soonest, SHARE * (now - began)), latest) * JITTER.uniform(0.5, 1.5))
                now = time.monotonic()
                moved = moved if holder == before else now
        ours.connection = connection
        try:
            yield connection is not None
        finally:
            ours.connection = None
            if connection is not None:
                with suppress(exc.SQLAlchemyError):
                    connection.close()

    return lock


def _locked(engine: sa.Engine, study: int) -> tuple[sa.Connection | None, int | None]:
    """A connection that holds the lock, or None; and who holds it, if somebody does."""
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(engine.connect())
            with connection.begin():
                if not connection.execute(sa.select(sa.func.pg_try_advisory_lock(study))).scalar():
                    return None, connection.execute(HOLDER, {"study": study}).scalar()
            stack.pop_all()
            return connection, None
    except exc.DBAPIError as error:
        if not faults.not_now(error):
            raise
    return None, None
