"""SQLite: connections to a file or to memory, and whether a file is sound."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event, pool

from bopp.study import faults, schema

MEMORY = ":memory:"


def engine(path: Path | str) -> sa.Engine:
    """Opens a file anew for each transaction, so that no connection outlives a fork or a deleted file."""
    made = sa.create_engine(
        "sqlite://",
        creator=lambda: _connected(path),
        poolclass=pool.StaticPool if path == MEMORY else pool.NullPool,
    )

    @event.listens_for(made, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA synchronous = EXTRA")  # syncs the folder too, from which the journal goes
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(made, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("bopp_begin", "BEGIN"))

    return made


def uri(path: Path, mode: str) -> str:
    """A file as SQLite wants it named, to be opened in a mode: "ro", "rw" or "rwc"."""
    return f"file:{quote(str(path))}?mode={mode}"


def damage(path: Path, mode: str) -> str | None:
    """What is wrong with a file; None where it is sound."""
    connection = sqlite3.connect(uri(path, mode), faults.BUSY, uri=True)
    try:
        return _damage(connection, path)
    finally:
        connection.close()


def _connected(path: Path | str) -> sqlite3.Connection:
    if isinstance(path, Path):
        name = uri(path, "rw")
        return sqlite3.connect(name, faults.BUSY, uri=True, isolation_level=None, check_same_thread=False)
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def _damage(connection: sqlite3.Connection, path: Path) -> str | None:
    connection.execute("BEGIN")
    (pages,), (size,) = (connection.execute(f"PRAGMA page_{what}").fetchone() for what in ("count", "size"))
    if path.stat().st_size < pages * size:
        return "its end is missing"
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        if table in (schema.trials.name, schema.queue.name):
            return f"a row of {table} belongs to nothing"
    found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    return None if found == "ok" else " ".join(found.split())
