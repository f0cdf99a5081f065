"""Store: a database in which studies live; every transaction is whole or not at all.

store.read(work)     work(connection) in a transaction that only reads
store.write(work)    work(connection) in a transaction that writes, one at a time in SQLite

`work` may be called again after a lost connection, so it must be safe to repeat: what it inserts carries a
ticket by which a second call finds what the first one did.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event, exc, pool

from bopp.errors import MissingExtra, StoreError, StudyError
from bopp.study import schema
from bopp.study.address import WANTED, understood, without_secrets
from bopp.study.interrupts import uninterrupted

T = TypeVar("T")
Work = Callable[[sa.Connection], T]

BUSY = 60.0  # seconds to wait for other writers, or for a server that was there before
ABSENT = 5.0  # seconds to wait for a server that was never reached
TURN = 30.0  # seconds to wait for another's suggestion
LOCK = 0x626F7070  # number of our advisory locks: "bopp"
PASSING = ("08", "40001", "40P01", "53300", "57P")  # SQLSTATEs, or beginnings of them, that pass by waiting
HINTS = {
    "unable to open database file": "does its folder exist, and may it be written?",
    "readonly": "the file or its folder is read-only, or was moved or deleted",
    "disk is full": "nothing of this change was kept; make room and go on",
    "disk I/O error": "nothing of this change was kept",
    "no such table": "the file was emptied or replaced while it was in use",
    "malformed": "the file is damaged; what is whole can be saved by: sqlite3 FILE .recover",
    "not a database": "another kind of file",
    "database is locked": f"another process has been writing for {BUSY:.0f} seconds",
}

_at_work = threading.RLock()  # no process is forked while a transaction is under way
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_at_work.acquire, after_in_parent=_at_work.release, after_in_child=_at_work.release
    )


@dataclass(frozen=True)
class Moment:
    """The time by the clock of a store: of day, for people, and in seconds that nobody sets, for leases."""

    utc: datetime
    seconds: float


class Store:
    """A database by its URL; `create` makes a SQLite file where there is none."""

    def __init__(self, url: str, create: bool = True):
        self.url, self.path = understood(url)
        self._engine = _postgres(self.url) if self.path is None else _sqlite(self.path)
        self._process = os.getpid()
        self._reached = False
        self._turn = threading.Lock()
        self._turn_wait = TURN
        try:
            self._prepare(create)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return without_secrets(self.url)

    def read(self, work: Work[T]) -> T:
        """What `work` finds in a transaction that only reads."""
        return self._run(work, "BEGIN")

    def write(self, work: Work[T], alone: bool = False) -> T:
        """What `work` returns once its changes are on the disk; `alone` in the whole database, if wanted."""

        def locked(connection: sa.Connection) -> T:
            if alone and self.path is None:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
            return work(connection)

        return self._run(locked, "BEGIN IMMEDIATE")

    def now(self, connection: sa.Connection) -> Moment:
        """The time: of the server, or of this machine where the database is a file on it."""
        if self.path is not None:
            return Moment(datetime.now(UTC), time.monotonic())
        server = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        return Moment(server.astimezone(UTC), server.timestamp())

    @contextmanager
    def turn(self, study: int) -> Iterator[None]:
        """Let one at a time look for a suggestion.

        This saves work and no more: a turn that cannot be had in time, or is lost, does no harm.
        """
        self._leave_parent()
        until = time.monotonic() + self._turn_wait
        held = self._turn.acquire(timeout=self._turn_wait)
        try:
            with self._turn_of_all(study, until):
                missed = time.monotonic() >= until
                self._turn_wait = TURN / 30 if missed else TURN  # once is enough for one who sleeps
                yield
        finally:
            if held:
                self._turn.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back connections."""
        self._engine.dispose()

    def _leave_parent(self) -> None:
        """After a fork, connections and the turn are the parent's."""
        if os.getpid() != self._process:
            self._engine.dispose(close=False)
            self._turn = threading.Lock()
            self._process = os.getpid()

    def _connect(self) -> sa.Connection:
        self._leave_parent()
        return self._engine.connect()

    def _run(self, work: Work[T], begin: str) -> T:
        patience = time.monotonic() + (BUSY if self._reached else ABSENT)
        pause = 0.01
        while True:
            try:
                with uninterrupted(), _at_work, self._connect() as connection:
                    connection = connection.execution_options(bopp_begin=begin)
                    with connection.begin():
                        result = work(connection)
                self._reached = True
                return result
            except (exc.SQLAlchemyError, sqlite3.Error) as error:
                if not _passes(error) or time.monotonic() > patience:
                    raise StoreError(f"{self!r}: {_reason(error)}") from error
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _prepare(self, create: bool) -> None:
        if isinstance(self.path, Path):
            self._find_file(self.path, create)
        version = self.read(schema.version_of)
        if version == 0 and not create:
            raise StudyError(f"{self!r} has no studies")
        if version < schema.VERSION:
            self.write(schema.migrate, alone=True)

    def _find_file(self, path: Path, create: bool) -> None:
        if not create and not path.exists():
            raise StudyError(f"there is no file {str(path)!r}; the first run creates it")
        try:
            name = _file(path, "rwc" if create else "rw")
            with _at_work, closing(sqlite3.connect(name, uri=True, timeout=BUSY)) as connection:
                damage = _damage(connection, path)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self!r}: {_reason(error)}") from error
        if damage:
            raise StoreError(f"{self!r}: the file is malformed: {damage}; {HINTS['malformed']}")

    @contextmanager
    def _turn_of_all(self, study: int, until: float) -> Iterator[None]:
        if self.path is None:
            yield from self._server_turn(study, until)
        elif isinstance(self.path, Path):
            yield from _file_turn(Path(f"{self.path}-turn"), study, until)
        else:
            yield

    def _server_turn(self, study: int, until: float) -> Iterator[None]:
        connection = None
        with suppress(exc.DBAPIError):
            connection = self._connect()
            wait = max(1, int(1000 * (until - time.monotonic())))
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait}")
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(study)))
        try:
            yield
        finally:
            if connection is not None:
                with suppress(exc.DBAPIError):
                    connection.close()


