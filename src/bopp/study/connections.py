"""Connections: one to a server is kept for a moment, for a transaction that may follow, and no longer.

A server allows only so many connections: whoever evaluates, waits or is idle has none.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy import exc

from bopp.guard import Guard

IDLE = 0.5  # seconds until a connection that was not used again is closed

_of_parents: list[sa.Connection] = []  # what a fork has of its parent, which it must neither use nor close


class Connections:
    """The connections of an engine without a pool; `keeps` says whether one is kept between transactions."""

    def __init__(self, engine: sa.Engine, keeps: bool):
        self._engine = engine
        self._keeps = keeps
        self._guard = Guard()
        self._kept: sa.Connection | None = None
        self._timer: threading.Timer | None = None

    @contextmanager
    def one(self) -> Iterator[sa.Connection]:
        """A connection for a transaction."""
        connection = self.take()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self.give_back(connection)

    def take(self) -> sa.Connection:
        """The connection that was kept, or a new one; to be given back or closed."""
        return self._forget() or self._engine.connect()

    def give_back(self, connection: sa.Connection) -> None:
        """Keep it for a moment, unless there is another that is kept."""
        with self._guard:
            if self._keeps and self._kept is None and not connection.invalidated:
                self._kept = connection
                self._timer = threading.Timer(IDLE, self.rest)
                self._timer.daemon = True
                self._timer.start()
                return
        connection.close()

    def rest(self) -> None:
        """Close the connection that is kept, if there is one."""
        if kept := self._forget():
            with suppress(exc.SQLAlchemyError):
                kept.close()

    def leave_to_parent(self, *others: sa.Connection | None) -> None:
        """After a fork, use none of the parent's connections."""
        _of_parents.extend(filter(None, (self._forget(), *others)))
        self._engine.dispose(close=False)

    def _forget(self) -> sa.Connection | None:
        with self._guard:
            kept, timer, self._kept, self._timer = self._kept, self._timer, None, None
        if timer is not None:
            timer.cancel()
        return kept
