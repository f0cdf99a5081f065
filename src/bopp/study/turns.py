"""Turns: of the threads, processes and machines that share a study, one at a time looks for a suggestion.

Turns only save computing time. A worker goes ahead without its turn if nobody moves for too long, and a lost
turn does no harm: two workers that looked at the same time find out when they claim their trials.

Whoever waits holds no connection to a server: the processes of one account on one machine queue by a file,
and the first of them knocks at the server now and then.
"""

from __future__ import annotations

import os
import random
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

from bopp.study import faults
from bopp.study.connections import Connections

TURN = 30.0  # seconds to wait while nobody else gets a turn
BRIEF = 0.25  # seconds of waiting after which a connection is given up
SHARE = 0.1  # of the time waited so far is the next pause: the more who wait, the less often each one looks
FILE = (0.002, 0.05)  # seconds between two looks at a file, at least and at most
SERVER = (0.005, 1.0)  # each look at a server takes a new connection
SLOTS = 512  # of counters in a file
JITTER = random.SystemRandom()  # leaves alone the random numbers of the user, and differs after a fork

HOLDER = sa.text(
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND (classid::bigint << 32) | objid::bigint = :study"
).bindparams(sa.bindparam("study", type_=sa.BigInteger))

Lock = Callable[[int, float], AbstractContextManager[bool]]
"""Waits for the lock of a study while others move within so many seconds; true in a block that has it."""


class Turns:
    """Turns among the threads of this process; `lock` takes care of other processes."""

    def __init__(self, lock: Lock):
        self._lock = lock
        self._threads = threading.Lock()
        self._wait = TURN

    @contextmanager
    def take(self, study: int) -> Iterator[None]:
        """Wait for a turn, but not for ever, and keep it until the end of the block."""
        held = self._threads.acquire(timeout=self._wait)
        try:
            with self._lock(study, self._wait) as taken:
                # whoever holds the turn may be suspended: after one full wait, the next ones are short
                self._wait = TURN if taken else TURN / 30
                yield
        finally:
            if held:
                self._threads.release()

    def after_fork(self) -> None:
        """Forget the turn of the parent's thread, which does not exist in this process."""
        self._threads = threading.Lock()


@contextmanager
def unlocked(_study: int, _wait: float) -> Iterator[bool]:
    """The lock of a store that no other process can reach."""
    yield True


def by_file(path: Path, rest: Callable[[], object] | None = None) -> Lock:
    """Lock one byte of a file for each study; whoever waits for longer calls `rest`.

    On a file system without locks, nobody waits.
    """

    @contextmanager
    def lock(study: int, wait: float) -> Iterator[bool]:
        try:
            import fcntl

            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except (ImportError, OSError):
            yield True
            return
        place = 8 * (study % SLOTS)

        def turns() -> int:
            return int.from_bytes(os.pread(file, 8, place), "big")

        def locked() -> bool:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, study)
            except (BlockingIOError, PermissionError):  # another process has it
                return False
            with suppress(OSError):  # a full disk: then others see no progress, and wait less
                os.pwrite(file, ((turns() + 1) % 2**63).to_bytes(8, "big"), place)
            return True

        try:
            try:
                taken = _patiently(locked, turns, wait, FILE, rest)
            except OSError:  # no locks here
                taken = True
            yield taken
        finally:
            os.close(file)

    return lock


class OfThread(threading.local):
    """The connection on which this thread holds its turn; its transactions share it."""

    connection: sa.Connection | None = None


def by_server(connections: Connections, ours: OfThread) -> Lock:
    """Queue on this machine; at the head of the queue, take an advisory lock of PostgreSQL."""
    file = _file_of_account()
    queue = by_file(file, connections.rest) if file else unlocked

    @contextmanager
    def lock(study: int, wait: float) -> Iterator[bool]:
        with queue(study, wait) as first:
            ours.connection = _locked(connections, study, wait if first else 0.0)
            try:
                yield first and ours.connection is not None
            finally:
                connection, ours.connection = ours.connection, None
                if connection is not None:
                    _unlock(connection, study, connections)

    return lock


def _locked(connections: Connections, study: int, wait: float) -> sa.Connection | None:
    """A connection that holds the lock; None if somebody keeps it, or without a server."""
    holder: int | None = None
    found: list[sa.Connection] = []

    def knock() -> bool:
        nonlocal holder
        try:
            connection = connections.take().execution_options(isolation_level="AUTOCOMMIT")
        except exc.DBAPIError as error:
            if faults.not_now(error):
                return False
            raise
        try:
            if connection.execute(sa.select(sa.func.pg_try_advisory_lock(study))).scalar():
                connection.rollback()
                _leave_autocommit(connection)
                found.append(connection)
                return True
            holder = connection.execute(HOLDER, {"study": study}).scalar()
        finally:
            if not found:
                connection.close()
        return False

    with suppress(exc.DBAPIError):  # the transaction to come will report it
        _patiently(knock, lambda: holder, wait, SERVER)
    return found[0] if found else None


def _unlock(connection: sa.Connection, study: int, connections: Connections) -> None:
    try:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(sa.select(sa.func.pg_advisory_unlock(study)))
        connection.rollback()
        _leave_autocommit(connection)
    except BaseException as error:
        with suppress(exc.SQLAlchemyError):
            connection.close()  # and with it the lock
        if not isinstance(error, exc.SQLAlchemyError):
            raise
    else:
        connections.give_back(connection)


def _leave_autocommit(connection: sa.Connection) -> None:
    connection.execution_options(isolation_level=connection.dialect.default_isolation_level)


def _patiently(
    locked: Callable[[], bool],
    seen: Callable[[], object],
    wait: float,
    pauses: tuple[float, float],
    rest: Callable[[], object] | None = None,
) -> bool:
    """Try until it is locked, but not for longer than `wait` after others were last seen to take turns."""
    began = time.monotonic()
    until, before = began + wait, seen()
    while not locked():
        now, after = time.monotonic(), seen()
        if after != before:
            until, before = now + wait, after
        if now >= until:
            return False
        if rest and now >= began + BRIEF:
            rest()
        soonest, latest = pauses
        pause = min(max(soonest, SHARE * (now - began)), latest)
        time.sleep(pause * JITTER.uniform(0.5, 1.5))
    return True


def _file_of_account() -> Path | None:
    """A file in a folder that no other account can enter; None where somebody else is in the way."""
    if not hasattr(os, "getuid"):
        return None
    folder = Path(tempfile.gettempdir()) / f"bopp-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(0o700)
    try:
        found = folder.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder / "turns" if private else None
