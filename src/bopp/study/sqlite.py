"""SQLite: connections to a file or to memory, and whether a file is sound."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event, pool

from bopp.study import faults, schema

MEMORY = ":memory:"
EMPTY = "it has {} bytes, and no study; if it never had any, delete it, and it will be created"
CLAIMED = 5.0  # seconds to wait for another that is about to put a store in its place
HALF_DONE = "a killed process left a change half done; whoever may write the file and its folder can undo it"


def engine(path: Path | str, mode: str) -> sa.Engine:
    """Opens a file anew for each transaction, so that no connection outlives a fork or a deleted file."""
    made = sa.create_engine(
        "sqlite://",
        creator=lambda: opened(path, mode),
        poolclass=pool.StaticPool if path == MEMORY else pool.NullPool,
    )

    @event.listens_for(made, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA synchronous = EXTRA")  # also syncs the folder, as the journal is deleted
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(made, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("bopp_begin", "BEGIN"))

    return made


def uri(path: Path, mode: str) -> str:
    """The SQLite URI of a file, to open it for reading ("ro"), for writing ("rw") or to create it ("rwc")."""
    return f"file:{quote(str(path))}?mode={mode}"


def opened(path: Path | str, mode: str) -> sqlite3.Connection:
    """A connection to a file, or to memory; "ro" leaves the file and its folder as they are.

    There are two exceptions, where SQLite has to write although the data in the file stay the same. A
    writer that was killed may leave a journal, which must be rolled back before anybody can read. And in WAL
    mode, which bopp never sets but others may, there are files beside the database while it is open.
    """
    if not isinstance(path, Path):
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    if mode != "ro":
        return _opened(path, mode)
    if path.is_dir():  # SQLite would report a disk error
        raise sqlite3.OperationalError("unable to open database file")
    connection = _opened(path, mode)
    try:
        journal = _journal(connection)
    except sqlite3.Error as error:
        connection.close()
        return _opened_despite(error, path)
    if journal == "wal":
        with closing(connection):  # closed while the other is open, which then removes the extra files
            return _opened_for_queries(path, "rw")
    return connection


def create(path: Path) -> None:
    """Make a store, which others see when it is whole; where another was faster, leave his alone."""
    path = Path(os.path.realpath(path))  # where a link leads
    left = [str(path) + end for end in ("-journal", "-wal") if Path(str(path) + end).exists()]
    if left and not path.exists():
        raise sqlite3.OperationalError(f"{left[0]!r} is left of another file; delete it or move it away")
    new = path.parent / f".bopp-{token_hex(8)}"
    made = engine(new, "rwc")
    try:
        with made.begin() as connection:
            schema.migrate(connection)
        try:
            os.link(new, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            _claim(path, new)
    finally:
        for end in ("", "-journal"):
            Path(f"{new}{end}").unlink(missing_ok=True)


def _claim(path: Path, new: Path) -> None:
    """Have whoever makes an empty file at the path first put the new one there; others wait for that."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        until = time.monotonic() + CLAIMED
        while path.stat().st_size == 0 and time.monotonic() < until:
            time.sleep(0.01)
    else:
        os.replace(new, path)


def damage(path: Path, mode: str) -> str | None:
    """What is wrong with a file; None where it is sound."""
    if path.is_file() and (size := path.stat().st_size) < 2:  # to SQLite an empty database, to be filled
        return EMPTY.format(size)
    with closing(opened(path, mode)) as connection:
        connection.execute("BEGIN")
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (page,) = connection.execute("PRAGMA page_size").fetchone()
        short = path.stat().st_size < pages * page
        if short and _journal(connection) != "wal":  # WAL keeps new pages beside the file
            return "its end is missing"
        for table, *_ in connection.execute("PRAGMA foreign_key_check"):
            if table in (schema.trials.name, schema.queue.name):
                return f"a row of {table} belongs to nothing"
        found = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    return None if found == "ok" else " ".join(found.split())


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri(path, mode), timeout=faults.LOCKED, uri=True, isolation_level=None, check_same_thread=False
    )


def _opened_for_queries(path: Path, mode: str) -> sqlite3.Connection:
    """A connection that has rolled back a journal, if there was one, and refuses to change data."""
    connection = _opened(path, mode)
    try:
        connection.execute("PRAGMA query_only = ON")
        _journal(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _opened_despite(error: sqlite3.Error, path: Path) -> sqlite3.Connection:
    """A connection to a file for which mode "ro" is not enough; raises the error if nothing helps."""
    if faults.left_half_done(error):
        try:
            return _opened_for_queries(path, "rw")
        except sqlite3.Error as again:
            if faults.left_half_done(again):
                raise sqlite3.OperationalError(HALF_DONE) from again
            raise
    closed = getattr(error, "sqlite_errorname", None) in ("SQLITE_READONLY_DIRECTORY", "SQLITE_CANTOPEN")
    if closed and not any(Path(f"{path}-{beside}").exists() for beside in ("wal", "journal")):
        return _opened_for_queries(path, "ro&immutable=1")  # WAL mode, in a folder that is read-only
    raise error


def _journal(connection: sqlite3.Connection) -> str:
    """The kind of journal that a file has; to find out, SQLite has to read the file."""
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