def _damage(connection: sqlite3.Connection, path: Path) -> str | None:
    """What is wrong with a file; None where it is sound."""
    connection.execute("BEGIN")
    (pages,), (size,) = (connection.execute(f"PRAGMA page_{what}").fetchone() for what in ("count", "size"))
    if path.stat().st_size < pages * size:
        return "its end is missing"
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        if table in (schema.trials.name, schema.queue.name):
            return f"a row of {table} belongs to nothing"
    found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    return None if found == "ok" else " ".join(found.split())


def _file_turn(path: Path, study: int, until: float) -> Iterator[None]:
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
            except (BlockingIOError, PermissionError):  # another's turn
                time.sleep(0.002)
            except OSError:  # a file system without locks
                break
        yield
    finally:
        os.close(file)


def _file(path: Path, mode: str) -> str:
    return f"file:{quote(str(path))}?mode={mode}"


def _sqlite(path: Path | str) -> sa.Engine:
    """A connection for each transaction, so that none outlives a fork or a deleted file."""
    in_memory = path == ":memory:"
    name = ":memory:" if in_memory else _file(Path(path), "rw")
    engine = sa.create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(
            name, BUSY, uri=not in_memory, isolation_level=None, check_same_thread=False
        ),
        poolclass=pool.StaticPool if in_memory else pool.NullPool,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA synchronous = EXTRA")  # the journal's end reaches the disk too
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("bopp_begin", "BEGIN"))

    return engine


def _postgres(url: sa.URL) -> sa.Engine:
    # a server that vanished is noticed within a minute, not after the hours that TCP would wait
    watchful: dict[str, Any] = {
        "connect_timeout": 10,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "options": f"-c lock_timeout={1000 * BUSY:.0f}",
    }
    unsaid = {name: setting for name, setting in watchful.items() if name not in url.query}
    try:
        return sa.create_engine(url, connect_args=unsaid, pool_size=2)
    except exc.ArgumentError as error:
        raise StudyError(f"{WANTED}, got {without_secrets(url)!r}: {error}") from None
    except ImportError as error:
        raise MissingExtra("a PostgreSQL store wants psycopg: pip install 'bopp[postgres]'") from error


def _passes(error: Exception) -> bool:
    """Whether the same may work a little later."""
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return "database is locked" in str(cause)
    state = getattr(cause, "sqlstate", None)
    lost = isinstance(error, exc.DBAPIError) and error.connection_invalidated
    return (
        lost or (state is None and isinstance(error, exc.OperationalError)) or str(state).startswith(PASSING)
    )


def _reason(error: Exception) -> str:
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    text = " ".join(str(cause).split())
    hints = [hint for phrase, hint in HINTS.items() if phrase in text]
    return f"{text}; {hints[0]}" if hints else text
