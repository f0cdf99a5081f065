"""Store: a database that holds studies; every transaction is all or nothing.

store.read(transaction)     transaction(connection), which only reads
store.write(transaction)    transaction(connection), which changes something; in SQLite one at a time

A transaction may be called again after a lost connection, so it must be safe to repeat: what it inserts
carries a ticket by which a second call finds what the first one did.

Looking never writes: the data in a store that is opened read-only stay as they are (`sqlite.opened` has the
small print). One of an older version is refused rather than migrated.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from bopp.errors import StoreError, StudyError
from bopp.run.interrupts import uninterrupted
from bopp.study import faults, postgres, schema, sqlite, suggestion_lock
from bopp.study.address import censored, hidden, understood, without_secrets

T = TypeVar("T")
Transaction = Callable[[sa.Connection], T]
Access = Literal["look", "use", "create"]

ABSENT = 5.0  # seconds to wait for a server that has never answered

_no_fork = threading.RLock()  # held during transactions, so that no process is forked in the middle of one
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_no_fork.acquire, after_in_parent=_no_fork.release, after_in_child=_no_fork.release
    )


@dataclass(frozen=True)
class Moment:
    """The time of a store: UTC for people, and seconds for leases, which are monotonic except on a server."""

    utc: datetime
    seconds: float


class Store:
    """A database by its URL.

    Args:
        access: "look" only reads; "use" needs an existing store, and migrates one of an older version;
            "create" also makes the SQLite file and the tables if there are none.
    """

    def __init__(self, url: str, access: Access = "create"):
        self.url, self.path = understood(url)
        self.access = access
        looks = access == "look"
        self._engine = (
            postgres.engine(self.url, looks)
            if self.path is None
            else sqlite.engine(self.path, "ro" if looks else "rw")
        )
        self._ours = suggestion_lock.OfThread()
        self._suggestion_lock = suggestion_lock.SuggestionLock(self._lock())
        self._process = os.getpid()
        self._reached = False
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return without_secrets(self.url)

    @property
    def is_shared(self) -> bool:
        """Whether other processes can reach it."""
        return self.path != sqlite.MEMORY

    def read(self, transaction: Transaction[T]) -> T:
        """The result of a transaction that only reads."""
        return self._run(transaction, "BEGIN")

    def write(self, transaction: Transaction[T], alone: bool = False) -> T:
        """The result of a transaction that changes something, once its changes are on disk.

        With `alone` it waits for any other such transaction in the whole database, not only in one study.
        """
        self.check_writable()
        return self._run(transaction, "BEGIN IMMEDIATE", alone and self.path is None)

    def now(self, connection: sa.Connection) -> Moment:
        """The time of the server, or of this machine if there is none."""
        if self.path is not None:
            return Moment(datetime.now(UTC), time.monotonic())
        server = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        return Moment(server.astimezone(UTC), server.timestamp())

    def suggesting(self, study: int) -> AbstractContextManager[None]:
        """A block in which one worker at a time computes a suggestion."""
        self.check_writable()
        self._leave_parent()
        return self._suggestion_lock.hold(study)

    def check_writable(self) -> None:
        """Refuse to change a store that was opened read-only."""
        if self.access == "look":
            raise StudyError(f"{self!r} was opened to look (read_only=True), so nothing in it can be changed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _lock(self) -> suggestion_lock.Lock:
        if self.path is None:
            return suggestion_lock.by_server(self._engine, self._ours)
        if isinstance(self.path, Path):
            return suggestion_lock.by_file(Path(f"{self.path}.lock"))
        return lambda *_: nullcontext(True)

    def _leave_parent(self) -> None:
        """After a fork, leave connections to the parent, which owns them."""
        if os.getpid() != self._process:
            self._engine.dispose(close=False)
            self._ours.connection = None
            self._process = os.getpid()

    def _run(self, transaction: Transaction[T], begin: str, lock: bool = False) -> T:
        def once() -> T:
            with _no_fork:
                self._leave_parent()
                ours = self._ours.connection
                with nullcontext(ours) if ours else self._engine.connect() as connection, uninterrupted():
                    connection = connection.execution_options(bopp_begin=begin)
                    with connection.begin():
                        if lock:
                            postgres.lock(connection)
                        return transaction(connection)

        return self._patiently(once)

    def _patiently(self, act: Callable[[], T]) -> T:
        """Retry until it succeeds, fails for good, or has taken too long; after an interrupt, try once."""
        interrupted = isinstance(sys.exc_info()[1], KeyboardInterrupt)  # which is being handled
        began, pause = time.monotonic(), 0.01
        while True:
            try:
                result = act()
                self._reached = True
                return result
            except (exc.SQLAlchemyError, sqlite3.Error, OSError, UnicodeDecodeError) as error:
                half_done = self.access == "look" and faults.left_half_done(error)
                passes = half_done or faults.passes(error)
                there = self._reached or faults.locked(error) or faults.not_now(error)
                late = time.monotonic() - began > (faults.BUSY if there else ABSENT)
                if interrupted or late or not passes:
                    raise StoreError(
                        f"{self!r}: {hidden(self.url, faults.reason(error))}", url=repr(self)
                    ) from error
                latest = 0.05 if faults.locked(error) else 1.0
            time.sleep(pause * suggestion_lock.JITTER.uniform(0.5, 1.5))
            pause = min(2 * pause, latest)

    def _prepare(self) -> None:
        if isinstance(self.path, Path):
            self._check_file(self.path)
        version = self.read(schema.version_of)
        if version == 0 and self.access != "create":
            raise StudyError(f"{self!r} has no studies")
        if self.access == "look":
            self.read(schema.check_newest)
        elif version < schema.newest():
            self.write(schema.migrate, alone=True)

    def _check_file(self, path: Path) -> None:
        """Create a file if wanted; refuse one that is missing or damaged."""
        if not os.path.exists(path):  # nor is one whose name is too long
            if self.access != "create":
                raise StudyError(f"there is no file {censored(str(path))!r}; the first run creates it")
            self._patiently(lambda: sqlite.create(path))

        def damage() -> str | None:
            with _no_fork:
                return sqlite.damage(path, "ro" if self.access == "look" else "rw")

        if found := self._patiently(damage):
            raise StoreError(
                f"{self!r}: the file is malformed: {found}; {faults.HINTS['malformed']}", url=repr(self)
            )
