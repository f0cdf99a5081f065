"""Faults: what can go wrong in a database, whether waiting helps, and what to tell the user."""

from __future__ import annotations

import sqlite3

from sqlalchemy import exc

BUSY = 60.0  # seconds to wait for other writers, or for a server that has answered before
PASSING = ("08", "40001", "40P01", "53300", "57P")  # SQLSTATEs, or prefixes, of faults that pass
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
"""What SQLite says, and what the user may do about it."""


def passes(error: Exception) -> bool:
    """Whether the same transaction may succeed a little later."""
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return "database is locked" in str(cause)
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    state = getattr(cause, "sqlstate", None)
    if state is None:  # the server was not reached
        return isinstance(error, exc.OperationalError)
    return str(state).startswith(PASSING)


def left_half_done(error: Exception) -> bool:
    """Whether a killed writer left a journal, which SQLite has to roll back before anybody can read."""
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    return getattr(cause, "sqlite_errorname", None) == "SQLITE_READONLY_ROLLBACK"


def reason(error: Exception) -> str:
    """What went wrong, in one line, with a hint where there is one."""
    cause = error.orig if isinstance(error, exc.DBAPIError) else error
    text = " ".join(str(cause).split())
    hints = [hint for phrase, hint in HINTS.items() if phrase in text]
    return f"{text}; {hints[0]}" if hints else text
