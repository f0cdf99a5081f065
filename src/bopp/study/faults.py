"""Faults: what can go wrong in a database, whether waiting helps, and what to tell the user."""

from __future__ import annotations

import sqlite3

from sqlalchemy import exc

BUSY = 60.0  # seconds to wait for other writers, or for a server that has answered before
LOCKED = 0.15  # of these, seconds to wait for a lock at a stretch: meanwhile nothing can be interrupted
PASSING = ("08", "40001", "40P01", "53300", "55P03", "57P")  # SQLSTATEs, or prefixes, of faults that pass
NOT_NOW = (
    *("too many clients", "too many connections", "connection slots are reserved"),  # 53300
    *("is starting up", "is shutting down", "in recovery mode", "not yet accepting connections"),  # 57P03
)
"""What a server says that will take connections later; where it refuses one, its SQLSTATE does not arrive."""

DAMAGED = "the file is damaged; what is whole can be saved by: sqlite3 FILE .recover"
HINTS = {
    "unable to open database file": "does its folder exist, and may it be written?",
    "readonly": "the file or its folder is read-only, or was moved or deleted",
    "disk is full": "nothing of this change was kept; make room and go on",
    "disk I/O error": "nothing of this change was kept",
    "no such table": "the file was emptied or replaced while it was in use",
    "malformed": DAMAGED,
    "codec can't decode": DAMAGED,  # Python cannot even read what SQLite complains about
    "not a database": "another kind of file",
    "database is locked": "another process keeps it locked",
    "lock timeout": "another process keeps it locked",
}
"""What a database says, and what the user may do about it."""


def _cause(error: Exception) -> BaseException | None:
    return error.orig if isinstance(error, exc.DBAPIError) else error


def passes(error: Exception) -> bool:
    """Whether the same transaction may succeed a little later."""
    cause = _cause(error)
    if isinstance(cause, sqlite3.Error):
        return locked(error)
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    state = getattr(cause, "sqlstate", None)
    if state is None:  # the server was not reached
        return isinstance(error, exc.OperationalError)
    return str(state).startswith(PASSING)


def locked(error: Exception) -> bool:
    """Whether another transaction is in the way."""
    cause = _cause(error)
    return getattr(cause, "sqlstate", None) == "55P03" or (
        isinstance(cause, sqlite3.Error) and "database is locked" in str(cause)
    )


def not_now(error: Exception) -> bool:
    """Whether a server is there and takes no connection for the time being."""
    cause = _cause(error)
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        return state in ("53300", "57P03")
    return isinstance(error, exc.OperationalError) and any(words in str(cause) for words in NOT_NOW)


def left_half_done(error: Exception) -> bool:
    """Whether a killed writer left a journal, which SQLite has to roll back before anybody can read."""
    return getattr(_cause(error), "sqlite_errorname", None) == "SQLITE_READONLY_ROLLBACK"


def reason(error: Exception) -> str:
    """What went wrong, in one line, with a hint where there is one."""
    text = " ".join(str(_cause(error)).split())
    hints = [hint for phrase, hint in HINTS.items() if phrase in text]
    return f"{text}; {hints[0]}" if hints else text
