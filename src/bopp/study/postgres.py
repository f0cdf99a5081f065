"""PostgreSQL: connections to a server."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc, pool

from bopp.errors import MissingExtra, StudyError, installation
from bopp.study import faults
from bopp.study.address import WANTED, hidden, without_secrets

LOCK = 0x626F7070  # key of the advisory lock for the whole database: "bopp"


def engine(url: sa.URL, read_only: bool) -> sa.Engine:
    """Connects anew for each transaction: a worker that evaluates, waits or is idle has no connection."""
    options = {"postgresql_readonly": True} if read_only else {}
    try:
        return sa.create_engine(
            url, connect_args=_unsaid(url), poolclass=pool.NullPool, execution_options=options
        )
    except exc.ArgumentError as error:
        raise StudyError(f"{WANTED}, got {without_secrets(url)!r}: {hidden(url, str(error))}") from None
    except ImportError as error:
        raise MissingExtra(
            f"a PostgreSQL store wants psycopg: {installation('postgres')}", extra="postgres"
        ) from error


def lock(connection: sa.Connection) -> None:
    """Wait until no other transaction holds this lock, and hold it until the end of this one."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))


def _unsaid(url: sa.URL) -> dict[str, Any]:
    """Settings that a URL does not have: a server that vanished is noticed within a minute."""
    watchful: dict[str, Any] = {
        "connect_timeout": 10,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "options": f"-c lock_timeout={1000 * faults.LOCKED:.0f}",
    }
    return {name: setting for name, setting in watchful.items() if name not in url.query}
